"""Whatever a model answers, no line and no identifier is lost, altered, doubled or invented."""

from __future__ import annotations

import hashlib
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from looseleaf.features.upkeep.daily_task.gates import compute_maximum_size, compute_minimum_size
from tests.features.upkeep.daily_task.behaviors import BEHAVIORS, LIMITS, PERFECT
from tests.features.upkeep.daily_task.conftest import Upkeep
from tests.features.upkeep.daily_task.memories import build_memory
from tests.features.upkeep.daily_task.oracle import find_violations

FULL_MEMORIES = 300
FEW_MEMORIES = 3
FULL_SIZE = 300_000
FEW_SIZE = 40_000


class Tally(Counter[tuple[str, str]]):
    """How often each behavior ended how."""

    def share(self, names: object, statuses: tuple[str, ...]) -> float:
        """Return the share of runs of some behaviors that ended so."""
        runs = {key: count for key, count in self.items() if key[0] in set(names)}  # type: ignore[call-overload]
        good = sum(count for (_name, status), count in runs.items() if status in statuses)
        return good / max(sum(runs.values()), 1)

    def table(self) -> str:
        """Write the figures by behavior."""
        names = dict.fromkeys(name for name, _status in self)
        return "\n".join(
            f"{name:28}" + ", ".join(f"{s} {n}" for (b, s), n in sorted(self.items()) if b == name)
            for name in names
        )


def try_memory(folder: Path, number: int, seed: int, tally: Tally, largest: int) -> None:
    """Run every behavior over one memory, each on the same page."""
    rng = random.Random(f"{seed}-{number}")
    size = int(1000 * (largest / 1000) ** rng.random())
    page = build_memory(rng, size)
    upkeep = Upkeep(folder / f"memory-{number}", daily_memory_overflow_threshold=0)
    for name, behavior in BEHAVIORS.items():
        judge(upkeep, page, name, behavior(page, rng), tally)
    upkeep.workspace.close()


def judge(upkeep: Upkeep, page: str, name: str, reply: str | Exception, tally: Tally) -> None:
    """Run one behavior, and compare what is on disk with what was."""
    upkeep.page.write_bytes(page.encode())
    before = hashlib.sha256(page.encode()).hexdigest()
    journal = upkeep.journal()
    upkeep.model.replies = [reply]
    record = upkeep.run()
    text = upkeep.page.read_bytes().decode()
    archive = upkeep.journal().removeprefix(journal)
    tally[name, record.status] += 1
    if record.status == "compacted":
        assert find_violations(page, text, archive) == [], name
        original, size = len(page.encode()), len(text.encode())
        assert (
            compute_minimum_size(original, LIMITS) <= size <= compute_maximum_size(original, LIMITS)
        )
    else:
        assert hashlib.sha256(upkeep.page.read_bytes()).hexdigest() == before, (name, record)
        assert upkeep.journal() == journal


def test_no_behavior_loses_or_invents_anything(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few memories, every behavior: nothing lost; perfect answers accepted."""
    _with_activity(monkeypatch)
    tally = Tally()
    for number in range(FEW_MEMORIES):
        try_memory(tmp_path, number, seed, tally, FEW_SIZE)
    print(tally.table())  # noqa: T201 - figures that -rP shows
    assert tally.share(PERFECT, ("compacted", "unchanged")) >= 0.99
    assert tally.share({"refusal", "nothing", "JSON", "timeout"}, ("rejected", "failed")) == 1.0


@pytest.mark.slow
def test_the_whole_conservation_test(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 memories and every behavior, as promises.md says."""
    _with_activity(monkeypatch)
    tally = Tally()
    for number in range(int(os.environ.get("LOOSELEAF_MEMORIES") or FULL_MEMORIES)):
        try_memory(tmp_path, number, seed, tally, FULL_SIZE)
    print(tally.table())  # noqa: T201 - figures that -rP shows
    assert tally.share(PERFECT, ("compacted", "unchanged")) >= 0.99


def _with_activity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something have happened, so that small pages are looked at, too."""
    from looseleaf.features.upkeep.daily_task import task

    monkeypatch.setattr(
        task, "_describe_activity", lambda *_a: "## Today's Activity\n\n- [chat] Talk\n"
    )
