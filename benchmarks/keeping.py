"""Keeping memory lean: the gates and the split of a page of 1 MB, and lint of 1,000 pages."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import workload
from benchmarks.bench import Bench
from benchmarks.table import Row, build_row
from benchmarks.timing import Runner, race
from looseleaf.features.upkeep.daily_task.conversation import review_answer
from looseleaf.features.upkeep.daily_task.gates import Thresholds, refuse_loss
from looseleaf.features.upkeep.daily_task.plan import PageParts, plan_overflow
from looseleaf.features.upkeep.lint import LintPage, lint_pages
from looseleaf.memory.registry import FileRegistry
from looseleaf.plugins.defaults import register_core_files

GROUP = "upkeep"
LIMIT = "splitting the same text into words"
DATE = "2026-04-17"
PAGES, PAGE_BYTES, LARGE_BYTES = 1_000, 4_000, 1_000_000


def measure(bench: Bench) -> Iterator[Row]:
    """Measure each beside the words of the same text, which any look at every word must find."""
    page = _build_page(bench.seed, LARGE_BYTES)
    half = page.rfind("\n## ", 0, len(page) // 2) + 1
    answer = f"===PERSISTENT===\n{page[:half]}===ARCHIVED===\n{page[half:]}"
    limits = Thresholds(overflow=0)
    wrong = "" if review_answer(PageParts(page), answer, limits).plan else "no plan"
    rounds = bench.amount(5, 2)
    for title, runner in (
        ("the gates over a page of 1 MB", lambda: review_answer(PageParts(page), answer, limits)),
        ("the split of a page of 1 MB", lambda: _split(page)),
    ):
        laps, word_laps = race(Runner(runner), Runner(page.split), rounds=rounds, batch=1)
        yield build_row(GROUP, title, laps, LIMIT, word_laps, wrong=wrong)
    texts = [
        _build_page(bench.seed + number, PAGE_BYTES) for number in range(bench.amount(PAGES, 100))
    ]
    registry = FileRegistry()
    register_core_files(registry)
    laps, word_laps = race(
        Runner(lambda: _lint(texts, registry)),
        Runner(lambda: [text.split() for text in texts]),
        rounds=rounds,
        batch=1,
    )
    yield build_row(GROUP, f"lint of {len(texts):,} pages of 4 KB", laps, LIMIT, word_laps)


def _split(page: str) -> None:
    plan = plan_overflow(page, 8192, DATE)
    if plan is None or refuse_loss(page, plan) is not None:
        raise AssertionError("the split loses something")


def _lint(texts: list[str], registry: FileRegistry) -> int:
    pages = [LintPage(f"p{number}.md", "agent", text) for number, text in enumerate(texts)]
    return sum(1 for _problem in lint_pages(pages, registry, 0.0))


def _build_page(seed: int, size: int) -> str:
    """Create a page of sections and facts, of about so many bytes."""
    facts = workload.build_core_pages(seed=seed)["MEMORY.md"].split("\n")
    lines = [line for line in facts if line.strip() and not line.startswith("#")]
    parts, length, number = ["# Memory\n"], 9, 0
    while length < size:
        if number % 40 == 0:
            parts.append(f"\n## Topic {number // 40}\n\n")
        parts.append(f"- {number} {lines[number % len(lines)].lstrip('- ')}\n")
        length += len(parts[-1].encode())
        number += 1
    return "".join(parts)
