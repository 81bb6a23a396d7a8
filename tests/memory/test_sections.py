"""Sections are found as Markdown finds them, and a change to one touches no other byte."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from looseleaf.errors.pages import (
    InvalidSectionName,
    SectionAmbiguous,
    SectionMissing,
    UnclosedBlock,
)
from looseleaf.memory.search.substring import find_section_name
from looseleaf.memory.sections import (
    Section,
    append_lines,
    append_to_section,
    delete_section,
    is_body_marker,
    list_sections,
    read_section,
    set_section,
)

START = "<!-- datamachine-section-body -->"
END = "<!-- /datamachine-section-body -->"
START_2 = "<!-- datamachine-section-body 2 -->"
END_2 = "<!-- /datamachine-section-body 2 -->"


def names(text: str) -> list[str]:
    return [section.name for section in list_sections(text)]


def pieces(text: str) -> list[str]:
    """Cut a page into the bytes of its preamble and of each section."""
    sections = list_sections(text)
    first = sections[0].start if sections else len(text)
    return [text[:first], *(text[section.start : section.end] for section in sections)]


def others(text: str, position: int) -> list[str]:
    """Return the pieces of a page without one of its sections."""
    return [piece for index, piece in enumerate(pieces(text)) if index != position]


def texts(text: str) -> list[tuple[str, str]]:
    """Return the name and the text of every section."""
    return [(s.name, read_section(text, None, position=s.position)) for s in list_sections(text)]


# What is a header.


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("", []),
        ("no sections\n", []),
        ("## A", ["A"]),
        ("## A\n", ["A"]),
        ("## A\r\nx\r\n## B\r\n", ["A", "B"]),
        ("pre\n\n## A\n## B\ntext\n", ["A", "B"]),
        ("## A\n### sub\n#### deeper\n# top\n", ["A"]),
        ("##  Foo \t\n", ["Foo"]),
        ("## A ##\n", ["A ##"]),
        ("## ## A\n", ["## A"]),
        ("## C++ (x)\n## [B].*\n## a\\b $1\n", ["C++ (x)", "[B].*", "a\\b $1"]),
        ("## A\n## B\n## A\n", ["A", "B", "A"]),
        ("##Bar\n", []),
        (" ## x\n", []),
        ("\t## x\n", []),
        ("##\tx\n", []),
        ("## \n", []),
        ("##\n", []),
        ("##   \t\r\n", []),
        ("Title\n---\n", []),
        ("x\u2028## A\n", []),
        ("x\r## A\n", []),
        ("## a\u2028b\n", ["a\u2028b"]),
        ("## \u00a0A\u00a0\n", ["A"]),
        ("## A\0B\n", ["A\0B"]),
    ],
)
def test_headers(page: str, found: list[str]) -> None:
    """A header is `## ` at column 0 with a name behind it; a name may be any text."""
    assert names(page) == found


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("```\n## x\n```\n## A\n", ["A"]),
        ("~~~\n## x\n~~~\n## A\n", ["A"]),
        ("```python title\n## x\n```\n## A\n", ["A"]),
        ("   ```\n## x\n   ```\n## A\n", ["A"]),
        ("````\n```\n## x\n````\n## A\n", ["A"]),
        ("```\n## x\n`````\n## A\n", ["A"]),
        ("```\n~~~\n## x\n```\n## A\n", ["A"]),
        ("```\n## x\n``` no end\n## y\n```  \t\r\n## A\n", ["A"]),
        ("```\n## x\n    ```\n## y\n```\n## A\n", ["A"]),
        ("    ```\n## A\n", ["A"]),
        ("``\n## A\n", ["A"]),
        ("```inline```\n## A\n", ["A"]),
        ("~~~in~line\n## x\n~~~\n## A\n", ["A"]),
        ("~~~ `x`\n## x\n~~~\n## A\n", ["A"]),
        ("text ```\n## A\n", ["A"]),
        ("```\n## x\n", []),
        ("```\r\n## x\r\n```\r\n## A\r\n", ["A"]),
        ("- ```\n  ## x\n  ```\n## A\n", ["A"]),
        ("1. ~~~\n   ## x\n   ~~~\n## A\n", ["A"]),
        ("- ```\n  left open\n## A\n", ["A"]),
        ("- ```\n## A\n```\n## x\n```\n## B\n", ["A", "B"]),
        ("-```\n```\n## x\n```\n## A\n", ["A"]),
        (" 1. ```\n    ## x\n    ```\n```\n## x\n```\n## A\n", ["A"]),
        ("10. ```\n    ## x\n    ```\n## A\n", ["A"]),
        ("> ```\n> ## x\n## A\n", ["A"]),
    ],
)
def test_code_fences(page: str, found: list[str]) -> None:
    """Nothing in a fenced code block is a header."""
    assert names(page) == found


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("<!--\n## x\n-->\n## A\n", ["A"]),
        ("<!-- one line -->\n## A\n", ["A"]),
        ("   <!--\n## x\n-->\n## A\n", ["A"]),
        ("<!--\n## x\n--> after\n## A\n", ["A"]),
        ("<!-->\n## A\n", ["A"]),
        ("<!--->\n## A\n", ["A"]),
        ("<!--\n```\n-->\n## A\n", ["A"]),
        ("```\n<!--\n```\n## A\n", ["A"]),
        ("    <!--\n## A\n", ["A"]),
        ("text <!--\n## A\n", ["A"]),
        ("- <!--\n## A\n", ["A"]),
        ("- <!-- x -->\n```\n## x\n```\n## A\n", ["A"]),
        ("<!--\n## x\n", []),
    ],
)
def test_comments(page: str, found: list[str]) -> None:
    """Nothing in a comment block is a header."""
    assert names(page) == found


def test_a_section_tells_where_it_stands() -> None:
    """Position, line, offsets and size come with the name."""
    page = "pre\n\n## A\n\nété\n\n## B\n"
    assert list_sections(page) == (
        Section("A", position=1, line=3, start=5, end=16, bytes=5),
        Section("B", position=2, line=7, start=16, end=21, bytes=0),
    )
    assert page[5:16] == "## A\n\nété\n\n"


def test_a_line_belongs_to_the_section_above() -> None:
    """A search can say where it found something; the preamble is nowhere."""
    sections = list_sections("pre\n\n## A\nx\n## B\n## A\ny\n")
    assert [find_section_name(sections, line) for line in range(1, 9)] == [
        *("", "", "A", "A", "B", "A", "A", "A"),
    ]
    assert find_section_name((), 1) == ""


def test_marker_lines_can_be_told() -> None:
    """A search can pass over the lines that only guard a body."""
    assert all(map(is_body_marker, (START, END, START_2, END_2, START + " \r\n")))
    others = ("", "-->", " -->", " 2 -->", " " + START, START + " x", START.replace("-body", ""))
    assert not any(map(is_body_marker, (*others, START_2.replace("2", "two"))))
    assert not is_body_marker(START_2.replace("2", "²"))


# Reading.


@pytest.mark.parametrize(
    ("page", "name", "text"),
    [
        ("## A\nx\n", "A", "x"),
        ("## A\nx", "A", "x"),
        ("## A", "A", ""),
        ("pre\n\n## A\n## B\ntext\n", "A", ""),
        ("## A\n\n\n  x  \n\n\n## B\n", "A", "  x  "),
        ("## A\r\n\r\nx\r\ny\r\n\r\n## B\r\n", "A", "x\r\ny"),
        ("## A\n### sub\ny\n", "A", "### sub\ny"),
        ("## A ##\nx\n", "A ##", "x"),
        ("## C++ (x)\n1\n## [B].*\n2\n", "[B].*", "2"),
        ("## Foo Bar\nx\n", " Foo Bar\t", "x"),
        ("## Foo Bar\nx\n", "## Foo Bar", "x"),
        ("## Foo Bar\nx\n", "##   Foo Bar ", "x"),
        ("## ## A\nx\n## A\ny\n", "## A", "x"),
        ("## ##\nx\n", "##", "x"),
        ("## a\tb\nx\n", "a\tb", "x"),
        (f"## A\n{START}\n## x\n{END}\n## B\n", "A", "## x"),
        (f"## A\r\n{START}\r\n## x\r\n{END}\r\n## B\r\n", "A", "## x"),
        (f"## A\n{START}\n## x\n{END}", "A", "## x"),
        (f"## A\n{START}\n{END}\n", "A", ""),
        (f"## A\n{START}\n## x\n{END}\n\nmore\n", "A", "## x\n\nmore"),
        (f"## A\n{START}\n```\n{END}\n## B\n", "A", "```"),
        (f"## A\n{START_2}\n## x\n{END}\n{END_2}\n", "A", f"## x\n{END}"),
        (f"## A\n{START}\nx\n {END}\n## B\n", "A", f"{START}\nx\n {END}"),
        (f"## A\n\n{START}\n## x\n{END}\n", "A", START),
        (f"## A\n{START}\n## x\n", "A", START),
        (f"## B\n{END}\n## A\n{START}\n## x\n{END}\n", "A", "## x"),
    ],
)
def test_reading(page: str, name: str, text: str) -> None:
    """A read gives the text between two headers, without outer newlines and markers."""
    assert read_section(page, name) == text


@pytest.mark.parametrize("name", ["foo bar", "sub", "Foo", "Foo Bar ##"])
def test_a_missing_section_names_those_there_are(name: str) -> None:
    """The error says what could be asked for; case counts and `### ` is no section."""
    page = "## Foo Bar\n### sub\n## B\n"
    with pytest.raises(SectionMissing) as caught:
        read_section(page, name)
    assert caught.value.available == ("Foo Bar", "B")
    with pytest.raises(SectionMissing):
        delete_section(page, name)


def test_a_name_that_several_sections_have_is_ambiguous() -> None:
    """Nothing is guessed; the error tells the positions."""
    page = "## A\n1\n## B\n2\n## A\n3\n"
    for act in (read_section, delete_section):
        with pytest.raises(SectionAmbiguous) as caught:
            act(page, "A")
        assert (caught.value.name, caught.value.positions) == ("A", (1, 3))
    for change in (set_section, append_to_section):
        with pytest.raises(SectionAmbiguous):
            change(page, "A", "x")


def test_a_position_tells_sections_of_one_name_apart() -> None:
    """Every operation takes a position, with or without the name."""
    page = "## A\n1\n## B\n2\n## A\n3\n"
    for name in ("A", "## A", None):
        assert read_section(page, name, position=3) == "3"
        assert set_section(page, name, "new", position=1) == page.replace("1", "new")
        assert append_to_section(page, name, "4", position=3) == page + "4\n"
        assert delete_section(page, name, position=3) == "## A\n1\n## B\n2\n"


@pytest.mark.parametrize(
    ("name", "position"), [("A", 2), ("B", 1), ("C", 1), ("A", 0), (None, 0), (None, 3), (None, -1)]
)
def test_a_position_that_does_not_fit_is_missing(name: str | None, position: int) -> None:
    """A position never creates a section, nor one beside the name."""
    page = "## A\n## B\n"
    for act in (read_section, delete_section):
        with pytest.raises(SectionMissing):
            act(page, name, position=position)
    for change in (set_section, append_to_section):
        with pytest.raises(SectionMissing):
            change(page, name, "x", position=position)


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "\n", "##", "## ", "## \t", "Evil\n## Injected", "a\rb", "a\r\nb", "a\tb"),
        *("a\0b", "a\x1bb", "a\x7fb", "a\x85b", "a\x0bb", "a\x0cb", "a\u2028b", "a\u2029b"),
    ],
)
def test_a_name_that_would_not_come_back_is_refused(name: str) -> None:
    """A name is one line that can be seen."""
    for change in (set_section, append_to_section):
        with pytest.raises(InvalidSectionName):
            change("## A\n", name, "x")
    with pytest.raises(InvalidSectionName):
        read_section("## A\n", name)


def test_name_or_position_must_be_given() -> None:
    """Nothing cannot be looked up."""
    with pytest.raises(InvalidSectionName):
        read_section("## A\n", None)


# Setting.


@pytest.mark.parametrize(
    ("page", "body", "result"),
    [
        ("## A\nx\n## B\ny\n", "new", "## A\nnew\n## B\ny\n"),
        ("## A\nx\n\n## B\ny\n", "new", "## A\nnew\n\n## B\ny\n"),
        ("## A\n\nx\n\n\n## B\n", "new\n\nlines", "## A\n\nnew\n\nlines\n\n\n## B\n"),
        ("pre\n\n## A\n## B\ntext\n", "new", "pre\n\n## A\nnew\n## B\ntext\n"),
        ("## A\n\n## B\n", "new", "## A\nnew\n\n## B\n"),
        ("## A\r\nx\r\n\r\n## B\r\n", "new", "## A\r\nnew\r\n\r\n## B\r\n"),
        ("pre\r\n## A\r\n## B\r\n", "a\nb", "pre\r\n## A\r\na\nb\r\n## B\r\n"),
        ("## A", "new", "## A\nnew\n"),
        ("p\r\n## A", "new", "p\r\n## A\r\nnew\r\n"),
        ("## A\nx", "new", "## A\nnew"),
        ("## A\nx", "", "## A\n"),
        ("## A\nx\r", "new", "## A\nnew\r\n"),
        ("p\r\n## A\r\nx\r", "new", "p\r\n## A\r\nnew\r\n"),
        ("## A\nx\n\r", "new", "## A\nnew\n\r\n"),
        ("## A\n\n\rx\n", "new", "## A\n\nnew\n"),
        ("## A\nx\n", "\n\nlead\n\n", "## A\nlead\n"),
        ("## A\nx\n", "  lead  \n", "## A\n  lead  \n"),
        ("## A\nx\n\n## B\n", "", "## A\n\n## B\n"),
        ("## A\nx\n", "", "## A\n"),
        ("## A", "", "## A\n"),
        ("## A\n## B\n", "", "## A\n## B\n"),
        ("##  A \t\nx\n", "new", "##  A \t\nnew\n"),
    ],
)
def test_setting_replaces_only_the_text(page: str, body: str, result: str) -> None:
    """The header and the blank lines around the text stay as they were."""
    assert set_section(page, "A", body) == result


@pytest.mark.parametrize(
    ("page", "result"),
    [
        ("", "## N\nx\n"),
        ("# Title\n", "# Title\n\n## N\nx\n"),
        ("# Title", "# Title\n\n## N\nx\n"),
        ("## A\ny\n\n", "## A\ny\n\n## N\nx\n"),
        ("## A\ny\n\n\n", "## A\ny\n\n\n## N\nx\n"),
        ("## A", "## A\n\n## N\nx\n"),
        ("\n", "\n## N\nx\n"),
        ("a\r\n", "a\r\n\r\n## N\r\nx\r\n"),
        ("a\r\nb", "a\r\nb\r\n\r\n## N\r\nx\r\n"),
        ("a\r\n\r\n", "a\r\n\r\n## N\r\nx\r\n"),
        ("a\r", "a\r\n\r\n## N\r\nx\r\n"),
        ("```\n## N\n```\n", "```\n## N\n```\n\n## N\nx\n"),
        ("- ```\n  open\n", "- ```\n  open\n\n## N\nx\n"),
    ],
)
def test_a_missing_section_is_made_at_the_end(page: str, result: str) -> None:
    """A new section stands after a blank line, in the newlines of the page."""
    assert set_section(page, "N", "x") == result
    assert append_to_section(page, " ## N", "\nx\n") == result


def test_an_empty_section_can_be_made() -> None:
    """A header alone is a section."""
    assert set_section("", "N", "") == "## N\n"
    assert append_to_section("# T\n", "N", "\n") == "# T\n\n## N\n"


@pytest.mark.parametrize(
    ("page", "line", "kind"),
    [
        ("## A\n```\ncode\n", 2, "code fence"),
        ("~~~~\n~~~\n", 1, "code fence"),
        ("x\n\n  <!-- note\n", 3, "HTML comment"),
        ("<!-- a -->\n```\n<!--\n", 2, "code fence"),
    ],
)
def test_no_section_is_made_inside_an_open_block(page: str, line: int, kind: str) -> None:
    """A new section would be swallowed, so the error says where the block begins."""
    for change in (set_section, append_to_section):
        with pytest.raises(UnclosedBlock) as caught:
            change(page, "N", "x")
        assert (caught.value.line, caught.value.kind) == (line, kind)


def test_the_section_with_the_open_block_can_be_changed() -> None:
    """Its text is guarded from then on, so that a section can follow."""
    page = append_to_section("## A\n```\ncode", "A", "more")
    assert page == f"## A\n{START}\n```\ncode\nmore\n{END}\n"
    assert names(set_section(page, "B", "x")) == ["A", "B"]
    assert set_section("## A\n```\ncode\n", "A", "fine") == "## A\nfine\n"


# Appending.


@pytest.mark.parametrize(
    ("page", "result"),
    [
        ("## A\nx\n\n## B\ny\n", "## A\nx\n- z\n\n## B\ny\n"),
        ("## A\nx\n## B\ny\n", "## A\nx\n- z\n## B\ny\n"),
        ("## A\n## B\n", "## A\n- z\n## B\n"),
        ("## A\n\n## B\n", "## A\n- z\n\n## B\n"),
        ("## A", "## A\n- z"),
        ("## A\nx", "## A\nx\n- z"),
        ("## A\r\nx\r\n\r\n## B\r\n", "## A\r\nx\r\n- z\r\n\r\n## B\r\n"),
        ("## A\n\n\rx\n", "## A\n\n\rx\n- z\n"),
    ],
)
def test_appending_adds_a_line(page: str, result: str) -> None:
    """The addition follows the text, above the blank lines before the next header."""
    assert append_to_section(page, "A", "- z") == result


@pytest.mark.parametrize(
    ("page", "addition", "result"),
    [
        ("", "x", "x\n"),
        ("a", "x", "a\nx\n"),
        ("a\n", "x\n", "a\nx\n"),
        ("a\r\nb\r\n", "x", "a\r\nb\r\nx\r\n"),
        ("a\r\nb", "x\n", "a\r\nb\r\nx\r\n"),
        ("a\r\n", "x\r\n", "a\r\nx\r\n"),
    ],
)
def test_lines_appended_to_a_page_end_as_its_lines_do(
    page: str, addition: str, result: str
) -> None:
    """A page with CRLF line ends stays one."""
    assert append_lines(page, addition) == result


def test_appending_keeps_a_paragraph_break() -> None:
    """Newlines that lead the addition count, except in an empty section."""
    assert append_to_section("## A\nx\n", "A", "\ny\n\n") == "## A\nx\n\ny\n"
    assert append_to_section("## A\n", "A", "\ny\n\n") == "## A\ny\n"
    assert append_to_section("## A\nx\n", "A", "") == "## A\nx\n"


# Deleting.


@pytest.mark.parametrize(
    ("page", "result"),
    [
        ("## A\nx\n\n## B\ny\n", "## B\ny\n"),
        ("pre\n\n\n\n## A\nx\n", "pre\n\n\n\n"),
        ("## B\n\n\n\ny\n## A", "## B\n\n\n\ny\n"),
        ("## A\r\nx\r\n## B\r\n", "## B\r\n"),
        (f"## A\n{START}\n## x\n{END}\n## B\n", "## B\n"),
        ("## A\n```\n## x\n", ""),
    ],
)
def test_deleting_takes_the_header_and_the_body(page: str, result: str) -> None:
    """Exactly the section goes."""
    assert delete_section(page, "A") == result


# Opaque bodies.


@pytest.mark.parametrize(
    ("body", "start", "end"),
    [
        ("one\n## Two\nthree\n## Four", START, END),
        ("```\nopen", START, END),
        ("<!-- open", START, END),
        (START, START, END),
        (f"{START}\n## x\n{END}", START_2, END_2),
        (f"## x\n{END}\n## y", START_2, END_2),
        (f"## x inline {END} text", START_2, END_2),
        (f"## x\n{END_2}", START, END),
        (f"## x\n{END}\n{END_2}", START.replace(" -->", " 3 -->"), END.replace(" -->", " 3 -->")),
    ],
)
def test_text_that_would_change_the_page_is_guarded(body: str, start: str, end: str) -> None:
    """Markers that the text does not hold keep its headers and open blocks inside."""
    page = set_section("## A\n\nx\n\n## B\ny\n", "A", body)
    assert page == f"## A\n{start}\n\n{body}\n{end}\n\n## B\ny\n"
    assert texts(page) == [("A", body), ("B", "y")]


def test_guarded_sections_may_share_their_markers() -> None:
    """A number is for text that holds the end marker, not for every further section."""
    page = set_section(set_section("", "A", "## x"), "B", "## y")
    assert page == f"## A\n{START}\n## x\n{END}\n\n## B\n{START}\n## y\n{END}\n"


@pytest.mark.parametrize("body", ["plain", "```\n## x\n```", "<!--\n## x\n-->", END, " ## x"])
def test_harmless_text_stands_as_it_is(body: str) -> None:
    """Markers come only if they are needed."""
    assert set_section("## A\nx\n", "A", body) == f"## A\n{body}\n"


def test_the_life_of_a_guarded_section() -> None:
    """An addition stays inside, plain text takes the markers away, and so does a deletion."""
    page = set_section("## T\r\n\r\nx\r\n\r\n## B\r\n", "T", "## one")
    assert page == f"## T\r\n{START}\r\n\r\n## one\r\n{END}\r\n\r\n## B\r\n"
    page = append_to_section(page, "T", "## two")
    assert texts(page) == [("T", "## one\r\n## two"), ("B", "")]
    assert find_section_name(list_sections(page), 5) == "T"
    assert delete_section(page, "T") == "## B\r\n"
    assert set_section(page, "T", "plain") == "## T\r\n\r\nplain\r\n\r\n## B\r\n"
    assert set_section(page, "T", "") == "## T\r\n\r\n\r\n## B\r\n"


def test_a_stray_start_marker_is_not_completed() -> None:
    """An end marker written below must not make the sections between vanish."""
    page = f"## A\n{START}\nx\n## B\ny\n"
    assert names(page) == ["A", "B"]
    made = set_section(page, "B", "## z")
    assert made == f"## A\n{START}\nx\n## B\n{START_2}\n## z\n{END_2}\n"
    assert texts(made) == [("A", f"{START}\nx"), ("B", "## z")]
    for name in ("B", "New"):
        with pytest.raises(UnclosedBlock) as caught:
            set_section(page, name, f"text\n{END}")
        assert (caught.value.line, caught.value.kind) == (2, "section body marker")


def test_a_stray_start_marker_below_does_not_matter() -> None:
    """Only what stands above can be completed."""
    page = f"## A\nx\n## B\n{START}\ny\n"
    assert set_section(page, "A", "## z") == page.replace("x", f"{START}\n## z\n{END}")
    assert set_section(page, "A", f"text\n{END}") == page.replace("x", f"text\n{END}")


# What holds for every page.

examples = settings(max_examples=300, deadline=None)

tokens = st.sampled_from([
    *("\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n", " ", "   ", "\t", "x", "é", "\0", "\u2028"),
    *("## A", "## B", "## A\n", "\n## B\n", "## ", "#", "##", "### s", "\n- ", "1. ", "\x0b"),
    *("```", "\n```\n", "````", "~~~", "\n~~~\n", "`", "<!--", "\n<!-- ", "-->", "<!-->", "--"),
    *(START, END, START_2, END_2, f"\n{START}\n", f"\n{END}\n", f"\n{END_2}\n", f"## A\n{START}\n"),
])  # fmt: skip
anything = st.lists(tokens, max_size=14).map("".join) | st.text(max_size=30)
pages = st.lists(
    st.tuples(st.sampled_from(["A", "B", "C ", "A ##"]), anything), min_size=1, max_size=4
).map(lambda parts: "".join(f"\n## {name}\n{body}" for name, body in parts))


@given(anything | pages)
@examples
def test_every_byte_belongs_to_one_piece(page: str) -> None:
    """The preamble and the sections, put together, are the page."""
    assert "".join(pieces(page)) == page
    for section in list_sections(page):
        text = read_section(page, section.name, position=section.position)
        assert section.bytes == len(text.encode())
        assert page[: section.start].count("\n") + 1 == section.line


@given(pages, anything, st.integers(0, 5))
@examples
def test_setting_touches_no_other_byte(page: str, body: str, choice: int) -> None:
    """Whatever is written where, the other sections and the preamble are what they were."""
    position = 1 + choice % len(list_sections(page))
    try:
        made = set_section(page, None, body, position=position)
    except UnclosedBlock:
        return
    assert others(made, position) == others(page, position)
    assert names(made) == names(page)
    assert read_section(made, None, position=position) == body.strip("\r\n")
    is_open = not page.endswith(("\n", "\r"))
    assert position < len(list_sections(page)) or is_open or made.endswith("\n")


@given(pages, anything, st.integers(0, 5))
@examples
def test_appending_touches_no_other_byte(page: str, addition: str, choice: int) -> None:
    """An addition is what setting the old text, a newline and the addition would give."""
    position = 1 + choice % len(list_sections(page))
    old = read_section(page, None, position=position)
    newline = "\r\n" if page[: page.find("\n") + 1].endswith("\r\n") else "\n"
    try:
        made = append_to_section(page, None, addition, position=position)
        expected = set_section(page, None, old + newline + addition, position=position)
    except UnclosedBlock:
        return
    assert others(made, position) == others(page, position)
    assert texts(made) == texts(expected)
    is_open = not page.endswith("\n") and f"{made}\n" == expected
    assert "\r" in page or made == expected or is_open


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
@given(pages, st.text("ab \n", min_size=1))
@examples
def test_an_addition_that_is_taken_out_again_leaves_every_byte(
    end: str, page: str, addition: str
) -> None:
    """A last section without a newline at its end has none afterwards, either."""
    page = page.rstrip("\r\n") + end
    sections = list_sections(page)
    old = read_section(page, None, position=len(sections)) if sections else ""
    try:
        if not old or set_section(page, None, old, position=len(sections)) != page:
            return  # what is written is not what was there, such as an open block without markers
        made = append_to_section(page, None, addition, position=len(sections))
        restored = set_section(made, None, old, position=len(sections))
    except UnclosedBlock:
        return
    assert restored == page


@given(anything | pages, anything)
@examples
def test_a_new_section_comes_last_and_changes_nothing(page: str, body: str) -> None:
    """What is created is read back as it was given."""
    try:
        made = set_section(page, "New", body)
    except UnclosedBlock:
        return
    assert made.startswith(page)
    assert texts(made) == [*texts(page), ("New", body.strip("\r\n"))]
    assert made.endswith("\n")
    above = made[: list_sections(made)[-1].start]
    assert not page or f"\n{above}".endswith(("\n\n", "\n\r\n"))


@given(pages, anything)
@examples
def test_setting_twice_is_setting_once(page: str, body: str) -> None:
    """A repeated write changes nothing more."""
    try:
        once = set_section(page, None, body, position=1)
        assert set_section(once, None, body, position=1) == once
    except (SectionMissing, UnclosedBlock):
        return


@given(pages, st.integers(0, 5))
@examples
def test_a_deletion_touches_no_other_byte(page: str, choice: int) -> None:
    """The other pieces, put together, are what is left."""
    position = 1 + choice % len(list_sections(page))
    assert pieces(delete_section(page, None, position=position)) == others(page, position)


@given(anything | st.text())
@examples
def test_any_name_works_or_is_refused(name: str) -> None:
    """A name that is accepted comes back, makes one section and can be addressed."""
    try:
        made = set_section("pre\n", name, "x")
    except InvalidSectionName:
        return
    assert texts(made) == [(list_sections(made)[0].name, "x")]
    assert read_section(made, name) == "x"
    assert delete_section(made, name) == "pre\n\n"


# The oracle: a whole Markdown parser.

harmless = [
    *("", "", "text", "# One", "### Three", "##", "## ", "##x", " ## x", "===", "---", "> quote"),
    *("## A", "## B", "##  C  ", "## D ##", "## ```", "## <!--", "text ``` x", "a <!-- b", "-->"),
    *("```", "```", "````", "~~~", "~~~~ ~", "```py", "``` `", "```x```", "``` ", "~~~\t", "``"),
    *("<!--", "<!-- x -->", "<!-->", "<!--->", "<!-- x", "x --> y", "<!--x--> ```", "<!-"),
]
indented = [f"{' ' * n}{line}" for n in range(1, 5) for line in ("```", "~~~", "<!--", "-->", "x")]
listed = [
    *("- item", "* item", "1. item", "  more", "- ```\n  ## x\n  ```", "1. ~~~\n   x\n   ~~~"),
    *("- ```sh\n  x\n\n  y\n  ````", " - ```\n   ## x\n   ```"),
]


@given(
    st.lists(st.sampled_from(harmless + indented), max_size=16)
    | st.lists(st.sampled_from(harmless + listed), max_size=16),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
)
@settings(max_examples=600, deadline=None)
def test_headers_are_those_of_a_markdown_parser(lines: list[str], newline: str, last: str) -> None:
    """Our headers are the parser's headings of level two that are written `## ` at column 0."""
    page = "\n".join(lines).replace("\n", newline) + last
    source = page.split("\n")
    headings = [
        token.map[0]
        for token in MarkdownIt("commonmark").parse(page)
        if token.type == "heading_open" and token.tag == "h2" and token.map
    ]
    expected = [n for n in headings if source[n].startswith("## ") and source[n][3:].strip()]
    assert [section.line - 1 for section in list_sections(page)] == expected


