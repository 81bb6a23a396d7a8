"""Crowding: eight processes that change one page at the same time, and lose nothing."""

from __future__ import annotations

import fcntl
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.packing import SIZE_TARGET, measure_packing
from benchmarks.reading import read_usual
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Laps
from benchmarks.writing import replace_durably
from looseleaf import Change, Conflict, Workspace

GROUP = "crowd"
WRITERS = 8
LIMIT = "flock, read, write, fsync, rename, fsync"
_START = "# Crowd\n\n## Lines\n\n"

LineWriter = Callable[[str], None]


def measure(bench: Bench) -> Iterator[Row]:
    """Append from eight processes, then let them replace the page in competition."""
    rounds, batch = bench.amount((5, 200), (2, 50))
    yield from _measure_crowd(bench, "append", open_appender, rounds=rounds, batch=batch)
    yield from _measure_crowd(bench, "replace", open_replacer, rounds=rounds, batch=batch // 5)


def _measure_crowd(
    bench: Bench, act: str, open_writer: Callable[[str], LineWriter], *, rounds: int, batch: int
) -> Iterator[Row]:
    root, count = bench.folder / f"crowding-{act}", rounds * batch
    workspace = Workspace.create(root, agent="alpha")
    scope = workspace.agents.resolve("alpha").shelf.page("crowd.md")
    workspace.pages.write(scope, _START, change=Change())
    (root / "bare").write_text(_START, encoding="utf-8")
    our_laps: Laps = []
    limit_laps: Laps = []
    for lap in range(rounds):
        for candidate, laps in ((open_writer, our_laps), (open_bare_appender, limit_laps)):
            numbers = range(lap * batch, (lap + 1) * batch)
            laps.append([_run_writers(candidate, str(root), numbers) / (WRITERS * batch)])
    wrong = _find_fault(workspace.pages.text(scope), count)
    wrong = wrong or _find_fault((root / "bare").read_text(encoding="utf-8"), count)
    name = f"{act}, {WRITERS} processes × {count}"
    yield build_row(GROUP, f"{name}, each", our_laps, LIMIT, limit_laps, wrong=wrong)
    seconds = sum(lap[0] for lap in our_laps) * WRITERS * batch
    yield build_figure_row(GROUP, f"{name}, all", seconds, unit="seconds")
    versions = (path for path in (root / ".looseleaf" / "history").rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in versions)
    yield build_figure_row(GROUP, f"{name}, versions kept", float(size), unit="bytes")
    # The small crowds of a quick run have too few versions to be held to the promise.
    target = bench.amount(SIZE_TARGET, None) if act == "append" else None
    yield from measure_packing(workspace, scope, name, bench, target=target)


def _run_writers(open_writer: Callable[[str], LineWriter], root: str, numbers: range) -> float:
    """Have every process begin at the same moment; return the seconds until the last one ends."""
    spawn = multiprocessing.get_context("spawn")
    barrier, times = spawn.Barrier(WRITERS, timeout=60), spawn.SimpleQueue()
    processes = [
        spawn.Process(target=_take_part, args=(open_writer, root, lines, barrier, times))
        for lines in (
            [format_line(place, number) for number in numbers] for place in range(WRITERS)
        )
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    spans = [times.get() for process in processes if process.exitcode == 0]
    return max(end for _, end in spans) - min(start for start, _ in spans) if spans else math.nan


def _take_part(
    open_writer: Callable[[str], LineWriter],
    root: str,
    lines: list[str],
    barrier: Barrier,
    times: SimpleQueue[tuple[float, float]],
) -> None:
    write_line = open_writer(root)
    barrier.wait()
    start = time.monotonic()
    for text in lines:
        write_line(text)
    times.put((start, time.monotonic()))


def open_appender(root: str) -> LineWriter:
    """Append to a section through the library."""
    workspace, change = Workspace.open(root), Change()
    scope = workspace.agents.resolve("alpha").shelf.page("crowd.md")

    def write_line(text: str) -> None:
        workspace.pages.append_to_section(scope, "Lines", text, change=change)

    return write_line


def open_replacer(root: str) -> LineWriter:
    """Add a line by replacing the page; read it again if another writer was faster."""
    workspace, change = Workspace.open(root), Change()
    scope = workspace.agents.resolve("alpha").shelf.page("crowd.md")

    def write_line(text: str) -> None:
        outcome: object = Conflict("", "")
        while isinstance(outcome, Conflict):
            page = workspace.pages.require(scope)
            content = page.content + f"{text}\n".encode()
            outcome = workspace.pages.write(scope, content, change=change, if_match=page.hash)

    return write_line


def open_bare_appender(root: str) -> LineWriter:
    """Append with nothing but a lock and a durable replacement; no version is kept."""
    folder = Path(root)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)

    def write_line(text: str) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        replace_durably(folder, "bare", read_usual(f"{root}/bare") + f"{text}\n".encode())
        fcntl.flock(lock, fcntl.LOCK_UN)

    return write_line


def format_line(place: int, number: int) -> str:
    """Create a line with the number of its writer, and its own number."""
    return f"- {place} {number:04} wrote this"


def _find_fault(text: str, count: int) -> str:
    """Return what is wrong with the page: each line must be there once."""
    expected = {format_line(place, number) for place in range(WRITERS) for number in range(count)}
    entries = [entry for entry in text.splitlines() if entry.startswith("- ")]
    if len(entries) == len(expected) and set(entries) == expected:
        return ""
    return f"{len(expected)} lines were written, {len(entries)} are there"
