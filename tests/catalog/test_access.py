"""One module decides which tools an agent may use, and every surface shows its decision."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from looseleaf import Data, LeftOut, Tool, Workspace
from looseleaf.access.principals import LOCAL_ADMINISTRATOR, act_through
from looseleaf.agents import config
from looseleaf.catalog.model_tools import choose_request_tools
from looseleaf.catalog.operation_tools import list_operation_tools
from looseleaf.catalog.tool_access import decide_agent_tool, decide_request_tools
from looseleaf.mcp.methods import Features, list_tools
from looseleaf.memory.policy import ToolPolicy, parse_tool_policy
from looseleaf.prompt.request import Request
from tests.modules import read_modules

DECIDING = "catalog/tool_access.py"
POLICIES: tuple[dict[str, Any] | None, ...] = (
    None,
    {"mode": "deny", "tools": ["get_agent_memory"]},
    {"mode": "deny", "categories": ["memory"], "outside_tools": ["publish"]},
    {"mode": "allow", "tools": ["get_agent_memory"], "outside_tools": ["publish"]},
    {"mode": "allow", "categories": ["memory"]},
)
NARROWING: tuple[dict[str, Any], ...] = (
    {},
    {"tool_deny": ("get_agent_memory", "publish")},
    {"tool_allow_only": ("get_agent_memory",)},
    {"tool_allow_only": ()},
)


def request_of(
    workspace: Workspace,
    policy: dict[str, Any] | None,
    **fields: Any,  # noqa: ANN401 - of a request
) -> Request:
    """Build a request of ada under a tool policy."""
    workspace.agents.configure("ada", {"tool_policy": policy})
    return Request(agent=workspace.agents.resolve("ada"), mode="chat", user=1, **fields)


def test_one_module_asks_the_rules_of_policies() -> None:
    """A second one would decide otherwise one day."""
    asking = {
        module.path
        for module in read_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom)
        and any(alias.name == "decide_tool" for alias in node.names)
    }
    assert asking == {DECIDING}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("narrowing", NARROWING)
def test_a_prompt_lists_the_tools_that_are_allowed(
    workspace: Workspace, policy: dict[str, Any] | None, narrowing: dict[str, Any]
) -> None:
    """Of the tools that a program brings; the others are left out by the rule that decided."""
    tools = [
        Tool(tool.name, "", "{}", tool.categories)
        for tool in list_operation_tools(workspace.context)
    ]
    request = request_of(workspace, policy, tools=(*tools, Tool("publish")), **narrowing)
    decisions = {tool.name: decision for tool, decision in decide_request_tools(request)}
    assert decisions == {
        tool.name: decide_agent_tool(request.agent, tool.name, tool.categories, request)
        for tool in request.tools
    }
    pieces = workspace.chain().preview(request).pieces
    items = [piece.item for piece in pieces if piece.directive.name == "tool-definitions"]
    rules = {item.name: item.rule for item in items if isinstance(item, LeftOut)}
    lists: list[Any] = [item.data for item in items if isinstance(item, Data)]
    listed = [row["name"] for rows in lists for row in rows]
    rules.pop("tool-definitions", None)
    assert listed == [name for name, decision in decisions.items() if decision.allowed]
    assert rules == {
        name: decision.rule for name, decision in decisions.items() if not decision.allowed
    }


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        ({"mode": "allow", "tools": ["Get_Agent_MEMORY"]}, {}),
        ({"mode": "allow", "categories": ["Memory"]}, {}),
        (None, {"tool_allow_only": ("GET_agent_memory",)}),
    ],
)
def test_case_does_not_matter(
    workspace: Workspace, policy: dict[str, Any] | None, fields: dict[str, Any]
) -> None:
    """A tool that a list allows is offered, however the list spells it."""
    choices = choose_request_tools(workspace.context, request_of(workspace, policy, **fields))
    assert "get_agent_memory" in {choice.name for choice in choices if choice.is_given}


def test_a_list_of_tools_reads_the_policy_of_its_agent_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many tools there are; and the next list follows a policy that has changed."""
    reads: list[int] = []

    def count(policy: dict[str, Any] | None) -> ToolPolicy:
        reads.append(1)
        return parse_tool_policy(policy)

    monkeypatch.setattr(config, "parse_tool_policy", count)
    features = Features(list_operation_tools(workspace.context))
    agent = workspace.agents.resolve("ada")
    context = workspace.acting(principal=act_through(LOCAL_ADMINISTRATOR, agent.id, user=1))
    for denied in ("get_agent_memory", "find_pages"):
        policy = {"mode": "deny", "tools": [denied]}
        workspace.agents.configure("ada", {"tool_policy": policy})
        reads.clear()
        listed = {tool["name"] for tool in list_tools(features, context, {})["tools"]}
        assert len(reads) == 1
        assert {"get_agent_memory", "find_pages"} - listed == {denied}
