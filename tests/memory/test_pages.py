"""Pages follow the registry's rules, keep every byte, and tell listeners afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import ABSENT, Change, Conflict, Found, Scope, Workspace
from looseleaf.errors.pages import (
    NotEditable,
    NotText,
    PageMissing,
    Protected,
    SectionMissing,
    TooLarge,
)
from looseleaf.memory.pages import Changed, MemoryPages, Saved
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.registry import FileRegistry
from looseleaf.plugins.defaults import register_core_files

BY = Change(provenance=Provenance("ada", surface="test", reason="because"))
MEMORY = Scope("agent", 0, 1, "MEMORY.md")
NOTES = Scope("agent", 0, 1, "notes.md")


def test_what_is_written_is_read_back_byte_for_byte(workspace: Workspace) -> None:
    """CRLF, a missing final newline and a byte order mark stay."""
    text = "\ufeffone\r\ntwo\n\nthree"
    workspace.pages.write(NOTES, text, change=BY)
    assert workspace.pages.text(NOTES) == text
    assert workspace.store.path(NOTES).endswith("/agents/ada/notes.md")


def test_a_write_names_the_version_it_replaces(workspace: Workspace) -> None:
    """A version that is no longer current gets a conflict with both hashes, and nothing changes."""
    first = workspace.pages.write(NOTES, "one", change=BY, if_match=ABSENT)
    assert isinstance(first, Saved)
    second = workspace.pages.write(NOTES, "two", change=BY, if_match=first.hash)
    assert isinstance(second, Saved)
    third = workspace.pages.write(NOTES, "three", change=BY, if_match=first.hash)
    assert third == Conflict(first.hash, second.hash)
    assert workspace.pages.text(NOTES) == "two"


def test_append_begins_on_a_line_of_its_own(workspace: Workspace) -> None:
    """A page that lacks its final newline gets it, and appended text ends with one."""
    workspace.pages.write(NOTES, "one", change=BY)
    workspace.pages.append(NOTES, "two", change=BY)
    workspace.pages.append(NOTES, "three\n", change=BY)
    assert workspace.pages.text(NOTES) == "one\ntwo\nthree\n"


def test_a_missing_page_can_be_appended_to(workspace: Workspace) -> None:
    """The page begins with what was appended."""
    saved = workspace.pages.append(NOTES, "first", change=BY)
    assert (saved.previous, workspace.pages.text(NOTES)) == ("", "first\n")


def test_core_pages_can_be_cleared_but_not_deleted(workspace: Workspace) -> None:
    """Deleting is refused whatever the spelling; clearing keeps the text in the history."""
    before = workspace.pages.text(MEMORY)
    with pytest.raises(Protected, match="Clear its content instead"):
        workspace.pages.delete(MEMORY, change=BY)
    workspace.pages.clear(MEMORY, change=BY)
    assert workspace.pages.text(MEMORY) == ""
    assert workspace.history.content(MEMORY, 1) == before.encode()


def test_generated_pages_are_not_edited_by_hand(workspace: Workspace) -> None:
    """The error says how the page is made anew."""
    site = Scope("shared", 0, 0, "SITE.md")
    with pytest.raises(NotEditable, match=r"looseleaf memory compose SITE\.md"):
        workspace.pages.write(site, "mine", change=BY)
    with pytest.raises(NotEditable):
        workspace.pages.append(site, "mine", change=BY)


def test_scaffolding_never_overwrites(workspace: Workspace) -> None:
    """A page that is there keeps its bytes, even when it is empty."""
    workspace.pages.write(NOTES, "", change=BY)
    assert not workspace.pages.scaffold(NOTES, "starter", change=BY)
    assert workspace.pages.text(NOTES) == ""


def test_size_warnings_never_block(workspace: Workspace) -> None:
    """8192 bytes pass in silence, 8193 are written with a warning; words are counted too."""
    at = workspace.pages.write(NOTES, "x" * 8192, change=BY)
    over = workspace.pages.write(NOTES, "x" * 8193, change=BY)
    assert isinstance(at, Saved)
    assert isinstance(over, Saved)
    assert at.warnings == ()
    assert "8193 bytes" in over.warnings[0]
    soul = workspace.pages.write(Scope("agent", 0, 1, "SOUL.md"), "word " * 501, change=BY)
    assert isinstance(soul, Saved)
    assert "501 words" in soul.warnings[0]


def test_more_than_a_page_may_have_is_refused(workspace: Workspace) -> None:
    """Nothing is written."""
    workspace.pages.max_bytes = 100
    with pytest.raises(TooLarge, match="101 bytes"):
        workspace.pages.write(NOTES, "x" * 101, change=BY)
    assert not workspace.pages.exists(NOTES)


def test_only_text_is_written_and_other_bytes_are_never_lost(workspace: Workspace) -> None:
    """Bytes that are not UTF-8 are refused; such a file made outside is left alone by edits."""
    with pytest.raises(NotText, match="byte 1"):
        workspace.pages.write(NOTES, b"a\xff", change=BY)
    with open(workspace.store.path(NOTES), "wb") as file:
        file.write(b"a\xff")
    with pytest.raises(NotText):
        workspace.pages.append(NOTES, "more", change=BY)
    page = workspace.pages.read(NOTES)
    assert isinstance(page, Found)
    assert page.content == b"a\xff"


def test_sections_are_edited_on_any_page(workspace: Workspace) -> None:
    """Set creates, append adds, delete takes away, and the error names what there is."""
    pages = workspace.pages
    pages.set_section(NOTES, "A", "one", change=BY)
    pages.append_to_section(NOTES, "A", "two", change=BY)
    pages.set_section(NOTES, "B", "three", change=BY)
    assert [section.name for section in pages.sections(NOTES)] == ["A", "B"]
    assert pages.read_section(NOTES, "A") == "one\ntwo"
    pages.delete_section(NOTES, "A", change=BY)
    with pytest.raises(SectionMissing, match="Available sections: B"):
        pages.read_section(NOTES, "A")
    with pytest.raises(PageMissing):
        pages.delete_section(Scope("agent", 0, 1, "none.md"), "A", change=BY)


def test_listeners_are_told_afterwards_and_cannot_undo(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failing listener is reported by name; the change and the other listeners go on."""
    told: list[Changed] = []

    def broken(_event: Changed) -> None:
        raise RuntimeError("no")

    workspace.pages.on_change(broken, owner="a plugin")
    workspace.pages.on_change(told.append)
    saved = workspace.pages.append(NOTES, "x", change=BY)
    workspace.pages.append(NOTES, "y", change=BY)
    workspace.pages.delete(NOTES, change=BY)
    assert (told[0].hash, told[0].revision) == (saved.hash, 1)
    assert [event.change.operation for event in told] == ["append", "append", "delete"]
    assert told[0].change.provenance.actor == "ada"
    assert "a plugin failed" in capsys.readouterr().err


