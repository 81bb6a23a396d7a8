"""The model's own tools: actions, envelopes, policies, whose memory, and their declarations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.audit import Event
from looseleaf.catalog.model_tools import declare_tools, list_all_tools, list_model_tools, run_tool
from looseleaf.catalog.operation_tools import list_operation_tools
from looseleaf.catalog.tool_access import MODEL_TOOLS
from looseleaf.errors import Invalid
from looseleaf.prompt.request import Request


def asked(workspace: Workspace, mode: str = "chat", **more: Any) -> Request:  # noqa: ANN401
    """Ask for ada's tools in a mode."""
    return Request(agent=workspace.agents.resolve("ada"), mode=mode, user=1, **more)


def memory(workspace: Workspace, **given: object) -> dict[str, Any]:
    """Call agent_memory."""
    return run_tool(workspace.context, asked(workspace), "agent_memory", given)


def daily(workspace: Workspace, **given: object) -> dict[str, Any]:
    """Call agent_daily_memory."""
    return run_tool(workspace.context, asked(workspace), "agent_daily_memory", given)


@pytest.fixture
def open_journal(workspace: Workspace) -> None:
    """Switch the journal on, as an operator does while everything runs."""
    file = workspace.root + "/looseleaf.toml"
    with open(file, "a", encoding="utf-8") as settings:
        settings.write("daily_memory_enabled = true\n")


def test_memory_is_written_read_listed_found_and_deleted(workspace: Workspace) -> None:
    """Each action of agent_memory reaches its operation."""
    assert memory(workspace, action="update", section="Facts", content="- one")["success"]
    assert memory(workspace, action="append", section="Facts", content="- two")["success"]
    added = {"action": "update", "section": "Facts", "content": "- three", "mode": "append"}
    assert memory(workspace, **added)["success"]
    read = memory(workspace, action="get", section="Facts")
    assert read["data"]["content"] == "- one\n- two\n- three"
    listed = memory(workspace, action="list_sections")["data"]
    assert (listed["file"], listed["sections"][-1]["name"]) == ("MEMORY.md", "Facts")
    assert memory(workspace, action="search", query="THREE")["data"]["total"] == 1
    found = memory(workspace, action="find", words="Which three facts do we know?")["data"]
    assert found["pages"][0]["filename"] == "MEMORY.md"
    assert memory(workspace, action="delete", section="Facts")["success"]
    gone = memory(workspace, action="get", section="Facts")
    assert (gone["success"], gone["error_code"]) == (False, "section_missing")
    assert "State" in gone["error_data"]["available"]


def test_the_envelope_is_that_of_the_seeds(workspace: Workspace) -> None:
    """Success with data, or failure with an error; always with the tool's name."""
    good = memory(workspace, action="get")
    assert set(good) == {"success", "data", "tool_name"}
    bad = memory(workspace, action="get", file="nope.md")
    assert set(bad) == {"success", "error", "error_code", "error_data", "tool_name"}
    assert bad["tool_name"] == "agent_memory"
    json.dumps([good, bad])


def test_an_unknown_action_is_answered_with_the_actions(workspace: Workspace) -> None:
    """Nothing is done, and the error names what can be."""
    for name, tool in MODEL_TOOLS.items():
        for action in ("forget", None, 3):
            answer = run_tool(workspace.context, asked(workspace), name, {"action": action})
            assert not answer["success"]
            assert all(item in answer["error"] for item in tool.actions)


@pytest.mark.parametrize(
    ("tool", "given", "named"),
    [
        ("agent_memory", {"action": "update", "section": "", "content": "-"}, "section"),
        ("agent_memory", {"action": "update", "section": "A", "content": ""}, "content"),
        (
            "agent_memory",
            {"action": "update", "section": "A", "content": "-", "mode": "write"},
            "append",
        ),
        ("agent_memory", {"action": "search", "query": ""}, "query"),
        ("agent_memory", {"action": "get", "colour": "red"}, "colour"),
        ("agent_daily_memory", {"action": "write", "content": ""}, "content"),
        ("agent_daily_memory", {"action": "write", "content": "-", "mode": "set"}, "append"),
        ("agent_daily_memory", {"action": "search"}, "query"),
        ("agent_daily_memory", {"action": "read", "date": "yesterday"}, "YYYY-MM-DD"),
    ],
)
def test_a_bad_call_is_an_error_that_says_what_is_wrong(
    workspace: Workspace, tool: str, given: dict[str, str], named: str
) -> None:
    """No page changes."""
    before = memory(workspace, action="get")["data"]["hash"]
    answer = run_tool(workspace.context, asked(workspace), tool, given)
    assert not answer["success"]
    assert named in answer["error"]
    assert memory(workspace, action="get")["data"]["hash"] == before


