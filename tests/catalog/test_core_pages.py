"""The doctor's look at core pages, and the same problems in a check of one prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.catalog.page_checks import Finding
from looseleaf.operations.doctor import check_workspace
from looseleaf.operations.prompt import check_prompt

MERGED = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"


def findings(workspace: Workspace, check: str) -> list[Finding]:
    """Ask the doctor, without reading everything."""
    return [item for item in check_workspace(workspace.context) if item.check == check]


def test_a_sound_workspace_is_said_to_be_so(workspace: Workspace) -> None:
    """One line for each look."""
    assert [finding.status for finding in findings(workspace, "core pages")] == ["ok"]
    assert [finding.status for finding in findings(workspace, "hooks")] == ["ok"]
    assert check_prompt(workspace.context, "chat").problems == ()


def test_a_core_page_that_is_gone_is_said_in_the_prompt_and_by_the_doctor(
    workspace: Workspace,
) -> None:
    """The model is told, not that nothing was ever known; a page never written is no fault."""
    path = Path(workspace.root, "agents/ada/MEMORY.md")
    text = path.read_text()
    path.unlink()
    (found,) = findings(workspace, "core pages")
    assert (found.status, "was here and its file is gone" in found.detail) == ("fault", True)
    assembly = workspace.compose("chat", "ada")
    assert "[MEMORY.md could not be given: it was here and its file is gone" in assembly.text
    assert [item.file for item in check_prompt(workspace.context, "chat").problems] == ["MEMORY.md"]
    path.write_text(text)
    assert [finding.status for finding in findings(workspace, "core pages")] == ["ok"]
    assert "could not be given" not in workspace.compose("chat", "ada").text
    workspace.agents.create("bob")  # without pages
    assert "could not be given" not in workspace.compose("chat", "bob").text


@pytest.mark.parametrize(
    ("page", "owner"),
    [
        ("agents/ada/MEMORY.md", "agents/ada"),
        ("users/1/USER.md", "users/1"),
        ("shared/RULES.md", "shared"),
    ],
)
def test_a_core_page_that_cannot_be_given_is_a_fault(
    workspace: Workspace, page: str, owner: str
) -> None:
    """Not UTF-8, or not readable at all; the check of a prompt says it, too."""
    path = Path(workspace.root, page)
    path.write_bytes(b"caf\xe9")
    (found,) = findings(workspace, "core pages")
    assert (found.status, found.detail.partition(": ")[0]) == ("fault", owner)
    assert "is not UTF-8 text (byte 3)" in found.detail
    checked = check_prompt(workspace.context, "chat")
    assert not checked.fits
    assert checked.omitted == (path.name,)
    assert [(problem.file, problem.kind) for problem in checked.problems] == [
        (path.name, "not_text")
    ]
    path.unlink()
    path.symlink_to("elsewhere.md")
    (found,) = findings(workspace, "core pages")
    assert found.status == "fault"
    assert [problem.kind for problem in check_prompt(workspace.context, "chat").problems] == [
        "unreadable"
    ]


def test_markers_of_a_merge_and_copies_are_warnings(workspace: Workspace) -> None:
    """Of pages and of days, with what to do."""
    folder = Path(workspace.root, "agents/ada")
    (folder / "MEMORY.md").write_text("# Memory\n\n" + MERGED)
    (folder / "SOUL (Eve's conflicted copy 2026-04-17).md").write_text("other")
    (folder / "daily/2026/04").mkdir(parents=True)
    (folder / "daily/2026/04/17.sync-conflict-20260417-101010-ABCDEFG.md").write_text("other")
    found = findings(workspace, "core pages")
    assert {item.status for item in found} == {"warning"}
    told = "\n".join(item.detail for item in found)
    assert "MEMORY.md has the markers of a merge, from line 3 on" in told
    assert "SOUL (Eve's conflicted copy 2026-04-17).md" in told
    assert "daily/2026/04/17.sync-conflict" in told
    kinds = [problem.kind for problem in check_prompt(workspace.context, "chat").problems]
    assert kinds == ["merge_conflict", "conflicting_copy", "conflicting_copy"]
    line = check_prompt(workspace.context, "chat").problems[0].detail
    assert line.endswith("from line 3 on")


def test_what_no_hook_has_room_for_is_a_warning(workspace: Workspace) -> None:
    """By agent, with the command that says more."""
    Path(workspace.root, "agents/ada/MEMORY.md").write_text("- A fact.\n" * 1_500)
    (found,) = findings(workspace, "hooks")
    assert found.status == "warning"
    assert found.detail.startswith("ada: a hook may print 10,000 characters, so it gives in part")
    assert "prompt check --hook --agent ada" in found.advice


def test_a_generated_page_that_no_hook_has_room_for_is_no_warning(workspace: Workspace) -> None:
    """The list of many agents is long for each of them, and nobody wrote it."""
    Path(workspace.root, "shared/SITE.md").write_text("# Site\n\n" + "- An agent.\n" * 900)
    assert "SITE.md" in check_prompt(workspace.context, "chat", host="any").omitted
    assert [finding.status for finding in findings(workspace, "hooks")] == ["ok"]
