"""A category that an agent's policy denies leaves no tool of it, on any surface."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from looseleaf import Workspace
from looseleaf.access.principals import EVERYTHING, Principal
from looseleaf.catalog.dispatch import run_parsed
from looseleaf.catalog.model_tools import list_all_tools, list_model_tools, run_tool
from looseleaf.catalog.operation import CATALOG, Operation
from looseleaf.catalog.operation_tools import format_tool_name, list_operation_tools, tools_of
from looseleaf.catalog.prompt_assembly import build_request
from looseleaf.catalog.tool_access import MODEL_TOOLS
from looseleaf.errors.operations import ToolDenied
from tests.web.fixtures import API, PAGE, Site

RUN = "/wp-abilities/v1/abilities"
NEVER = ("grants", "users")  # permissions that no token of an agent has, which is said first
CATEGORIES = sorted({name for item in CATALOG.values() for name in item.categories})


def mcp_codes(site: Site, token: str, names: set[str]) -> tuple[set[str], set[str]]:
    """Return the tools that MCP lists, and the codes with which it answers calls of some."""

    async def run() -> tuple[set[str], set[str]]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{site.base}/mcp", http_client=http)) as client,
        ):
            listed = {tool.name for tool in (await client.list_tools()).tools}
            answers = [await client.call_tool(name, {}) for name in sorted(names)]
            return listed, {str((item.structured_content or {}).get("code")) for item in answers}

    return anyio.run(run)


def test_the_category_memory_is_every_way_to_memory() -> None:
    """Also the tools of long-term and short-term memory, which once were of no category."""
    names = {name for name, item in CATALOG.items() if "memory" in item.categories}
    assert {name for name in CATALOG if name.startswith("memory_")} < names
    # The lists of memory files that a workflow selects name pages, and read or change none.
    lists = {
        name for name in CATALOG if name.endswith(("-flow-memory-files", "-pipeline-memory-files"))
    }
    assert {name for name in CATALOG if "memory" in name.partition("/")[2]} - lists < names


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_denied_category_leaves_no_tool(site: Site, category: str) -> None:
    """Not in a chat, not over MCP, not among the abilities, not in the export."""
    workspace, token = (
        site.workspace,
        site.token(agent="ada", role="admin", capabilities=[EVERYTHING]),
    )
    policy = {"tool_policy": {"mode": "deny", "categories": [category]}}
    agent = workspace.agents.configure("ada", policy)
    denied = {name for name, item in CATALOG.items() if category in item.categories}
    tools = {
        item.name for item in list_operation_tools(workspace.context) if category in item.categories
    }
    model_tools = {item.name for item in MODEL_TOOLS.values() if category in item.categories}

    request = build_request(workspace.context, "chat")
    assert not {item.name for item in list_model_tools(workspace.context, request)} & (
        tools | model_tools
    )
    for name in sorted(tools | model_tools):
        envelope = run_tool(workspace.context, request, name, {})
        assert envelope["error_code"] == "tool_denied", name
    assert not {item.name for item in list_all_tools(workspace.context, agent)} & (
        tools | model_tools
    )

    small = {item.name for item in list_operation_tools(workspace.context, full=False)} & tools
    listed, codes = mcp_codes(site, token, small)
    assert not listed & tools
    assert codes <= {"tool_denied"}

    abilities = site.ask("GET", RUN, token, params={"per_page": 1000}).json()
    assert {ability["name"] for ability in abilities} == set(CATALOG) - denied
    for name in sorted(denied):
        answer = site.ask("POST", f"{RUN}/{name}/run", token, json={})
        code = "forbidden" if CATALOG[name].permission in NEVER else "tool_denied"
        assert (answer.status_code, answer.json()["code"]) == (403, code), name


def test_an_action_of_a_denied_category_is_gone_from_its_tool(site: Site) -> None:
    """The tool stays with its other actions."""
    policy = {"tool_policy": {"mode": "deny", "categories": ["search"]}}
    site.workspace.agents.configure("ada", policy)
    request = build_request(site.workspace.context, "chat")
    [tool] = [
        item
        for item in list_model_tools(site.workspace.context, request)
        if item.name == "agent_memory"
    ]
    actions = tool.schema["properties"]["action"]["enum"]
    assert "get" in actions
    assert "search" not in actions
    asked = {"action": "search", "query": "x"}
    answer = run_tool(site.workspace.context, request, "agent_memory", asked)
    assert answer["error_code"] == "tool_denied"


def test_to_deny_the_tool_that_replaces_leaves_the_one_that_appends(site: Site) -> None:
    """An ability that is two tools is judged by the mode that the call asks for."""
    policy = {"tool_policy": {"mode": "deny", "tools": ["update_agent_memory"]}}
    site.workspace.agents.configure("ada", policy)
    token, address = site.token(), f"{RUN}/datamachine/update-agent-memory/run"
    fact = {"section": "State", "content": "- one"}
    assert site.ask("POST", address, token, json={**fact, "mode": "append"}).status_code == 200
    refused = site.ask("POST", address, token, json={**fact, "mode": "set"})
    assert (refused.status_code, refused.json()["code"]) == (403, "tool_denied")


@pytest.mark.parametrize("name", ["get_agent_memory", "get_agent_file", "agent_memory"])
def test_a_denied_read_is_denied_by_every_way(site: Site, name: str) -> None:
    """As a tool and its equivalents, as a resource, as a file."""
    token = site.token()
    site.workspace.agents.configure("ada", {"tool_policy": {"mode": "deny", "tools": [name]}})
    answer = site.ask("GET", f"{PAGE}/MEMORY.md", token)
    assert (answer.status_code, answer.json()["code"]) == (403, "tool_denied")
    for operation in ("get-agent-memory", "get-agent-file"):
        ran = site.ask("GET", f"{RUN}/datamachine/{operation}/run?input[file]=MEMORY.md", token)
        assert ran.json()["code"] == "tool_denied", operation

    async def run() -> str:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{site.base}/mcp", http_client=http)) as client,
        ):
            with pytest.raises(MCPError) as refusal:
                await client.read_resource("looseleaf://agents/ada/MEMORY.md")
            return str(refusal.value)

    assert "not for this agent" in anyio.run(run)
    # A person reads it, with whatever policy the agent has.
    browser, _ = site.sign_in()
    assert browser.get(f"{PAGE}/MEMORY.md").status_code == 200


@pytest.mark.parametrize("name", ["write_agent_file", "upload_agent_file"])
def test_a_denied_replacement_is_denied_by_every_way(site: Site, name: str) -> None:
    """As text and as the bytes of a file; what only adds is left."""
    token = site.token()
    site.workspace.agents.configure("ada", {"tool_policy": {"mode": "deny", "tools": [name]}})
    address = f"{RUN}/datamachine/upload-agent-file/run"
    answers = [
        site.ask("PUT", f"{PAGE}/notes.md", token, content=b"x"),
        site.ask("POST", address, token, json={"file": "notes.md", "data": "eA=="}),
    ]
    assert {answer.json()["code"] for answer in answers} == {"tool_denied"}
    line = {"file": "notes.md", "content": "- one"}
    assert site.ask("POST", f"{API}/files/append", token, json=line).status_code == 200


def test_a_tool_that_is_allowed_allows_its_equivalents(site: Site) -> None:
    """An allow list with agent_memory leaves reading by every way, and no journal."""
    token = site.token()
    policy = {"tool_policy": {"mode": "allow", "tools": ["agent_memory"]}}
    site.workspace.agents.configure("ada", policy)
    assert site.ask("GET", f"{PAGE}/MEMORY.md", token).status_code == 200
    listed = site.ask("GET", f"{API}/files/agent", token)
    assert listed.json()["code"] == "tool_denied"
    request = build_request(site.workspace.context, "chat")
    answer = run_tool(site.workspace.context, request, "agent_memory", {"action": "get"})
    assert answer["success"], answer


def test_a_denied_operation_is_denied_by_every_name_it_has(workspace: Workspace) -> None:
    """An address of REST is another name of an operation; every surface runs it by dispatch."""
    for operation in CATALOG.values():
        policy = {"mode": "deny", "tools": [tool_names(operation)[0]]}
        agent = workspace.agents.configure("ada", {"tool_policy": policy})
        everything = frozenset((EVERYTHING,))
        principal = Principal(kind="token", user_id=1, capabilities=everything, agent_id=agent.id)
        context = workspace.acting(principal=principal, surface="test")
        # The mode of the tool that is denied; nothing else is looked at before.
        mode = dict(tools_of(operation)[0].fixed_arguments) if tools_of(operation) else {}
        with pytest.raises(ToolDenied):
            run_parsed(context, operation, mode)


def tool_names(operation: Operation) -> list[str]:
    """Name the tools of an operation; without any, it counts under its own name."""
    return [tool.name for tool in tools_of(operation)] or [format_tool_name(operation.name)]


@pytest.mark.parametrize(
    ("tool", "method", "path"),
    [
        ("compose_prompt", "GET", "/prompt?mode=chat"),
        ("list_agents", "GET", "/agents"),
        ("send_message", "POST", "/chat"),
        ("upload_flow_file", "POST", "/files"),
    ],
)
def test_a_route_is_bound_by_the_policy_of_the_agent(
    site: Site, tool: str, method: str, path: str
) -> None:
    """Also one with a handler of its own: nothing is asked of a model, and no file is stored."""
    site.workspace.agents.configure("ada", {"tool_policy": {"mode": "deny", "tools": [tool]}})
    body: dict[str, Any] = {"json": {"message": "hello"}}
    if path == "/files":
        body = {"files": {"file": ("a.txt", b"x")}}
    answer = site.ask(method, f"{API}{path}", site.token(), **(body if method == "POST" else {}))
    assert (answer.status_code, answer.json()["code"]) == (403, "tool_denied")


def test_an_allow_list_says_nothing_about_what_is_no_tool(site: Site) -> None:
    """Whoever may talk to an agent may do so, whichever tools its model has."""
    policy = {"tool_policy": {"mode": "allow", "tools": ["agent_memory"]}}
    site.workspace.agents.configure("ada", policy)
    answer = site.ask("POST", f"{API}/chat", site.token(), json={"message": ""})
    assert answer.json()["code"] == "empty_message"
    assert site.ask("GET", f"{API}/prompt?mode=chat", site.token()).status_code == 403