def test_no_tool_takes_the_name_of_another_agent_or_user(workspace: Workspace) -> None:
    """Every tool of the catalog refuses them and changes nothing; one's own names are taken."""
    workspace.agents.create("bob", owner=2)
    tools = [*MODEL_TOOLS, *(tool.name for tool in list_operation_tools(workspace.context))]
    workspace.agents.configure("ada", {"tool_policy": {"mode": "allow", "tools": tools}})
    request = asked(workspace)
    offered = {tool.name for tool in list_model_tools(workspace.context, request)}
    assert len(offered) > 20
    given = {"action": "append", "section": "Facts", "content": "- of whom?", "file": "MEMORY.md"}
    before = workspace.pages.text(request.agent.shelf.page("MEMORY.md"))
    for tool in offered:
        for name, other in (("agent", "bob"), ("agent_id", 2), ("user", 2), ("user_id", "2")):
            envelope = run_tool(workspace.context, request, tool, {**given, name: other})
            assert envelope["error_code"] == "invalid_argument", (tool, name)
            assert "alone" in envelope["error"], (tool, name)
    assert workspace.pages.text(request.agent.shelf.page("MEMORY.md")) == before
    own = {"agent_id": request.agent.id, "user_id": "1", "agent": "ada", "section": "Facts"}
    assert memory(workspace, action="append", content="- of ada", **own)["success"]
    assert not workspace.pages.exists(workspace.agents.resolve("bob").shelf.page("MEMORY.md"))


@pytest.mark.parametrize("file", ["SOUL.md", "RULES.md"])
def test_a_model_changes_nobody_s_identity(workspace: Workspace, file: str) -> None:
    """Whoever it speaks for, the operator too: that is for people to decide."""
    before = memory(workspace, action="get", file=file)
    changed = memory(workspace, action="append", file=file, section="X", content="y")
    assert changed["error_code"] == "forbidden"
    assert memory(workspace, action="get", file=file) == before


def test_the_journal_is_closed_until_it_is_switched_on(workspace: Workspace) -> None:
    """Writes say how to switch it on; reading, listing and searching work."""
    refused = daily(workspace, action="write", content="- one")
    assert refused["error_code"] == "daily_memory_disabled"
    assert "daily_memory_enabled" in refused["error"]
    missing = daily(workspace, action="read", date="2026-04-17")
    assert missing["data"]["exists"] is False
    assert missing["runtime"] == {"completion_signal": "progress"}
    assert daily(workspace, action="list")["data"] == {"months": {}}


@pytest.mark.usefixtures("open_journal")
def test_the_journal_is_written_and_searched(workspace: Workspace) -> None:
    """Each action of agent_daily_memory reaches its operation; both ends of a range count."""
    opened = Workspace.open(workspace.root)
    day = "2026-04-17"
    assert daily(opened, action="write", content="- one", date=day)["success"]
    assert daily(opened, action="write", content="- two", date=day, mode="append")["success"]
    assert daily(opened, action="read", date=day)["data"]["content"].endswith("- one\n- two\n")
    assert daily(opened, action="list")["data"] == {"months": {"2026/04": ["17"]}}
    for since, total in ((day, 1), ("2026-04-18", 0)):
        found = daily(opened, action="search", query="TWO", **{"from": since})
        assert found["data"]["total"] == total


def test_a_policy_takes_tools_away(workspace: Workspace) -> None:
    """By name or category, in the list and in a call all the same."""
    both = {"agent_memory", "agent_daily_memory"}
    assert {tool.name for tool in list_model_tools(workspace.context, asked(workspace))} == both
    denied: dict[str, Any] = {"mode": "deny", "tools": ["agent_daily_memory"]}
    workspace.agents.configure("ada", {"tool_policy": denied})
    assert [tool.name for tool in list_model_tools(workspace.context, asked(workspace))] == [
        "agent_memory"
    ]
    assert daily(workspace, action="list")["error_code"] == "tool_denied"
    workspace.agents.configure("ada", {"tool_policy": {"mode": "deny", "categories": ["memory"]}})
    assert list_model_tools(workspace.context, asked(workspace)) == ()


