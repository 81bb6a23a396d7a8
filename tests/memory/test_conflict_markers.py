"""What is left of two edits that met."""

from __future__ import annotations

import pytest

from looseleaf.memory.section_merge import find_conflict_line, find_original_page

MERGED = "# A\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"


def test_a_merge_that_nobody_finished_is_found_by_its_markers() -> None:
    """At the line where it begins, with any line ends."""
    assert find_conflict_line(MERGED) == 3
    assert find_conflict_line(MERGED.replace("\n", "\r\n")) == 3


@pytest.mark.parametrize("text", ["", "Title\n=======\n\ntext\n", "a <<<<<<< b\n=======\n"])
def test_what_only_looks_like_a_marker_is_none(text: str) -> None:
    """An underlined heading has the one in the middle."""
    assert find_conflict_line(text) == 0


@pytest.mark.parametrize(
    "name",
    [
        "MEMORY (conflicted copy 2026-04-17).md",
        "MEMORY (Eve's conflicted copy 2026-04-17).md",
        "MEMORY (conflicted copy 2026-04-17 101010).md",
        "MEMORY (In Konflikt stehende Kopie von Eve).md",
        "MEMORY (SFConflict eve@example.com 2026-04-17-10-10-10).md",
        "MEMORY.sync-conflict-20260417-101010-ABCDEFG.md",
        "MEMORY_REMOTE_4711.md",
        "MEMORY.md.orig",
        "MEMORY (1).md",
        "MEMORY 2.md",
    ],
)
def test_a_copy_names_the_page_it_is_of(name: str) -> None:
    """As the programs that sync and merge write it."""
    assert find_original_page(name, ["MEMORY.md", name]) == "MEMORY.md"


@pytest.mark.parametrize("name", ["MEMORY.md", "chapter 2.md", "conflicts.md", "notes (1).md"])
def test_a_page_of_its_own_is_no_copy(name: str) -> None:
    """A number alone says little: only beside the page it is one."""
    assert find_original_page(name, ["MEMORY.md", name]) == ""
