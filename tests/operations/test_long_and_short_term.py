"""Long-term and short-term memory: bounded, exact, and through the one memory there is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Workspace
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.errors import Ambiguous, Invalid, InvalidArgument, InvalidDate, NotFound
from looseleaf.memory.sections import append_to_section, read_section
from looseleaf.operations import memory
from looseleaf.operations.long_and_short_term import DEFAULT_CHARS, MOST_CHARS, replace_text

READS = ("memory_long_term_read", "memory_short_term_read")


@pytest.fixture
def context(workspace: Workspace) -> Context:
    """Act as the operator."""
    return workspace.context


@pytest.mark.parametrize("term", ["long", "short"])
def test_the_abilities_are_there(term: str) -> None:
    """By their names; reading changes nothing, and can be repeated."""
    for verb in ("read", "add", "update", "delete"):
        operation = CATALOG[f"memory_{term}_term_{verb}"]
        assert operation.read_only == (verb == "read")
        assert operation.idempotent == (verb == "read")


def test_a_read_is_cut_at_its_bound_and_says_so(context: Context) -> None:
    """In characters, whatever their bytes; the whole length is told."""
    memory.write_page(context, "MEMORY.md", "äöü€" * 10)
    whole = invoke(context, READS[0])
    assert (whole["content_length"], whole["truncated"], whole["exists"]) == (40, False, True)
    part = invoke(context, READS[0], {"max_chars": 3})
    assert (part["content"], part["content_length"], part["truncated"]) == ("äöü", 40, True)
    assert part["hash"] == whole["hash"]


def test_a_bound_above_the_limit_is_the_limit(context: Context) -> None:
    """No answer is larger."""
    memory.write_page(context, "MEMORY.md", "x" * (MOST_CHARS + 5))
    found = invoke(context, READS[0], {"max_chars": 10**9})
    assert (len(found["content"]), found["truncated"]) == (MOST_CHARS, True)


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("bound", [0, -1, "7", 1.5, True])
def test_a_bound_that_is_none_is_refused(context: Context, name: str, bound: object) -> None:
    """Zero, negative, or no number."""
    with pytest.raises((Invalid, InvalidArgument)):
        invoke(context, name, {"max_chars": bound})


@pytest.mark.parametrize("name", READS)
def test_no_bound_is_the_usual_bound(context: Context, name: str) -> None:
    """A client that sends null for what it leaves open gets the default."""
    for write in ("memory_long_term_add", "memory_short_term_add"):
        invoke(context, write, {"content": "x" * 30_000})
    read = invoke(context, name, {"max_chars": None})
    assert (len(read["content"]), read["truncated"]) == (DEFAULT_CHARS, True)
    assert read == invoke(context, name)


def test_a_day_without_a_page_does_not_exist(context: Context) -> None:
    """That is no error, is the same twice, and makes no page."""
    expected = {
        "filename": "daily/2026/04/17.md",
        "exists": False,
        "content": "",
        "content_length": 0,
        "truncated": False,
        "hash": "",
        "date": "2026-04-17",
        "daily_timestamp": 1_776_384_000,
    }
    for _ in range(2):
        assert invoke(context, READS[1], {"date": "2026-04-17"}) == expected
    with pytest.raises(InvalidDate):
        invoke(context, READS[1], {"date": "2026-04-31"})


def test_without_a_date_today_is_meant(context: Context) -> None:
    """Reading and adding."""
    invoke(context, "memory_short_term_add", {"content": "- woke up"})
    today = invoke(context, READS[1])
    assert today["exists"]
    assert today["content"].endswith("- woke up\n")
    assert today["content"].startswith(f"# {today['date']}\n")


def test_long_term_memory_is_the_main_page(context: Context) -> None:
    """Added at its end, or to a section."""
    memory.write_page(
        context, "MEMORY.md", "# Memory\n\n## State\n\n- one\n\n## Lessons\n\n- two\n"
    )
    invoke(context, "memory_long_term_add", {"content": "- more", "section": "State"})
    invoke(context, "memory_long_term_add", {"content": "- last"})
    text = memory.read_memory(context).content
    assert memory.read_memory(context, section="State").content == "- one\n- more"
    assert text.endswith("- two\n- last\n")


@pytest.mark.parametrize(
    ("name", "more"),
    [("memory_long_term", {}), ("memory_short_term", {"date": "2026-04-17"})],
)
def test_a_text_is_replaced_and_taken_out(
    context: Context, name: str, more: dict[str, Any]
) -> None:
    """Exactly that text; what is not there, or there twice, changes nothing."""
    invoke(context, f"{name}_add", {"content": "- port 80\n- host a\n- host a b", **more})
    before = invoke(context, f"{name}_read", more)["content"]
    invoke(context, f"{name}_update", {"old": "port 80", "new": "port 8080", **more})
    after = invoke(context, f"{name}_read", more)["content"]
    assert after == before.replace("port 80", "port 8080")
    for old, error in (("- port 9", NotFound), ("host", Ambiguous), (" ", Invalid)):
        with pytest.raises(error):
            invoke(context, f"{name}_update", {"old": old, "new": "x", **more})
    invoke(context, f"{name}_delete", {"old": "- port 8080", **more})
    assert invoke(context, f"{name}_read", more)["content"] == after.replace("- port 8080\n", "")


def test_nothing_is_replaced_on_a_day_without_a_page(context: Context) -> None:
    """And none is made."""
    with pytest.raises(NotFound):
        invoke(context, "memory_short_term_update", {"old": "a", "new": "b", "date": "2026-04-17"})
    assert not invoke(context, READS[1], {"date": "2026-04-17"})["exists"]


@given(st.text("ab\n", max_size=8), st.text("cd", min_size=1, max_size=4), st.text("ab\n"))
def test_replacing_back_gives_the_page_again(before: str, old: str, after: str) -> None:
    """No other byte is touched."""
    page = before + old + after
    made = replace_text("a.md", page, old, "<new>")
    assert made == before + "<new>" + after
    assert replace_text("a.md", made, "<new>", old) == page


def test_overlapping_texts_are_more_than_one(context: Context) -> None:
    """Which of them is meant cannot be known."""
    memory.write_page(context, "MEMORY.md", "aaa")
    with pytest.raises(Ambiguous):
        invoke(context, "memory_long_term_update", {"old": "aa", "new": "b"})


def test_a_file_is_uploaded_and_got_back(context: Context) -> None:
    """Its bytes are the same; what is no base64, or no text, is refused."""
    arguments = {"file": "notes.md", "data": "w6TDtgo="}
    assert invoke(context, "datamachine/upload-agent-file", arguments)["bytes"] == 5
    assert invoke(context, "datamachine/get-agent-file", {"file": "notes.md"})["content"] == "äö\n"
    for wrong in ("not base64!", "/w=="):
        with pytest.raises(Invalid):
            invoke(context, "datamachine/upload-agent-file", {**arguments, "data": wrong})
    with pytest.raises(NotFound):
        invoke(context, "datamachine/get-agent-file", {"file": "none.md"})


_LINES = st.lists(st.sampled_from(["x", "- a", "", "y z", "### s"]), max_size=5)


@given(_LINES, _LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_an_appended_line_taken_out_again_leaves_the_same_bytes(
    above: list[str],
    body: list[str],
    newline: str,
    ends: bool,  # noqa: FBT001 - hypothesis gives them in order
    last: bool,  # noqa: FBT001
) -> None:
    """In a section anywhere, with any line ends, and in a last one without a final newline."""
    lines = ["# Page", *above, "## A", *body, *([] if last else ["## B", "other"])]
    page = newline.join(lines) + (newline if ends else "")
    appended = append_to_section(page, "A", "- only once")
    assert "- only once" in read_section(appended, "A")
    assert appended.count("\n") == appended.count(newline)
    assert replace_text("MEMORY.md", appended, "- only once", "") == page
