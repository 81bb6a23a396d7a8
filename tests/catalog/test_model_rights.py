"""A model is offered what policy and person allow: every tool of the catalog, for each person."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import SESSION, TOKEN, Principal
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import choose_request_tools, list_model_tools
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.operation_tools import OperationTool, tools_of
from looseleaf.catalog.tool_access import (
    GIVEN,
    RIGHTS,
    choose_listed_tools,
    confine_to_agent,
    list_policy_capabilities,
)
from looseleaf.errors import LooseleafError
from looseleaf.prompt.request import Request
from looseleaf.values import replace
from tests.conftest import sample
from tests.operations.test_matrix import (
    ABOUT,
    ADA,
    OWNER,
    REFUSALS,
    SOMEONE,
    SPOILS,
    World,
    arguments,
    fresh,
    template,
)

__all__ = ["fresh", "template"]

CHAT, FLOWS = ("chat",), ("chat", "manage_flows")


def person(user_id: int, capabilities: tuple[str, ...], role: str = "") -> Principal:
    """Make a person with capabilities and a role on ada."""
    grants = {ADA: role} if role else {}
    return Principal(
        kind=SESSION,
        user_id=user_id,
        name="someone",
        capabilities=frozenset(capabilities),
        grants=grants,
    )


PEOPLE = {
    "owner": person(OWNER, CHAT),
    "owner with workflows": person(OWNER, FLOWS),
    "viewer": person(SOMEONE, FLOWS, "viewer"),
    "operator": person(SOMEONE, CHAT, "operator"),
    "operator with workflows": person(SOMEONE, FLOWS, "operator"),
    "administrator": person(SOMEONE, ("manage_options",)),
    "reading credential of the owner": Principal(
        kind=TOKEN,
        user_id=OWNER,
        name="owner",
        capabilities=frozenset(("manage_options",)),
        role="viewer",
    ),
}
TARGETS = ("own", "identity", "shared", "mine", "workspace")
TOOLS = {
    tool.name: tool
    for name, operation in sorted(CATALOG.items())
    if name in ABOUT
    for tool in tools_of(operation)
}


def request_of(world: World, tool: OperationTool, principal: Principal) -> Request:
    """Make the request of a conversation in which the agent's policy names a tool."""
    policy = {"tool_policy": {"mode": "allow", "tools": [tool.name]}}
    agent = world.workspace.agents.resolve("ada")
    return Request(
        agent=replace(agent, config={**agent.config, **policy}), mode="chat", user=principal.user_id
    )


def is_refused_everywhere(world: World, context: Context, tool: OperationTool) -> bool:
    """Try the operation of a tool on all that it can be about."""
    name = tool.operation.name
    for target in set(TARGETS) & {*ABOUT[name]}:
        try:
            invoke(context, name, {**arguments(name, target, world), **tool.fixed_arguments})
        except REFUSALS:
            continue
        except LooseleafError:
            return False  # an error that comes after permission
        return False
    return True


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_tool_is_offered_where_some_call_is_allowed(
    name: str,
    fresh: Any,  # noqa: ANN401
    seed: int,
) -> None:
    """And left out if the operation refuses every call of this person; people take turns."""
    tool = TOOLS[name]
    world = fresh()
    for who, principal in sample(list(PEOPLE.items()), seed, every=3):
        context = world.workspace.acting(principal=principal, surface="chat")
        context = replace(context, settings=replace(context.settings, daily_memory_enabled=True))
        request = request_of(world, tool, principal)
        is_offered = name in {offer.name for offer in list_model_tools(context, request)}
        rules = {choice.name: choice.rule for choice in choose_request_tools(context, request)}
        assert rules[name] == (GIVEN if is_offered else RIGHTS), who
        agent_context = confine_to_agent(context, request, list_policy_capabilities(tool.operation))
        assert is_offered is not is_refused_everywhere(world, agent_context, tool), who
        if tool.operation.permission in SPOILS and is_offered:
            world = fresh()


def test_the_catalog_has_tools_of_both_kinds(fresh: Any) -> None:  # noqa: ANN401
    """For a viewer some are left out and others are given, so that the test above can fail."""
    world = fresh()
    viewer = PEOPLE["viewer"]
    context = world.workspace.acting(principal=viewer, surface="chat")
    offered = {
        name
        for name, tool in TOOLS.items()
        if list_model_tools(context, request_of(world, tool, viewer))
    }
    assert {"get_agent_memory", "list_agent_files", "list_flows"} <= offered
    # The agent belongs to somebody else, so that it adds to no page of the viewer, either.
    assert not {"create_flow", "append_agent_file", "daily_memory_write"} & offered


def test_actions_that_a_person_may_not_use_are_left_out(workspace: Workspace) -> None:
    """A viewer's model reads the agent's pages; it adds to none, as the agent is not theirs."""
    for role, actions in (
        ("viewer", ("get", "list_sections", "find", "search")),
        ("operator", ("get", "update", "append", "delete", "list_sections", "find", "search")),
    ):
        principal = Principal(
            kind=SESSION, user_id=7, name="eve", capabilities=frozenset(CHAT), grants={1: role}
        )
        context = workspace.acting(principal=principal, surface="chat")
        request = Request(agent=workspace.agents.resolve("ada"), mode="chat", user=7)
        choices = {choice.name: choice for choice in choose_request_tools(context, request)}
        assert choices["agent_memory"].actions == actions


def test_a_server_lists_what_a_bound_credential_may_use(workspace: Workspace) -> None:
    """A token for reading lists no tool that changes the agent's pages."""
    tools = tuple(TOOLS.values())
    for role, is_given in (("viewer", False), ("operator", True)):
        principal = Principal(
            kind=TOKEN, user_id=1, name="ada", capabilities=frozenset(CHAT), agent_id=1, role=role
        )
        context = workspace.acting(principal=principal, surface="mcp")
        choices = choose_listed_tools(context, workspace.agents.resolve("ada"), tools)
        rules = {choice.name: choice.rule for choice in choices}
        assert (rules["write_agent_file"] == GIVEN) is is_given
        assert rules["get_agent_file"] == GIVEN
        assert rules["create_agent"] == RIGHTS