def daily_actions(workspace: Workspace) -> list[str]:
    """Return the actions of agent_daily_memory that are offered."""
    offered = {tool.name: tool for tool in list_model_tools(workspace.context, asked(workspace))}
    actions: list[str] = offered["agent_daily_memory"].schema["properties"]["action"]["enum"]
    return actions


def test_a_closed_journal_is_offered_for_reading_alone(workspace: Workspace) -> None:
    """Only what will be accepted is offered, also of the tools that an allow list names."""
    assert daily_actions(workspace) == ["read", "list", "search"]
    allowed = ["agent_daily_memory", "daily_memory_append", "daily_memory_read"]
    workspace.agents.configure("ada", {"tool_policy": {"mode": "allow", "tools": allowed}})
    names = {tool.name for tool in list_model_tools(workspace.context, asked(workspace))}
    assert names == {"agent_daily_memory", "daily_memory_read"}
    workspace.accounts().settings.put({"daily_memory_enabled": True}, Event(action="set"))
    assert daily_actions(workspace) == ["read", "write", "list", "search"]
    names = {tool.name for tool in list_model_tools(workspace.context, asked(workspace))}
    assert names == set(allowed)


def test_the_request_can_narrow_the_tools(workspace: Workspace) -> None:
    """Its lists hold in the list and in a call."""
    request = asked(workspace, tool_deny=("agent_memory",))
    assert [item.name for item in list_model_tools(workspace.context, request)] == [
        "agent_daily_memory"
    ]
    answer = run_tool(workspace.context, request, "agent_memory", {"action": "get"})
    assert answer["error_code"] == "tool_denied"


def test_our_own_tasks_get_no_tools(workspace: Workspace) -> None:
    """The upkeep of memory is told what to do with it."""
    request = asked(workspace, "system")
    assert list_model_tools(workspace.context, request) == ()
    answer = run_tool(workspace.context, request, "agent_memory", {"action": "get"})
    assert answer["error_code"] == "tool_denied"


def test_an_allow_list_can_name_the_tools_of_operations(workspace: Workspace) -> None:
    """Nobody has them unasked, and their scope is the request's."""
    unasked = run_tool(workspace.context, asked(workspace), "get_agent_memory", {})
    assert unasked["error_code"] == "tool_denied"
    policy = {"mode": "allow", "tools": ["agent_memory", "get_agent_memory"]}
    workspace.agents.configure("ada", {"tool_policy": policy})
    request = asked(workspace)
    offered = {tool.name: tool for tool in list_model_tools(workspace.context, request)}
    assert set(offered) == {"agent_memory", "get_agent_memory"}
    assert "agent" not in offered["get_agent_memory"].schema["properties"]
    read = run_tool(workspace.context, request, "get_agent_memory", '{"agent": "ada"}')
    assert read["data"]["file"] == "MEMORY.md"


@pytest.mark.parametrize("given", ["{", "[]", '"text"'])
def test_arguments_that_are_no_json_object_are_an_error(workspace: Workspace, given: str) -> None:
    """A model's arguments come as text, and not always as JSON."""
    answer = run_tool(workspace.context, asked(workspace), "agent_memory", given)
    assert answer["error_code"] == "invalid_argument"


def test_tools_are_declared_as_providers_take_them(workspace: Workspace) -> None:
    """One schema under three keys."""
    tools = list_all_tools(workspace.context)
    plain, openai, anthropic = (
        declare_tools(tools, item) for item in ("json", "openai", "anthropic")
    )
    for index, item in enumerate(plain):
        assert item["parameters"]["type"] == "object"
        assert openai[index] == {"type": "function", "function": item}
        assert anthropic[index]["input_schema"] == item["parameters"]
    with pytest.raises(Invalid, match="openai"):
        declare_tools(tools, "xml")


def test_the_declarations_for_an_agent_follow_its_policy(workspace: Workspace) -> None:
    """And leave it no choice of agent."""
    policy = {"mode": "allow", "tools": ["agent_memory"], "categories": ["prompt"]}
    agent = workspace.agents.configure("ada", {"tool_policy": policy})
    tools = {tool.name: tool.schema for tool in list_all_tools(workspace.context, agent)}
    assert {"agent_memory", "compose_prompt", "explain_prompt"} <= set(tools)
    assert "get_agent_memory" not in tools
    assert "agent" not in tools["compose_prompt"]["properties"]
