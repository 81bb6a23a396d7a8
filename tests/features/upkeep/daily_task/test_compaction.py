"""One compaction as an act: archive first, recoverable, undone as a whole, never done twice."""

from __future__ import annotations

import pytest

from looseleaf.errors import Refused, Unavailable
from looseleaf.errors.features import TaskRunMissing
from looseleaf.features.upkeep.daily_task import compaction
from looseleaf.features.upkeep.daily_task.compaction import (
    Compaction,
    Compactions,
    build_compaction,
)
from looseleaf.features.upkeep.daily_task.plan import PageParts, plan_selection
from looseleaf.values import replace
from tests.features.upkeep.daily_task.conftest import Upkeep
from tests.features.upkeep.daily_task.oracle import find_violations

PAGE = "# M\n\n## A\n\n- one\n- two\n\n## B\n\n- three\n"
DAY = "daily/2026/04/17.md"


@pytest.fixture
def compactions(upkeep: Upkeep) -> Compactions:
    """Return the compactions of the agent, whose page has two sections."""
    upkeep.page.write_text(PAGE)
    workspace = upkeep.workspace
    return Compactions(workspace.settings.root, workspace.pages, workspace.history, upkeep.agent.id)


def record(upkeep: Upkeep, run: str = "run-1", page: str = PAGE) -> Compaction:
    """Make the record of a plan that archives section B."""
    parts = PageParts(page)
    plan = plan_selection(parts, {0, 1, 2, 3})
    made = build_compaction(run, upkeep.agent.id, plan, before=page, day_file=DAY, title="Archived")
    return replace(made, time=upkeep.workspace.clock())


def test_lines_move_to_the_journal(upkeep: Upkeep, compactions: Compactions) -> None:
    """The page loses them, the day gets them, and the ledger says so."""
    made = record(upkeep)
    assert compactions.commit(made)
    assert upkeep.page.read_text() == "# M\n\n## A\n\n- one\n- two\n\n"
    assert upkeep.journal().startswith("# 2026-04-17\n\n### Archived\n<!-- looseleaf upkeep run-1")
    assert (
        find_violations(PAGE, upkeep.page.read_text(), upkeep.journal().replace("### Archived", ""))
        == []
    )
    [entry] = compactions.find("run-1").ledger
    assert (entry.line, entry.lines, entry.section, entry.to) == (8, 3, "B", DAY)
    latest = upkeep.workspace.history.latest(compactions.page)
    assert latest is not None
    assert (latest.actor_kind, latest.activity, latest.activity_id) == ("task", "job", "run-1")


def test_an_edit_wins(upkeep: Upkeep, compactions: Compactions) -> None:
    """A page that is not what was read stays as it is, and nothing is archived."""
    upkeep.page.write_text(PAGE + "- edited\n")
    assert not compactions.commit(record(upkeep))
    assert upkeep.page.read_text() == PAGE + "- edited\n"
    assert upkeep.journal() == ""


