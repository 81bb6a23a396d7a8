"""Commands, options and content are told apart without losing a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.cli.argv import (
    SHARED_OPTIONS,
    find_value,
    is_page,
    move_options,
    split_options,
    wants_json,
)
from tests.cli.fixtures import Run

KNOWN = {"--agent": True, "--raw": False}


@pytest.mark.parametrize(
    "content", ["- New fact", "-", "---", "-5", "--", "-- a", "--5", "--a b", ""]
)
def test_what_begins_with_a_dash_can_be_content(content: str) -> None:
    """Only what is shaped like --word is an option; after -- nothing is."""
    words = ["--", content] if content == "--" else [content]
    assert split_options(words, KNOWN) == ([], [content])


@pytest.mark.parametrize("option", ["--agnet", "--raw", "--agnet=x", "--dry-run", "--dry_run=1"])
def test_what_looks_like_an_option_is_one(option: str) -> None:
    """A misspelled option does not end up in a page."""
    assert split_options(["a", option, "b"], KNOWN) == ([option], ["a", "b"])


def test_an_option_takes_the_next_word_whatever_it_is() -> None:
    """The value of an option may look like another option."""
    assert split_options(["--agent", "--raw", "x"], KNOWN) == (["--agent=--raw"], ["x"])


def test_an_option_without_its_value_stays_bare() -> None:
    """So that the command can say what is missing."""
    assert split_options(["x", "--agent"], KNOWN) == (["--agent"], ["x"])


def test_after_two_dashes_everything_is_content() -> None:
    """Known options too."""
    assert split_options(["a", "--", "--agent", "--"], KNOWN) == ([], ["a", "--agent", "--"])


@given(st.lists(st.text(), max_size=6))
def test_no_word_is_lost(words: list[str]) -> None:
    """Whatever one types is content or option, in its order."""
    options, content = split_options(words, {})
    kept = [word for word in words if word in options or word in content or word == "--"]
    assert kept == words
    assert len(options) + len(content) == len(words) - ("--" in words)


@given(st.lists(st.text()))
def test_content_behind_two_dashes_comes_through_unchanged(content: list[str]) -> None:
    """Any text at all can be given as content."""
    assert split_options(["--", *content], KNOWN) == ([], content)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--root /x memory read", "memory --root /x read"),
        ("--root=/x --agent a memory", "memory --root=/x --agent a"),
        ("memory read --root /x", "memory read --root /x"),
        ("--agent a read --agent b", "read --agent a --agent b"),
        ("--root /x", ""),
        ("--root", ""),
        ("--root /x --help", "--help"),
        ("--insecure read x", "read --insecure x"),
        ("--bogus memory read", "--bogus memory read"),
        ("init agents", "init agents"),
    ],
)
def test_shared_options_may_stand_before_the_command(typed: str, meant: str) -> None:
    """They are moved behind it; what comes later still wins."""
    words = move_options(typed.split())
    assert words == meant.split()
    assert move_options(words) == words


@pytest.mark.parametrize(
    "line",
    [
        "memory --agent main daily --user 1 list --format json",
        "--agent main memory daily --format=json --user 1 list",
        "chat --agent main --format json list",
        "--format json jobs --root . list",
        "agents --format json show main",
    ],
)
def test_shared_options_may_stand_before_the_command_of_any_group(line: str, run: Run) -> None:
    """At every level, also of a group that runs a command by default."""
    answer = run(*line.split())
    assert answer.code == 0, answer.err
    assert answer.json


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("jobs list --root /x", "/x"),
        ("--root=/x jobs", "/x"),
        ("--root /x list --root /y", "/y"),
        ("memory append -- --root /x", None),
        ("jobs --root", None),
    ],
)
def test_the_workspace_of_a_command_line_is_found_before_it_is_parsed(
    typed: str, found: str | None
) -> None:
    """Its plugins may have the command that was typed."""
    assert find_value(typed.split(), "--root") == found


def test_the_options_that_may_stand_anywhere_are_listed() -> None:
    """Adding one is a decision, since a command that lacks it must say so."""
    assert sorted(SHARED_OPTIONS) == [
        "--actor", "--agent", "--format", "--insecure", "--layer", "--origin", "--reason",
        "--remote", "--root", "--token", "--token-file", "--user",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a.md", "A.MD", "x/y.markdown", "n.TXT"])
def test_a_page_is_known_by_its_ending(name: str) -> None:
    """In any case."""
    assert is_page(name)


@pytest.mark.parametrize("name", ["Notes", "a.md.bak", "md", ""])
def test_any_other_name_is_a_section(name: str) -> None:
    """Even one that has a dot."""
    assert not is_page(name)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("a --format json", True),
        ("--format=json", True),
        ("--format table", False),
        ("-- --format json", False),
    ],
)
def test_a_wrong_command_line_still_says_how_it_wants_its_answer(
    typed: str, *, wanted: bool
) -> None:
    """An error is JSON if JSON was asked for."""
    assert wants_json(typed.split()) is wanted
