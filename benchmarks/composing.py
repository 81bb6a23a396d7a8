"""Composing: an agent's whole prompt, beside reading its pages and doing nothing with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, settle, write_pages
from benchmarks.reading import STRICT, USUAL, read_bare, read_usual
from benchmarks.table import Row, build_row
from benchmarks.timing import Runner, race
from looseleaf import Workspace
from looseleaf.memory.comments import without_comments

GROUP = "compose"
TARGET = 2.5
GROWTH = 1.1
CROWD = 1_000
PEER = "LangGraph's batch of three values"
PEER_PAGES = ("SOUL.md", "USER.md", "MEMORY.md")
PEER_TARGET = 1.0
RULES = "# Rules\n\n- Ask before you publish.\n- Keep what is kept out of prompts out of pages.\n"


def measure(bench: Bench) -> Iterator[Row]:
    """Compose agent A again, for the first time, after an edit, and among a thousand agents."""
    root = bench.folder / "composing"
    workspace = _create_workspace(root, bench)
    paths = [
        str(root / name)
        for name in (
            "shared/SITE.md",
            "shared/RULES.md",
            "agents/alpha/SOUL.md",
            "users/1/USER.md",
            "agents/alpha/MEMORY.md",
        )
    ]
    settle()
    wrong = _find_fault(workspace, paths)
    laps, strict_laps, plain_laps = race(
        Runner(lambda: workspace.compose("chat", "alpha").text),
        Runner(lambda: [read_bare(path) for path in paths]),
        Runner(lambda: [read_usual(path) for path in paths]),
        rounds=bench.amount(60, 20),
        batch=100,
    )
    yield build_row(GROUP, "agent A again", laps, STRICT, strict_laps, target=TARGET, wrong=wrong)
    yield build_row(GROUP, "agent A again", laps, USUAL, plain_laps)
    yield from _measure_peer(bench, workspace)
    yield from _measure_first_time(bench, root, paths)
    yield from _measure_crowd(bench, workspace)


def _measure_peer(bench: Bench, workspace: Workspace) -> Iterator[Row]:
    """Compose beside a store that gives three values and makes no prompt of them."""
    try:
        from langgraph.store.base import GetOp  # type: ignore[import-not-found]
        from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found]
    except ImportError:
        bench.say("  pip install langgraph-checkpoint-sqlite to see its store beside ours")
        return
    place = ("memory", "alpha")
    pages = workload.build_core_pages(seed=bench.seed)
    with SqliteStore.from_conn_string(str(bench.folder / "peer-batch.sqlite")) as store:
        store.setup()
        for name in PEER_PAGES:
            store.put(place, name, {"content": pages[name]})
        batch = [GetOp(place, name) for name in PEER_PAGES]
        laps, peer_laps = race(
            Runner(lambda: workspace.compose("chat", "alpha").text),
            Runner(lambda: store.batch(batch)),
            rounds=bench.amount(60, 20),
            batch=100,
        )
    yield build_row(GROUP, "agent A again", laps, PEER, peer_laps, target=PEER_TARGET)


def _create_workspace(root: Path, bench: Bench) -> Workspace:
    workspace = Workspace.create(root, agent="alpha")
    write_pages(root / "shared", [("RULES.md", RULES)])
    pages = dict(workload.build_core_pages(seed=bench.seed))
    (root / "users/1").mkdir(parents=True, exist_ok=True)
    write_pages(root / "users/1", [("USER.md", pages.pop("USER.md"))])
    write_pages(root / "agents/alpha", pages.items())
    return workspace


def _find_fault(workspace: Workspace, paths: list[str]) -> str:
    text = workspace.compose("chat", "alpha").text.encode()
    missing_paths = [
        path for path in paths if without_comments(read_bare(path).decode()).encode() not in text
    ]
    return f"not in the prompt: {', '.join(missing_paths)}" if missing_paths else ""


def _measure_first_time(bench: Bench, root: Path, paths: list[str]) -> Iterator[Row]:
    """Compose in a workspace that has just been opened, with every page and its history read."""
    workspaces: list[Workspace] = []

    def prepare() -> None:
        workspaces[:] = [Workspace.open(root)]
        workspaces[0].chain()

    laps, plain_laps = race(
        Runner(lambda: workspaces[0].compose("chat", "alpha"), prepare),
        Runner(lambda: [read_usual(path) for path in paths]),
        rounds=bench.amount(60, 20),
        batch=1,
    )
    yield build_row(GROUP, "agent A, first time", laps, USUAL, plain_laps)


def _measure_crowd(bench: Bench, workspace: Workspace) -> Iterator[Row]:
    """Compose the same prompt alone and among many agents, by turns in two workspaces."""
    crowd = bench.amount(CROWD, 100)
    root = bench.folder / "composing-crowd"
    crowd_workspace = _create_workspace(root, bench)
    for number in range(crowd):
        crowd_workspace.agents.create(f"other-{number}")
    settle()
    workspace.compose("chat", "alpha")
    crowd_workspace.compose("chat", "alpha")
    alone_laps, crowd_laps = race(
        Runner(lambda: workspace.compose("chat", "alpha").text),
        Runner(lambda: crowd_workspace.compose("chat", "alpha").text),
        rounds=bench.amount(80, 20),
        batch=100,
    )
    title = f"agent A among {crowd} others"
    yield build_row(GROUP, title, crowd_laps, "the agent alone", alone_laps, target=GROWTH)
