"""A job in a process of its own, after a step has ended the process that ran it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

from looseleaf.errors import Locked, Unavailable
from looseleaf.errors.features import JobLost
from looseleaf.features.workflows.jobs.queue import JobLease
from looseleaf.features.workflows.jobs.run import CANNOT_RUN
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMAND = (sys.executable, "-P", "-m", "looseleaf.features.workflows.jobs.job_process")
_STDERR = 2
_LOOK_SECONDS = 0.2
_STOP = b"stop"


def run_in_process(command: Sequence[str], lease: JobLease, is_stopping: Callable[[], bool]) -> int:
    """Run the rest of a job by a command and the fields of its lease; return the exit code.

    The standard input of the process tells it to stop, and ends with this process, so that the
    process does not outlive its worker. It finds plugins where this process does.
    """
    arguments = [*command, str(lease.job_id), lease.worker, str(lease.run), *sys.path]
    try:
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=_STDERR)
    except OSError:
        return CANNOT_RUN
    with process:
        is_told = False
        while True:
            try:
                return process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                if is_stopping() and not is_told:
                    is_told = True
                    _tell(process, _STOP)


def _tell(process: subprocess.Popen[bytes], word: bytes) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(word)
        process.stdin.flush()
    except BrokenPipeError:
        return  # it has ended


def follow_worker() -> threading.Event:
    """Return the event of a stop, told by the worker or the system; end with the worker."""
    stop_event = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the worker, which tells this
    signal.signal(signal.SIGTERM, lambda *_: stop_event.set())

    def follow() -> None:
        while os.read(0, len(_STOP)):
            stop_event.set()
        os._exit(CANNOT_RUN)

    threading.Thread(target=follow, name="looseleaf-follow", daemon=True).start()
    return stop_event


def main(root: str, job_id: str, worker: str, run: str, *paths: str) -> int:
    """Run the rest of a job of a workspace; return the exit code."""
    stop_event = follow_worker()
    sys.path += [path for path in paths if path not in sys.path]
    try:
        with Workspace.open(root) as workspace:
            held = JobLease(int(job_id), worker, int(run))
            jobs_of(workspace).run_leased(held, stop_event.is_set)
    except JobLost:
        return 0  # another worker has it
    except (Unavailable, Locked) as error:
        Workspace.report(f"The job {job_id} cannot be run", error)
        return CANNOT_RUN
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
