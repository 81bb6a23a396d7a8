"""Day after day of new facts: each is found by search, none twice, and the page stays small."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

from looseleaf.features.upkeep.daily_task.gates import BUDGET
from looseleaf.models.model import Question
from tests.features.upkeep.daily_task.conftest import Upkeep

ROOM = 7_000


def divide(question: Question) -> str:
    """Keep the newest sections that fit, as a good model does."""
    text = question.messages[0].text.partition("## Current MEMORY.md Content\n\n")[2]
    head, *blocks = re.split(r"(?m)^(?=- |## )", text)
    persistent: list[str] = []
    archive: list[str] = []
    size = len(head)
    for block in reversed(blocks):
        is_kept = size + len(block) <= ROOM
        (persistent if is_kept else archive).append(block)
        size += len(block) if is_kept else 0
    kept, gone = "".join(reversed(persistent)), "".join(reversed(archive))
    return f"===PERSISTENT===\n{head}{kept}===ARCHIVED===\n{gone}"


def live_through(upkeep: Upkeep, days: int, facts: int) -> None:
    """Learn so many facts a day, some days with more words, and let upkeep run each night."""
    upkeep.page.write_text("# Agent Memory\n\n")
    upkeep.model.replies = [divide]
    statuses = set()
    first = dt.date(2026, 1, 1)
    for day in range(days):
        date = first + dt.timedelta(days=day)
        more = " and it was a long day with much to say about it" * (day % 3 == 2)
        lines = "".join(f"- fact d{day:03}n{number:03}z holds{more}\n" for number in range(facts))
        with upkeep.page.open("a") as page:
            page.write(f"\n## {date}\n\n{lines}")
        record = upkeep.run(date=str(date))
        statuses.add(record.status)
        assert len(upkeep.page.read_bytes()) <= BUDGET, record
    assert statuses <= {"compacted", "overflow_split", "skipped"}
    print(f"{days} days of {facts} facts: {sorted(statuses)}")  # noqa: T201 - shown by -rP
    check_all_found(upkeep, days, facts)


def check_all_found(upkeep: Upkeep, days: int, facts: int) -> None:
    """Every fact is in exactly one place, and the search finds it there."""
    text = upkeep.page.read_text() + upkeep.journal()
    names = re.findall(r"- fact (d\d{3}n\d{3}z) holds", text)
    assert len(names) == len(set(names)) == days * facts
    daily = upkeep.workspace.daily("ada")
    page = upkeep.page.read_text()
    for day in range(days):
        for number in range(facts):
            name = f"d{day:03}n{number:03}z"
            assert name in page or daily.search(name, context=0).total == 1, name


def test_a_few_days_lose_nothing(tmp_path: Path) -> None:
    """The short form: nine days, some of which overflow."""
    upkeep = Upkeep(tmp_path / "root", daily_memory_overflow_threshold=24_000)
    live_through(upkeep, 9, 240)
    upkeep.workspace.close()


@pytest.mark.slow
def test_a_hundred_days_lose_nothing(tmp_path: Path) -> None:
    """The whole: 100 days of 400 facts, 40,000 in all."""
    upkeep = Upkeep(tmp_path / "root")
    live_through(upkeep, 100, 400)
    upkeep.workspace.close()
