"""The origin is the one part of provenance that an actor states, and each only as it may."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.model_tools import call_tool
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.operation_tools import list_operation_tools, pick_tool
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.catalog.signature import takes_origin, with_origin
from looseleaf.catalog.tool_access import MODEL_TOOLS
from looseleaf.errors import InvalidArgument
from looseleaf.memory.provenance import ORIGINS

KINDS = {"local": "person", "session": "person", "application password": "person"}
KINDS |= {"token": "agent", "agent": "agent"}
OWNER = {"capabilities": frozenset(("manage_options",))}


@pytest.mark.parametrize(("kind", "actor_kind"), KINDS.items())
def test_the_principal_decides_the_kind_of_actor(
    workspace: Workspace, kind: str, actor_kind: str
) -> None:
    """A model with a person's own credential is an agent, too."""
    principal = Principal(kind=kind, user_id=1, name="x", **OWNER)  # type: ignore[arg-type]
    context = workspace.acting(principal=principal)
    assert context.provenance().actor_kind == actor_kind
    assert context.provenance().origin == ("agent" if actor_kind == "agent" else "user")
    model = Principal(
        kind=kind if kind != "local" else "session", user_id=1, name="x", is_model=True
    )
    assert model.actor_kind == "agent"


@pytest.mark.parametrize("origin", [*ORIGINS, "person", "USER", 1])
@pytest.mark.parametrize("kind", ["session", "token"])
def test_an_actor_states_what_it_may(workspace: Workspace, kind: str, origin: Any) -> None:  # noqa: ANN401
    """Everything else is one clear error."""
    context = workspace.acting(principal=Principal(kind=kind, user_id=1, name="x"))
    allowed = {"user", "agent", "tool"} | ({"import"} if kind == "session" else set())
    if origin in allowed:
        assert with_origin(context, origin).change("write").provenance.origin == origin
    else:
        with pytest.raises(InvalidArgument, match="one of user, agent, tool"):
            with_origin(context, origin)


def test_what_writes_a_text_takes_an_origin() -> None:
    """Every operation that puts a text of its caller into a page, and no other."""
    names = {name for name, operation in CATALOG.items() if takes_origin(operation)}
    assert names == {
        "datamachine/append-agent-file",
        "datamachine/daily-memory-write",
        "datamachine/update-agent-memory",
        "datamachine/upload-agent-file",
        "datamachine/write-agent-file",
        "memory_long_term_add",
        "memory_long_term_update",
        "memory_short_term_add",
        "memory_short_term_update",
    }
    # No operation has such an argument itself: a tool states it for the whole call.
    assert not [
        name
        for name, operation in CATALOG.items()
        if "origin" in build_input_schema(operation)["properties"]
    ]


def test_tools_that_write_declare_it(workspace: Workspace) -> None:
    """With the words that a model may use."""
    for tool in list_operation_tools(workspace.context):
        declared = tool.parameters(is_scoped=True)["properties"].get("origin")
        assert (declared is not None) == takes_origin(tool.operation), tool.name
        assert declared is None or declared["enum"] == ["user", "agent", "tool"]
    for model_tool in MODEL_TOOLS.values():
        assert model_tool.parameters["properties"]["origin"]["enum"] == ["user", "agent", "tool"]


def test_a_tool_writes_what_the_model_states(workspace: Workspace) -> None:
    """And refuses the rest before anything is written."""
    principal = Principal(
        kind="agent",
        user_id=1,
        name="model",
        capabilities=frozenset(("manage_options",)),
        agent_id=1,
    )
    context = workspace.acting(principal=principal, surface="mcp")
    tool = pick_tool(list_operation_tools(context), "append_agent_memory")
    given = {"section": "Facts", "content": "- tea"}
    saved = call_tool(context, tool, {**given, "origin": "tool"})
    page = workspace.agents.resolve(1).shelf.page("MEMORY.md")
    last = workspace.history.revisions(page)[-1]
    assert (last.number, last.actor_kind, last.origin) == (saved["revision"], "agent", "tool")
    for forged in ({"origin": "system"}, {"origin": "import"}, {"actor_kind": "person"}):
        with pytest.raises(InvalidArgument):
            call_tool(context, tool, {**given, **forged})
    reading = pick_tool(list_operation_tools(context), "get_agent_memory")
    with pytest.raises(InvalidArgument, match="origin"):
        call_tool(context, reading, {"origin": "user"})
    assert workspace.history.revisions(page)[-1] == last
