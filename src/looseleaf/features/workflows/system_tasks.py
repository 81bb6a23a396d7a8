"""System tasks: their contract, their runs and records, their condition and their prompts."""

from __future__ import annotations

import secrets

from looseleaf.catalog.page_checks import Finding
from looseleaf.errors import LooseleafError
from looseleaf.errors.features import (
    InvalidPrompt,
    InvalidTask,
    InvalidTaskParameters,
    TaskMissing,
    TaskNotRunnable,
    TaskPromptMissing,
    TaskRunMissing,
)
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.jobs.run import is_transient
from looseleaf.files import record_folder
from looseleaf.memory.day import parse_date
from looseleaf.memory.registry import OWNER, NamedRegistry, check_word
from looseleaf.memory.store import hash_content
from looseleaf.times import DAY_SECONDS, format_microseconds, format_minute
from looseleaf.values import FrozenDict, as_dict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.services import WorkspaceServices
    from looseleaf.features.chat.session import Session, Sessions
    from looseleaf.features.workflows.jobs.queue import Jobs
    from looseleaf.settings import Settings


SCHEDULE, MANUAL = "schedule", "manual"  # what started a run


@value
class TaskPrompt:
    """A text that a task gives to a model, and that people may replace.

    Fields:
        key: The name of the prompt in its task.
        label: The name for people.
        description: What the prompt is for, in one sentence.
        default: The text if nobody replaced it.
        variables: The placeholders, `{{name}}`, each with what it stands for.
        required: The texts without which the task cannot work.
    """

    key: str
    label: str
    description: str
    default: str
    variables: Mapping[str, str] = FrozenDict()
    required: tuple[str, ...] = ()


@value(kw_only=True)
class TaskRun:
    """All that one run of a task is given.

    Fields:
        id: The id of the run.
        parts: The parts of the workspace.
        settings: The settings, with those that were changed while running.
        agent: The agent that the run is for; None for a task of the whole workspace.
        params: The parameters of the run.
        trigger: What started the run: schedule or manual.
        surface: The surface by which it was started.
        prompt: Gives the text of a prompt by its key.
        is_cancelled: Says whether the run is to end; a long run asks now and then.
    """

    id: str
    parts: WorkspaceServices
    settings: Settings
    agent: AgentRecord | None
    params: Mapping[str, Any]
    trigger: str
    surface: str
    prompt: Callable[[str], str]
    is_cancelled: Callable[[], bool]


@value
class TaskResult:
    """The result of one run.

    Fields:
        status: One word of the task's own, such as skipped or compacted.
        reason: Why, in one sentence.
        is_failure: Whether the run did not do what it is for.
        is_retryable: Whether a failure passes by itself, so that a later attempt may succeed.
        details: Figures and texts, as plain JSON.
    """

    status: str
    reason: str = ""
    is_failure: bool = False
    is_retryable: bool = False
    details: Mapping[str, Any] = FrozenDict()


@value(kw_only=True)
class SystemTask:
    """A task that can be scheduled, and run by hand if it says so.

    Fields:
        type: The word by which schedules and people name it.
        label: The name for people.
        description: What it does, in one sentence.
        run: The function that does it.
        setting: The setting that switches it on, or "" if it is always on.
        trigger: The schedule, for people, or "" if only people run it.
        supports_run: Whether people may run it now.
        per_agent: Whether a run is for one agent.
        params: The parameters that a run takes, each with what it means.
        prompts: The prompts that people may replace.
        attention: The statuses that people should look at when they repeat.
        permission: The permission that is needed to run it by hand.
        owner: The plugin that registered it.
    """

    type: str
    label: str
    description: str
    run: Callable[[TaskRun], TaskResult]
    setting: str = ""
    trigger: str = ""
    supports_run: bool = False
    per_agent: bool = True
    params: Mapping[str, str] = FrozenDict()
    prompts: tuple[TaskPrompt, ...] = ()
    attention: tuple[str, ...] = ("failed",)
    permission: str = "settings"
    owner: str = OWNER

    def is_enabled(self, settings: Settings) -> bool:
        """Return whether the settings switch the task on."""
        is_on = bool(getattr(settings, self.setting)) if self.setting else True
        return is_on and self.type not in settings.system_tasks_off

    def prompt(self, key: str) -> TaskPrompt | None:
        """Find a prompt by its key."""
        return next((prompt for prompt in self.prompts if prompt.key == key), None)


