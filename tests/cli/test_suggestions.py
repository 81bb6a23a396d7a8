"""A word that is no command leads to the command that was meant, by meaning before spelling."""

from __future__ import annotations

import click
import pytest

from looseleaf.cli import suggestions
from looseleaf.cli.command_line import FIRST_DAY
from tests.cli.fixtures import Run
from tests.cli.walk import EVERY, LEAVES

PATHS = {" ".join(path) for path, _, _ in EVERY}
GUESSED = {
    "add a fact": "looseleaf remember",
    "find x": "looseleaf search",
    "journal": "looseleaf memory daily read",
    "list": "looseleaf memory list",
    "log": "looseleaf recent",
    "ls": "looseleaf memory list",
    "mcp list": "looseleaf mcp status",
    "memory add": "looseleaf memory append",
    "memory find": "looseleaf memory search",
    "memory ls": "looseleaf memory list",
    "memory raed": "looseleaf memory read",
    "memory show": "looseleaf memory read",
    "memory undo": "looseleaf memory restore",
    "agents rm": "looseleaf agents delete",
    "show": "looseleaf memory read",
    "users edit": "looseleaf users update",
    "version": "looseleaf --version",
}


@pytest.mark.parametrize("line", GUESSED)
def test_a_guessed_command_names_the_one_that_is_meant(line: str, run: Run) -> None:
    """In one line, with the exit code of wrong usage."""
    answer = run(*line.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, b"", 1)
    assert f"Did you mean: {GUESSED[line]}?" in answer.err


def test_every_meaning_is_a_command_and_no_word_is_one_already() -> None:
    """A command that is renamed or added is not forgotten in the table."""
    for words, meant in suggestions.COMMANDS.items():
        assert (
            meant == "--version"
            or meant.partition(" --")[0].removesuffix(" default_agent") in PATHS
        ), words
        assert words not in PATHS, f"{words} is a command; take it out of the table"


def test_the_commands_of_the_first_day_exist(run: Run) -> None:
    """The first screen of the help shows five of them, and then each group in one line."""
    text = run("--help").text
    before, _, rest = text.partition("Commands:\n")
    assert len(FIRST_DAY) == 5
    for line, _ in FIRST_DAY:
        assert f"\n  {line} " in before
        words = line.removeprefix("looseleaf ").split()
        assert words[0] in PATHS or " ".join(words[:2]) in PATHS
    groups = rest.partition("\n\n")[0].splitlines()
    assert len(groups) == len({path for path in PATHS if " " not in path})
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("line", ["--json status", "status --json", "memory --json read"])
def test_json_leads_to_the_format(line: str, run: Run) -> None:
    """Wherever it stands, and to nothing that is only spelled like it."""
    answer = run(*line.split())
    assert answer.code == 2
    assert "No such option '--json'. Did you mean --format json?" in answer.err


def test_no_command_names_its_numbers_by_the_word_of_the_library() -> None:
    """A wrong number is told the bounds, not that it is no valid integer range."""
    for path, found in LEAVES:
        for param in found.params:
            assert type(param.type) not in (click.IntRange, click.FloatRange), (path, param.name)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("mcp install", "Choose from: claude-code, codex, gemini,"),
        ("completion", "Choose from: bash, zsh, fish. Try:"),
        ("serve --port abc", "'abc' is not a valid whole number from 0 to 65535."),
        ("backup", "looseleaf backup create FOLDER"),
        ("memory read MEMRY.md", "in the pages of agent main. Did you mean MEMORY.md?"),
        ("memory read USR.md", "Did you mean USER.md?"),
        ("memory history SOLU.md", "in the pages of agent main. Did you mean SOUL.md?"),
        ("memory search x --file MEMRY.md", "Did you mean MEMORY.md?"),
        ("memory append Facts", "looseleaf memory append Facts CONTENT, or looseleaf remember"),
        ("memory append notes.md", "The content is missing: looseleaf memory append notes.md CON"),
        ("memory write State", "looseleaf memory write State CONTENT"),
        ("settings get nme", "there is no such setting; the nearest is name"),
        ("settings set default_agnet x", "there is no such setting; the nearest is default_agent"),
    ],
)
def test_a_wrong_line_says_what_is_missing(line: str, said: str, run: Run) -> None:
    """In one line without the signs of line ends."""
    answer = run(*line.split())
    assert answer.code in (2, 3)
    assert said in answer.err
    assert "\\n" not in answer.err
    assert "agent 1" not in answer.err