# What it costs.


class Watched(str):
    """A text that counts how many of its characters are looked at."""

    __slots__ = ()
    looked = 0

    @classmethod
    def count_looks(cls, act: Callable[[], object]) -> int:
        """Act, and return how many characters it looked at."""
        cls.looked = 0
        act()
        return cls.looked

    def find(self, *given: Any) -> int:  # noqa: ANN401 - as str has it
        at = super().find(*given)
        start = given[1] if len(given) > 1 else 0
        Watched.looked += 1 + (at if at >= 0 else len(self)) - start
        return at

    def rfind(self, *given: Any) -> int:  # noqa: ANN401 - as str has it
        at = super().rfind(*given)
        end = given[2] if len(given) > 2 else len(self)
        Watched.looked += 1 + end - max(at, 0)
        return at

    def startswith(self, *given: Any) -> bool:  # noqa: ANN401 - as str has it
        Watched.looked += 1
        return super().startswith(*given)

    def __contains__(self, part: object) -> bool:
        Watched.looked += len(self)
        return super().__contains__(part)  # type: ignore[operator]

    def __getitem__(self, place: Any) -> str:  # noqa: ANN401 - as str has it
        part = super().__getitem__(place)
        Watched.looked += 1 + len(part)
        return part

    def strip(self, *given: Any) -> Watched:  # noqa: ANN401 - as str has it
        Watched.looked += len(self)
        return Watched(super().strip(*given))

    def split(self, *given: Any) -> list[str]:  # noqa: ANN401
        Watched.looked += len(self)
        return super().split(*given)


