"""A worker is dead when its lock is free, or when its signs of life no longer grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from looseleaf.features.workflows.jobs.runtime import LockFiles
from looseleaf.features.workflows.jobs.worker import DeathWatch


class Beats:
    """The signs of life of workers, in a dictionary."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def beats(self) -> dict[str, int]:
        return dict(self.counts)


def test_silence_is_measured_by_a_steady_clock(tmp_path: Path) -> None:
    """A worker elsewhere is dead after so long without a new sign; one that goes on is not."""
    workers, now = Beats(), 100.0
    locks = LockFiles(str(tmp_path), "locks")
    watch = DeathWatch(cast("Any", workers), locks, 15.0, steady_clock=lambda: now)
    workers.counts = {"own": 1, "quiet": 7, "lively": 1}
    assert watch.find("own") == ()
    for _ in range(3):
        now += 6.0
        workers.counts["lively"] += 1
        dead = watch.find("own")
    assert dead == ("quiet",)
    workers.counts = {"own": 1}
    assert watch.find("own") == ()


def test_a_free_lock_tells_at_once(tmp_path: Path) -> None:
    """A held one tells that the worker lives, however quiet it is."""
    workers, now = Beats(), 0.0
    locks = LockFiles(str(tmp_path), "locks")
    watch = DeathWatch(cast("Any", workers), locks, 15.0, steady_clock=lambda: now)
    workers.counts = {"here": 1, "gone": 1}
    held, lost = locks.hold("here"), locks.hold("gone")
    assert watch.find("own") == ()
    Path(tmp_path, "locks", "copy").write_text("")
    lost.close()
    Path(tmp_path, "locks", "gone").write_text("")  # as a process leaves it that dies
    assert watch.find("own") == ("gone",)
    now += 100.0
    assert watch.find("own") == ("gone",)
    locks.remove("gone")
    held.close()
