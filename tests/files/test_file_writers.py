"""A program that has a file open for writing is noticed, and waited for a while."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from looseleaf.files import mounts


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
def test_writers_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is open for writing is waited for until it is closed, and not for ever."""
    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(mounts, "WRITER_SECONDS", 60.0)
    with (tmp_path / "file").open("rb") as reading:
        writing = (tmp_path / "file").open("r+b")
        writing.write(b"new")
        timer = threading.Timer(0.05, writing.close)
        timer.start()
        mounts.wait_for_writers(reading.fileno())
        assert reading.read() == b"new"
        timer.join()
        assert not mounts.has_writers(reading.fileno())
        with (tmp_path / "file").open("ab"):
            assert mounts.has_writers(reading.fileno())
            monkeypatch.setattr(mounts, "WRITER_SECONDS", 0.01)
            mounts.wait_for_writers(reading.fileno())
    # A pipe can have no lease, and is not waited for.
    end, other = os.pipe()
    mounts.wait_for_writers(end)
    os.close(end)
    os.close(other)