class SystemTasks(NamedRegistry):
    """The system tasks of one workspace."""

    noun, hook = "system task", "register_system_tasks"

    def __init__(self, setting_names: Iterable[str]) -> None:
        super().__init__()
        self.setting_names = frozenset(setting_names)

    def register(self, task: SystemTask, *, owner: str = "") -> SystemTask:
        """Add a task, or refuse one that could not run."""
        self._refuse_if_frozen(task.type)
        check_word(task.type, "task's type")
        if task.type in self._entries:
            raise InvalidTask(task.type, "there is one of that type; deregister it first")
        if task.setting and task.setting not in self.setting_names:
            raise InvalidTask(task.type, f"there is no setting {task.setting!r}")
        keys = [prompt.key for prompt in task.prompts]
        if len(set(keys)) < len(keys):
            raise InvalidTask(task.type, "two of its prompts have the same key")
        self._entries[task.type] = replace(task, owner=owner) if owner else task
        return self._entries[task.type]  # type: ignore[no-any-return]

    def get(self, task_type: str) -> SystemTask:
        """Return a task, or raise `TaskMissing` with the types there are."""
        task: SystemTask | None = self._entries.get(task_type)
        if task is None:
            raise TaskMissing(task_type, tuple(sorted(self._entries)))
        return task

    def all(self) -> tuple[SystemTask, ...]:
        """Return every task, by type."""
        return tuple(self._entries[name] for name in sorted(self._entries))


# The activity of a day: the agent's own jobs and conversations, as the prompt lists them.


DAILY_MEMORY_TYPE = "daily_memory_generation"
RETENTION_PREFIX = "retention_"
_MOST_JOBS = 500
_PAGE = 100
_MOST_SESSIONS = 500
_LONGEST_TITLE = 120


def format_activity(date: str, jobs: Iterable[str], sessions: Iterable[str]) -> str:
    """Write the section of the prompt, or "" if nothing happened."""
    parts = []
    for title, lines in (
        (f"## Jobs completed on {date}", list(jobs)),
        (f"## Chat sessions on {date}", list(sessions)),
    ):
        if lines:
            parts.append("\n".join((title, *lines)))
    return "## Today's Activity\n\n" + "\n\n".join(parts) + "\n" if parts else ""


def list_job_lines(jobs: Jobs, agent_id: int, date: str) -> list[str]:
    """List the jobs of an agent that were created on a day, oldest first.

    The jobs of upkeep are left out: they run every day, even if nothing else happened.
    """
    day = parse_date(date)
    if day is None:
        return []
    start, end = day.timestamp, day.timestamp + DAY_SECONDS
    of_day = JobFilter(agent_ids=(agent_id,), created_from=start, created_until=end)
    page, _total = jobs.list(of_day, limit=_MOST_JOBS)
    return [
        f"- [{job.source}] {_shorten(job.label) or f'Job #{job.id}'}: {_shorten(job.status_text)}"
        for job in reversed(page)
        if not is_upkeep(job.task_type)
    ]


def is_upkeep(task_type: str) -> bool:
    """Return whether a task is upkeep, which is no activity of the agent."""
    return task_type == DAILY_MEMORY_TYPE or task_type.startswith(RETENTION_PREFIX)


def list_session_lines(sessions: Sessions, agent_id: int, date: str) -> list[str]:
    """List the conversations that an agent began on a day, oldest first."""
    day = parse_date(date)
    if day is None:
        return []
    start, end = day.timestamp, day.timestamp + DAY_SECONDS
    selection: list[Session] = []
    for offset in range(0, _MOST_SESSIONS, _PAGE):
        page, _total = sessions.list(agents=[agent_id], limit=_PAGE, offset=offset)
        selection += [session for session in page if start <= session.created < end]
        # Sorted by last use, newest first: later pages have only sessions from before the day.
        if len(page) < _PAGE or page[-1].updated < start:
            break
    selection.sort(key=lambda session: session.created)
    return [
        f"- [{session.mode}] {_shorten(session.title) or 'Untitled session'}"
        for session in selection
    ]


def _shorten(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_TITLE]


# Records of upkeep: small JSON files below `.looseleaf/upkeep`.


FOLDER = "upkeep"
SUFFIX = record_folder.SUFFIX