HOSTILE: dict[str, Callable[[int], str]] = {
    "headers": lambda n: "## a\n" * n,
    "openings": lambda n: "".join(
        f"## a\n<!-- datamachine-section-body {k} -->\n" for k in range(n)
    ),
    "ends": lambda n: f"## a\n{START}\n" + f"{END_2}\n" * n,
    "comments": lambda n: "<!-- x -->\n" * n,
    "fences": lambda n: "```\n" * n,
    "inline": lambda n: "a ``` b ~~~ <!-- " * n,
    "spaces": lambda n: " " * n + "```\n",
    "newlines": lambda n: "\n" * n,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_cost_grows_with_the_page_and_not_with_its_square(kind: str) -> None:
    """Four times as much of anything takes at most four times as many looks."""

    def looks(size: int) -> int:
        page = Watched(HOSTILE[kind](size) + "\n## Last\n")
        return Watched.count_looks(lambda: append_to_section(page, "Last", "## x"))

    few, many = looks(1000), looks(4000)
    assert few > 1000
    assert many < 4.5 * few


def test_a_body_full_of_end_markers_is_stored() -> None:
    """The number of the markers is found without looking through the body for each."""

    def body(size: int) -> Watched:
        ends = "\n".join(f"<!-- /datamachine-section-body {n} -->" for n in range(2, size))
        return Watched(f"## x\n{END}\n{ends}")

    def looks(size: int) -> int:
        text = body(size)
        return Watched.count_looks(lambda: set_section("", "A", text))

    few, many = looks(1000), looks(4000)
    assert many < 4.5 * few
    page = set_section("", "A", body(4000))
    assert page.startswith("## A\n<!-- datamachine-section-body 4000 -->\n")
    assert texts(page) == [("A", body(4000))]


def test_the_import_is_light() -> None:
    """A cold start pays for none of the heavy modules."""
    code = (
        "import sys; old = set(sys.modules); import looseleaf.memory.sections; "
        "print(*sorted((set(sys.modules) - old) & {'re', 'typing', 'dataclasses', 'enum'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == []
