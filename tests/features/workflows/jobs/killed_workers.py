"""Workers that are killed at any point of a job: `python -m … ROOT`, one line of input for each.

A line is the number of points that a worker passes before it dies; `end` lets the worker live until
nothing is due. The answer is a line, too: the point at which the worker died, or how it ended. A
point lies before and after every act of the queue, every step, every statement and every commit of
the database, and every rename and sync of a file.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from looseleaf import Workspace
from looseleaf.features.workflows.jobs import runtime, sql_jobs
from looseleaf.features.workflows.jobs.run import JobRun
from looseleaf.features.workflows.jobs.sql_queue import SqlJobQueue
from looseleaf.features.workflows.jobs.worker import THREAD_NAME, RunningJobs, WorkerOptions
from looseleaf.features.workflows.parts import jobs_of

QUICK = WorkerOptions(poll_seconds=0.05, beat_seconds=0.2)
ACTS = ("take", "begin_step", "end_step", "release", "note_cleared")
EARLY = {"after a claim": 2, "after a start": 4}  # lives of so few points end there
LONGEST_LIFE = 1_200  # seconds; a worker that does not end is a failure of the test


class Points:
    """Counts the points that a worker passes from its first job on, and kills it at one of them."""

    def __init__(self, limit: int | None, answer: int) -> None:
        self._limit, self._answer = limit, answer
        self.count = 0
        self._is_counting = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Count from now on."""
        self._is_counting = True

    def pass_by(self, label: str) -> None:
        """Count a point of a thread that runs a job, and die there if it is the one."""
        is_of_job = threading.current_thread().name.startswith(THREAD_NAME)
        if not self._is_counting or self._limit is None or not is_of_job:
            return
        with self._lock:
            self.count += 1
            if self.count > self._limit:
                self._die(label)

    def die_early(self, label: str) -> None:
        """Die at a point before the first thread runs a job, if the life is to be that short."""
        if self._limit is not None and self._limit < EARLY.get(label, 0):
            self._die(label)

    def _die(self, label: str) -> None:
        os.write(self._answer, f"killed at {label}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)

    def surround(self, owner: Any, name: str) -> None:  # noqa: ANN401 - a class or a module
        """Put a point before and after a function."""
        function: Callable[..., Any] = getattr(owner, name)

        def pass_points(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as the function has it
            self.pass_by(f"before {name}")
            result = function(*arguments, **options)
            if name == "take":
                self.begin()
            self.pass_by(f"after {name}")
            return result

        setattr(owner, name, pass_points)


def set_points(points: Points) -> None:
    """Put the points into everything that a job passes."""
    claim, start = SqlJobQueue.claim, RunningJobs.start

    def claim_job(queue: SqlJobQueue, *arguments: Any) -> Any:  # noqa: ANN401 - as there
        hold = claim(queue, *arguments)
        if hold is not None:
            points.die_early("after a claim")
        return hold

    def start_job(jobs: RunningJobs, *arguments: Any) -> None:  # noqa: ANN401 - as there
        start(jobs, *arguments)
        points.die_early("after a start")

    SqlJobQueue.claim = claim_job  # type: ignore[method-assign,assignment]
    RunningJobs.start = start_job  # type: ignore[method-assign,assignment]
    for name in ACTS:
        points.surround(SqlJobQueue, name)
    # A job whose worker has died runs in a worker again, where there are points.
    sql_jobs._has_precedent = lambda *_arguments: False
    for name in ("_run_step", "_attempt"):
        points.surround(JobRun, name)
    for name in ("fsync", "rename", "link"):
        points.surround(os, name)
    sa.event.listen(
        sa.Engine, "before_cursor_execute", lambda *_: points.pass_by("before a statement")
    )
    sa.event.listen(
        sa.Engine, "after_cursor_execute", lambda *_: points.pass_by("after a statement")
    )
    sa.event.listen(sa.Engine, "commit", lambda *_: points.pass_by("before a commit"))


def work(root: str, limit: int | None, answer: int) -> None:
    """Run a worker until it is killed or nothing is due."""
    signal.alarm(LONGEST_LIFE)
    points = Points(limit, answer)
    set_points(points)
    runtime._read_options = lambda _settings: QUICK  # type: ignore[assignment]
    workspace = Workspace.open(root)
    worker = jobs_of(workspace).start_worker()
    worker.wait_until_drained()
    workspace.close()
    os.write(answer, f"ended after {points.count}\n".encode())


def main(root: str) -> None:
    """Fork a worker for each line; the imports are done once."""
    for line in sys.stdin:
        limit = None if line.strip() == "end" else int(line)
        read_end, write_end = os.pipe()
        child = os.fork()
        if not child:
            os.close(read_end)
            work(root, limit, write_end)
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as answers:
            answer = answers.readline().strip()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in {0, -signal.SIGKILL}:
            answer = f"died of {code} {answer}"
        print(answer, flush=True)  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
