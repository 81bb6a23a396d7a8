"""The task and the operation that pack histories: what people read stays the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Change, Where, Workspace
from looseleaf.features.upkeep.retention import TASK_TYPE
from looseleaf.features.workflows.operations import system_tasks
from looseleaf.operations import history, memory, search
from looseleaf.operations.agents import create_agent, delete_agent, restore_agent
from looseleaf.operations.doctor import check_workspace
from looseleaf.operations.history import PackReport, pack_histories
from looseleaf.operations.prompt import compose_prompt
from looseleaf.times import format_microseconds
from looseleaf.values import replace
from tests.conftest import Clock

COUNT = 40


@pytest.fixture
def written(workspace: Workspace, clock: Clock) -> Workspace:
    """Return a workspace in which MEMORY.md and a deleted page have forty versions each."""
    shelf = workspace.agents.resolve("ada").shelf
    for number in range(1, COUNT + 1):
        clock.advance(days=0.01)
        lines = "".join(f"- fact {fact}\n" for fact in range(number))
        for name in ("MEMORY.md", "notes.md"):
            text = f"# Page\n\n## Facts\n\n{lines}"
            workspace.pages.write(shelf.page(name), text, change=Change())
    workspace.pages.delete(shelf.page("notes.md"), change=Change())
    return workspace


def everything_read(workspace: Workspace) -> list[object]:
    """Return what every reader of the history gives."""
    context = workspace.context
    revisions = history.list_revisions(context, "MEMORY.md")
    as_of = format_microseconds(revisions[10].time)
    return [
        revisions,
        history.list_revisions(context, "notes.md"),
        history.diff(context, "MEMORY.md", "4", "9"),
        memory.read_memory(context, "MEMORY.md", as_of="7").content,
        memory.read_memory(context, "notes.md", as_of=as_of).content,
        search.search(context, "fact", as_of=as_of).matches,
        compose_prompt(context, "chat", as_of=as_of),
    ]


def test_nothing_that_is_read_changes(written: Workspace) -> None:
    """List, diff, as-of reads, search and prompt, a deleted page's too; then a restore."""
    before = everything_read(written)
    report = history.pack(written.context)
    assert (report.pages, report.problems) == (2, ())
    assert report.pack_bytes < report.file_bytes
    assert everything_read(written) == before
    assert history.restore(written.context, "notes.md", "12").bytes
    assert memory.read_memory(written.context, "notes.md").content.count("fact") == 12
    findings = check_workspace(written.context, verify=True)
    assert [finding for finding in findings if finding.status == "fault"] == []
    assert history.pack(written.context).versions == 0


def test_a_dry_run_says_the_same_and_writes_nothing(written: Workspace) -> None:
    """So that people can see beforehand what it gives."""
    packs = list(Path(written.root, ".looseleaf/history").rglob("pack"))
    expected = history.pack(written.context, dry_run=True)
    assert expected.dry_run
    assert packs == list(Path(written.root, ".looseleaf/history").rglob("pack")) == []
    assert history.pack(written.context) == replace(expected, dry_run=False)


def test_the_history_of_a_deleted_agent_is_packed(workspace: Workspace) -> None:
    """And is there when the agent is restored."""
    create_agent(workspace.context, "bob")
    where = Where("bob")
    for number in range(1, COUNT + 1):
        memory.write_page(workspace.context, "notes.md", f"- {number}\n" * 50, where=where)
    delete_agent(workspace.context, "bob", files=True)
    assert history.pack(workspace.context).versions
    restore_agent(workspace.context, "bob")
    content = memory.read_memory(workspace.context, "notes.md", as_of="3", where=where).content
    assert content == "- 3\n" * 50


def test_the_task_packs_and_reports(written: Workspace) -> None:
    """With figures; off, it does nothing."""
    off = replace(written.settings, history_packing_enabled=False)
    [run] = system_tasks.run_now(replace(written.context, settings=off), TASK_TYPE)
    assert (run.status, run.reason) == ("skipped", "history_packing_enabled is off")
    [run] = system_tasks.run_now(written.context, TASK_TYPE)
    assert (run.status, run.agent, run.details["pages"]) == ("packed", "", 2)
    assert f"{run.details['versions']} versions of 2 pages" in run.reason
    [run] = system_tasks.run_now(written.context, TASK_TYPE)
    assert run.status == "unchanged"


def test_a_page_that_cannot_be_packed_does_not_stop_the_others(written: Workspace) -> None:
    """It is named, and the run is a failure that a later one may make good."""
    agent = written.agents.resolve("ada")
    log = Path(written.root, f".looseleaf/history/{agent.shelf.name}/MEMORY.md/log")
    log.write_bytes(log.read_bytes().replace(b'"time"', b'"tame"', 1))
    [run] = system_tasks.run_now(written.context, TASK_TYPE)
    assert (run.status, run.is_failure, run.details["pages"]) == ("failed", True, 1)
    assert "MEMORY.md" in run.reason
    report = history.pack(written.context)
    assert report.problem_count == 1
    assert report.problems[0].startswith("agent:")


def test_a_run_that_is_cancelled_ends_between_two_pages(written: Workspace) -> None:
    """Pages that were packed stay packed."""
    stops = iter([False, True])
    report = pack_histories(written.history, is_cancelled=lambda: next(stops, True))
    assert report.pages <= 1
    assert history.pack(written.context).pages == 2 - report.pages


def test_progress_is_shown(written: Workspace) -> None:
    """Page by page."""
    steps: list[tuple[str, int, int]] = []
    written.show_progress = lambda *step: steps.append(step)
    assert isinstance(history.pack(written.context), PackReport)
    assert [count for _, count, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == "Packing histories"
    assert steps[-1][1] == steps[-1][2]
