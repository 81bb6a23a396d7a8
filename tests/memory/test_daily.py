"""The journal keeps a page a day in UTC, and takes only real days."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Change, Found, Missing, Workspace
from looseleaf.errors import InvalidDate
from looseleaf.errors.pages import PageMissing
from looseleaf.memory.day import Day, day_of, parse_date
from looseleaf.memory.provenance import Provenance
from tests.conftest import Clock

BY = Change(provenance=Provenance("ada"))


def text(workspace: Workspace, day: str) -> str:
    """Read a day's page as text."""
    return workspace.daily().require(day).content.decode()


def test_the_first_append_of_a_day_makes_its_page(workspace: Workspace) -> None:
    """It begins with the date; later appends only add."""
    daily = workspace.daily()
    daily.append("2026-04-28", "First note.", change=BY)
    daily.append("2026-04-28", "Second", change=BY)
    assert text(workspace, "2026-04-28") == "# 2026-04-28\n\nFirst note.\nSecond\n"


def test_an_append_never_glues_to_the_last_line(workspace: Workspace) -> None:
    """A page written without a final newline gets one first."""
    daily = workspace.daily()
    daily.write("2026-04-28", "x", change=BY)
    daily.append("2026-04-28", "y", change=BY)
    assert text(workspace, "2026-04-28") == "x\ny\n"


def test_an_empty_page_counts_as_there(workspace: Workspace) -> None:
    """No header is put into it."""
    daily = workspace.daily()
    daily.write("2026-04-28", "", change=BY)
    daily.append("2026-04-28", "y", change=BY)
    assert text(workspace, "2026-04-28") == "y\n"


def test_today_is_the_day_in_utc(workspace: Workspace, clock: Clock) -> None:
    """One second before and after midnight are different days."""
    clock.now = 1_777_334_399.0  # 2026-04-27 23:59:59 UTC
    daily = workspace.daily()
    assert str(daily.today()) == "2026-04-27"
    clock.advance(seconds=1)
    daily.append(None, "note", change=BY)
    assert daily.days() == [Day("2026", "04", "28")]
    assert daily.scope().filename == "daily/2026/04/28.md"


@pytest.mark.parametrize(
    "wrong",
    [
        *("2026-2-24", "2026-13-45", "2026-02-30", "2025-02-29", "today", "20260224"),
        *("2026-02-24 ", "0000-01-01", "٢٠٢٦-٠٢-٢٤", "2026-02-24\n", "-2026-02-24"),
    ],
)
def test_only_real_days_are_dates(workspace: Workspace, wrong: str) -> None:
    """Every operation refuses anything else, and creates nothing."""
    assert parse_date(wrong) is None
    daily = workspace.daily()
    for call in (
        lambda: daily.read(wrong),
        lambda: daily.append(wrong, "x", change=BY),
        lambda: daily.delete(wrong, change=BY),
        lambda: daily.search("x", since=wrong),
    ):
        with pytest.raises(InvalidDate, match="YYYY-MM-DD"):
            call()
    assert daily.days() == []


@given(st.dates())
def test_every_real_day_is_a_page_and_back(day: date) -> None:
    """The name of a day's page tells the day."""
    parsed = parse_date(day.isoformat())
    assert parsed is not None
    assert day_of(parsed.filename) == parsed
    assert str(parsed) == day.isoformat()


def test_days_are_listed_by_month_newest_first(workspace: Workspace) -> None:
    """Pages that are no days are left out."""
    daily = workspace.daily()
    for day in ("2026-04-29", "2026-04-28", "2026-02-15"):
        daily.append(day, "x", change=BY)
    folder = Path(workspace.store.folder(daily.shelf)) / "daily"
    (folder / "notes.md").write_text("no day")
    (folder / "2026" / "4").mkdir()
    (folder / "2026" / "4" / "1.md").write_text("no day")
    (folder / "2026" / "02" / "30.md").write_text("no day")
    assert list(daily.list_all().items()) == [("2026/04", ["28", "29"]), ("2026/02", ["15"])]
    assert daily.list_months() == ["2026/04", "2026/02"]


def test_a_missing_day_is_a_value_to_read_and_an_error_to_delete(workspace: Workspace) -> None:
    """Reading creates nothing."""
    daily = workspace.daily()
    assert daily.read("2026-04-28") == Missing()
    assert not daily.exists("2026-04-28")
    with pytest.raises(PageMissing):
        daily.delete("2026-04-28", change=BY)
    with pytest.raises(PageMissing, match="daily journal"):
        daily.require("2026-04-28")
    assert not (Path(workspace.store.folder(daily.shelf)) / "daily").exists()


def test_a_deleted_day_stays_in_the_history(workspace: Workspace) -> None:
    """Nothing just disappears."""
    daily = workspace.daily()
    daily.append("2026-04-28", "keep me", change=BY)
    daily.delete("2026-04-28", change=BY)
    assert isinstance(daily.read("2026-04-28"), Missing)
    assert b"keep me" in (workspace.history.content(daily.scope("2026-04-28"), 1) or b"")


def test_search_is_newest_first_with_inclusive_bounds_and_the_true_total(
    workspace: Workspace,
) -> None:
    """At most fifty matches come back; the total counts them all."""
    daily = workspace.daily()
    start = date(2026, 4, 1)
    for offset in range(12):
        lines = "\n".join(f"- Deploy {line}" for line in range(5))
        daily.append((start + timedelta(days=offset)).isoformat(), lines, change=BY)
    found = daily.search("dEPLOY")
    assert (len(found.matches), found.total) == (50, 60)
    assert found.matches[0].filename == "daily/2026/04/12.md"
    ranged = daily.search("deploy", since="2026-04-02", until="2026-04-03")
    assert ranged.total == 10
    assert {match.filename for match in ranged.matches} == {
        "daily/2026/04/02.md",
        "daily/2026/04/03.md",
    }


def test_a_day_can_be_read_by_two_agents_apart(workspace: Workspace) -> None:
    """Each agent has its own journal."""
    workspace.agents.create("bob")
    workspace.daily("ada").append("2026-04-28", "hers", change=BY)
    assert isinstance(workspace.daily("bob").read("2026-04-28"), Missing)
    assert isinstance(workspace.daily("ada").read("2026-04-28"), Found)
