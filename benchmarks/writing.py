"""Writing: a durable change with its revision, beside writing the same bytes durably."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench
from benchmarks.reading import content
from benchmarks.table import Row, compared
from benchmarks.timing import Runner, race
from looseleaf import Change, Scope, Workspace

GROUP = "write"
TARGET = 2.0
LIMIT = "write, fsync, rename, fsync"
PEER = "LangGraph's SqliteStore.put"
PEER_TARGET = 1.0
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_BATCH = 10


def measure(bench: Bench) -> Iterator[Row]:
    """Append to a section, replace a page of a known version, append to a day."""
    root = bench.folder / "writing"
    workspace = Workspace.create(root, agent="alpha")
    scope = workspace.agents.resolve("alpha").shelf.page("MEMORY.md")
    start = workload.core_pages(seed=bench.seed)["MEMORY.md"]
    workspace.pages.write(scope, start, change=Change())
    folder = root / "agents" / "alpha"
    yield from _append(bench, workspace, scope, folder, start)
    yield from _replace(bench, workspace, scope, folder)
    yield from _day(bench, workspace, folder)


def _append(
    bench: Bench, workspace: Workspace, scope: Scope, folder: Path, start: str
) -> Iterator[Row]:
    change, appended = Change(), 0

    def before() -> None:
        # The page stays near its 8 KB, as a page that is looked after does.
        nonlocal appended
        if appended == _BATCH:
            workspace.pages.write(scope, start, change=change)
            appended = 0
        appended += 1

    def append() -> object:
        return workspace.pages.append_to_section(
            scope, workload.EDIT_SECTION, line(appended), change=change
        )

    same = start.encode() + line(0).encode()
    with ExitStack() as stack:
        put = _peer(bench, stack, same.decode())
        ours, limit, *peer = race(
            Runner(append, before),
            Runner(lambda: replace_durably(folder, "bare", same)),
            *([Runner(put)] if put else []),
            rounds=bench.amount(60, 12),
            batch=_BATCH,
        )
    text = content(workspace, scope).decode()
    wrong = "" if text.count(line(appended)) == 1 else "the last line is not there"
    what = "append to a section"
    yield compared(GROUP, what, ours, LIMIT, limit, target=TARGET, wrong=wrong)
    for laps in peer:
        yield compared(GROUP, what, ours, PEER, laps, target=PEER_TARGET)


def _peer(bench: Bench, stack: ExitStack, text: str) -> Callable[[], object] | None:
    """Give a call that keeps the same page in LangGraph's store; None where it is not installed."""
    try:
        from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found]
    except ImportError:
        bench.say("  pip install langgraph-checkpoint-sqlite to see its store beside ours")
        return None
    store = stack.enter_context(SqliteStore.from_conn_string(str(bench.folder / "peer.sqlite")))
    store.setup()
    turn = 0

    def put() -> object:
        nonlocal turn
        turn += 1
        return store.put(("memory", "alpha"), "MEMORY.md", {"content": f"{text}{turn}"})

    return put


def _replace(bench: Bench, workspace: Workspace, scope: Scope, folder: Path) -> Iterator[Row]:
    change, version, turn = Change(), "", 0
    text = content(workspace, scope).decode()

    def before() -> None:
        nonlocal version, turn
        page = workspace.pages.require(scope)
        version, turn = page.hash, turn + 1

    def replace() -> object:
        return workspace.pages.write(scope, f"{text}{turn}\n", change=change, if_match=version)

    ours, limit = race(
        Runner(replace, before),
        Runner(lambda: replace_durably(folder, "bare", text.encode())),
        rounds=bench.amount(30, 8),
        batch=_BATCH,
    )
    yield compared(GROUP, "replace if it is this version", ours, LIMIT, limit, target=TARGET)


def _day(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    daily, change = workspace.daily("alpha"), Change()
    bodies = "".join(line(number) + "\n" for number in range(25))

    def before() -> None:
        daily.write("2026-01-01", f"# 2026-01-01\n\n{bodies}", change=change)

    ours, limit = race(
        Runner(lambda: daily.append("2026-01-01", line(99), change=change), before),
        Runner(lambda: replace_durably(folder, "bare", (bodies + line(99)).encode())),
        rounds=bench.amount(30, 8),
        batch=_BATCH,
    )
    yield compared(GROUP, "append to a day of 2 KB", ours, LIMIT, limit, target=TARGET)


def line(number: int) -> str:
    """Make a bullet of 79 characters."""
    return f"- note {number:03} of what was learned today about the queue".ljust(79, ".")


def replace_durably(folder: Path, name: str, data: bytes) -> None:
    """Replace a file so that it survives a power cut, with the fewest steps there are."""
    path, staged = f"{folder}/{name}", f"{folder}/{name}.new"
    fd = os.open(staged, _NEW, 0o600)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(staged, path)
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
