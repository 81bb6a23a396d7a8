"""A tool policy names tools and categories that exist, wherever an agent is configured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.operation_tools import list_operation_tools
from looseleaf.catalog.tool_access import (
    MODEL_TOOLS,
    find_unknown_tools,
    list_tool_categories,
    list_tool_names,
)
from looseleaf.errors.pages import AgentMissing, InvalidPolicy
from looseleaf.memory.policy import parse_tool_policy
from looseleaf.operations.doctor import check_workspace

MISSPELLED = {"tool_policy": {"mode": "deny", "tools": ["update_agent_memroy"]}}


def policy(**lists: list[str]) -> dict[str, Any]:
    """Deny some names."""
    return {"mode": "deny", **lists}


def test_every_tool_and_category_of_the_catalog_is_known(workspace: Workspace) -> None:
    """What is offered can be denied, and so can what is never offered to models."""
    operations = workspace.operations()
    names, categories = list_tool_names(operations), list_tool_categories(operations)
    offered = {tool.name for tool in list_operation_tools(workspace.context)} | set(MODEL_TOOLS)
    assert offered < set(names)
    assert {category for entry in CATALOG.values() for category in entry.categories} <= set(
        categories
    )
    assert not list(
        find_unknown_tools(
            operations, parse_tool_policy(policy(tools=names, categories=categories))
        )
    )
    workspace.agents.configure("ada", {"tool_policy": policy(tools=names, categories=categories)})


def test_each_misspelled_name_is_refused_with_the_right_one(workspace: Workspace) -> None:
    """Generated from the catalog: two letters of each name change places."""
    operations = workspace.operations()
    for field, names in (
        ("tools", list_tool_names(operations)),
        ("categories", list_tool_categories(operations)),
    ):
        for name in names:
            wrong = f"{name[:-2]}{name[-1]}{name[-2]}q"
            (why,) = find_unknown_tools(operations, parse_tool_policy(policy(**{field: [wrong]})))
            assert repr(wrong) in why
            assert name in why


def test_case_does_not_matter(workspace: Workspace) -> None:
    """As in the decision about a tool."""
    names = policy(tools=["AGENT_Memory"], categories=["Search"])
    assert not list(find_unknown_tools(workspace.operations(), parse_tool_policy(names)))


def test_a_misspelled_policy_is_refused_on_every_way(workspace: Workspace) -> None:
    """The library and the operations, to create and to configure; nothing is stored."""
    context = workspace.context
    with pytest.raises(InvalidPolicy, match=r"nearest: update_agent_memory\b"):
        workspace.agents.configure("ada", MISSPELLED)
    with pytest.raises(InvalidPolicy, match=r"nearest: update_agent_memory\b"):
        workspace.agents.create("bob", config=MISSPELLED)
    with pytest.raises(InvalidPolicy):
        invoke(context, "looseleaf/configure-agent", {"agent": "ada", "config": MISSPELLED})
    with pytest.raises(InvalidPolicy):
        invoke(context, "looseleaf/create-agent", {"slug": "bob", "config": MISSPELLED})
    assert workspace.agents.resolve("ada").config == {}
    with pytest.raises(AgentMissing):
        workspace.agents.resolve("bob")


def test_a_name_like_nothing_is_answered_with_what_there_is(workspace: Workspace) -> None:
    """So that one can choose."""
    (why,) = find_unknown_tools(
        workspace.operations(), parse_tool_policy(policy(categories=["zzz"]))
    )
    assert "available: agents, " in why


def test_a_tool_of_a_request_is_named_as_such(workspace: Workspace) -> None:
    """Programs bring tools that the workspace cannot know."""
    workspace.agents.configure("ada", {"tool_policy": policy(outside_tools=["publish"])})
    with pytest.raises(InvalidPolicy, match="outside_tools"):
        workspace.agents.configure("ada", {"tool_policy": policy(tools=["publish"])})


def test_a_stored_policy_keeps_working_and_the_doctor_warns(workspace: Workspace) -> None:
    """It may name the tool of a plugin that is gone."""
    record = Path(workspace.root, "agents/ada/agent.json")
    record.write_text(json.dumps(json.loads(record.read_text()) | {"config": MISSPELLED}))
    kept = workspace.agents.configure("ada", {"chat": {"turn_limit": 5}}).config
    assert kept["tool_policy"] == MISSPELLED["tool_policy"]
    warnings = [item for item in check_workspace(workspace.context) if item.status == "warning"]
    (found,) = [warning for warning in warnings if warning.check == "agents"]
    assert "'update_agent_memroy'" in found.detail
    assert "agents configure ada" in found.advice
