"""A schedule: its work and its times; and its state, which survives restarts."""

from __future__ import annotations

from looseleaf.values import FrozenDict, value
from looseleaf.workflows.schedules.timing import Timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, Literal, Protocol

    Ensured = Literal["created", "preserved", "replaced"]
else:
    Protocol = object

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

    def note_result(self, schedule_id: str, *, job_id: int = 0, problem: str = "") -> int:
        """Record a started job, or why there is none; return the rejections in a row."""

    def pause(self, schedule_id: str, *, is_paused: bool) -> bool:
        """Pause a schedule or let it go on; return False if there is none."""

    def list(self) -> dict[str, ScheduleState]:
        """Return every state, by id."""
