"""Composing: an agent's whole prompt, beside reading its pages and doing nothing with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, lay, settle
from benchmarks.reading import STRICT, USUAL, bare, usual
from benchmarks.table import Row, compared
from benchmarks.timing import Runner, race
from looseleaf import Workspace
from looseleaf.memory.text.comments import without_comments

GROUP = "compose"
TARGET = 2.5
GROWTH = 1.1
CROWD = 1_000
RULES = "# Rules\n\n- Ask before you publish.\n- Keep what is kept out of prompts out of pages.\n"


def measure(bench: Bench) -> Iterator[Row]:
    """Compose agent A again, for the first time, after an edit, and among a thousand agents."""
    root = bench.folder / "composing"
    workspace = _laid(root, bench)
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
    wrong = _missing(workspace, paths)
    ours, strict, plain = race(
        Runner(lambda: workspace.compose("chat", "alpha").text),
        Runner(lambda: [bare(path) for path in paths]),
        Runner(lambda: [usual(path) for path in paths]),
        rounds=bench.amount(60, 20),
        batch=100,
    )
    yield compared(GROUP, "agent A again", ours, STRICT, strict, target=TARGET, wrong=wrong)
    yield compared(GROUP, "agent A again", ours, USUAL, plain)
    yield from _anew(bench, root, paths)
    yield from _crowded(bench, workspace)


def _laid(root: Path, bench: Bench) -> Workspace:
    workspace = Workspace.create(root, agent="alpha")
    lay(root / "shared", [("RULES.md", RULES)])
    pages = dict(workload.core_pages(seed=bench.seed))
    (root / "users/1").mkdir(parents=True, exist_ok=True)
    lay(root / "users/1", [("USER.md", pages.pop("USER.md"))])
    lay(root / "agents/alpha", pages.items())
    return workspace


def _missing(workspace: Workspace, paths: list[str]) -> str:
    text = workspace.compose("chat", "alpha").text.encode()
    lost = [path for path in paths if without_comments(bare(path).decode()).encode() not in text]
    return f"not in the prompt: {', '.join(lost)}" if lost else ""


def _anew(bench: Bench, root: Path, paths: list[str]) -> Iterator[Row]:
    """Compose in a workspace that has just been opened, with every page and its history read."""
    opened: list[Workspace] = []

    def before() -> None:
        opened[:] = [Workspace.open(root)]
        opened[0].chain()

    ours, plain = race(
        Runner(lambda: opened[0].compose("chat", "alpha"), before),
        Runner(lambda: [usual(path) for path in paths]),
        rounds=bench.amount(60, 20),
        batch=1,
    )
    yield compared(GROUP, "agent A, first time", ours, USUAL, plain)


def _crowded(bench: Bench, workspace: Workspace) -> Iterator[Row]:
    """Compose the same prompt alone and among many agents, by turns in two workspaces."""
    crowd = bench.amount(CROWD, 100)
    root = bench.folder / "composing-crowd"
    many = _laid(root, bench)
    for number in range(crowd):
        many.agents.create(f"other-{number}")
    settle()
    for one in (workspace, many):
        one.compose("chat", "alpha")
    alone, crowded = race(
        Runner(lambda: workspace.compose("chat", "alpha").text),
        Runner(lambda: many.compose("chat", "alpha").text),
        rounds=bench.amount(80, 20),
        batch=100,
    )
    what = f"agent A among {crowd} others"
    yield compared(GROUP, what, crowded, "the agent alone", alone, target=GROWTH)
