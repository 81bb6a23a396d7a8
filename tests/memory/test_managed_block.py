"""A managed block lives in someone else's file and leaves the rest of it alone."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from looseleaf.errors import Invalid
from looseleaf.memory.managed_block import BEGIN, END, find_block, put_block
from looseleaf.memory.sections import end_line

BLOCK = f"{BEGIN}\nnew\n{END}"
PIECES = ["\n", "\r\n", "\r", " ", "\t", "\ufeff", "a", "-->", "\u2028", "\x0b", "\x00", "# Rules"]
MARKERS = [BEGIN, END, "<!-- looseleaf:begin", "<!-- looseleaf:end", f"`{BEGIN}`"]

plain = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join)
wild = st.lists(st.sampled_from(PIECES + MARKERS), max_size=10).map("".join)


def projected(existing: str | None, content: str) -> str:
    """Project, and pass over what is rightly refused."""
    try:
        return put_block(existing, content)
    except Invalid:
        assume(False)
        raise


@given(st.none() | wild, wild)
def test_projecting_twice_changes_nothing_more(existing: str | None, content: str) -> None:
    """The second run finds its own block, whatever stands around it."""
    once = projected(existing, content)
    assert put_block(once, content) == once


@given(st.none() | wild, wild, wild)
def test_only_the_last_content_counts(existing: str | None, first: str, second: str) -> None:
    """What was in the block before leaves no trace."""
    before = projected(existing, first)
    assert projected(before, second) == put_block(existing, second)


@given(plain, plain)
def test_a_new_block_comes_after_what_is_there(existing: str, content: str) -> None:
    """A human's text stays byte for byte; then come a blank line and the whole content."""
    text = projected(existing, content)
    assert text.startswith(existing)
    gap, begin, rest = text[len(existing) :].partition(BEGIN)
    assert begin
    assert gap.replace("\r\n", "\n") in ("", "\n", "\n\n")
    above = (existing + gap).replace("\r\n", "\n")
    assert above in ("", "\n") or above.endswith("\n\n")
    inside = rest.removesuffix(f"{END}\n").removeprefix("\n")
    assert inside == (end_line(content) if content else "")


@given(plain, plain, plain)
def test_text_around_a_block_stays_byte_for_byte(before: str, inside: str, after: str) -> None:
    """Edits inside the block are replaced; not one byte outside it is."""
    before = f"{before}\n" if before else ""
    existing = f"{before}{BEGIN}\n{inside}\n{END}{after}"
    assert put_block(existing, "new") == f"{before}{BLOCK}{after}"


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        (None, f"{BLOCK}\n"),
        ("", f"{BLOCK}\n"),
        ("\n", f"\n{BLOCK}\n"),
        ("mine", f"mine\n\n{BLOCK}\n"),
        ("mine\n", f"mine\n\n{BLOCK}\n"),
        ("mine\n\n", f"mine\n\n{BLOCK}\n"),
        ("mine\r\n\r\n", f"mine\r\n\r\n{BLOCK}\n"),
        ("mine\r\ntoo", f"mine\r\ntoo\r\n\r\n{BLOCK}\n"),
        (f"mine\r\n  {BEGIN}\r\nold\r\n{END} mine too\r\n", f"mine\r\n  {BLOCK} mine too\r\n"),
        (f"\ufeff{BEGIN}\n{END}", f"\ufeff{BLOCK}"),
        ("<!-- looseleaf:begin\nold\n<!-- looseleaf:end-->\n", f"{BLOCK}\n"),
        (f"see `{BEGIN}`\n", f"see `{BEGIN}`\n\n{BLOCK}\n"),
    ],
)
def test_the_block_goes_where_it_belongs(existing: str | None, expected: str) -> None:
    """Into its place if there is one, else to the end; words about a marker are no marker."""
    assert put_block(existing, "new\n") == expected


@pytest.mark.parametrize(
    "existing",
    [
        f"{BEGIN}\nold\n",
        f"old\n{END}\n",
        f"{END}\n{BEGIN}\n",
        f"{BLOCK}\n{BLOCK}\n",
        f"{BEGIN}\n{BEGIN}\n{END}\n",
        f"{BEGIN}\n{END}\n{END}\n",
        f"{BEGIN}\nold\n<!-- looseleaf:end\n-->\n",
        f"{BEGIN}\nold\n<!-- looseleaf:end",
    ],
)
def test_damaged_markers_are_left_to_a_human(existing: str) -> None:
    """Where the block begins or ends is never guessed."""
    with pytest.raises(Invalid, match=r"damaged \(see line \d"):
        put_block(existing, "new")


@pytest.mark.parametrize(
    "marker", [BEGIN, END, "<!-- looseleaf:end", f" \t{END} x", f"\ufeff{END}"]
)
def test_content_with_a_marker_is_refused(marker: str) -> None:
    """A page cannot end the block early and leave its own text behind for good."""
    with pytest.raises(Invalid, match="Line 2 of the content"):
        put_block("mine\n", f"text\n{marker}\nmore\n")


def test_content_may_speak_of_a_marker() -> None:
    """Only a line that begins with a marker is one."""
    content = f"The block ends with `{END}`.\n"
    assert put_block(None, content) == f"{BEGIN}\n{content}{END}\n"


def test_the_managed_block_gives_back_what_was_projected() -> None:
    """Whatever stands around it; nothing if there is no whole block."""
    for existing in (None, "", "# Mine\n", "# Mine"):
        assert find_block(put_block(existing, "What Ada knows.\n\n")) == "What Ada knows.\n\n"
    assert find_block("# Mine\n") is None
    assert find_block(f"{BEGIN}\nWhere does it end?\n") is None
