"""Replacements that lose most of a page by mistake are refused, and done if they are meant."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.catalog.context import Context
from looseleaf.catalog.operation import CATALOG
from looseleaf.errors.pages import LossRefused
from looseleaf.memory.pages import Saved
from looseleaf.memory.replacement import SMALL_BYTES, find_placeholder
from looseleaf.operations import daily, history, memory

LONG = "# Soul\n\n## Identity\n\n" + "- a fact that took a year to learn\n" * 200


@pytest.fixture
def context(workspace: Workspace) -> Context:
    """Act as the operator."""
    return workspace.context


def write(
    context: Context, content: str, file: str = "SOUL.md", *, allow_shrink: bool = False
) -> None:
    memory.write_page(context, file, content, allow_shrink=allow_shrink)


def text(context: Context, file: str = "SOUL.md") -> str:
    return memory.read_memory(context, file).content


def test_a_core_page_does_not_shrink_to_less_than_a_tenth(context: Context) -> None:
    """Nothing is written, and the refusal says how to do it on purpose."""
    write(context, LONG)
    with pytest.raises(LossRefused, match="allow_shrink"):
        write(context, LONG[: len(LONG) // 10 - 1])
    with pytest.raises(LossRefused):
        memory.upload_page(context, "SOUL.md", "dHdv")
    assert text(context) == LONG
    write(context, LONG[: len(LONG) // 10 + 1])
    write(context, LONG)
    write(context, "short", allow_shrink=True)
    assert text(context) == "short"


def test_a_section_that_takes_the_page_along_is_held_to_the_same(context: Context) -> None:
    """The bound is one of the page, whichever part of it is replaced."""
    write(context, LONG)
    with pytest.raises(LossRefused):
        memory.update_memory(context, "Identity", "gone", mode="set", file="SOUL.md")
    assert text(context) == LONG
    memory.update_memory(context, "Identity", "gone", mode="set", file="SOUL.md", allow_shrink=True)
    assert text(context) == "# Soul\n\n## Identity\n\ngone\n"


def test_an_empty_text_clears_a_core_page(context: Context) -> None:
    """However large it is, as the operation of its own does; the history keeps the text."""
    for empty in (lambda: write(context, ""), lambda: memory.clear_page(context, "SOUL.md")):
        write(context, LONG)
        empty()
        assert text(context) == ""
        revision = history.list_revisions(context, "SOUL.md")[-2].number
        assert memory.read_memory(context, "SOUL.md", as_of=str(revision)).content == LONG


def test_deleting_a_section_is_held_to_the_same_bound(context: Context) -> None:
    """Nearly all of a page is not lost by naming one section, unless that is meant."""
    write(context, LONG)
    with pytest.raises(LossRefused, match="shrink"):
        memory.delete_section(context, "Identity", file="SOUL.md")
    assert text(context) == LONG
    memory.delete_section(context, "Identity", file="SOUL.md", allow_shrink=True)
    assert text(context) == "# Soul\n\n"


def test_small_core_pages_and_other_pages_may_shrink(context: Context) -> None:
    """What was said in a few lines can be said in one; a page of one's own is one's own."""
    write(context, "x" * (SMALL_BYTES - 1))
    write(context, "y")
    write(context, LONG, "notes.md")
    write(context, "y", "notes.md")
    write(context, "", "notes.md")
    assert text(context, "notes.md") == ""


@pytest.mark.parametrize(
    "line",
    [
        "[rest of file unchanged]",
        "[... rest of the file unchanged ...]",
        "... (rest unchanged)",
        "<!-- Rest of page unchanged -->",
        "// existing content here ...",
        "[Remaining sections unchanged]\n\n",
        "*Rest of the content remains the same.*",
        "[…unchanged…]",
        "... (unchanged)",
        "// rest of file",
        "# ... rest of the code stays the same",
        "<!-- unchanged -->",
        "[... existing content ...]",
        "{{ existing content }}",
        "/* remaining sections */",
        "[200 more lines omitted]",
        "(truncated)",
        "--- rest omitted ---",
        "[All other sections remain unchanged]\r\n",
        "% rest of document",
    ],
)
def test_a_text_that_ends_with_a_placeholder_is_refused(context: Context, line: str) -> None:
    """On every page, as a whole or in a section: what it stands for would be lost."""
    for file in ("SOUL.md", "notes.md"):
        write(context, LONG, file, allow_shrink=True)
        with pytest.raises(LossRefused, match="placeholder"):
            write(context, f"{LONG}\n{line}", file)
        with pytest.raises(LossRefused, match="placeholder"):
            memory.update_memory(context, "Identity", f"- one\n{line}", mode="set", file=file)
        assert text(context, file) == LONG
        write(context, f"{LONG}\n{line}", file, allow_shrink=True)
        write(context, f"- new\n{LONG}\n{line}", file)  # it stood there before


@pytest.mark.parametrize(
    "line",
    [
        "",
        "- unchanged",
        "* unchanged",
        "Unchanged.",
        "The rest of the file is about cats.",
        "…",
        "## Remaining sections",
        "- [x] rest",
        "[previous](notes.md)",
        "[page](https://example.org/rest)",
        "- the rest of it is here",
        "(see above)",
        "(all of it)",
    ],
)
def test_facts_are_no_placeholders(line: str) -> None:
    """A line is one only if it says nothing else."""
    assert find_placeholder(f"text\n{line}".encode()) == ""


def test_a_day_of_the_journal_and_a_restored_version(context: Context) -> None:
    """A day ends with no placeholder, either; who restores names what is meant."""
    daily.write_day(context, LONG, "2026-04-17")
    with pytest.raises(LossRefused):
        daily.write_day(context, "[rest of file unchanged]", "2026-04-17", mode="write")
    write(context, "short")
    write(context, LONG)
    revision = history.list_revisions(context, "SOUL.md")[-2].number
    history.restore(context, "SOUL.md", str(revision))
    assert text(context) == "short"


@pytest.mark.parametrize("kind", ["page", "section", "day"])
def test_an_addition_ends_with_no_placeholder_either(context: Context, kind: str) -> None:
    """It would stand in every prompt; the refusal asks for the text without it."""

    def append(text: str) -> Saved:
        if kind == "page":
            return memory.append_page(context, "SOUL.md", text)
        if kind == "section":
            return memory.update_memory(context, "Identity", text, file="SOUL.md", mode="append")
        return daily.write_day(context, text, "2026-04-17")

    write(context, LONG)
    daily.write_day(context, "- before", "2026-04-17")
    with pytest.raises(LossRefused, match="Leave that line out"):
        append("- one\n[rest of file unchanged]")
    assert append("- one").changed


def test_the_flag_has_one_name_wherever_a_text_is_replaced() -> None:
    """Every operation that replaces or takes away a text can be told that it is meant."""
    names = {
        name
        for name, operation in CATALOG.items()
        if "allow_shrink" in operation.run.__annotations__
    }
    assert names == {
        "datamachine/write-agent-file",
        "datamachine/upload-agent-file",
        "datamachine/update-agent-memory",
        "datamachine/daily-memory-write",
        "datamachine/delete-agent-memory-section",
    }
