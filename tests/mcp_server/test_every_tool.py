"""Every tool of the catalog over stdio, with the official client: a result, an error, a cut."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from looseleaf import Workspace
from looseleaf.mcp_server.answers import answer
from looseleaf.mcp_server.stdio import acting_locally
from looseleaf.operations.run import invoke
from looseleaf.operations.tool_calls import MOST_CHARACTERS, call_tool
from looseleaf.operations.tools import operation_tools, pick_tool
from tests.mcp_server.conftest import ERAS, started, talk

DAY = {"date": "2026-04-17"}
# In this order: a later call finds what an earlier one has written.
CALLS: dict[str, dict[str, Any]] = {
    "write_agent_file": {"file": "plan.md", "content": "# Plan\n\n## Next\n\n- rest\n"},
    "append_agent_file": {"file": "plan.md", "content": "- walk"},
    "append_agent_memory": {"section": "Facts", "content": "- one"},
    "update_agent_memory": {"section": "Facts", "content": "- two"},
    "upload_agent_file": {"file": "up.md", "data": b64encode(b"# Up\n").decode()},
    "get_agent_memory": {"section": "Facts"},
    "get_agent_file": {"file": "plan.md"},
    "list_agent_memory_sections": {"file": "plan.md"},
    "list_agent_files": {},
    "list_injectable_memory_files": {},
    "find_pages": {"words": "walk"},
    "search_agent_memory": {"query": "walk"},
    "page_history": {"file": "plan.md"},
    "page_diff": {"file": "plan.md", "before": "1"},
    "restore_page": {"file": "plan.md", "revision": "1"},
    "delete_agent_memory_section": {"file": "plan.md", "section": "Next"},
    "clear_agent_file": {"file": "plan.md"},
    "delete_agent_file": {"file": "plan.md"},
    "daily_memory_append": {"content": "- met", **DAY},
    "daily_memory_write": {"content": "- met twice", **DAY},
    "daily_memory_read": DAY,
    "daily_memory_list": {},
    "search_daily_memory": {"query": "met"},
    "memory_short_term_add": {"content": "- left", **DAY},
    "memory_short_term_update": {"old": "- left", "new": "- stayed", **DAY},
    "memory_short_term_delete": {"old": "- stayed", **DAY},
    "memory_short_term_read": {"max_chars": 3, **DAY},
    "daily_memory_delete": DAY,
    "memory_long_term_add": {"content": "- three"},
    "memory_long_term_update": {"old": "- three", "new": "- four"},
    "memory_long_term_delete": {"old": "- four"},
    "memory_long_term_read": {"max_chars": 3},
    "compose_prompt": {},
    "explain_prompt": {},
    "check_prompt": {},
    "diff_prompts": {"other": {"mode": "pipeline"}},
    "compose_files": {},
    "scaffold_memory_file": {},
    "list_agents": {},
    "show_agent": {},
    "show_status": {},
    "create_agent": {"slug": "eve"},
    "set_agent_status": {"status": "active"},
    "list_deleted_agents": {},
    "restore_agent": {"agent": 3},
    "rename_agent": {"slug": "ada-lovelace"},
}
SMALLEST = {"agent": "ada", "file": "big.md", "query": "x", "words": "x", **DAY}


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_gives_a_result_and_an_error(root: Path, era: str) -> None:
    """Both as text and as data; the error with its code; a new tool asks for a line above."""

    async def session(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == set(CALLS)
        for name, arguments in CALLS.items():
            refused = await client.call_tool(name, {**arguments, "nonsense": 1})
            assert refused.is_error, name
            assert refused.structured_content["code"] == "invalid_argument", name
            assert "nonsense" in refused.content[0].text  # type: ignore[union-attr]
            names_agent = "agent" in tools[name].input_schema["properties"]
            given = {"agent": "ada", **arguments} if names_agent else arguments
            result = await client.call_tool(name, given)
            assert not result.is_error, (name, result.content)
            assert isinstance(result.structured_content, dict), name
            assert result.content, name

    workspace = Workspace.open(root)
    invoke(workspace.context, "looseleaf/create-agent", {"slug": "gone"})
    invoke(workspace.context, "looseleaf/delete-agent", {"agent": "gone", "files": True})
    talk(started(root, "--all-agents", "--tools", "full"), session, era=era, seconds=120)


def test_every_tool_that_reads_is_cut_and_says_so(root: Path) -> None:
    """A page larger than a model's context, read by every tool that gives text."""
    workspace = Workspace.open(root)
    page = "## State\n\n" + "x" * (2 * MOST_CHARACTERS)
    shelf = workspace.agents.resolve("ada").shelf
    for file in ("big.md", "MEMORY.md", "daily/2026/04/17.md"):
        workspace.pages.write(shelf.page(file), page, change=workspace.context.change("write"))
    context = acting_locally(workspace, 0, 1, full=True)("test")
    cut = set()
    for tool in operation_tools(workspace.context):
        if not tool.operation.read_only:
            continue
        taken = tool.parameters(scoped=False)["properties"]
        arguments = {name: one for name, one in SMALLEST.items() if name in taken}
        chosen = pick_tool((tool,), tool.name)
        result = answer(lambda tool=chosen, given=arguments: call_tool(context, tool, given))  # type: ignore[misc]
        assert not result["isError"], (tool.name, result["content"])
        if result["structuredContent"].get("truncated"):
            cut.add(tool.name)
            notice = result["content"][-1]["text"]
            assert notice.startswith("(Cut: it has "), tool.name
            assert str(len(page)) in notice, tool.name
    assert cut == {
        "get_agent_file",
        "get_agent_memory",
        "daily_memory_read",
        "memory_long_term_read",
        "memory_short_term_read",
    }
