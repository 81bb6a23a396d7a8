"""Schedules: their work, times and state, how they fire, and those that plugins register."""

from __future__ import annotations

from zlib import crc32

from cronsim import CronSim, CronSimError

from looseleaf.errors import LooseleafError, Refused
from looseleaf.errors.features import InvalidSchedule
from looseleaf.memory.registry import NamedRegistry, check_word
from looseleaf.times import DAY_SECONDS, convert_to_zone, format_time, parse_duration, parse_time
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
    from typing import Any, Literal, Protocol, TypeAlias

    from looseleaf.features.workflows.jobs.job import Job
    from looseleaf.features.workflows.jobs.queue import Jobs

    Ensured = Literal["created", "preserved", "replaced"]

    StartJobs: TypeAlias = "Callable[[ScheduleEntry, float, str], Iterable[Job]]"
else:
    Protocol = object


# The jobs and schedules of a workspace as operations reach them, without a worker.


class WorkflowJobs(Protocol):
    """The jobs of a workspace, and the schedules that start them."""

    @property
    def jobs(self) -> Jobs:
        """The jobs."""

    @property
    def schedule_states(self) -> ScheduleStates:
        """The states of all schedules."""

    @property
    def schedule_firing(self) -> ScheduleFiring:
        """The object that starts the jobs of schedules."""


# Time plans: keys of intervals, cron expressions, one time; and the next times of each.
# Intervals keep their phase: the next run is a whole number of intervals after the first one,
# even if runs in between were late. Cron expressions are read in the time zone of the site.


MANUAL, ONE_TIME, CRON = "manual", "one_time", "cron"
SPECIAL = (MANUAL, ONE_TIME, CRON)
INTERVALS: dict[str, int] = {
    "every_5_minutes": 300,
    "hourly": 3_600,
    "every_2_hours": 7_200,
    "every_4_hours": 14_400,
    "qtrdaily": 21_600,
    "twicedaily": 43_200,
    "daily": DAY_SECONDS,
    "every_3_days": 3 * DAY_SECONDS,
    "weekly": 7 * DAY_SECONDS,
    "monthly": 30 * DAY_SECONDS,
}
ALIASES = {"every_6_hours": "qtrdaily", "every_12_hours": "twicedaily"}
_CRON_WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LONGEST_PLAN = 200
_WIDEST_STAGGER = 3_600


@value
class Timing:
    """A checked time plan; `cron` and `at` are set for the intervals of these names only.

    Fields:
        interval: The key of an interval, a duration such as 6h, or manual, one_time, cron.
        cron: With cron: the expression, five fields, or six with seconds first.
        at: With one_time: the time in seconds since 1970.
    """

    interval: str = MANUAL
    cron: str = ""
    at: float = 0.0

    @property
    def seconds(self) -> int:
        """The seconds between two runs, or 0 if it is no interval."""
        return INTERVALS.get(self.interval) or parse_duration(self.interval)

    @property
    def is_manual(self) -> bool:
        """Whether nothing runs by itself."""
        return self.interval == MANUAL

    def describe(self) -> str:
        """Return when it runs, in a word or two."""
        return f"cron {self.cron}" if self.interval == CRON else self.interval


def read_timing(interval: str, *, cron: str = "", at: float | str = 0.0) -> Timing:
    """Check a time plan and return it in its usual form, or raise `InvalidSchedule`.

    `interval` may also be a cron expression.
    """
    if len(interval) > _LONGEST_PLAN:
        raise InvalidSchedule(interval[:40], f"it is longer than {_LONGEST_PLAN} characters")
    interval = ALIASES.get(interval, interval)
    if _looks_like_cron(interval):
        interval, cron = CRON, interval
    if interval == CRON:
        return Timing(CRON, cron=check_cron(cron))
    if interval == ONE_TIME:
        return Timing(ONE_TIME, at=_read_time(at))
    if interval != MANUAL and not INTERVALS.get(interval) and not parse_duration(interval):
        keys = ", ".join(sorted((*INTERVALS, *ALIASES, *SPECIAL)))
        reason = f"available: {keys}, a number with s, m, h, d or w, or a cron expression"
        raise InvalidSchedule(interval, reason)
    return Timing(interval)


