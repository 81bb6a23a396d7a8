"""What an operation gives comes back from JSON as it was."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.json_values import to_json_value
from looseleaf.errors import Unavailable
from looseleaf.memory.scope import Where
from looseleaf.operations import agents, history, memory, prompt, search
from looseleaf.operations.prompt import Side
from looseleaf.remote import context as results
from looseleaf.remote.context import encode_arguments


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
        (prompt.compose_prompt, ("chat",), {"where": where}),
        (prompt.compose_prompt, ("chat",), {"where": where, "format": "anthropic"}),
    ]
    for run, given, named in calls:
        result = run(context, *given, **named)
        assert results.build_result(run, to_json_value(result)) == result


def test_fields_that_a_newer_server_adds_are_left_out(workspace: Workspace) -> None:
    """And one that is missing is told."""
    run = agents.show_agent
    record = agents.show_agent(workspace.context, "ada")
    document = to_json_value(record)
    assert results.build_result(run, {**document, "shoe_size": 43}) == record
    with pytest.raises(Unavailable, match="another version"):
        results.build_result(run, {"id": 1})


def test_arguments_leave_as_json_has_them() -> None:
    """`where` is spread, values become objects, and what nobody says is left out."""
    given = encode_arguments(
        prompt.diff_prompts, ("chat",), {"where": Where("ada"), "other": Side("x")}
    )
    assert given == {
        "mode": "chat",
        "agent": "ada",
        "other": {
            "mode": "x",
            "agent": None,
            "as_of": "",
            "pipeline": None,
            "flow": None,
            "step": "",
        },
    }
    assert encode_arguments(memory.read_memory, ("MEMORY.md",), {"section": None}) == {}
