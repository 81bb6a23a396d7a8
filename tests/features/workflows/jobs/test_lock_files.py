"""A lock file is held by a living process, and free as soon as that is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from looseleaf.features.workflows.jobs.runtime import LockFiles

HOLD = """
import sys
from looseleaf.features.workflows.jobs.runtime import LockFiles
held = LockFiles(sys.argv[1], "locks").hold("worker")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_held_file_is_not_free_until_it_is_closed(tmp_path: Path) -> None:
    """Closing removes it; nobody knows of it then."""
    locks = LockFiles(str(tmp_path), ".looseleaf/workers")
    held = locks.hold("worker")
    assert locks.is_free("worker") is False
    assert (tmp_path / ".looseleaf/workers/worker").stat().st_mode & 0o777 == 0o600
    held.close()
    held.close()
    assert locks.is_free("worker") is None


def test_the_file_of_a_process_that_died_is_free(tmp_path: Path) -> None:
    """The system lets go of the lock."""
    locks = LockFiles(str(tmp_path), "locks")
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    assert locks.is_free("worker") is False
    process.kill()
    process.communicate()
    assert locks.is_free("worker") is True
    locks.remove("worker")
    assert locks.is_free("worker") is None