def test_the_same_bytes_again_are_no_change(workspace: Workspace) -> None:
    """No revision, no event."""
    told: list[Changed] = []
    workspace.pages.write(NOTES, "same", change=BY)
    workspace.pages.on_change(told.append)
    again = workspace.pages.write(NOTES, "same", change=BY)
    assert isinstance(again, Saved)
    assert (again.changed, told, len(workspace.history.revisions(NOTES))) == (False, [], 1)


def test_a_page_edited_in_an_editor_is_the_page(workspace: Workspace) -> None:
    """The next read sees it, and the next section edit builds on it."""
    pages = workspace.pages
    pages.set_section(NOTES, "A", "one", change=BY)
    assert pages.read_section(NOTES, "A") == "one"
    with open(workspace.store.path(NOTES), "a") as file:
        file.write("by hand\n")
    assert pages.read_section(NOTES, "A") == "one\nby hand"
    pages.append_to_section(NOTES, "A", "two", change=BY)
    assert pages.read_section(NOTES, "A") == "one\nby hand\ntwo"
    operations = [revision.operation for revision in workspace.history.revisions(NOTES)]
    assert operations == ["set section", "outside", "append to section"]


@given(st.binary(max_size=200))
def test_warnings_are_a_matter_of_size_alone(content: bytes) -> None:
    """Whatever the bytes, small pages give none."""
    registry = FileRegistry()
    register_core_files(registry)
    pages = MemoryPages(lambda _place: pytest.fail("no store"), registry, report=print)
    assert pages.registry.size_warnings("MEMORY.md", content) == ()
