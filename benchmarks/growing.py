"""Growing: what one agent costs among a thousand, beside the same agent alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, settle, write_pages
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Runner, race
from benchmarks.writing import format_line
from looseleaf import Where, Workspace
from looseleaf.operations.memory import read_memory, update_memory
from looseleaf.operations.search import search

GROUP = "grow"
# The same work takes the same time; the rest is for the noise of two measurements.
TARGET = 1.5
ALONE = "the agent alone"

Work = Callable[[], object]


def measure(bench: Bench) -> Iterator[Row]:
    """Do the same to an agent in a crowd and to its twin that is alone."""
    count = bench.amount(workload.AGENTS, 60)
    slug = f"agent-{count // 2:04}"
    crowd_root, alone_root = bench.folder / "growing-crowd", bench.folder / "growing-alone"
    pages = list(workload.generate_agents(bench.seed, count=count))
    write_pages(crowd_root / "agents", ((f"{agent}/{name}", text) for agent, name, text in pages))
    own_pages = ((f"{agent}/{name}", text) for agent, name, text in pages if agent == slug)
    write_pages(alone_root / "agents", own_pages)
    bench.say(f"  {count} agents, {len(pages)} pages")
    start = time.perf_counter()
    crowd_workspace = Workspace.create(crowd_root)
    yield build_figure_row(
        GROUP, f"take over {count} agents", time.perf_counter() - start, unit="seconds"
    )
    alone_workspace = Workspace.create(alone_root)
    settle()
    works = zip(_list_works(crowd_workspace, slug), _list_works(alone_workspace, slug), strict=True)
    for (title, work, batch), (_, limit, _) in works:
        yield _compare_works(bench, title, work, limit, batch=batch)
    yield _compare_works(
        bench, "open and read a page", _build_read(crowd_root, slug), _build_read(alone_root, slug)
    )
    yield _compare_works(
        bench, "open and find by id", _build_find(crowd_root, slug), _build_find(alone_root, slug)
    )


def _compare_works(bench: Bench, title: str, work: Work, limit: Work, *, batch: int = 10) -> Row:
    laps = race(Runner(work), Runner(limit), rounds=bench.amount(40, 10), batch=batch)
    wrong = "" if work() == limit() else "another answer than alone"
    return build_row(GROUP, title, laps[0], ALONE, laps[1], target=TARGET, wrong=wrong)


def _list_works(workspace: Workspace, slug: str) -> Iterator[tuple[str, Work, int]]:
    """Yield the measured calls, which answer the same in a crowd and alone."""
    agents, context, where = workspace.agents, workspace.context, Where(slug)
    number = agents.resolve(slug).id

    def append() -> object:
        section = workload.EDIT_SECTION
        return update_memory(context, section, format_line(0), mode="append", where=where).hash

    yield "find an agent by slug", lambda: agents.resolve(slug).slug, 50
    yield "find an agent by id", lambda: agents.resolve(number).slug, 50
    yield "read a page", lambda: read_memory(context, where=where).content, 50
    yield "append to a section", append, 5
    yield "search one agent", lambda: search(context, "deploy", where=where).total, 5


def _build_read(root: Path, slug: str) -> Work:
    return lambda: read_memory(Workspace.open(root).context, where=Where(slug)).content


def _build_find(root: Path, slug: str) -> Work:
    number = Workspace.open(root).agents.resolve(slug).id
    return lambda: Workspace.open(root).agents.resolve(number).slug
