"""Reading: a page through the library, beside opening, reading and closing its file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, lay, settle
from benchmarks.table import Row, compared
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
    lay(folder, workload.core_pages(seed=bench.seed).items())
    days = [name for name, _ in workload.journal(bench.seed, days=365)]
    lay(folder, workload.journal(bench.seed, days=365))
    settle()
    yield from _again(bench, workspace, folder)
    yield from _first(bench, root, days)
    yield from _alone(bench, root, days)
    yield from _context(bench, workspace, folder)


def _again(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    path, shelf = str(folder / "MEMORY.md"), workspace.agents.resolve("alpha").shelf
    scope, where, context = shelf.page("MEMORY.md"), Where("alpha"), workspace.context
    wrong = "" if content(workspace, scope) == bare(path) else "other bytes than the file's"
    laps = race(
        Runner(lambda: workspace.pages.read(scope)),
        Runner(lambda: read_memory(context, "MEMORY.md", where=where)),
        Runner(lambda: bare(path)),
        Runner(lambda: usual(path)),
        rounds=bench.amount(60, 20),
        batch=200,
    )
    again, operation, strict, plain = laps
    yield compared(GROUP, "8 KB again", again, STRICT, strict, target=TARGET, wrong=wrong)
    yield compared(GROUP, "8 KB again", again, USUAL, plain)
    yield compared(GROUP, "by operation, agent looked up", operation, USUAL, plain)


def _first(bench: Bench, root: Path, days: list[str]) -> Iterator[Row]:
    """Read each page once in a workspace that has just been opened, over and over."""
    turns = {name: cycle(range(len(days))) for name in ("ours", "strict", "usual")}
    paths = [str(root / "agents" / "alpha" / name) for name in days]
    opened: list[tuple[Workspace, list[Scope]]] = []
    place = 0

    def before() -> None:
        nonlocal place
        place = next(turns["ours"])
        if place == 0:
            workspace = Workspace.open(root)
            shelf = workspace.agents.resolve("alpha").shelf
            opened[:] = [(workspace, [shelf.page(name) for name in days])]

    def ours() -> object:
        workspace, scopes = opened[0]
        return workspace.pages.read(scopes[place])

    first, strict, plain = race(
        Runner(ours, before),
        Runner(lambda: bare(paths[next(turns["strict"])])),
        Runner(lambda: usual(paths[next(turns["usual"])])),
        rounds=bench.amount(40, 10),
        batch=365,
    )
    yield compared(GROUP, "4 KB, first time", first, STRICT, strict, target=TARGET)
    yield compared(GROUP, "4 KB, first time", first, USUAL, plain)


def _alone(bench: Bench, root: Path, days: list[str]) -> Iterator[Row]:
    """Read each page once, long after the one before, as does a process that reads now and then."""
    workspace = Workspace.open(root)
    shelf = workspace.agents.resolve("alpha").shelf
    for name in days[:_WARM]:
        workspace.pages.read(shelf.page(name))
    left = days[_WARM:]
    folder = os.path.realpath(root / "agents" / "alpha")
    turns = [iter([f"{folder}/{name}" for name in left]) for _ in range(2)]
    scopes = iter([shelf.page(name) for name in left])
    ours, checked, limit = race(
        Runner(lambda: workspace.pages.read(next(scopes)), _wait),
        Runner(lambda: safe(f"{folder}/agent.json", next(turns[0])), _wait),
        Runner(lambda: bare(next(turns[1])), _wait),
        rounds=bench.amount(10, 4),
        batch=20,
    )
    yield compared(GROUP, "4 KB, first time, alone", ours, STRICT, limit, target=TARGET)
    yield compared(GROUP, "4 KB, first time, alone", ours, CHECKED, checked)
    yield compared(GROUP, CHECKED, checked, STRICT, limit)


def _wait() -> None:
    time.sleep(_APART)


def _context(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    shelf = workspace.agents.resolve("alpha").shelf
    names = ("SOUL.md", "USER.md", "MEMORY.md")
    scopes, paths = [shelf.page(name) for name in names], [str(folder / name) for name in names]
    ours, limit = race(
        Runner(lambda: [workspace.pages.read(scope) for scope in scopes]),
        Runner(lambda: [bare(path) for path in paths]),
        rounds=bench.amount(60, 20),
        batch=100,
    )
    yield compared(GROUP, "the three core pages again", ours, STRICT, limit, target=TARGET)


def content(workspace: Workspace, scope: Scope) -> bytes:
    """Read a page that is there."""
    page = workspace.pages.read(scope)
    return page.content if isinstance(page, Found) else b""


def bare(path: str) -> bytes:
    """Read a file with the fewest steps there are."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, _AT_ONCE)
    finally:
        os.close(fd)


def safe(record: str, path: str) -> bytes:
    """Read a file with the fewest steps that also show whose it is and that no link leads there."""
    os.lstat(record)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stands_at(fd, path) or os.fstat(fd).st_nlink != 1:
            return b""
        return os.read(fd, _AT_ONCE)
    finally:
        os.close(fd)


def usual(path: str) -> bytes:
    """Read a file as everyone does."""
    with open(path, "rb") as file:
        return file.read()
