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
from benchmarks.packing import SIZE_TARGET, packed
from benchmarks.reading import usual
from benchmarks.table import Row, compared, fact
from benchmarks.timing import Laps
from benchmarks.writing import replace_durably
from looseleaf import Change, Conflict, Workspace

GROUP = "crowd"
WRITERS = 8
LIMIT = "flock, read, write, fsync, rename, fsync"
_START = "# Crowd\n\n## Lines\n\n"

Put = Callable[[str], None]


def measure(bench: Bench) -> Iterator[Row]:
    """Append from eight processes, then let them replace the page, whoever is first."""
    rounds, each = bench.amount((5, 200), (2, 50))
    yield from _crowded(bench, "append", appender, rounds=rounds, each=each)
    yield from _crowded(bench, "replace", replacer, rounds=rounds, each=each // 5)


def _crowded(
    bench: Bench, what: str, writer: Callable[[str], Put], *, rounds: int, each: int
) -> Iterator[Row]:
    root, count = bench.folder / f"crowding-{what}", rounds * each
    workspace = Workspace.create(root, agent="alpha")
    scope = workspace.agents.resolve("alpha").shelf.page("crowd.md")
    workspace.pages.write(scope, _START, change=Change())
    (root / "bare").write_text(_START, encoding="utf-8")
    ours: Laps = []
    limit: Laps = []
    for lap in range(rounds):
        for chosen, laps in ((writer, ours), (bare_appender, limit)):
            numbers = range(lap * each, (lap + 1) * each)
            laps.append([_together(chosen, str(root), numbers) / (WRITERS * each)])
    wrong = _missing(workspace.pages.text(scope), count)
    wrong = wrong or _missing((root / "bare").read_text(encoding="utf-8"), count)
    name = f"{what}, {WRITERS} processes × {count}"
    yield compared(GROUP, f"{name}, each", ours, LIMIT, limit, wrong=wrong)
    seconds = sum(lap[0] for lap in ours) * WRITERS * each
    yield fact(GROUP, f"{name}, all", seconds, unit="seconds")
    kept = (path for path in (root / ".looseleaf" / "history").rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in kept)
    yield fact(GROUP, f"{name}, versions kept", float(size), unit="bytes")
    # The small crowds of a quick run have too few versions to be held to the promise.
    target = bench.amount(SIZE_TARGET, None) if what == "append" else None
    yield from packed(workspace, scope, name, bench, target=target)


def _together(writer: Callable[[str], Put], root: str, numbers: range) -> float:
    """Let every process begin at the same moment; give the seconds until the last one ends."""
    spawn = multiprocessing.get_context("spawn")
    barrier, times = spawn.Barrier(WRITERS, timeout=60), spawn.SimpleQueue()
    processes = [
        spawn.Process(target=_take_part, args=(writer, root, lines, barrier, times))
        for lines in ([line(place, number) for number in numbers] for place in range(WRITERS))
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    told = [times.get() for process in processes if process.exitcode == 0]
    return max(end for _, end in told) - min(start for start, _ in told) if told else math.nan


def _take_part(
    writer: Callable[[str], Put],
    root: str,
    lines: list[str],
    barrier: Barrier,
    times: SimpleQueue[tuple[float, float]],
) -> None:
    put = writer(root)
    barrier.wait()
    start = time.monotonic()
    for text in lines:
        put(text)
    times.put((start, time.monotonic()))


def appender(root: str) -> Put:
    """Append to a section through the library."""
    workspace, change = Workspace.open(root), Change()
    scope = workspace.agents.resolve("alpha").shelf.page("crowd.md")

    def put(text: str) -> None:
        workspace.pages.append_to_section(scope, "Lines", text, change=change)

    return put


def replacer(root: str) -> Put:
    """Read the page and replace it with a line more; begin again where someone was faster."""
    workspace, change = Workspace.open(root), Change()
    scope = workspace.agents.resolve("alpha").shelf.page("crowd.md")

    def put(text: str) -> None:
        outcome: object = Conflict("", "")
        while isinstance(outcome, Conflict):
            page = workspace.pages.require(scope)
            content = page.content + f"{text}\n".encode()
            outcome = workspace.pages.write(scope, content, change=change, if_match=page.hash)

    return put


def bare_appender(root: str) -> Put:
    """Append with nothing but a lock and a durable replacement; no version is kept."""
    folder = Path(root)
    held = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)

    def put(text: str) -> None:
        fcntl.flock(held, fcntl.LOCK_EX)
        replace_durably(folder, "bare", usual(f"{root}/bare") + f"{text}\n".encode())
        fcntl.flock(held, fcntl.LOCK_UN)

    return put


def line(place: int, number: int) -> str:
    """Make a line that tells who wrote it, and which of its lines it is."""
    return f"- {place} {number:04} wrote this"


def _missing(text: str, count: int) -> str:
    """Say what is wrong with the page: each line must be there once."""
    wanted = {line(place, number) for place in range(WRITERS) for number in range(count)}
    found = [entry for entry in text.splitlines() if entry.startswith("- ")]
    if len(found) == len(wanted) and set(found) == wanted:
        return ""
    return f"{len(wanted)} lines were written, {len(found)} are there"
