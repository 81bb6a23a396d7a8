"""Growing: what one agent costs among a thousand, beside the same agent alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, lay, settle
from benchmarks.table import Row, compared, fact
from benchmarks.timing import Runner, race
from benchmarks.writing import line
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
    crowd, alone = bench.folder / "growing-crowd", bench.folder / "growing-alone"
    pages = list(workload.agents(bench.seed, count=count))
    lay(crowd / "agents", ((f"{agent}/{name}", text) for agent, name, text in pages))
    own = ((f"{agent}/{name}", text) for agent, name, text in pages if agent == slug)
    lay(alone / "agents", own)
    bench.say(f"  {count} agents, {len(pages)} pages")
    start = time.perf_counter()
    among = Workspace.create(crowd)
    yield fact(GROUP, f"take over {count} agents", time.perf_counter() - start, unit="seconds")
    by_itself = Workspace.create(alone)
    settle()
    works = zip(_works(among, slug), _works(by_itself, slug), strict=True)
    for (what, ours, batch), (_, limit, _) in works:
        yield _raced(bench, what, ours, limit, batch=batch)
    yield _raced(bench, "open and read a page", _reading(crowd, slug), _reading(alone, slug))
    yield _raced(bench, "open and find by id", _finding(crowd, slug), _finding(alone, slug))


def _raced(bench: Bench, what: str, ours: Work, limit: Work, *, batch: int = 10) -> Row:
    laps = race(Runner(ours), Runner(limit), rounds=bench.amount(40, 10), batch=batch)
    wrong = "" if ours() == limit() else "another answer than alone"
    return compared(GROUP, what, laps[0], ALONE, laps[1], target=TARGET, wrong=wrong)


def _works(workspace: Workspace, slug: str) -> Iterator[tuple[str, Work, int]]:
    """Give what is done, as calls that answer the same in a crowd and alone."""
    agents, context, where = workspace.agents, workspace.context, Where(slug)
    number = agents.resolve(slug).id

    def append() -> object:
        section = workload.EDIT_SECTION
        return update_memory(context, section, line(0), mode="append", where=where).hash

    yield "find an agent by slug", lambda: agents.resolve(slug).slug, 50
    yield "find an agent by id", lambda: agents.resolve(number).slug, 50
    yield "read a page", lambda: read_memory(context, where=where).content, 50
    yield "append to a section", append, 5
    yield "search one agent", lambda: search(context, "deploy", where=where).total, 5


def _reading(root: Path, slug: str) -> Work:
    return lambda: read_memory(Workspace.open(root).context, where=Where(slug)).content


def _finding(root: Path, slug: str) -> Work:
    number = Workspace.open(root).agents.resolve(slug).id
    return lambda: Workspace.open(root).agents.resolve(number).slug
