"""Every tool of the catalog over stdio, with the official client: a result, an error, a cut."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import validate
from mcp import Client

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import call_tool
from looseleaf.catalog.operation_tools import (
    MOST_CHARACTERS,
    build_output_schema,
    list_operation_tools,
    pick_tool,
)
from looseleaf.mcp.methods import answer
from looseleaf.mcp.stdio import local_context_of
from tests.mcp.conftest import ERAS, describe_server, talk

DAY = {"date": "2026-04-17"}
TEXT_STEP = {"type": "input", "settings": {"source": "text", "text": "x"}}
# Tools that find nothing here, since no worker ran the job; tests of their operations run one.
UNAVAILABLE = {"delete_job", "hydrate_job_artifact", "show_job_transcript", "show_bundle"}
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
    "blame_page": {"file": "plan.md"},
    "list_recent": {},
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
    "lint_memory": {},
    "fix_memory": {},
    "compose_prompt": {},
    "explain_prompt": {},
    "check_prompt": {},
    "diff_prompts": {"other": {"mode": "pipeline"}},
    "compose_files": {},
    "scaffold_memory_file": {},
    "list_agents": {},
    "list_models": {},
    "show_agent": {},
    "summarize_agents": {},
    "list_bundles": {},
    "show_bundle": {},
    "show_status": {},
    "create_agent": {"slug": "eve"},
    "set_agent_status": {"status": "active"},
    "list_deleted_agents": {},
    "restore_agent": {"agent": 3},
    "create_pipeline": {"name": "News", "steps": [TEXT_STEP]},
    "create_flow": {"pipeline": "news", "name": "Morning", "schedule": {"interval": "daily"}},
    "list_schedules": {},
    "pause_schedule": {"schedule": "flow:1"},
    "resume_schedule": {"schedule": "flow:1"},
    "run_schedule": {"schedule": "flow:1"},
    "execute_workflow": {"flow": "morning"},
    "get_jobs": {},
    "get_job": {"job": 1},
    "show_job_packets": {"job": 1},
    "get_run_artifacts": {"job": 1},
    "hydrate_job_artifact": {"ref": "datamachine://jobs/1/artifacts/transcript"},
    "show_job_transcript": {"job": 1},
    "pause_job": {"job": 1},
    "resume_job": {"job": 1},
    "cancel_job": {"job": 1},
    "retry_job": {"job": 1},
    "delete_job": {"job": 99},
    "list_pipelines": {},
    "list_step_types": {},
    "show_step_type": {"step_type": "input"},
    "show_pipeline": {"pipeline": "news"},
    "update_pipeline": {"pipeline": "news", "system_prompt": "Write."},
    "list_pipeline_memory_files": {"pipeline": 1},
    "set_pipeline_memory_files": {"pipeline": 1, "add": ["up.md"]},
    "list_flows": {},
    "show_flow": {"flow": "morning"},
    "update_flow": {"flow": 1, "queue_mode": "loop"},
    "queue_prompt": {"flow": 1, "prompt": "Go"},
    "list_flow_memory_files": {"flow": 1},
    "set_flow_memory_files": {"flow": 1, "add": ["up.md"]},
    "upload_flow_file": {"file": "a.txt", "data": "eA==", "pipeline": 1},
    "list_flow_files": {"pipeline": 1},
    "delete_flow_file": {"file": "a.txt", "pipeline": 1},
    "export_pipeline": {"pipeline": 1},
    "import_pipeline": {"document": {"schema_version": 1, "slug": "p", "name": "P"}},
    "copy_pipeline": {"pipeline": 1},
    "copy_flow": {"flow": 1},
    "delete_flow": {"flow": 1},
    "delete_pipeline": {"pipeline": 1},
    "move_page": {"file": "up.md", "to": "ups/up.md"},
    "rename_agent": {"slug": "ada-lovelace"},
}
SMALLEST = {
    "agent": "ada",
    "file": "big.md",
    "query": "x",
    "words": "x",
    "step_type": "input",
    **DAY,
}


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
            assert result.is_error == (name in UNAVAILABLE), (name, result.content)
            if result.is_error:
                codes = {"artifact_missing", "job_not_found", "bundle_not_installed"}
                assert result.structured_content["code"] in codes, name
                continue
            schema = tools[name].output_schema
            assert schema is not None, name
            assert schema["type"] == "object", name
            validate(schema, result.structured_content)
            assert result.content, name

    workspace = Workspace.open(root)
    invoke(workspace.context, "looseleaf/create-agent", {"slug": "gone"})
    invoke(workspace.context, "looseleaf/delete-agent", {"agent": "gone", "files": True})
    talk(describe_server(root, "--all-agents", "--tools", "full"), session, era=era, seconds=120)


def test_every_tool_that_reads_is_cut_and_says_so(root: Path) -> None:
    """A page larger than a model's context, read by every tool that gives text."""
    workspace = Workspace.open(root)
    page = "## State\n\n" + "x" * (2 * MOST_CHARACTERS)
    shelf = workspace.agents.resolve("ada").shelf
    for file in ("big.md", "MEMORY.md", "daily/2026/04/17.md"):
        workspace.pages.write(shelf.page(file), page, change=workspace.context.change("write"))
    invoke(workspace.context, "looseleaf/create-pipeline", {"name": "News", "agent": "ada"})
    invoke(workspace.context, "looseleaf/create-flow", {"pipeline": 1, "name": "Morning"})
    steps = {"steps": [TEXT_STEP], "agent": "ada"}
    invoke(workspace.context, "datamachine/execute-workflow", steps)
    context = local_context_of(workspace, 0, 1, full=True)("test")
    cut = set()
    for tool in list_operation_tools(workspace.context):
        if not tool.operation.read_only or tool.name in UNAVAILABLE:
            continue
        shape = tool.parameters(is_scoped=False)
        properties = shape["properties"]
        arguments: dict[str, Any] = {
            name: item for name, item in SMALLEST.items() if name in properties
        }
        arguments |= {name: 1 for name in shape["required"] if name in ("pipeline", "flow", "job")}
        if tool.name == "list_flow_files":
            arguments["flow"] = 1
        chosen = pick_tool((tool,), tool.name)
        result = answer(tool.operation, partial(call_tool, context, chosen, arguments))
        assert not result["isError"], (tool.name, result["content"])
        validate(build_output_schema(tool.operation), result["structuredContent"])
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
