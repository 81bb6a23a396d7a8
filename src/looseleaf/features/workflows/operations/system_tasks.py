"""System tasks: work that runs by itself, the condition of each task, and running one now."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.json_values import bound_limit
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.errors import Unavailable
from looseleaf.errors.features import InvalidTaskParameters
from looseleaf.features.workflows.jobs.run import plan_task_job
from looseleaf.features.workflows.parts import jobs_of, system_tasks_of
from looseleaf.features.workflows.system_tasks import (
    MANUAL,
    MOST_RUNS,
    PromptInfo,
    RunLog,
    RunRequest,
    TaskPrompts,
    check_run,
    derive_run_id,
    list_conditions,
    run_task,
)
from looseleaf.memory.provenance import JOB
from looseleaf.models.model import never
from looseleaf.settings import Settings
from looseleaf.times import format_time
from looseleaf.values import value
from looseleaf.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.system_tasks import RunRecord, SystemTask, TaskCondition


# Other names of the agent, which the original's clients put among the parameters.
_AGENT_PARAMETERS = ("agent", "agent_id", "agent_slug")
STARTED = "started"  # the status of a run whose job has not ended


@value(kw_only=True)
class TaskInfo:
    """A system task, and its condition for one agent or for the workspace.

    Fields:
        task_type: The word by which the task is named.
        label: The name for people.
        description: What the task does, in one sentence.
        setting_key: The setting that switches the task on, or "" if it is always on.
        enabled: Whether the task is on.
        default_enabled: Whether it is on as long as nobody changes a setting.
        trigger: What starts the task, for people.
        trigger_type: scheduled or manual.
        supports_run: Whether people may run the task now.
        params: The parameters that a run takes, each with what it means.
        agent: The agent that the figures below are about; "" for the workspace.
        last_run_at: The end of the last run, in UTC; "" before the first.
        last_status: The status of the last run.
        last_reason: The reason of that status.
        run_count: The number of runs on record.
        bad_runs: The number of runs in a row that ended badly.
        needs_attention: Whether the task is overdue or failed repeatedly.
    """

    task_type: str
    label: str
    description: str
    setting_key: str
    enabled: bool
    default_enabled: bool
    trigger: str
    trigger_type: str
    supports_run: bool
    params: Mapping[str, str]
    agent: str
    last_run_at: str
    last_status: str
    last_reason: str
    run_count: int
    bad_runs: int
    needs_attention: bool


@value(kw_only=True)
class RunInfo:
    """One run of a system task.

    Fields:
        id: The id of the run.
        task_type: The task.
        agent: The agent that the run was for; "" for the workspace.
        trigger: What started the run: schedule or manual.
        start: The time of its beginning, in UTC; "" before.
        end: The time of its end, in UTC; "" before.
        status: The result, in one word of the task; started as long as there is none.
        reason: The reason of the result.
        is_failure: Whether the task did not do its work.
        details: Figures and texts of the task.
        job_id: The job that was started for the run; 0 in the record of a run, and for a run that
            was waited for.
    """

    id: str
    task_type: str
    agent: str
    trigger: str
    start: str
    end: str
    status: str
    reason: str
    is_failure: bool
    details: Mapping[str, Any]
    job_id: int = 0


@value
class SystemStatus:
    """The condition of the tasks in a few figures."""

    version: str
    tasks: int
    enabled: int
    needs_attention: tuple[str, ...]


@operation(
    "looseleaf/show-system-status", permission="settings", categories=("system",), read_only=True
)
def show_system_status(context: Context) -> SystemStatus:
    """Show how many system tasks there are, and which of them people should look at."""
    tasks = list_tasks(context)
    types = {task.task_type for task in tasks}
    enabled = {task.task_type for task in tasks if task.enabled}
    attention = [
        f"{task.task_type} ({task.agent})" if task.agent else task.task_type
        for task in tasks
        if task.needs_attention
    ]
    return SystemStatus(__version__, len(types), len(enabled), tuple(attention))


@operation(
    "looseleaf/list-system-tasks", permission="settings", categories=("system",), read_only=True
)
def list_tasks(context: Context) -> list[TaskInfo]:
    """List every system task and its condition, for each agent that one may see."""
    context.allow()
    tasks = system_tasks_of(context.parts).all()
    agents = list_visible_agents(context)
    by_type = {task.type: task for task in tasks}
    return [
        _describe(by_type[condition.task_type], condition, context)
        for condition in list_conditions(tasks, agents, context.settings, context.clock())
    ]


@operation("datamachine/run-task", permission="settings", categories=("system",))
def run_now(
    context: Context,
    task_type: str,
    *,
    task_params: Mapping[str, Any] | None = None,
    agent: str | int | None = None,
) -> list[RunInfo]:
    """Run a system task now, for one agent or for all active agents.

    Where a worker runs, as on a server, each run is a job that is answered at once: get-job shows
    its progress, and list-task-runs its result under the id that is given here.

    Arguments:
        task_type: The task to run, as the list of tasks names it.
        task_params: The parameters of the run, such as a date; none if the task needs none.
        agent: The agent to run the task for, by id or slug; without it, every active agent.
    """
    context.allow()
    task = system_tasks_of(context.parts).get(task_type)
    context.with_permission(task.permission).allow()
    params = dict(task_params or {})
    for name in _AGENT_PARAMETERS:
        agent = agent or params.pop(name, None)
    is_job = context.activity.kind == JOB
    trigger = params.pop("trigger", MANUAL) if is_job else MANUAL
    check_run(task, params, trigger=trigger)
    records = _resolve_agents(context, task, agent)
    if not is_job and jobs_of(context.parts).has_live_worker():
        return [_start_run(context, task, record, params) for record in records]
    request = RunRequest(params, trigger, context.surface)
    runs = [run_once(context, task, record, request) for record in records]
    for run in runs:
        if is_job and run.is_failure:
            # The job fails with the run, or is tried again if the reason passes by itself.
            raise Unavailable(f"The task {task.type}", run.reason)
    return [describe_run(run) for run in runs]


@operation(
    "looseleaf/list-task-runs", permission="settings", categories=("system",), read_only=True
)
def list_runs(
    context: Context,
    *,
    task_type: str = "",
    agent: str | int | None = None,
    limit: int = 20,
) -> list[RunInfo]:
    """List the newest runs of system tasks, newest first.

    Arguments:
        task_type: The task whose runs are listed; without it, all tasks.
        agent: The agent whose runs are listed, by id or slug; without it, all agents and the
            workspace.
        limit: How many runs are listed for each agent, at most 200.
    """
    context.allow()
    log = RunLog(context.settings.root)
    ids = [0]
    if agent is not None:
        ids = [agent_of(context.with_permission("read"), agent).id]
    else:
        ids += [record.id for record in list_visible_agents(context)]
    count = bound_limit(limit, MOST_RUNS)
    runs = [run for id in ids for run in log.list(id, task_type=task_type, limit=count)]  # noqa: A001
    runs.sort(key=lambda run: run.id, reverse=True)
    return [describe_run(run) for run in runs]


def run_once(
    context: Context, task: SystemTask, agent: AgentRecord | None, request: RunRequest
) -> RunRecord:
    """Run a task for one agent, or for the workspace, by the settings that hold now.

    These are the ones that schedules use, also where the operator starts the run.
    """
    prompts = TaskPrompts(context.settings.root)
    return run_task(
        task,
        context.parts,
        find_settings(context),
        agent,
        request,
        prompt=lambda key: prompts.text(task, key),
        is_cancelled=never,
    )


def _start_run(
    context: Context, task: SystemTask, agent: AgentRecord | None, params: Mapping[str, Any]
) -> RunInfo:
    """Add the job of a run; the run will have the id that is given here."""
    plan = plan_task_job(
        task.type,
        params,
        label=task.label,
        agent_id=agent.id if agent else 0,
        user_id=context.principal.user_id or (agent.owner if agent else 0),
    )
    job = jobs_of(context.parts).jobs.add(plan)[0]
    return RunInfo(
        id=derive_run_id(job.created_at, job.id),
        task_type=task.type,
        agent=agent.slug if agent else "",
        trigger=MANUAL,
        start="",
        end="",
        status=STARTED,
        reason=f"job {job.id} runs it",
        is_failure=False,
        details={},
        job_id=job.id,
    )


def find_settings(context: Context) -> Settings:
    """Return the settings of a run: for the operator, too, those that were made while running."""
    is_plain = context.settings == context.parts.settings  # those of the file
    return context.parts.effective_settings() if is_plain else context.settings


def describe_run(record: RunRecord) -> RunInfo:
    """Describe a run for people and programs."""
    return RunInfo(
        id=record.id,
        task_type=record.task_type,
        agent=record.agent,
        trigger=record.trigger,
        start=format_time(record.start),
        end=format_time(record.end),
        status=record.status,
        reason=record.reason,
        is_failure=record.is_failure,
        details=record.details,
    )


def _resolve_agents(
    context: Context, task: SystemTask, agent: str | int | None
) -> list[AgentRecord | None]:
    if not task.per_agent:
        if agent is not None:
            raise InvalidTaskParameters(task.type, "it runs for the workspace, not for an agent")
        return [None]
    if agent is not None:
        return [agent_of(context.with_permission("read"), agent)]
    return [record for record in list_visible_agents(context) if record.status == "active"]


def _describe(task: SystemTask, condition: TaskCondition, context: Context) -> TaskInfo:
    trigger = task.trigger or "Run by hand"
    return TaskInfo(
        task_type=task.type,
        label=task.label,
        description=task.description,
        setting_key=task.setting,
        enabled=task.is_enabled(context.settings),
        default_enabled=task.is_enabled(Settings(root="")),
        trigger=trigger,
        trigger_type="scheduled" if task.trigger else "manual",
        supports_run=task.supports_run,
        params=dict(task.params),
        agent=condition.agent,
        last_run_at=format_time(condition.last_run_at) if condition.last_run_at else "",
        last_status=condition.last_status,
        last_reason=condition.last_reason,
        run_count=condition.run_count,
        bad_runs=condition.bad_runs,
        needs_attention=condition.needs_attention,
    )


# The prompts of system tasks: shown, replaced and reset.


@operation(
    "looseleaf/list-task-prompts", permission="settings", categories=("system",), read_only=True
)
def list_prompts(context: Context) -> list[PromptInfo]:
    """List the prompts of system tasks, and which of them were replaced."""
    context.allow()
    return TaskPrompts(context.settings.root).list(system_tasks_of(context.parts).all())


@operation(
    "looseleaf/show-task-prompt", permission="settings", categories=("system",), read_only=True
)
def show_prompt(context: Context, task_type: str, prompt_key: str) -> PromptInfo:
    """Show one prompt of a system task: its text in force, the built-in one, its placeholders.

    Arguments:
        task_type: The task that has the prompt.
        prompt_key: The name of the prompt in its task.
    """
    context.allow()
    task = system_tasks_of(context.parts).get(task_type)
    return TaskPrompts(context.settings.root).info(task, prompt_key)


@operation(
    "looseleaf/set-task-prompt", permission="settings", categories=("system",), idempotent=True
)
def set_prompt(context: Context, task_type: str, prompt_key: str, *, prompt: str) -> PromptInfo:
    """Replace a prompt of a system task; a text without what the task needs is refused.

    Arguments:
        task_type: The task that has the prompt.
        prompt_key: The name of the prompt in its task.
        prompt: The new text, with the placeholders and markers that the task needs.
    """
    context.allow()
    task = system_tasks_of(context.parts).get(task_type)
    return TaskPrompts(context.settings.root).set(task, prompt_key, prompt)


@operation(
    "looseleaf/reset-task-prompt", permission="settings", categories=("system",), idempotent=True
)
def reset_prompt(context: Context, task_type: str, prompt_key: str) -> PromptInfo:
    """Go back to the built-in text of a prompt.

    Arguments:
        task_type: The task that has the prompt.
        prompt_key: The name of the prompt in its task.
    """
    context.allow()
    task = system_tasks_of(context.parts).get(task_type)
    return TaskPrompts(context.settings.root).reset(task, prompt_key)
