"""Commands are derived from operations: each has what its operation takes, and no more."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.cli.derived_commands import (
    Derivation,
    DerivedCommand,
    Fields,
    ResultTable,
    format_cell,
    read_docstring,
    read_help,
    show_result,
)
from looseleaf.values import value
from tests.cli.fixtures import Run
from tests.cli.walk import DERIVED, LEAVES, Path

_SHARED = ("agent", "user", "layer")


LISTING = ("list", "log", "files", "paths", "runs", "recent", "pending", "status", "tasks")
# Commands that show one thing: without it there is nothing to show.
SHOWS_ONE = {
    ("bundles", "show"): "the agent was not installed from a bundle",
    ("upkeep", "show"): "nothing has run",
}


def lists(path: Path, found: click.Command) -> bool:
    """Return whether a command only reads, and needs no argument."""
    reads = isinstance(found, DerivedCommand) and found.operation.read_only
    is_free = not any(param.required for param in found.params)
    return is_free and (reads or path[-1] in LISTING) and path not in SHOWS_ONE


def test_a_list_of_nothing_is_no_error(run: Run) -> None:
    """Every command that lists something, in a fresh workspace: exit 0, and at least a line."""
    typed = [path for path, found in LEAVES if lists(path, found)]
    assert len(typed) > 35
    assert {("upkeep", "log"), ("system", "runs"), ("backup", "list"), ("status",)} <= set(typed)
    for path in typed:
        answer = run(*path)
        assert (answer.code, answer.err) == (0, ""), path
        assert answer.text.strip(), path
    assert run("upkeep", "log").text.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "found"), DERIVED, ids=lambda one: " ".join(one) if isinstance(one, tuple) else ""
)
def test_a_command_takes_what_its_operation_takes(path: Path, found: DerivedCommand) -> None:
    """What the operation requires is required; what it may leave out may be left out."""
    schema = build_input_schema(found.operation)
    params = {param.name: param for param in found.params}
    for name in schema["required"]:
        assert name in params or found.prepares, (path, name)
        param = params.get(name)
        is_given = param is None or param.required or isinstance(param.default, str)
        assert is_given or found.prepares, (path, name)
    for name in set(schema["properties"]) - set(schema["required"]):
        assert name not in params or not params[name].required or name == "agent", (path, name)


@pytest.mark.parametrize(
    ("path", "found"), DERIVED, ids=lambda one: " ".join(one) if isinstance(one, tuple) else ""
)
def test_a_command_leaves_out_only_what_it_names(path: Path, found: DerivedCommand) -> None:
    """A new parameter of an operation is an option at once."""
    names = {param.name for param in found.params}
    for name in build_input_schema(found.operation)["properties"]:
        assert name in names or name in found.left_out or name in _SHARED, (path, name)


def test_the_help_in_the_source_is_that_of_the_operation() -> None:
    """It is read without an import, and the same."""
    read = 0
    for operation in CATALOG.values():
        run = operation.run
        text = read_docstring(f"{run.__module__}:{run.__name__}")
        assert text == read_help(run.__doc__), operation.name
        read += bool(text)
    assert read > 100


def test_a_list_of_commands_imports_no_operation() -> None:
    """So that help stays as fast as it was."""
    program = (
        "import sys; from looseleaf.cli import main; main(['jobs', '--help']); "
        "sys.exit(any(name.startswith('looseleaf.operations.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_option_without_a_declaration_says_its_default() -> None:
    """The text is that of the operation."""
    [limit] = [one for path, found in DERIVED if path == ("jobs", "list") for one in found.params
               if one.name == "limit"]  # fmt: skip
    assert isinstance(limit, click.Option)
    assert (limit.metavar, (limit.help or "").endswith("[default: 20]")) == ("N", True)


def test_a_name_that_no_parameter_has_is_refused() -> None:
    """A misspelled declaration would change nothing."""
    jobs = Derivation("jobs", "looseleaf.features.workflows.operations.jobs")
    wrong = jobs.derive("show", "show_job", "7", parameters={"jop": "--jop"})
    with pytest.raises(TypeError, match="takes no jop"):
        _ = wrong.params


def test_a_destructive_operation_asks_unless_told(run: Run) -> None:
    """By its summary, where the command has no question of its own."""
    jobs = Derivation("jobs", "looseleaf.features.workflows.operations.jobs")
    names = {param.name for param in jobs.derive("delete", "delete_job", "7").params}
    assert "yes" in names
    assert "yes" not in {param.name for param in jobs.derive("show", "show_job", "7").params}
    assert run("retention", "run").code == 2


@value
class Row:
    """A record as operations return them."""

    id: int
    names: tuple[str, ...]
    is_open: bool
    note: str


ROWS = [Row(1, ("a", "b"), True, "first"), Row(2, (), False, "")]


def test_a_table_has_a_column_for_each_field(capsys: pytest.CaptureFixture[str]) -> None:
    """With titles of its own, functions for cells, and a count."""
    ResultTable(
        "id who=names is_open note", cells={"note": lambda row: row.note.upper()}, count="row"
    )(ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "ID  WHO   IS OPEN  NOTE",
        " 1  a, b  yes      FIRST",
        " 2  -     no",
        "",
        "2 rows.",
    ]
    ResultTable("id", empty="Nothing.", count="row")([])
    assert capsys.readouterr().out == "Nothing.\n0 rows.\n"
    Fields("id open=is_open")(ROWS[0])
    assert capsys.readouterr().out == "id        1\nopen      yes\n"


def test_any_result_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A new operation has a usable command before anyone describes its output."""
    for result, text in (
        (ROWS, "ID  IS OPEN  NOTE\n 1  yes      first\n 2  no       -\n"),
        ([], "There are none.\n"),
        (["a"], "RESULT\na\n"),
        (ROWS[1], "id        2\nnames     -\nis_open   no\nnote      -\n"),
        ({"a": 1}, "a         1\n"),
        (None, "-\n"),
        ("text", "text\n"),
    ):
        show_result(result)
        assert capsys.readouterr().out == text
    assert format_cell({"a": None}) == '{"a": null}'
