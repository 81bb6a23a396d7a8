"""Comments on lines of their own: what a prompt leaves out, and every byte it keeps."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from looseleaf.memory.comments import blank_comments, is_unwritten, without_comments
from looseleaf.memory.templates import CORE_STARTERS, TemplateContext, find_starter

FENCE = "```"
KEPT = (
    "no comment\n",
    "text <!-- inline -->\n",
    "<!-- before --> text\n",
    "`<!-- code -->`\n",
    f"{FENCE}html\n<!-- code -->\n{FENCE}\n",
    f"~~~~\n<!-- code -->\n~~~\n<!-- code -->\n{FENCE}\n",
    "    <!-- indented code -->\n",
    "\t<!-- indented code -->\n",
    f"- {FENCE}\n  <!-- code in a list -->\n  {FENCE}\n",
    f"- - {FENCE}\n    <!-- code in a list of a list -->\n    {FENCE}\n",
    "1. one\n\n       <!-- indented code in a list -->\n",
    "- <!-- behind a list mark -->\n",
    "> <!-- in a quotation -->\n",
    "<pre>\n<!-- code -->\n</pre>\n",
    "<script>\n<!-- code\n--></script>\n",
    "<div>\n<!-- in other HTML -->\n</div>\n",
    f"<div>\n{FENCE}\n\n{FENCE}\n<!-- code -->\n{FENCE}\n",
    "<!-- one --> <!-- two\nthree -->\n",
    f"x\r{FENCE}\r<!-- code -->\r{FENCE}\r",
)
REMOVED = (
    ("# T\n\n<!-- note -->\n\ntext\n", "# T\n\n\ntext\n"),
    ("a\r\n<!-- note -->\r\nb\r\n", "a\r\nb\r\n"),
    ("a\n<!-- two\n\nparagraphs -->  \nb", "a\nb"),
    ("   <!-- indented by three -->", ""),
    ("<!-- one --> <!-- two -->\nb", "b"),
    ("- a\n  <!-- in a list -->\n- b\n", "- a\n- b\n"),
    ("1.  a\n\n    <!-- deep in a list -->\n", "1.  a\n\n"),
    (f"{FENCE}\ncode\n{FENCE}\n<!-- after -->\n", f"{FENCE}\ncode\n{FENCE}\n"),
    (f"<!--\n{FENCE}\n-->\n<!-- b -->\nc", "c"),
    ("<!-- looseleaf:begin -->\nours\n<!-- looseleaf:end -->\n", "ours\n"),
    (
        "## A\n<!-- datamachine-section-body -->\nx\n<!-- /datamachine-section-body -->\n",
        "## A\nx\n",
    ),
)


@pytest.mark.parametrize("text", KEPT)
def test_what_is_code_or_shares_its_line_stays(text: str) -> None:
    """A comment is removed only if nothing else could be meant."""
    assert without_comments(text) == text


@pytest.mark.parametrize(("text", "rest"), REMOVED)
def test_a_comment_on_lines_of_its_own_is_left_out(text: str, rest: str) -> None:
    """With its line ends, and not a byte more."""
    assert without_comments(text) == rest


@pytest.mark.parametrize("text", ["a\n<!-- open\nb\n", "<!--\nb", "- a\n  <!-- open\n\nb\n"])
def test_a_comment_that_never_ends_swallows_nothing(text: str) -> None:
    """It is text like any other."""
    assert without_comments(text) == text


def test_a_comment_ends_with_its_list_item() -> None:
    """The text below the list is not in it."""
    text = "- a\n  <!-- open\nb\n<!-- note -->\n"
    assert without_comments(text) == "- a\n  <!-- open\nb\n"


PIECES = (
    *("<!--", "-->", "<!-- x -->", "<!-->", "a <!-- b -->"),
    *(" ", "  ", "    ", "\t", "\n", "\n", "\n\n", "\r\n", "text", "# h", "---", "==="),
    *("- ", "* ", "1. ", "2. ", "10) ", "-", "+\t", "> "),
    *("```", "~~~", "`", "<div>", "</div>", "<pre>", "</pre>", "<b>", "<?", "?>", "<!X>"),
)
COMMONMARK = MarkdownIt("commonmark")


def comment_blocks(text: str) -> list[tuple[int, int, int]]:
    """Ask the oracle for blocks of HTML that begin a line with a comment: lines and depth."""
    lines = re.split(r"\r\n|\r|\n", text)
    blocks = [token for token in COMMONMARK.parse(text) if token.type == "html_block"]
    return [
        (token.map[0], token.map[1], token.level)
        for token in blocks
        if token.map and lines[token.map[0]].lstrip(" \t").startswith("<!--")
    ]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_a_parser_of_markdown_agrees(text: str) -> None:
    """What is removed are whole blocks of comments; at the top level, all of them."""
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    rest, expected, at = without_comments(text), "", 0
    for start, end, level in comment_blocks(text):
        block = "".join(lines[start:end])
        expected += "".join(lines[at:start])
        _first, _, tail = block.partition("-->")
        is_comment = "-->" in block and re.fullmatch(
            r"[ \t]*(<!--((?!-->).)*-->[ \t]*)*[\r\n]*", tail
        )
        # In a list, a comment over a blank line may stay; readers differ on where it ends.
        stays = rest.startswith(expected + block) and (level > 0 or not is_comment)
        assert is_comment or stays
        expected += block if stays else ""
        at = end
    assert rest == expected + "".join(lines[at:])


@given(st.text())
def test_a_page_without_a_comment_is_byte_exact(text: str) -> None:
    """Whatever it says."""
    if "<!--" not in text:
        assert without_comments(text) is text


@pytest.mark.parametrize(
    ("text", "unwritten"),
    [("", True), ("# A\n\n## B\n", True), ("#hashtag\n", False), ("# A\n\ntext\n", False)],
)
def test_a_page_of_headings_alone_is_unwritten(text: str, *, unwritten: bool) -> None:
    """A heading has a space after its signs."""
    assert is_unwritten(text) is unwritten


def test_starters_say_nothing_to_a_model_before_someone_fills_them_in() -> None:
    """Except if the name or the day is known."""
    for page in ("RULES.md", "USER.md", "SOUL.md", "MEMORY.md"):
        text = find_starter(page, TemplateContext(), CORE_STARTERS)
        assert text is not None
        assert is_unwritten(without_comments(text))
        assert not is_unwritten(text)


PARTS = ("text", "<!-- note", "-->", "<!-- a note -->", FENCE, "")


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=12))
def test_the_lines_that_stay_keep_their_numbers(parts: list[str]) -> None:
    """A comment becomes empty lines; what stays is what stays if comments are left out."""
    text = "\n".join(parts)
    blanked = blank_comments(text)
    lines = blanked.split("\n")
    assert len(lines) == len(parts)
    assert all(line in ("", part) for line, part in zip(lines, parts, strict=True))
    assert [line for line in lines if line] == [
        line for line in without_comments(text).split("\n") if line
    ]
