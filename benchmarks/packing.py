"""Packing: what a history takes up before and after, and what reading a packed version costs."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench
from benchmarks.table import Row, build_figure_row
from benchmarks.timing import Runner, Spread, race, summarize_laps
from looseleaf import Change, Scope, Workspace

GROUP = "pack"
SIZE_TARGET = 0.02
UNPACKED = "the same history, unpacked"
READ_SECONDS = 0.02
PROMISE = "20 ms, as promised"


def measure(bench: Bench) -> Iterator[Row]:
    """Edit a page of 8 KB as people do, in two places at a time, and pack its history."""
    workspace = Workspace.create(bench.folder / "packing", agent="alpha")
    scope = workspace.agents.resolve("alpha").shelf.page("MEMORY.md")
    count = bench.amount(2_000, 100)
    chance = random.Random(bench.seed)
    lines = workload.build_core_pages(seed=bench.seed)["MEMORY.md"].split("\n")
    for number in range(count):
        lines[0] = f"# Memory, revision {number}"
        lines[chance.randrange(2, len(lines))] = f"- fact {number}: {chance.random()}"
        workspace.pages.write(scope, "\n".join(lines), change=Change())
    yield from measure_packing(workspace, scope, f"{count} edits of 8 KB", bench, target=None)


def measure_packing(
    workspace: Workspace,
    scope: Scope,
    name: str,
    bench: Bench,
    *,
    target: float | None = SIZE_TARGET,
) -> Iterator[Row]:
    """Pack the history of a page; every version must be as it was."""
    history, root = workspace.history, Path(workspace.root)
    before = _count_bytes(root)
    start = time.perf_counter()
    result = history.pack(scope)
    seconds = time.perf_counter() - start
    after = _count_bytes(root)
    verdict = history.verify(scope)
    wrong = "; ".join(verdict.faults[:1])
    yield build_figure_row(
        GROUP, f"{name}, {result.versions} versions packed", seconds, unit="seconds"
    )
    yield Row(
        GROUP,
        f"{name}, versions and log",
        Spread(after, after),
        UNPACKED,
        Spread(before, before),
        after / before,
        target=target,
        unit="bytes",
        wrong=wrong,
    )
    numbers = random.Random(bench.seed)
    first = history.revisions(scope)[0].number

    def read() -> object:
        return history.content(scope, numbers.randrange(first, first + result.versions))

    [laps] = race(Runner(read), rounds=bench.amount(20, 5), batch=10)
    times = summarize_laps(laps)
    limit = Spread(READ_SECONDS, READ_SECONDS)
    ratio = times.p95 / READ_SECONDS
    yield Row(GROUP, f"{name}, read any packed version", times, PROMISE, limit, ratio, target=1.0)


def _count_bytes(root: Path) -> float:
    """Return what the histories take up, logs included."""
    paths = (root / ".looseleaf" / "history").rglob("*")
    return float(sum(path.stat().st_size for path in paths if path.is_file()))
