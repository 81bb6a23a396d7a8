"""Runs of system tasks: each leaves a record that says how it ended, and is kept for a while."""

from __future__ import annotations

import secrets

from looseleaf.errors import LooseleafError
from looseleaf.errors.upkeep import InvalidTaskParameters, TaskNotRunnable, TaskRunMissing
from looseleaf.memory.day import parse_date
from looseleaf.times import format_microseconds
from looseleaf.upkeep.record_files import UpkeepRecords
from looseleaf.upkeep.system_tasks.task import MANUAL, TaskResult, TaskRun
from looseleaf.values import FrozenDict, as_dict, value
from looseleaf.workflows.execution.retries import is_transient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.settings import Settings
    from looseleaf.upkeep.system_tasks.task import SystemTask

MOST_RUNS = 200
WORKSPACE = "workspace"
_RUNS = "runs"


@value(kw_only=True)
class RunRecord:
    """One run of a system task, as it is kept.

    Fields:
        id: The id of the run; ids sort by time.
        task_type: The task.
        agent_id: The agent that the run was for; 0 for the workspace.
        agent: The slug of the agent; "" for the workspace.
        trigger: What started the run: schedule or manual.
        surface: The surface by which it was started.
        start: The time of its beginning, in seconds since 1970.
        end: The time of its end.
        status: The result, in one word of the task.
        reason: The reason of the result, in one sentence.
        is_failure: True if the task did not do its work.
        is_retryable: True for a failure that passes by itself.
        details: Figures and texts of the task.
    """

    id: str
    task_type: str
    agent_id: int
    agent: str
    trigger: str
    surface: str
    start: float
    end: float
    status: str
    reason: str
    is_failure: bool = False
    is_retryable: bool = False
    details: Mapping[str, Any] = FrozenDict()


class RunLog:
    """The records of runs of one workspace, in one folder for each agent."""

    def __init__(self, root: str) -> None:
        self.root = root

    def add(self, record: RunRecord) -> None:
        """Keep a record, and drop the oldest if there are too many."""
        folder = self._folder_of(record.agent_id)
        folder.write(record.id, as_dict(record))
        for name in folder.names()[:-MOST_RUNS]:
            folder.remove(name)

    def list(self, agent_id: int, *, task_type: str = "", limit: int = 20) -> list[RunRecord]:
        """List the newest runs for an agent (0 for the workspace), newest first."""
        folder = self._folder_of(agent_id)
        records: list[RunRecord] = []
        for name in reversed(folder.names()):
            if len(records) >= limit:
                break
            record = folder.read(name)
            if record is not None and task_type in ("", record["task_type"]):
                records.append(RunRecord(**record))
        return records

    def find(self, agent_id: int, run: str) -> RunRecord:
        """Find a run by its id, or raise `TaskRunMissing`."""
        folder = self._folder_of(agent_id)
        record = folder.read(run) if run in folder.names() else None
        if record is None:
            raise TaskRunMissing(run, f"agent {agent_id}" if agent_id else "the workspace")
        return RunRecord(**record)

    def prune(self, before: float, *, dry_run: bool = False) -> int:
        """Remove records of runs that began before a time; return how many.

        The newest of them stays for each task, so that a task which no longer runs is overdue.
        """
        limit = create_run_id(before)
        count = 0
        for segment in UpkeepRecords(self.root, _RUNS).folders():
            folder = UpkeepRecords(self.root, _RUNS, segment)
            task_types: set[str] = set()
            for name in reversed(folder.names()):
                record = folder.read(name) if name < limit else None
                if record is None:
                    continue
                if record["task_type"] in task_types:
                    count += 1
                    if not dry_run:
                        folder.remove(name)
                task_types.add(record["task_type"])
        return count

    def _folder_of(self, agent_id: int) -> UpkeepRecords:
        return UpkeepRecords(self.root, _RUNS, f"agent-{agent_id}" if agent_id else WORKSPACE)


@value
class RunRequest:
    """A run that someone or a schedule asks for."""

    params: Mapping[str, Any] = FrozenDict()
    trigger: str = MANUAL
    surface: str = "library"
    id: str = ""  # of a run that is begun again after a crash; "" for a new one


def create_run_id(now: float) -> str:
    """Create an id for a run that begins now; ids sort by time."""
    digits = "".join(character for character in format_microseconds(now) if character.isdigit())
    return f"{digits[:8]}-{digits[8:]}-{secrets.token_hex(3)}"


def derive_run_id(created_at: float, job_id: int) -> str:
    """Return the id of the run that a job makes; the same however often the job is continued."""
    digits = "".join(sign for sign in format_microseconds(created_at) if sign.isdigit())
    return f"{digits[:8]}-{digits[8:]}-{job_id:06x}"


def check_run(task: SystemTask, params: Mapping[str, Any], *, trigger: str = MANUAL) -> None:
    """Raise if the task cannot be run by hand, or does not take these parameters."""
    if trigger == MANUAL and not task.supports_run:
        raise TaskNotRunnable(task.type, "only its schedule runs it")
    foreign_names = sorted(set(params) - set(task.params))
    if foreign_names:
        names = ", ".join(sorted(task.params)) or "none"
        raise InvalidTaskParameters(
            task.type, f"it does not take {', '.join(foreign_names)}; it takes {names}"
        )
    date = params.get("date")
    if date and (not isinstance(date, str) or parse_date(date) is None):
        raise InvalidTaskParameters(task.type, f"{date!r} is not a day, written YYYY-MM-DD")


def run_task(
    task: SystemTask,
    parts: WorkspaceServices,
    settings: Settings,
    agent: AgentRecord | None,
    request: RunRequest,
    *,
    prompt: Callable[[str], str],
    is_cancelled: Callable[[], bool],
) -> RunRecord:
    """Run a task once and keep the record of the run, however it ends."""
    check_run(task, request.params, trigger=request.trigger)
    start = parts.clock()
    run_id = request.id or create_run_id(start)
    run = TaskRun(
        id=run_id,
        parts=parts,
        settings=settings,
        agent=agent,
        params=request.params,
        trigger=request.trigger,
        surface=request.surface,
        prompt=prompt,
        is_cancelled=is_cancelled,
    )
    try:
        result = task.run(run)
    except LooseleafError as error:
        result = TaskResult("failed", str(error), True, is_transient(error))
    record = RunRecord(
        id=run_id,
        task_type=task.type,
        agent_id=agent.id if agent else 0,
        agent=agent.slug if agent else "",
        trigger=request.trigger,
        surface=request.surface,
        start=start,
        end=parts.clock(),
        status=result.status,
        reason=result.reason,
        is_failure=result.is_failure,
        is_retryable=result.is_retryable,
        details=result.details,
    )
    RunLog(settings.root).add(record)
    return record
