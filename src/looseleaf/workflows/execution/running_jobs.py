"""The jobs that a worker runs now: their threads, and the requests of people."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_STRAY_LOOKS = 2  # a job that is seen so often without a thread is a stray


class RunningJobs:
    """The jobs of one worker, from the claim to the release; used by several threads."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._wishes: dict[int, str] = {}  # of the jobs that are claimed or run
        self._threads: set[int] = set()  # the jobs that a thread runs
        self._looks: dict[int, int] = {}  # jobs of this worker that were seen without a thread
        self._ended_runs: list[str] = []

    def add(self, job_id: int) -> None:
        """Note that a thread is about to run a job."""
        with self._condition:
            self._wishes[job_id] = ""

    def count(self) -> int:
        """Return the number of jobs."""
        return len(self._wishes)

    def begin(self, job_id: int) -> bool:
        """Note that a thread runs a job; False where another thread does already."""
        with self._condition:
            if job_id in self._threads:
                return False
            self._threads.add(job_id)
            self._wishes.setdefault(job_id, "")
            return True

    def end(self, job_id: int, run_id: str) -> None:
        """Note that a run of a job has ended."""
        with self._condition:
            self._threads.discard(job_id)
            self._wishes.pop(job_id, None)
            self._ended_runs.append(run_id)
            self._condition.notify_all()

    def wish(self, job_id: int) -> str:
        """Return the request of people for a job: cancel, pause or ""."""
        return self._wishes.get(job_id, "")

    def set_wishes(self, wishes: Mapping[int, str]) -> None:
        """Note the requests of people for the jobs."""
        with self._condition:
            for job_id in self._wishes:
                self._wishes[job_id] = wishes.get(job_id, "")

    def find_strays(self, jobs: Collection[int]) -> tuple[int, ...]:
        """Name the jobs of this worker that had no thread at two checks in a row."""
        with self._condition:
            lone = [job_id for job_id in jobs if job_id not in self._wishes]
            self._looks = {job_id: self._looks.get(job_id, 0) + 1 for job_id in lone}
            return tuple(job for job, looks in self._looks.items() if looks >= _STRAY_LOOKS)

    def pop_ended_runs(self) -> tuple[str, ...]:
        """Return the runs that have ended since the last call."""
        with self._condition:
            run_ids, self._ended_runs = tuple(self._ended_runs), []
            return run_ids

    def put_back_runs(self, run_ids: Collection[str]) -> None:
        """Let the next call of `pop_ended_runs` return these runs again."""
        with self._condition:
            self._ended_runs.extend(run_ids)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no thread runs a job; False where that takes longer."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._threads, seconds)