def check_cron(expression: str) -> str:
    """Return a cron expression of five or six fields, or raise `InvalidSchedule`."""
    if not expression:
        raise InvalidSchedule(CRON, "cron needs an expression such as '30 3 * * *'")
    if len(expression) > _LONGEST_PLAN:
        raise InvalidSchedule(expression[:40], f"it is longer than {_LONGEST_PLAN} characters")
    if expression.startswith("@") and expression not in _CRON_WORDS:
        words = ", ".join(sorted(_CRON_WORDS))
        raise InvalidSchedule(expression, f"the words are {words}")
    fields = _CRON_WORDS.get(expression, expression).replace("?", "*")
    try:
        next(CronSim(fields, convert_to_zone(0.0)))
    except CronSimError as error:
        reason = f"{str(error).lower()}: five fields of cron, or six with seconds first"
        raise InvalidSchedule(expression, reason) from None
    except StopIteration:
        raise InvalidSchedule(expression, "it names no day that there is") from None
    return " ".join(fields.split())


def _looks_like_cron(text: str) -> bool:
    return text.startswith("@") or len(text.split()) in {5, 6}


def _read_time(at: float | str) -> float:
    if not at:
        raise InvalidSchedule(ONE_TIME, "one_time needs a time such as 2026-04-17T09:30Z")
    if isinstance(at, str):
        try:
            return parse_time(at)
        except ValueError:
            raise InvalidSchedule(
                ONE_TIME, f"{at!r} is no time such as 2026-04-17T09:30Z"
            ) from None
    return float(at)


def compute_stagger(seed: int, interval: int) -> int:
    """Return the delay that spreads the first runs of many schedules, or 0 for seed 0."""
    span = min(interval, _WIDEST_STAGGER)
    return crc32(f"datamachine_stagger_{seed}".encode()) % span if seed and span > 0 else 0


def find_first_time(
    timing: Timing, now: float, *, zone: str = "UTC", seed: int = 0
) -> float | None:
    """Return the first time of a new plan, or None if nothing runs by itself."""
    if timing.seconds:
        return float(int(now)) + compute_stagger(seed, timing.seconds)
    if timing.interval == ONE_TIME:
        return timing.at
    return next(_iterate_cron_times(timing, now, zone), None)


