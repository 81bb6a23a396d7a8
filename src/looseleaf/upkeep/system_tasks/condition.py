"""The condition of system tasks: which are overdue, and which fail or are refused repeatedly."""

from __future__ import annotations

from looseleaf.times import DAY_SECONDS, format_minute
from looseleaf.upkeep.finding import Finding
from looseleaf.upkeep.system_tasks.runs import RunLog
from looseleaf.upkeep.system_tasks.task import SCHEDULE
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looseleaf.agents.record import AgentRecord
    from looseleaf.settings import Settings
    from looseleaf.upkeep.system_tasks.runs import RunRecord
    from looseleaf.upkeep.system_tasks.task import SystemTask

REPEATED = 3  # runs in a row that ended badly, before people are told
_OVERDUE_SECONDS = 2 * DAY_SECONDS
_LOOKED_AT = 30  # of the newest runs


@value(kw_only=True)
class TaskCondition:
    """The condition of a task for one agent.

    Fields:
        task_type: The task.
        agent_id: The agent; 0 for the workspace.
        agent: The slug of the agent.
        last_run_at: The end of the last run, in seconds since 1970; 0 before the first.
        last_status: The status of the last run.
        last_reason: The reason of that status.
        run_count: The number of runs among the newest 30 on record.
        bad_runs: The number of runs in a row that ended badly.
        is_overdue: True if a scheduled run is missing for two days.
        needs_attention: True if people should look at the task.
    """

    task_type: str
    agent_id: int
    agent: str
    last_run_at: float
    last_status: str
    last_reason: str
    run_count: int
    bad_runs: int
    is_overdue: bool
    needs_attention: bool


def read_condition(
    task: SystemTask, log: RunLog, agent: AgentRecord | None, settings: Settings, now: float
) -> TaskCondition:
    """Return the condition of a task for an agent, or for the workspace."""
    runs = log.list(agent.id if agent else 0, task_type=task.type, limit=_LOOKED_AT)
    last = runs[0] if runs else None
    bad_runs = _count_bad(runs, task.attention)
    scheduled_runs = [run for run in runs if run.trigger == SCHEDULE]
    # A task that was never scheduled here cannot be late.
    is_overdue = (
        bool(scheduled_runs)
        and task.is_enabled(settings)
        and now - scheduled_runs[0].end > _OVERDUE_SECONDS
    )
    is_repeated = task.is_enabled(settings) and bad_runs >= REPEATED
    return TaskCondition(
        task_type=task.type,
        agent_id=agent.id if agent else 0,
        agent=agent.slug if agent else "",
        last_run_at=last.end if last else 0.0,
        last_status=last.status if last else "",
        last_reason=last.reason if last else "",
        run_count=len(runs),
        bad_runs=bad_runs,
        is_overdue=is_overdue,
        needs_attention=is_overdue or is_repeated,
    )


def _count_bad(runs: Iterable[RunRecord], statuses: tuple[str, ...]) -> int:
    count = 0
    for run in runs:
        if run.status not in statuses:
            break
        count += 1
    return count


def list_conditions(
    tasks: Iterable[SystemTask], agents: Iterable[AgentRecord], settings: Settings, now: float
) -> Iterator[TaskCondition]:
    """Yield the condition of every task, for each active agent if it runs per agent."""
    log = RunLog(settings.root)
    active = [agent for agent in agents if agent.status == "active"]
    for task in tasks:
        for agent in active if task.per_agent else (None,):
            yield read_condition(task, log, agent, settings, now)


def check_tasks(conditions: Iterable[TaskCondition]) -> Iterator[Finding]:
    """Report the tasks that people should look at."""
    count = 0
    for condition in conditions:
        count += bool(condition.run_count)
        if not condition.needs_attention:
            continue
        place = f"{condition.task_type} for {condition.agent or 'the workspace'}"
        if condition.is_overdue:
            detail = f"{place} is overdue; it last ended {format_minute(condition.last_run_at)}"
            advice = "Look whether the server runs: looseleaf serve runs schedules."
        else:
            detail = (
                f"{place} ended as {condition.last_status} {condition.bad_runs} times in a row: "
                f"{condition.last_reason}"
            )
            advice = (
                f"looseleaf upkeep log --agent {condition.agent} says more."
                if condition.agent
                else f"looseleaf system runs --task {condition.task_type} says more."
            )
        yield Finding("upkeep", "warning", detail, advice)
    if count:
        yield Finding(
            "upkeep",
            "ok",
            f"the last runs of {count} {'task' if count == 1 else 'tasks'} were looked at",
        )
