"""Words that are no UTF-8: every command says so in one line, whichever of its texts they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import pytest

from looseleaf.cli.command_line import Command
from tests.cli.fixtures import Run
from tests.cli.walk import LEAVES, Path

OTHER = "caf\udce9"  # the bytes of a terminal that is set to Latin-1
NUMBERS = (click.types.IntParamType, click.types.FloatParamType)


def list_texts() -> Iterator[tuple[Path, Command, click.Parameter]]:
    """List every text that a command takes, as an option or an argument."""
    for path, found in LEAVES:
        if path == ("mcp", "serve"):
            continue  # it starts whatever is wrong, and tells its host
        for param in found.params:
            is_flag = isinstance(param, click.Option) and (param.is_flag or param.count)
            if isinstance(param.type, click.types.StringParamType) and not is_flag:
                yield path, found, param


TEXTS = list(list_texts())


def fill(param: click.Parameter) -> str:
    """Return a word that a parameter accepts."""
    if isinstance(param.type, click.Choice):
        return str(param.type.choices[0])
    return "1" if isinstance(param.type, NUMBERS) else "x"


def type_words(found: Command, tried: click.Parameter) -> list[str]:
    """Return the words of a command with all that it requires, and the tried text."""
    words = []
    for param in found.params:
        if param is not tried and not param.required:
            continue
        word = OTHER if param is tried else fill(param)
        words += [param.opts[0], word] if isinstance(param, click.Option) else [word]
    return words


def test_every_text_of_every_command_is_checked(run: Run) -> None:
    """No command runs, none fails with a traceback, and the one line names what was typed."""
    assert len(TEXTS) > 200
    for path, found, param in TEXTS:
        answer = run(*path, *type_words(found, param))
        assert answer.code == 2, (path, param.name, answer)
        assert "not UTF-8" in answer.err, (path, param.name, answer.err)
        assert answer.err.count("\n") == 1, (path, param.name, answer.err)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names of files")
def test_the_name_of_a_file_may_have_any_bytes(run: Run, start: Run) -> None:
    """Only texts are checked; a file is found by the bytes of its name."""
    with open(OTHER, "w", encoding="utf-8") as file:
        file.write("- from a file\n")
    assert run("memory", "append", "Facts", "--from-file", OTHER).code == 0
    assert start("memory", "read", OTHER).code == 2
    assert start(OTHER).code == 2