def find_next_time(timing: Timing, due: float, now: float, *, zone: str = "UTC") -> float | None:
    """Return the next time after one that was due, later than now; missed times are skipped."""
    if timing.seconds:
        missed_count = max(0, int((now - due) // timing.seconds))
        return due + (missed_count + 1) * timing.seconds
    if timing.interval == ONE_TIME:
        return None
    return next(_iterate_cron_times(timing, max(due, now), zone), None)


def list_times(timing: Timing, start: float, count: int, *, zone: str = "UTC") -> tuple[float, ...]:
    """Return the next times of a plan, beginning with a known one."""
    times = [start]
    while len(times) < count:
        later = find_next_time(timing, times[-1], times[-1], zone=zone)
        if later is None:
            break
        times.append(later)
    return tuple(times)


def _iterate_cron_times(timing: Timing, after: float, zone: str) -> Iterator[float]:
    if timing.interval == CRON:
        for moment in CronSim(timing.cron, convert_to_zone(after, zone)):
            yield moment.timestamp()


FLOW, TASK = "flow", "task"
FAILING_REJECTIONS = 3  # in a row, before people are told


@value(kw_only=True)
class ScheduleEntry:
    """A schedule as a flow or a plugin declares it.

    Fields:
        id: `flow:` and the id of a flow, or `task:` and the name of a schedule.
        label: The name for people.
        timing: When it runs.
        zone: The time zone of a cron expression.
        flow_id: The flow; 0 for a task.
        task_type: The task; "" for a flow.
        params: The parameters of the task.
        per_agent: Whether the task runs for every agent.
        agent_id: The agent of the flow; 0 for a task.
        is_enabled: Whether flow or settings switch it on.
        owner: The plugin that registered it.
    """

    id: str
    label: str
    timing: Timing
    zone: str = "UTC"
    flow_id: int = 0
    task_type: str = ""
    params: Mapping[str, Any] = FrozenDict()
    per_agent: bool = False
    agent_id: int = 0
    is_enabled: bool = True
    owner: str = ""

    @property
    def is_active(self) -> bool:
        """Whether the schedule runs by itself."""
        return self.is_enabled and not self.timing.is_manual

    @property
    def stagger_seed(self) -> int:
        """The number that spreads the first runs of flows; tasks begin at once."""
        return self.flow_id


@value(kw_only=True)
class ScheduleState:
    """The state of a schedule.

    Fields:
        id: The id of the schedule.
        next_run: The next time, or None if the schedule has no further run.
        last_run: The time of the last run; 0 before the first.
        last_job: The newest job; 0 before the first.
        is_paused: Whether a person paused the schedule.
        rejections: The number of runs in a row that could not be started.
        problem: The reason why the last run could not be started, or "" if it was.
    """

    id: str
    next_run: float | None
    last_run: float = 0.0
    last_job: int = 0
    is_paused: bool = False
    rejections: int = 0
    problem: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether a person should look at it."""
        return self.rejections >= FAILING_REJECTIONS


class ScheduleStates(Protocol):
    """The states of all schedules, shared by all servers."""

    def ensure(self, entry: ScheduleEntry, first_run: float | None) -> Ensured:
        """Keep the state of an unchanged schedule; for a new or changed one, set the first run."""

    def keep_only(self, ids: Collection[str]) -> int:
        """Delete all other schedules; return how many there were."""

    def due(self, now: float) -> list[ScheduleState]:
        """Return the schedules that are due and not paused, the longest due first."""

    def advance(self, schedule_id: str, due: float, next_run: float | None) -> bool:
        """Move on from a time that was due; return False if another server was faster."""

    def note_result(
        self, schedule_id: str, *, job_id: int = 0, problem: str = "", time: float = 0.0
    ) -> int:
        """Record a started job, or why there is none; return the rejections in a row.

        `time` is that of a run by hand; a run at its own time has it already.
        """

    def pause(self, schedule_id: str, *, is_paused: bool) -> bool:
        """Pause a schedule or let it go on; return False if there is none."""

    def list(self) -> dict[str, ScheduleState]:
        """Return every state, by id."""


# Firing schedules: each time is fired once, by whichever server is first.


class ScheduleRejected(LooseleafError):
    """A schedule could not start its jobs several times in a row."""

    code = "schedule_rejected"


class ScheduleFiring:
    """Starts the jobs of schedules that are due.

    `start_jobs` is given an entry, the time that was due, and a key of that time, which makes a
    second start of the same time find the jobs of the first one.
    """

    def __init__(
        self,
        states: ScheduleStates,
        list_entries: Callable[[], Iterable[ScheduleEntry]],
        start_jobs: StartJobs,
        *,
        clock: Callable[[], float],
        report: Callable[[str, Exception], None],
    ) -> None:
        self._states, self._list_entries, self._start_jobs = states, list_entries, start_jobs
        self._clock, self._report = clock, report
        self._entries: dict[str, ScheduleEntry] = {}

    def reconcile(self) -> tuple[ScheduleEntry, ...]:
        """Align the stored schedules with flows and plugins, and return the entries."""
        entries = tuple(self._list_entries())
        self._entries = {entry.id: entry for entry in entries}
        now = self._clock()
        for entry in entries:
            if entry.is_active:
                first = find_first_time(entry.timing, now, zone=entry.zone, seed=entry.stagger_seed)
                self._states.ensure(entry, first)
        self._states.keep_only([entry.id for entry in entries if entry.is_active])
        return entries

    def fire_due(self) -> int:
        """Start the jobs that are due, and return the number of schedules that fired."""
        now = self._clock()
        count = 0
        for state in self._states.due(now):
            entry = self._entries.get(state.id)
            if entry is None or state.next_run is None:
                self.reconcile()
                entry = self._entries.get(state.id)
            if entry is None or not entry.is_active or state.next_run is None:
                continue
            # The key of the time makes a second start find the jobs of the first one, so that they
            # can be started before the schedule moves on: a server that dies in between skips none.
            last_job, problem = self._start_due(entry, state.next_run)
            later = find_next_time(entry.timing, state.next_run, now, zone=entry.zone)
            if self._states.advance(state.id, state.next_run, later):
                self._note_result(entry, last_job, problem)
                count += 1
        return count

    def run_now(self, entry: ScheduleEntry) -> list[Job]:
        """Start the jobs of a schedule now; its next time stays as it is."""
        now = self._clock()
        jobs = list(self._start_jobs(entry, now, ""))
        if not jobs:
            raise Refused(f"The schedule {entry.id} runs for every agent, and there is none.")
        self._states.note_result(entry.id, job_id=jobs[-1].id, time=now)
        return jobs

    def _start_due(self, entry: ScheduleEntry, due: float) -> tuple[int, str]:
        """Start the jobs of a time; return the id of the last one, or 0 and the reason."""
        try:
            jobs = list(self._start_jobs(entry, due, f"{entry.id}@{format_time(due)}"))
        except LooseleafError as error:
            return 0, str(error)
        return (jobs[-1].id, "") if jobs else (0, "there is no agent to run for")

    def _note_result(self, entry: ScheduleEntry, last_job: int, problem: str) -> None:
        rejections = self._states.note_result(entry.id, job_id=last_job, problem=problem)
        if rejections == FAILING_REJECTIONS:
            text = f"{entry.id} could not be started {rejections} times in a row: {problem}"
            self._report("The schedules", ScheduleRejected(text))


# Schedules that plugins register: which task runs when, for the workspace or for every agent.


@value(kw_only=True)
class TaskSchedule:
    """A task and when it runs.

    Fields:
        name: The name of the schedule.
        task: The type of a system task, or the name of an operation.
        when: A key of an interval such as daily, a duration such as 6h, or a cron expression.
        params: The parameters of the task, or the arguments of the operation.
        per_agent: Whether a run is started for every active agent.
        enabled: Whether it runs if no setting decides.
        setting: The setting that switches it on, or "" if none does.
        zone: The time zone of a cron expression; "" for that of the site.
        label: The name for people.
        owner: The plugin that registered it.
    """

    name: str
    task: str
    when: str
    params: Mapping[str, Any] = FrozenDict()
    per_agent: bool = False
    enabled: bool = True
    setting: str = ""
    zone: str = ""
    label: str = ""
    owner: str = ""


class TaskSchedules(NamedRegistry):
    """The schedules of one workspace."""

    noun, hook = "schedule", "register_schedules"

    def __init__(self, tasks: Container[str], setting_names: Container[str] = ()) -> None:
        super().__init__()
        self.tasks, self.setting_names = tasks, setting_names

    def register(
        self,
        name: str,
        task: str,
        when: str,
        *,
        params: Mapping[str, Any] | None = None,
        owner: str = "",
        **options: Any,  # noqa: ANN401 - the other fields of a schedule
    ) -> TaskSchedule:
        """Add a schedule, or raise `InvalidSchedule`."""
        self._refuse_if_frozen(name)
        check_word(name, "schedule's name")
        if name in self._entries:
            raise InvalidSchedule(name, "there is one of that name; deregister it first")
        if task not in self.tasks:
            raise InvalidSchedule(name, f"there is no task and no operation {task!r}")
        if not isinstance(params or {}, dict):
            raise InvalidSchedule(name, "its params are a dict")
        schedule = _build(name, task, when, dict(params or {}), {**options, "owner": owner})
        if schedule.setting and schedule.setting not in self.setting_names:
            raise InvalidSchedule(name, f"there is no setting {schedule.setting!r}")
        self._entries[name] = schedule
        return schedule

    def all(self) -> tuple[TaskSchedule, ...]:
        """Return every schedule, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))


def _build(
    name: str, task: str, when: str, params: dict[str, Any], options: dict[str, Any]
) -> TaskSchedule:
    if not isinstance(when, str):
        raise InvalidSchedule(name, f"{when!r} is not text")
    try:
        read_timing(when)
        schedule = TaskSchedule(name=name, task=task, when=when, params=params, **options)
    except InvalidSchedule as error:
        raise InvalidSchedule(name, f"{when!r} does not say when: {error.why}") from None
    except TypeError:
        option_names = "per_agent, enabled, setting, zone and label"
        raise InvalidSchedule(name, f"its options are {option_names}") from None
    if not {type(schedule.enabled), type(schedule.per_agent)} <= {bool}:
        raise InvalidSchedule(name, "enabled and per_agent are True or False")
    return schedule
