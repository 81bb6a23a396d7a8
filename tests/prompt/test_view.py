"""How a page is given: without notes for people, and never missing without a word."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import Unavailable, Unsafe
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Found, Missing
from looseleaf.operations.prompt import explain_prompt
from looseleaf.prompt.directive import PresentSources
from looseleaf.values import replace
from tests.prompt.conftest import list_left_out, list_pages

NOBODY = 65_534  # a user without rights
PAGE = "# Memory\n\n<!-- Facts only. -->\n\n- Ada likes tea.\n"


def page_of(workspace: Workspace, name: str = "agents/ada/MEMORY.md") -> Path:
    """Return the file of a page."""
    return Path(workspace.root, name)


def test_comments_stay_out_and_explain_counts_them(workspace: Workspace) -> None:
    """For each page, and for all of them; everything else is byte-exact."""
    page_of(workspace).write_text(PAGE)
    assembly = workspace.compose("chat", "ada")
    assert "\n# Memory\n\n\n- Ada likes tea.\n\n</page" in assembly.text
    assert "<!--" not in assembly.text
    explained = explain_prompt(workspace.context, "chat")
    saved = {candidate.name: candidate.comments for candidate in explained.candidates}
    assert saved["MEMORY.md"] == len("<!-- Facts only. -->\n")
    assert explained.comments == sum(saved.values())


def test_a_setting_keeps_comments(workspace: Workspace) -> None:
    """Then a page is as it lies on disk, an untouched one too."""
    page_of(workspace).write_text(PAGE)
    workspace.chain().parts = replace(workspace.chain().parts, keep_comments=True)
    assembly = workspace.compose("chat", "ada")
    assert PAGE in assembly.text
    assert {"RULES.md", "USER.md"} <= set(list_pages(assembly))
    assert explain_prompt(workspace.context, "chat").comments == 0


def test_the_setting_is_read_from_the_file(tmp_path: Path) -> None:
    """As every other."""
    Workspace.create(tmp_path, agent="ada")
    with (tmp_path / "looseleaf.toml").open("a") as file:
        file.write("prompt_comments = true\n")
    assert "<!--" in Workspace.open(tmp_path).compose("chat", "ada").text


def test_a_page_that_nobody_filled_in_counts_as_empty(workspace: Workspace) -> None:
    """Headings and comments tell a model nothing; the first word does."""
    why = list_left_out(workspace.compose("chat", "ada"))
    assert (why["RULES.md"], why["USER.md"]) == ("starter", "starter")
    size = next(
        candidate.size
        for candidate in explain_prompt(workspace.context, "chat").candidates
        if candidate.name == "RULES.md"
    )
    rules = page_of(workspace, "shared/RULES.md")
    assert size == len(rules.read_bytes())
    rules.write_text(rules.read_text() + "\n- Be kind.\n")
    assert "- Be kind." in workspace.compose("chat", "ada").text


def test_a_page_that_is_not_utf_8_leaves_a_notice(workspace: Workspace) -> None:
    """In the prompt and in `omitted`; the other pages are given."""
    page_of(workspace).write_bytes(b"- caf\xe9\n")
    assembly = workspace.compose("chat", "ada")
    assert "[MEMORY.md could not be given: MEMORY.md is not UTF-8 text (byte 5)." in assembly.text
    assert "SOUL.md" in list_pages(assembly)
    assert explain_prompt(workspace.context, "chat").omitted == ("MEMORY.md",)


def test_a_page_that_cannot_be_read_leaves_a_notice(workspace: Workspace) -> None:
    """And is given again as soon as it can be, even if it had been given before."""
    assert "MEMORY.md" in list_pages(workspace.compose("chat", "ada"))
    page = page_of(workspace)
    text = page.read_text()
    page.unlink()
    page.symlink_to("SOUL.md")
    assembly = workspace.compose("chat", "ada")
    assert list_left_out(assembly)["MEMORY.md"] == "unreadable"
    assert "[MEMORY.md could not be given: " in assembly.text
    assert assembly.omitted == ("MEMORY.md",)
    page.unlink()
    page.write_text(text)
    assert "MEMORY.md" in list_pages(workspace.compose("chat", "ada"))


def test_a_page_without_permission_leaves_a_notice() -> None:
    """As any other that cannot be read; root, who may read everything, is someone else for it."""
    with tempfile.TemporaryDirectory(prefix="looseleaf-unreadable-") as folder:
        workspace = Workspace.create(Path(folder, "memory"), agent="ada")
        is_root = os.geteuid() == 0
        if is_root:
            for path in (Path(folder), *Path(folder).rglob("*")):
                os.chown(path, NOBODY, -1)
        page_of(workspace).chmod(0)
        try:
            if is_root:
                os.seteuid(NOBODY)
            with Workspace.open(workspace.root) as opened:
                assert list_left_out(opened.compose("chat", "ada"))["MEMORY.md"] == "unreadable"
        finally:
            if is_root:
                os.seteuid(0)


def test_a_store_that_gives_no_page_at_all_is_an_error(workspace: Workspace) -> None:
    """A prompt of notices alone would pass for an agent without memory."""

    class Vanished(PresentSources):
        def read(self, scope: Scope) -> Found | Missing:
            raise Unavailable(scope.filename, "the disk is gone")

    sources = Vanished(workspace.pages, lambda _scope: workspace.history)
    workspace.chain().parts = replace(workspace.chain().parts, sources=sources)
    with pytest.raises(Unavailable):
        workspace.compose("chat", "ada")


def test_every_page_a_link_is_an_error_too(workspace: Workspace) -> None:
    """Whatever the reason, there is no prompt without one page."""
    for name in ("shared/SITE.md", "shared/RULES.md", "agents/ada/SOUL.md", "users/1/USER.md"):
        page_of(workspace, name).unlink()
    page_of(workspace).unlink()
    page_of(workspace).symlink_to("OTHER.md")
    with pytest.raises(Unsafe):
        workspace.compose("chat", "ada")
