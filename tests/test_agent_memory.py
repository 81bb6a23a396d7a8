"""The front door: a program's memory in a few lines, with the rules of every other surface."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import looseleaf
import looseleaf.aio
from looseleaf import AgentMemory, Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Invalid
from looseleaf.errors.pages import AgentMissing

APPEND = {"section": "Facts", "content": "- Tea is green"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[AgentMemory]:
    """Open the memory of ada in a workspace that is created for it."""
    with looseleaf.open(tmp_path / "memory", agent="ada", actor="tea bot", create=True) as memory:
        yield memory


def test_what_is_remembered_is_in_the_next_prompt(memory: AgentMemory) -> None:
    """It is read, found and listed, and its history names the agent and the program."""
    memory.remember("We never deploy on Fridays")
    memory.remember("* Ask first", section="Rules")
    memory.journal("- Asked about deploys", date="2026-04-17")
    assert memory.read(section="Facts") == "- We never deploy on Fridays"
    assert memory.read(section="Rules") == "* Ask first"
    assert "never deploy on Fridays" in memory.prompt()
    assert [hit.filename for hit in memory.search("Fridays")] == ["MEMORY.md"]
    assert memory.recent()[0].agent == "ada"
    page = memory.agent.shelf.page("MEMORY.md")
    revision = memory.workspace.history.revisions(page)[-1]
    assert (revision.actor, revision.actor_kind, revision.origin) == ("ada", "agent", "agent")
    assert (revision.reason, revision.activity) == ("through tea bot", "session")
    with pytest.raises(Invalid):
        memory.remember("  \n")


def test_tools_are_there_before_anything_else_was_done(tmp_path: Path) -> None:
    """In a process of its own, where nothing else has filled the catalog of operations."""
    program = "import looseleaf; print(len(looseleaf.open('memory', create=True).tools()))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.stdout == b"10\n", done.stderr


def test_a_workspace_is_created_once(tmp_path: Path) -> None:
    """A second call opens it, and adds an agent that it does not have yet."""
    root = tmp_path / "memory"
    with pytest.raises(looseleaf.LooseleafError):
        looseleaf.open(root, agent="ada")
    looseleaf.open(root, agent="ada", create=True).remember("Tea is green")
    with looseleaf.open(root, agent="ada", create=True) as memory:
        assert memory.read(section="Facts") == "- Tea is green"
    with looseleaf.open(root, agent="bob", create=True) as bob:
        assert bob.agent.slug == "bob"
        assert "Tea" not in bob.prompt()
    with pytest.raises(AgentMissing):
        looseleaf.open(root, agent="eve")


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (
            {"id": "c", "type": "function", "function": {"name": "append_agent_memory"}},
            {"role": "tool", "tool_call_id": "c"},
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "append_agent_memory"},
            {"type": "function_call_output", "call_id": "c"},
        ),
        (
            {"type": "tool_use", "id": "c", "name": "append_agent_memory", "input": APPEND},
            {"type": "tool_result", "tool_use_id": "c"},
        ),
        ({"name": "append_agent_memory", "args": APPEND}, {"functionResponse": {}}),
    ],
    ids=["openai", "responses", "anthropic", "gemini"],
)
@pytest.mark.parametrize("is_object", [False, True], ids=["json", "object"])
def test_a_call_of_any_provider_is_run_and_answered(
    memory: AgentMemory, call: dict[str, Any], answer: dict[str, Any], *, is_object: bool
) -> None:
    """The answer is the message that the provider takes next."""
    if "function" in call:
        call = {**call, "function": {**call["function"], "arguments": json.dumps(APPEND)}}
    elif call.get("type") == "function_call":
        call = {**call, "arguments": json.dumps(APPEND)}
    given: Any = call
    if is_object:
        given = SimpleNamespace(**call)
        if "function" in call:
            given.function = SimpleNamespace(**call["function"])
    reply = memory.call(given)
    assert memory.read(section="Facts") == "- Tea is green"
    if "functionResponse" in answer:
        assert reply["functionResponse"]["response"]["success"] is True
        return
    content = reply.pop("content", None) or reply.pop("output")
    assert json.loads(content)["success"] is True
    assert reply == answer


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("update_agent_memory", '{"file": "SOUL.md", "section": "a", "content": "b"}', "forbidden"),
        ("append_agent_memory", '{"agent": "bob", "section": "a", "content": "b"}', None),
        ("append_agent_memory", "no JSON", "invalid"),
        ("append_agent_memory", "[1]", "invalid"),
        ("delete_everything", "{}", "tool_missing"),
    ],
)
def test_a_call_that_fails_is_an_answer_for_the_model(
    memory: AgentMemory, name: str, arguments: str, code: str | None
) -> None:
    """The program need not catch anything, and nothing is written."""
    before = memory.workspace.history.revisions(memory.agent.shelf.page("MEMORY.md"))
    reply = memory.call({"id": "c", "function": {"name": name, "arguments": arguments}})
    result = json.loads(reply["content"])
    assert result["success"] is False
    assert code in (None, result["error_code"])
    after = memory.workspace.history.revisions(memory.agent.shelf.page("MEMORY.md"))
    assert after == before


@pytest.mark.parametrize("call", [{}, None, "append", {"name": 1, "args": {}}])
def test_what_is_no_call_is_refused(memory: AgentMemory, call: object) -> None:
    """The program has handed over something else than the call of a model."""
    with pytest.raises(Invalid, match="no tool call"):
        memory.call(call)


def test_tools_follow_the_provider_and_the_policy(memory: AgentMemory) -> None:
    """Each provider gets the same tools in its form, without those that the policy denies."""
    openai = [tool["function"]["name"] for tool in memory.tools("openai")]
    assert "append_agent_memory" in openai
    assert [tool["name"] for tool in memory.tools("anthropic")] == openai
    assert all("parametersJsonSchema" in tool for tool in memory.tools("gemini"))
    policy = {"tool_policy": {"mode": "deny", "tools": ["append_agent_memory"]}}
    arguments = {"agent": "ada", "config": policy}
    invoke(memory.workspace.context, "looseleaf/configure-agent", arguments)
    with looseleaf.open(memory.workspace.root, agent="ada") as bound:
        assert "append_agent_memory" not in [tool["name"] for tool in bound.tools("anthropic")]
        reply = bound.call({"name": "append_agent_memory", "args": APPEND})
        assert reply["functionResponse"]["response"]["error_code"] == "tool_denied"


def test_a_program_of_asyncio_awaits_the_same(tmp_path: Path) -> None:
    """Each method of `AgentMemory` has a twin, and twenty at once lose nothing."""
    methods = {name for name in vars(AgentMemory) if not name.startswith("_")}
    assert methods <= {*vars(looseleaf.aio.AsyncAgentMemory)}

    async def run() -> str:
        async with await looseleaf.aio.open(
            tmp_path / "memory", agent="ada", create=True
        ) as memory:
            await asyncio.gather(*(memory.remember(f"fact {number}") for number in range(20)))
            return await memory.read(section="Facts")

    lines = asyncio.run(run()).splitlines()
    assert sorted(lines) == sorted(f"- fact {number}" for number in range(20))


def test_the_workspace_is_that_of_every_surface(workspace: Workspace) -> None:
    """An `AgentMemory` is made of an open workspace, too."""
    memory = AgentMemory(workspace, "ada")
    memory.remember("Tea is green")
    assert "Tea is green" in workspace.pages.text(memory.agent.shelf.page("MEMORY.md"))
