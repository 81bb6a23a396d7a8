"""The table of commands is true, and every command explains itself."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import click
import pytest

from looseleaf.cli import command_line
from looseleaf.cli.argv import split_options
from looseleaf.cli.command_line import Command, CommandTable, looseleaf_command
from looseleaf.cli.output import EXIT_CODES, FAILED, INTERRUPTED
from tests.cli.fixtures import Run
from tests.cli.walk import EVERY, LEAVES, Path


@pytest.mark.parametrize(
    ("path", "summary", "found"),
    EVERY,
    ids=lambda entry: " ".join(entry) if isinstance(entry, tuple) else "",
)
def test_the_summary_in_a_list_is_what_the_command_says(
    path: Path, summary: str, found: click.Command
) -> None:
    """A registered command is listed before its module is read, so the two could differ."""
    if isinstance(found, Command):
        assert (found.help or "").split("\n")[0] == summary
    assert found.name == path[-1]


@pytest.mark.parametrize(
    ("path", "found"), LEAVES, ids=lambda entry: " ".join(entry) if isinstance(entry, tuple) else ""
)
def test_help_shows_how_to_call_a_command(path: Path, found: Command, run: Run) -> None:
    """With examples as they are typed, within a usual terminal."""
    answer = run(*path, "--help")
    assert answer.code == 0
    assert answer.text.startswith(f"Usage: looseleaf {' '.join(path)} ")
    assert 1 <= len(found.examples) <= 4
    assert all(f"\n  {example}\n" in answer.text for example in found.examples)
    assert max(map(len, answer.text.splitlines())) <= 100


DEFAULTS = {("chat", "talk"), ("mcp", "serve")}
EXAMPLES = [(path, found, example) for path, found in LEAVES for example in found.examples]


@pytest.mark.parametrize(
    ("path", "found", "example"),
    EXAMPLES,
    ids=lambda entry: entry if isinstance(entry, str) else "",
)
def test_an_example_calls_the_command_it_explains(path: Path, found: Command, example: str) -> None:
    """With options that it has."""
    words = shlex.split(example.partition("looseleaf ")[2].partition(" < ")[0])
    if path in DEFAULTS and tuple(words[: len(path)]) != path:
        words.insert(len(path) - 1, path[-1])  # the group alone means this command
    assert tuple(words[: len(path)]) == path
    context = click.Context(found)
    names = {name for option in found.get_params(context) for name in option.opts}
    used, _ = split_options(words[len(path) :], dict.fromkeys(names, False))
    assert {option.partition("=")[0] for option in used} <= names


@pytest.mark.parametrize(
    "example", [example for _, _, example in EXAMPLES if "{" in example or "[" in example]
)
def test_the_json_of_an_example_arrives_as_json(example: str) -> None:
    """A shell takes the quotes away from what is not quoted itself."""
    words = [word for word in shlex.split(example) if set("{[") & set(word)]
    assert words
    for word in words:
        json.loads(word[min(word.find(sign) for sign in "{[" if sign in word) :])


def test_the_schedules_of_examples_exist(run: Run) -> None:
    """Those of system tasks are there in every workspace."""
    words = {word for _, _, example in EXAMPLES for word in example.split() if "task:" in word}
    assert words
    rows = run("schedules", "list", "--format", "json").json["schedules"]
    assert words <= {row["schedule"] for row in rows}


def test_a_help_names_only_what_a_person_can_type() -> None:
    """No name of a variable of ours stands in it between backticks."""
    for path, found in LEAVES:
        names = set(re.findall(r"`(\w+)`", found.help or ""))
        choices = {
            choice
            for argument in found.params
            if isinstance(argument.type, click.Choice)
            for choice in argument.type.choices
        }
        assert names <= choices, (path, names - choices)


def test_every_option_has_a_help_and_none_has_a_short_form() -> None:
    """A word with one dash is content, so no option may claim one."""
    for path, found in LEAVES:
        for option in found.params:
            if isinstance(option, click.Option):
                assert option.help, (path, option.name)
                assert all(name.startswith("--") for name in option.opts), (path, option.opts)


def test_every_command_takes_the_root() -> None:
    """As the help of the whole says."""
    assert all(any("--root" in param.opts for param in found.params) for _, found in LEAVES)
    assert "--root" in looseleaf_command.get_help(click.Context(looseleaf_command))


def test_the_help_of_the_whole_says_the_exit_codes(run: Run) -> None:
    """All that an error can have, success and an interruption."""
    lines = run("--help").text.partition("Exit codes:\n")[2].splitlines()
    codes = {0, FAILED, INTERRUPTED, *(code for _, code in EXIT_CODES)}
    assert [int(line.split()[0]) for line in lines] == sorted(codes)


def test_a_call_builds_the_table_of_commands_once(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However deep the command lies."""
    tables: list[CommandTable] = []

    def build(*arguments: Any) -> CommandTable:  # noqa: ANN401 - as the class takes them
        tables.append(CommandTable(*arguments))
        return tables[-1]

    monkeypatch.setattr(command_line, "CommandTable", build)
    assert run("memory", "append", "Facts", "a line").code == 0
    assert len(tables) == 1
