"""The jobs that a worker runs now: a thread for each, and the requests of people."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

THREAD_NAME = "looseleaf-job"
_STRAY_LOOKS = 2  # a job that is seen so often without a thread is a stray


class RunningJobs:
    """The jobs of one worker, each in a thread of its own; `on_end` is called after each."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._condition = threading.Condition()
        self._requested_actions: dict[int, str] = {}  # of the jobs that run
        self._looks: dict[int, int] = {}  # jobs of this worker that were seen without a thread

    def start(self, job_id: int, run_job: Callable[[int], None]) -> None:
        """Run a job in a new thread, unless a thread runs the job already."""
        with self._condition:
            if job_id in self._requested_actions:
                return
            self._requested_actions[job_id] = ""
        name = f"{THREAD_NAME}-{job_id}"
        thread = threading.Thread(target=self._run, args=(job_id, run_job), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no thread left; the job is found as a stray
            self._end(job_id)
            raise

    def _run(self, job_id: int, run_job: Callable[[int], None]) -> None:
        try:
            run_job(job_id)
        finally:
            self._end(job_id)
            self._on_end()

    def _end(self, job_id: int) -> None:
        with self._condition:
            del self._requested_actions[job_id]
            self._condition.notify_all()

    def count(self) -> int:
        """Return the number of jobs."""
        return len(self._requested_actions)

    def find_requested_action(self, job_id: int) -> str:
        """Return the request of people for a job: cancel, pause or ""."""
        return self._requested_actions.get(job_id, "")

    def set_requested_actions(self, actions: Mapping[int, str]) -> None:
        """Record the requests of people for the jobs."""
        with self._condition:
            for job_id in self._requested_actions:
                self._requested_actions[job_id] = actions.get(job_id, "")

    def find_strays(self, jobs: Collection[int]) -> tuple[int, ...]:
        """Return the jobs of this worker that had no thread at two checks in a row."""
        with self._condition:
            lone = [job_id for job_id in jobs if job_id not in self._requested_actions]
            self._looks = {job_id: self._looks.get(job_id, 0) + 1 for job_id in lone}
            return tuple(job for job, looks in self._looks.items() if looks >= _STRAY_LOOKS)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no thread runs a job; return whether that was in time."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._requested_actions, seconds)
