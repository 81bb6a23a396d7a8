"""The operations of a workspace: the catalog's, and those that others add."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from looseleaf import Workspace
from looseleaf.catalog.context import Context
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.registry import Operations
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.errors import InvalidName, Refused
from looseleaf.errors.operations import InvalidOperation, OperationMissing
from looseleaf.memory.scope import DEFAULT_WHERE, Where


def greet(_context: Context, name: str, *, mode: Literal["warm", "cool"] = "warm") -> str:
    """Greet someone."""
    return f"{mode} {name}"


def vague(_context: Context, thing: object) -> None:
    """Take what JSON cannot say."""


@pytest.fixture
def operations() -> Operations:
    """Return an empty registry."""
    return Operations()


def test_a_workspace_has_all_of_the_catalog(workspace: Workspace) -> None:
    """Ours come through the same hook as anyone's."""
    assert {operation.name: operation for operation in workspace.operations().all()} == CATALOG
    assert {operation.owner for operation in workspace.operations().all()} == {"looseleaf"}


def test_what_follows_from_the_operations_is_built_once(operations: Operations) -> None:
    """From the moment that they stay the same."""
    counts: list[int] = []

    def list_names(entries: Operations) -> list[str]:
        counts.append(1)
        return [entry.name for entry in entries.all()]

    assert operations.derive(list_names) == []
    operations.register("acme/greet", greet, permission="read")
    operations.freeze()
    assert operations.derive(list_names) is operations.derive(list_names)
    assert operations.derive(list_names) == ["acme/greet"]
    assert len(counts) == 2


def test_a_function_becomes_an_operation(operations: Operations, workspace: Workspace) -> None:
    """With its permission, its kind and its schema."""
    made = operations.register("acme/greet", greet, permission="read", read_only=True, owner="acme")
    assert operations.find("acme/greet") is made
    assert (made.summary, made.permission, made.owner) == ("Greet someone.", "read", "acme")
    assert (made.read_only, made.destructive, made.idempotent) == (True, False, True)
    assert build_input_schema(made)["required"] == ["name"]
    assert made.run(workspace.context, "Ada", mode="cool") == "cool Ada"


def test_types_may_be_written_or_evaluated(operations: Operations) -> None:
    """A plugin need not care how its module has its annotations."""

    def evaluated(context: Any, file: Any, *, where: Any = DEFAULT_WHERE, limit: Any = 3) -> Any:  # noqa: ANN401
        return context, file, where, limit

    evaluated.__annotations__ = {"context": Context, "file": str, "where": Where}
    evaluated.__annotations__ |= {"limit": int | None, "return": list[str]}
    quoted = dict(evaluated.__annotations__, file="'str'", limit="'int | None'")
    first = build_input_schema(operations.register("acme/one", evaluated, permission="read"))
    evaluated.__annotations__ = quoted
    second = build_input_schema(operations.register("acme/two", evaluated, permission="read"))
    assert first == second
    assert first["properties"]["limit"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]


def test_a_name_that_is_taken_is_refused(operations: Operations) -> None:
    """Until its owner, or another, takes it out."""
    operations.register("acme/greet", greet, permission="read", owner="acme")
    with pytest.raises(InvalidOperation, match="acme has one of that name"):
        operations.register("acme/greet", greet, permission="read")
    assert operations.deregister("acme/greet")
    assert not operations.deregister("acme/greet")
    operations.register("acme/greet", greet, permission="read")


def test_what_no_surface_could_offer_is_refused(operations: Operations) -> None:
    """A permission nobody can have, an argument JSON cannot say, a name that is none."""
    with pytest.raises(InvalidOperation, match=r"its permission is one of .*, not 'all'"):
        operations.register("acme/greet", greet, permission="all")
    with pytest.raises(InvalidOperation, match="JSON has nothing like it"):
        operations.register("acme/vague", vague, permission="read")
    for name in ("greet", "acme/", "Acme/greet", "acme/greet/me"):
        with pytest.raises(InvalidName):
            operations.register(name, greet, permission="read")
    assert operations.all() == ()


@pytest.mark.parametrize("declared", [None, "Any", "object", "Undefined", "set[Undefined]"])
def test_an_operation_without_a_declared_result_is_refused(
    operations: Operations, declared: str | None
) -> None:
    """A surface could not say what it gives."""

    def give(_context: Context) -> Any:  # noqa: ANN401 - what the test is about
        return 1

    give.__annotations__ = {} if declared is None else {"return": declared}
    with pytest.raises(InvalidOperation, match=r"declares no result|JSON has nothing like it"):
        operations.register("acme/give", give, permission="read")
    assert operations.all() == ()


def test_a_frozen_registry_is_complete(operations: Operations) -> None:
    """What is not there is missing for good."""
    operations.freeze()
    with pytest.raises(Refused, match="too late"):
        operations.register("acme/greet", greet, permission="read")
    with pytest.raises(OperationMissing):
        operations.find("acme/greet")
