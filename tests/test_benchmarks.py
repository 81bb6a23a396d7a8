"""The benchmarks measure the data they say, and print what they measured."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks import workload
from benchmarks.table import Row, format_amount, format_table
from benchmarks.timing import Runner, Spread, compute_ratio, race, summarize_laps

ROOT = Path(__file__).parent.parent
DAYS_120 = "086fa7c223609929"
AGENTS_3 = "59ccab04469dba08"


def digest(pages: Iterable[tuple[str, str]]) -> str:
    total = hashlib.sha256()
    for name, text in pages:
        total.update(f"{name}\0{text}\0".encode())
    return total.hexdigest()[:16]


def test_the_workload_is_the_same_everywhere() -> None:
    """Core pages, days and agents are made byte for byte as on every other machine."""
    assert workload.compute_digest("A") == workload.DIGESTS["A"]
    assert digest(workload.generate_journal(days=120)) == DAYS_120
    agents = workload.generate_agents(count=3)
    assert digest((f"{agent}/{name}", text) for agent, name, text in agents) == AGENTS_3


def test_another_seed_gives_other_data() -> None:
    """A result that holds for one seed alone can be told by trying another."""
    assert workload.compute_digest("A", seed=1) != workload.DIGESTS["A"]


def test_the_core_pages_have_their_sizes() -> None:
    """What is called 8 KB is 8 KB."""
    sizes = {name: len(text.encode()) for name, text in workload.build_core_pages().items()}
    assert sizes == {"SOUL.md": 3072, "USER.md": 2048, "MEMORY.md": 8192}


def test_the_needles_are_planted() -> None:
    """In the first hundred and twenty days each query finds the days it is planted in."""
    pages = [text.casefold() for _, text in workload.generate_journal(days=120)]
    found = {query.name: sum(query.text in page for page in pages) for query in workload.QUERIES}
    assert found.pop("common") > 60
    planted = {"rare": 1, "midword": 1, "phrase": 1, "medium": 2, "cased": 1, "unicode": 1}
    assert found == {"absent": 0, **planted}


def test_both_sides_run_by_turns() -> None:
    """In every round each runs a batch, and neither is always the first."""
    order: list[str] = []
    ours, limit = race(
        Runner(lambda: order.append("ours")),
        Runner(lambda: order.append("limit")),
        rounds=2,
        batch=2,
    )
    warm_up = ["ours"] * 2 + ["limit"] * 2
    assert order == warm_up + ["ours"] * 2 + ["limit"] * 4 + ["ours"] * 2
    assert [len(lap) for lap in ours] == [len(lap) for lap in limit] == [2, 2]


def test_a_ratio_is_the_middle_of_the_rounds() -> None:
    """One round on a busy machine changes nothing."""
    assert compute_ratio([[2.0], [4.0], [90.0]], [[1.0], [2.0], [3.0]]) == 2.0
    assert summarize_laps([[1.0, 2.0], [3.0]]) == Spread(2.0, 3.0)


def test_the_table_says_what_is_over() -> None:
    """A row has its verdict, and amounts are written for people."""
    row = Row("read", "a page", Spread(3e-6, 4e-6), "open", Spread(1e-6, 2e-6), 3.0, 2.0)
    line = format_table([row]).splitlines()[-1]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        "read: a page", "3.00 µs", "4.00 µs", "open", "1.00 µs", "2.00 µs", "3.00", "≤ 2", "over",
    ]  # fmt: skip
    assert format_amount(0.0123, "seconds") == "12.3 ms"
    assert format_amount(25_600_000, "bytes") == "25.6 MB"


@pytest.mark.slow
def test_a_quick_run_prints_a_table(tmp_path: Path) -> None:
    """It works from the command line, leaves nothing behind, and fails only for wrong answers."""
    told = tmp_path / "rows.json"
    folder = tmp_path / "folder"
    folder.mkdir()
    options = ["--quick", "--only", "reading", "--folder", str(folder), "--json", str(told)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(told.read_text())["rows"]
    assert {row["group"] for row in rows} == {"read"}
    assert all(f"| read: {row['what']} " in done.stdout for row in rows)
    assert "target" in done.stdout.splitlines()[-1]
    assert not list(folder.iterdir())