class UpkeepRecords(record_folder.RecordFolder):
    """One folder of records of upkeep, each a JSON object by name."""

    def __init__(self, root: str, *segments: str) -> None:
        super().__init__(root, FOLDER, *segments)


# Runs of system tasks: each leaves a record that says how it ended, and is kept for a while.


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
            raise TaskRunMissing(run, "this agent" if agent_id else "the workspace")
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


# The condition of system tasks: which are overdue, and which fail or are refused repeatedly.


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


# Prompts of system tasks that people replaced: kept in one file, checked before they are used.


_FILE = "prompts"
LONGEST_PROMPT = 100_000


@value(kw_only=True)
class PromptInfo:
    """A prompt of a task as it is in force.

    Fields:
        task_type: The task.
        prompt_key: The name of the prompt in its task.
        label: The name for people.
        description: What the prompt is for.
        variables: The placeholders, each with what it stands for.
        required: The texts that a replacement must have.
        default: The text if nobody replaced it.
        has_override: Whether it was replaced.
        override: The replacement, or "" if there is none.
        effective: The text in force.
        effective_source: override or builtin.
        effective_hash: The sha256 of the text in force.
    """

    task_type: str
    prompt_key: str
    label: str
    description: str
    variables: Mapping[str, str]
    required: tuple[str, ...]
    default: str
    has_override: bool
    override: str
    effective: str
    effective_source: str
    effective_hash: str


class TaskPrompts:
    """The prompts of all tasks, with the texts that replace them."""

    def __init__(self, root: str) -> None:
        self._records = UpkeepRecords(root)

    def text(self, task: SystemTask, key: str) -> str:
        """Return the text of a prompt that is in force."""
        return self.overrides().get(task.type, {}).get(key) or _find(task, key).default

    def info(self, task: SystemTask, key: str) -> PromptInfo:
        """Describe a prompt."""
        prompt = _find(task, key)
        override = self.overrides().get(task.type, {}).get(key, "")
        effective = override or prompt.default
        return PromptInfo(
            task_type=task.type,
            prompt_key=key,
            label=prompt.label,
            description=prompt.description,
            variables=dict(prompt.variables),
            required=prompt.required,
            default=prompt.default,
            has_override=bool(override),
            override=override,
            effective=effective,
            effective_source="override" if override else "builtin",
            effective_hash=hash_content(effective.encode()),
        )

    def list(self, tasks: Iterable[SystemTask]) -> list[PromptInfo]:
        """Describe every prompt."""
        return [self.info(task, prompt.key) for task in tasks for prompt in task.prompts]

    def set(self, task: SystemTask, key: str, text: str) -> PromptInfo:
        """Replace a prompt, or raise `InvalidPrompt` if the task could not use it."""
        check_prompt(task, _find(task, key), text)
        with self._records.lock():
            overrides = self.overrides()
            overrides.setdefault(task.type, {})[key] = text
            self._records.write(_FILE, overrides)
        return self.info(task, key)

    def reset(self, task: SystemTask, key: str) -> PromptInfo:
        """Remove a replacement."""
        _find(task, key)
        with self._records.lock():
            overrides = self.overrides()
            if overrides.get(task.type, {}).pop(key, None) is not None:
                overrides = {name: texts for name, texts in overrides.items() if texts}
                self._records.write(_FILE, overrides)
        return self.info(task, key)

    def overrides(self) -> dict[str, dict[str, str]]:
        """Return every replacement by task and key."""
        return self._records.read(_FILE) or {}


def check_prompt(task: SystemTask, prompt: TaskPrompt, text: str) -> None:
    """Raise `InvalidPrompt` if a text lacks a placeholder or marker that the task needs."""
    name = f"{task.type}/{prompt.key}"
    if not text.strip():
        raise InvalidPrompt(name, "it is empty; reset it to go back to the built-in text")
    if len(text) > LONGEST_PROMPT:
        raise InvalidPrompt(name, f"it has more than {LONGEST_PROMPT:,} characters")
    missing = [part for part in prompt.required if part not in text]
    if missing:
        raise InvalidPrompt(name, f"it lacks {', '.join(missing)}")


def _find(task: SystemTask, key: str) -> TaskPrompt:
    prompt = task.prompt(key)
    if prompt is None:
        raise TaskPromptMissing(task.type, key, tuple(prompt.key for prompt in task.prompts))
    return prompt