def test_an_edit_between_archive_and_rewrite_wins(
    upkeep: Upkeep, compactions: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive is taken back."""
    append = Compactions._append_block

    def append_and_edit(self: Compactions, made: Compaction) -> None:
        append(self, made)
        upkeep.page.write_text(PAGE + "- edited\n")

    monkeypatch.setattr(Compactions, "_append_block", append_and_edit)
    assert not compactions.commit(record(upkeep))
    assert upkeep.page.read_text() == PAGE + "- edited\n"
    assert upkeep.journal() == ""
    assert compactions.find("run-1").state == "abandoned"


def test_undo_restores_page_and_journal(upkeep: Upkeep, compactions: Compactions) -> None:
    """A day that the run began goes, too; a day with other text keeps it byte for byte."""
    assert compactions.commit(record(upkeep))
    assert compactions.undo("run-1", "cli").state == "undone"
    assert upkeep.page.read_text() == PAGE
    assert upkeep.journal() == ""
    upkeep.workspace.daily("ada").append(
        "2026-04-17", "- met Grace", change=compactions._build_change(record(upkeep), "append")
    )
    before = upkeep.journal()
    assert compactions.commit(record(upkeep, "run-2"))
    upkeep.workspace.daily("ada").append(
        "2026-04-17", "- later", change=compactions._build_change(record(upkeep), "append")
    )
    compactions.undo("run-2", "cli")
    assert upkeep.journal() == before + "- later\n"
    with pytest.raises(Refused, match="undone"):
        compactions.undo("run-2", "cli")
    with pytest.raises(TaskRunMissing):
        compactions.undo("run-3", "cli")


def test_undo_keeps_what_was_learned_since(upkeep: Upkeep, compactions: Compactions) -> None:
    """New lines, changed lines and removed lines stay so, and the archived ones are back."""
    assert compactions.commit(record(upkeep))
    page = upkeep.page.read_text()
    upkeep.page.write_text(page + "- new\n\n## Later\n\n- also new\n")
    assert compactions.undo("run-1", "cli").state == "undone"
    text = upkeep.page.read_text()
    assert [line for line in PAGE.splitlines() if line not in text.splitlines()] == []
    assert "- new\n" in text
    assert text.endswith("## Later\n\n- also new\n")
    assert len(text.splitlines()) == len(PAGE.splitlines()) + 5
    assert upkeep.journal() == ""


def test_an_undo_that_was_killed_is_completed_as_it_was_begun(
    upkeep: Upkeep, compactions: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record has the merged page, so that recovery needs no second merge."""
    assert compactions.commit(record(upkeep))
    upkeep.page.write_text(upkeep.page.read_text() + "- new\n")

    def die(_self: Compactions, _record: Compaction) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(Compactions, "_complete_undo", die)
        with pytest.raises(KeyboardInterrupt):
            compactions.undo("run-1", "cli")
    compactions.recover()
    assert compactions.find("run-1").state == "undone"
    assert "- new\n" in upkeep.page.read_text()
    assert upkeep.journal() == ""


def test_undo_does_not_overwrite_a_later_edit(upkeep: Upkeep, compactions: Compactions) -> None:
    """A page that is gone, or archived lines that were changed, are for a person to decide."""
    assert compactions.commit(record(upkeep))
    page = upkeep.page.read_text()
    upkeep.page.unlink()
    with pytest.raises(Refused, match="Take the lines from the journal"):
        compactions.undo("run-1", "cli")
    assert compactions.find("run-1").state == "closed"
    upkeep.page.write_text(page)
    day = next(upkeep.days.rglob("*.md"))
    day.write_text(day.read_text().replace("three", "four"))
    with pytest.raises(Refused, match="no longer has its lines"):
        compactions.undo("run-1", "cli")
    assert upkeep.page.read_text() == page


@pytest.mark.parametrize("step", ["_append_block", "_rewrite", "_save"])
def test_a_failure_leaves_every_line_somewhere(
    upkeep: Upkeep, compactions: Compactions, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """And the next run completes or takes back what was begun, and archives nothing twice."""
    original = getattr(Compactions, step)
    calls = 0

    def fail(self: Compactions, *arguments: object) -> object:
        nonlocal calls
        calls += 1
        if step == "_save" and calls == 1:
            return original(self, *arguments)
        raise Unavailable("the disk", "it failed")

    with monkeypatch.context() as patch:
        patch.setattr(Compactions, step, fail)
        with pytest.raises(Unavailable):
            compactions.commit(record(upkeep))
    for line in ("- one", "- two", "- three"):
        assert line in upkeep.page.read_text() + upkeep.journal()
    compactions.recover()
    assert compactions.list_unfinished() == []
    text = upkeep.page.read_text()
    assert (text + upkeep.journal()).count("- three") == 1
    if text == PAGE:
        assert compactions.commit(record(upkeep, "run-2"))
    assert upkeep.journal().count("- three") == 1


def test_recovery_keeps_an_edit_that_came_after_the_crash(
    upkeep: Upkeep, compactions: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archived, not rewritten, then edited by a person: the archive is taken back."""
    with monkeypatch.context() as patch:
        patch.setattr(Compactions, "_rewrite", _fail)
        with pytest.raises(Unavailable):
            compactions.commit(record(upkeep))
    upkeep.page.write_text(PAGE + "- edited\n")
    compactions.recover()
    assert upkeep.page.read_text() == PAGE + "- edited\n"
    assert upkeep.journal() == ""


def test_old_records_go(
    upkeep: Upkeep, compactions: Compactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest stay."""
    monkeypatch.setattr(compaction, "MOST_RECORDS", 2)
    page = PAGE
    for number in range(4):
        upkeep.page.write_text(page)
        assert compactions.commit(record(upkeep, f"run-{number}"))
    assert compactions.records.names() == ["run-2", "run-3"]


def _fail(*_arguments: object) -> bool:
    raise Unavailable("the disk", "it failed")
