"""Firing schedules: each time is fired once, by whichever server is first."""

from __future__ import annotations

from looseleaf.errors import LooseleafError, Refused
from looseleaf.times import format_time
from looseleaf.workflows.schedules.schedule import FAILING_REJECTIONS
from looseleaf.workflows.schedules.timing import find_first_time, find_next_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from looseleaf.workflows.job import Job
    from looseleaf.workflows.schedules.schedule import ScheduleEntry, ScheduleStates

    StartJobs = Callable[[ScheduleEntry, float, str], Iterable[Job]]


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
        jobs = list(self._start_jobs(entry, self._clock(), ""))
        if not jobs:
            raise Refused(f"The schedule {entry.id} runs for every agent, and there is none.")
        self._states.note_result(entry.id, job_id=jobs[-1].id)
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
