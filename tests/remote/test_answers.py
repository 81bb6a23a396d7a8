"""What an operation gives comes back from JSON as it was."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.errors import Unavailable
from looseleaf.operations import agents, history, memory, prompt, search
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.context import Where
from looseleaf.operations.prompt import Side
from looseleaf.operations.run import ROOMS
from looseleaf.operations.schema import plain
from looseleaf.remote import answers
from looseleaf.remote.context import arguments

PLAIN = {
    "Any",
    "None",
    "bool",
    "bytes",
    "dict",
    "float",
    "frozenset",
    "int",
    "list",
    "object",
    "str",
}
PLAIN |= {"Mapping", "tuple"}


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_what_an_operation_says_it_returns_is_known(name: str) -> None:
    """Each name in the annotation is a value that can be made, or plain in JSON too."""
    assert ROOMS
    run = CATALOG[name].run
    tree = answers._tree(run.__annotations__["return"])
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in PLAIN:
            assert answers._kind(run.__module__, node.id) is not None, node.id


def test_values_come_back_as_they_were(workspace: Workspace) -> None:
    """Nested ones, tuples and mappings too."""
    context = workspace.context
    where = Where(agent="ada")
    memory.append_page(context, "notes.md", "a line", where=where)
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (agents.list_agents, (), {}),
        (history.list_revisions, ("notes.md",), {"where": where}),
        (memory.list_sections, (), {"where": where}),
        (prompt.explain_prompt, ("chat",), {"where": where}),
        (prompt.diff_prompts, ("chat",), {"where": where, "other": Side("system")}),
        (search.search, ("line",), {"where": where}),
    ]
    for run, given, named in calls:
        result = run(context, *given, **named)
        assert answers.returned(run, plain(result)) == result


def test_fields_that_a_newer_server_adds_are_left_out(workspace: Workspace) -> None:
    """And one that is missing is told."""
    run = agents.show_agent
    record = agents.show_agent(workspace.context, "ada")
    document = plain(record)
    assert answers.returned(run, {**document, "shoe_size": 43}) == record
    with pytest.raises(Unavailable, match="another version"):
        answers.returned(run, {"id": 1})


def test_arguments_leave_as_json_has_them() -> None:
    """`where` is spread, values become objects, and what nobody says is left out."""
    given = arguments(prompt.diff_prompts, ("chat",), {"where": Where("ada"), "other": Side("x")})
    assert given == {
        "mode": "chat",
        "agent": "ada",
        "other": {"mode": "x", "agent": None, "as_of": ""},
    }
    assert arguments(memory.read_memory, ("MEMORY.md",), {"section": None}) == {}
