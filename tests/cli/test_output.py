"""What reaches a terminal can be seen; what reaches a pipe is exact."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import errors
from looseleaf.cli.formats import display_width, print_table
from looseleaf.cli.output import escape, escape_line, exit_code_of, is_hidden
from looseleaf.errors.pages import NotText, PageMissing, Protected, SectionAmbiguous
from tests.cli.fixtures import Run

CODES = {
    errors.Invalid("x"): 2,
    NotText("x", 1): 2,
    PageMissing("x"): 3,
    SectionAmbiguous("x", (1, 2)): 3,
    Protected("x"): 4,
    errors.Conflicted("x", "a", "b"): 5,
    errors.Locked("x", 1): 6,
    errors.DiskFull("x"): 6,
    errors.LooseleafError("x"): 1,
}


@pytest.mark.parametrize(("error", "code"), CODES.items(), ids=lambda item: type(item).__name__)
def test_each_kind_of_error_has_its_exit_code(error: errors.LooseleafError, code: int) -> None:
    """A program can tell them apart."""
    assert exit_code_of(error) == code


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x00\x07\x7f", "\\x00\\x07\\x7f"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("over\rwritten", "over\\x0dwritten"),
        ("windows\r\nlines\r\n", "windows\r\nlines\r\n"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\u2060c\ufeff", "a\\u200bb\\u2060c\\ufeff"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("\u2028", "\\u2028"),
        ("lone \udcff", "lone \\udcff"),
        ("👩\u200d💻 ❤\ufe0f\u200d🔥", "👩\u200d💻 ❤\ufe0f\u200d🔥"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\u200db", "a\\u200db"),
        ("م\u200c\u200cم", "م\\u200c\\u200cم"),
        ("\u200d", "\\u200d"),
        ("Grüße 日本 \u0600", "Grüße 日本 \u0600"),
    ],
)  # fmt: skip
def test_what_a_terminal_would_obey_or_hide_is_shown(text: str, shown: str) -> None:
    """Controls, bidi and invisible signs come as codes; joiners stay where scripts need them."""
    assert escape(text) == shown


@given(st.text())
def test_nothing_that_hides_is_left(text: str) -> None:
    """Whatever a page says, the only controls on the terminal are line ends and tabs."""
    left = {sign for sign in escape(text) if is_hidden(sign)} - {"\u200c", "\u200d", "\r"}
    assert not left
    assert "\r" not in escape(text).replace("\r\n", "")


@given(st.text())
def test_a_message_is_one_line(text: str) -> None:
    """Nothing in an error or a table can begin a line of its own."""
    line = escape_line(text)
    assert not any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in line)


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🙂", 2), ("", 0), ("ｆ", 2)]
)
def test_width_is_counted_in_columns(text: str, width: int) -> None:
    """Wide characters take two, combining ones none."""
    assert display_width(text) == width


def test_a_table_lines_up(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers stand to the right, text to the left, and no line ends in blanks."""
    print_table(("NAME", "BYTES", "WHY"), [("日本", 5, ""), ("abcdef", 1000, "a\nb\x1b")])
    assert capsys.readouterr().out == (
        "NAME    BYTES  WHY\n"
        "日本        5\n"
        "abcdef   1000  a\\nb\\x1b\n"
    )  # fmt: skip


HOSTILE = b"# T\n\x1b]0;owned\x07 \xe2\x80\xae no end"


def test_a_page_in_a_pipe_is_exact(start: Run) -> None:
    """Nothing is escaped, nothing added."""
    start("memory", "write", "x.md", "--page", "-", stdin=HOSTILE)
    assert start("memory", "read", "x.md").out == HOSTILE
    assert start("memory", "read", "x.md", "--raw").out == HOSTILE


def test_a_page_on_a_terminal_can_be_read_but_does_nothing(start: Run, on_terminal: Run) -> None:
    """Escape sequences are shown, and the line is ended."""
    start("memory", "write", "x.md", "--page", "-", stdin=HOSTILE)
    assert on_terminal("memory", "read", "x.md").text == "# T\n\\x1b]0;owned\\x07 \\u202e no end\n"


def test_raw_is_exact_on_a_terminal_too(start: Run, on_terminal: Run) -> None:
    """Who asks for the bytes gets them."""
    start("memory", "write", "x.md", "--page", "-", stdin=HOSTILE)
    assert on_terminal("memory", "read", "x.md", "--raw").out == HOSTILE


def test_bytes_that_are_no_text_come_out_as_they_are(start: Run, on_terminal: Run) -> None:
    """Exactly in a pipe, with replacement characters on a terminal."""
    start("memory", "daily", "append", "2026-04-17", "x")
    for words in (["read", "bad.md"], ["daily", "read", "2026-04-17"]):
        _spoil(start, words[-1])
        assert start("memory", *words).out == b"\xff\xfe bad"
        assert on_terminal("memory", *words).text == "�� bad\n"


def _spoil(start: Run, name: str) -> None:
    folder = start("memory", "paths", "--format", "json").json["files"]["SOUL.md"]["path"]
    where = "daily/2026/04/17.md" if name[0] == "2" else name
    with open(folder.replace("SOUL.md", where), "wb") as file:
        file.write(b"\xff\xfe bad")


def test_names_in_messages_cannot_reach_the_terminal(run: Run, page: Path) -> None:
    """An error names sections and pages with their escape sequences made visible."""
    page.write_text("## \x1b[2JGone\n")
    assert run("memory", "read", "None").err == (
        "looseleaf: There is no section 'None'. Available sections: \\x1b[2JGone.\n"
    )
    assert run("memory", "read", "a\nb.md").err.count("\n") == 1
    assert "\\x1b[2JGone" in run("memory", "sections").text


def test_json_holds_nothing_that_a_terminal_would_obey(run: Run, page: Path) -> None:
    """Such characters are written as JSON escapes, which mean the same."""
    content = "\x1b[2J \x9b \u202e \U000e0041 \x7f Grüße"
    page.write_text(content)
    answer = run("memory", "read", "--format", "json")
    assert answer.json["content"] == content
    assert not [sign for sign in answer.text.replace("\n", "") if is_hidden(sign)]
    assert "Grüße" in answer.text
