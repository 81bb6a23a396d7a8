"""Writing: a durable change with its revision, beside writing the same bytes durably."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench
from benchmarks.reading import read_content
from benchmarks.table import Row, build_row
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
    start = workload.build_core_pages(seed=bench.seed)["MEMORY.md"]
    workspace.pages.write(scope, start, change=Change())
    folder = root / "agents" / "alpha"
    yield from _measure_append(bench, workspace, scope, folder, start)
    yield from _measure_replace(bench, workspace, scope, folder)
    yield from _measure_day(bench, workspace, folder)


def _measure_append(
    bench: Bench, workspace: Workspace, scope: Scope, folder: Path, start: str
) -> Iterator[Row]:
    change, count = Change(), 0

    def prepare() -> None:
        # The page stays near its 8 KB, as a page that is looked after does.
        nonlocal count
        if count == _BATCH:
            workspace.pages.write(scope, start, change=change)
            count = 0
        count += 1

    def append() -> object:
        return workspace.pages.append_to_section(
            scope, workload.EDIT_SECTION, format_line(count), change=change
        )

    page_bytes = start.encode() + format_line(0).encode()
    with ExitStack() as stack:
        put_page = _build_peer_put(bench, stack, page_bytes.decode())
        laps, limit, *peer = race(
            Runner(append, prepare),
            Runner(lambda: replace_durably(folder, "bare", page_bytes)),
            *([Runner(put_page)] if put_page else []),
            rounds=bench.amount(60, 12),
            batch=_BATCH,
        )
    text = read_content(workspace, scope).decode()
    wrong = "" if text.count(format_line(count)) == 1 else "the last line is not there"
    title = "append to a section"
    yield build_row(GROUP, title, laps, LIMIT, limit, target=TARGET, wrong=wrong)
    for peer_laps in peer:
        yield build_row(GROUP, title, laps, PEER, peer_laps, target=PEER_TARGET)


def _build_peer_put(bench: Bench, stack: ExitStack, text: str) -> Callable[[], object] | None:
    """Return a call that puts the same page into LangGraph, or None if it is not installed."""
    try:
        from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found]
    except ImportError:
        bench.say("  pip install langgraph-checkpoint-sqlite to see its store beside ours")
        return None
    store = stack.enter_context(SqliteStore.from_conn_string(str(bench.folder / "peer.sqlite")))
    store.setup()
    turn = 0

    def put_page() -> object:
        nonlocal turn
        turn += 1
        return store.put(("memory", "alpha"), "MEMORY.md", {"content": f"{text}{turn}"})

    return put_page


def _measure_replace(
    bench: Bench, workspace: Workspace, scope: Scope, folder: Path
) -> Iterator[Row]:
    change, version, turn = Change(), "", 0
    text = read_content(workspace, scope).decode()

    def prepare() -> None:
        nonlocal version, turn
        page = workspace.pages.require(scope)
        version, turn = page.hash, turn + 1

    def replace() -> object:
        return workspace.pages.write(scope, f"{text}{turn}\n", change=change, if_match=version)

    laps, limit = race(
        Runner(replace, prepare),
        Runner(lambda: replace_durably(folder, "bare", text.encode())),
        rounds=bench.amount(30, 8),
        batch=_BATCH,
    )
    yield build_row(GROUP, "replace if it is this version", laps, LIMIT, limit, target=TARGET)


def _measure_day(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    daily, change = workspace.daily("alpha"), Change()
    bodies = "".join(format_line(number) + "\n" for number in range(25))

    def prepare() -> None:
        daily.write("2026-01-01", f"# 2026-01-01\n\n{bodies}", change=change)

    laps, limit = race(
        Runner(lambda: daily.append("2026-01-01", format_line(99), change=change), prepare),
        Runner(lambda: replace_durably(folder, "bare", (bodies + format_line(99)).encode())),
        rounds=bench.amount(30, 8),
        batch=_BATCH,
    )
    yield build_row(GROUP, "append to a day of 2 KB", laps, LIMIT, limit, target=TARGET)


def format_line(number: int) -> str:
    """Create a bullet of 79 characters."""
    return f"- note {number:03} of what was learned today about the queue".ljust(79, ".")


def replace_durably(folder: Path, name: str, data: bytes) -> None:
    """Replace a file so that it survives a power cut, with the fewest steps there are."""
    path, temporary = f"{folder}/{name}", f"{folder}/{name}.new"
    fd = os.open(temporary, _NEW, 0o600)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
