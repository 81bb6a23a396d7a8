"""Reading: a page through the library, beside opening, reading and closing its file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, settle, write_pages
from benchmarks.table import Row, build_row
from benchmarks.timing import Runner, race
from looseleaf import Found, Scope, Where, Workspace
from looseleaf.files.folders import MOMENT_SECONDS, stands_at
from looseleaf.operations.memory import read_memory

GROUP = "read"
TARGET = 2.0
STRICT, USUAL = "os.open, read, close", "open(…).read()"
CHECKED = "the same, and the bare checks"
_AT_ONCE = 65_536
_WARM = 100  # pages that a process has read before
_APART = 2 * MOMENT_SECONDS


def measure(bench: Bench) -> Iterator[Row]:
    """Read an unchanged page again, pages for the first time, and what a prompt needs."""
    root = bench.folder / "reading"
    workspace = Workspace.create(root, agent="alpha")
    folder = root / "agents" / "alpha"
    write_pages(folder, workload.build_core_pages(seed=bench.seed).items())
    days = [name for name, _ in workload.generate_journal(bench.seed, days=365)]
    write_pages(folder, workload.generate_journal(bench.seed, days=365))
    settle()
    yield from _measure_repeated(bench, workspace, folder)
    yield from _measure_first_time(bench, root, days)
    yield from _measure_spaced(bench, root, days)
    yield from _measure_core_pages(bench, workspace, folder)


def _measure_repeated(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    path, shelf = str(folder / "MEMORY.md"), workspace.agents.resolve("alpha").shelf
    scope, where, context = shelf.page("MEMORY.md"), Where("alpha"), workspace.context
    wrong = (
        "" if read_content(workspace, scope) == read_bare(path) else "other bytes than the file's"
    )
    laps = race(
        Runner(lambda: workspace.pages.read(scope)),
        Runner(lambda: read_memory(context, "MEMORY.md", where=where)),
        Runner(lambda: read_bare(path)),
        Runner(lambda: read_usual(path)),
        rounds=bench.amount(60, 20),
        batch=200,
    )
    page_laps, operation_laps, strict_laps, plain_laps = laps
    yield build_row(GROUP, "8 KB again", page_laps, STRICT, strict_laps, target=TARGET, wrong=wrong)
    yield build_row(GROUP, "8 KB again", page_laps, USUAL, plain_laps)
    yield build_row(GROUP, "by operation, agent looked up", operation_laps, USUAL, plain_laps)


def _measure_first_time(bench: Bench, root: Path, days: list[str]) -> Iterator[Row]:
    """Read each page once in a workspace that has just been opened, over and over."""
    turns = {name: cycle(range(len(days))) for name in ("ours", "strict", "usual")}
    paths = [str(root / "agents" / "alpha" / name) for name in days]
    workspaces: list[tuple[Workspace, list[Scope]]] = []
    place = 0

    def prepare() -> None:
        nonlocal place
        place = next(turns["ours"])
        if place == 0:
            workspace = Workspace.open(root)
            shelf = workspace.agents.resolve("alpha").shelf
            workspaces[:] = [(workspace, [shelf.page(name) for name in days])]

    def read_page() -> object:
        workspace, scopes = workspaces[0]
        return workspace.pages.read(scopes[place])

    laps, strict_laps, plain_laps = race(
        Runner(read_page, prepare),
        Runner(lambda: read_bare(paths[next(turns["strict"])])),
        Runner(lambda: read_usual(paths[next(turns["usual"])])),
        rounds=bench.amount(40, 10),
        batch=365,
    )
    yield build_row(GROUP, "4 KB, first time", laps, STRICT, strict_laps, target=TARGET)
    yield build_row(GROUP, "4 KB, first time", laps, USUAL, plain_laps)


def _measure_spaced(bench: Bench, root: Path, days: list[str]) -> Iterator[Row]:
    """Read each page once, long after the one before, as does a process that reads now and then."""
    workspace = Workspace.open(root)
    shelf = workspace.agents.resolve("alpha").shelf
    for name in days[:_WARM]:
        workspace.pages.read(shelf.page(name))
    cold_days = days[_WARM:]
    folder = os.path.realpath(root / "agents" / "alpha")
    turns = [iter([f"{folder}/{name}" for name in cold_days]) for _ in range(2)]
    scopes = iter([shelf.page(name) for name in cold_days])
    laps, checked_laps, limit = race(
        Runner(lambda: workspace.pages.read(next(scopes)), _wait),
        Runner(lambda: read_checked(f"{folder}/agent.json", next(turns[0])), _wait),
        Runner(lambda: read_bare(next(turns[1])), _wait),
        rounds=bench.amount(10, 4),
        batch=20,
    )
    yield build_row(GROUP, "4 KB, first time, alone", laps, STRICT, limit, target=TARGET)
    yield build_row(GROUP, "4 KB, first time, alone", laps, CHECKED, checked_laps)
    yield build_row(GROUP, CHECKED, checked_laps, STRICT, limit)


def _wait() -> None:
    time.sleep(_APART)


def _measure_core_pages(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    shelf = workspace.agents.resolve("alpha").shelf
    names = ("SOUL.md", "USER.md", "MEMORY.md")
    scopes, paths = [shelf.page(name) for name in names], [str(folder / name) for name in names]
    laps, limit = race(
        Runner(lambda: [workspace.pages.read(scope) for scope in scopes]),
        Runner(lambda: [read_bare(path) for path in paths]),
        rounds=bench.amount(60, 20),
        batch=100,
    )
    yield build_row(GROUP, "the three core pages again", laps, STRICT, limit, target=TARGET)


def read_content(workspace: Workspace, scope: Scope) -> bytes:
    """Read a page that is there."""
    page = workspace.pages.read(scope)
    return page.content if isinstance(page, Found) else b""


def read_bare(path: str) -> bytes:
    """Read a file with the fewest steps there are."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, _AT_ONCE)
    finally:
        os.close(fd)


def read_checked(record: str, path: str) -> bytes:
    """Read a file with the fewest steps that also show whose it is and that no link leads there."""
    os.lstat(record)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stands_at(fd, path) or os.fstat(fd).st_nlink != 1:
            return b""
        return os.read(fd, _AT_ONCE)
    finally:
        os.close(fd)


def read_usual(path: str) -> bytes:
    """Read a file as everyone does."""
    with open(path, "rb") as file:
        return file.read()
