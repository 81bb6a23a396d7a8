"""Operations as tools: names, what is offered, whose memory it is, what is not stored again."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import LOCAL_ADMINISTRATOR, Principal, act_through
from looseleaf.catalog.context import Context
from looseleaf.catalog.model_tools import call_tool
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.operation_tools import (
    MOST_CHARACTERS,
    SMALL,
    VARIANTS,
    list_operation_tools,
    pick_tool,
    tools_of,
)
from looseleaf.errors import Conflicted, Forbidden, InvalidArgument
from looseleaf.errors.operations import ToolMissing
from looseleaf.errors.pages import AgentMissing, AssembledText, DailyMemoryOff
from looseleaf.values import replace


@pytest.fixture
def acting(workspace: Workspace) -> Context:
    """Let a model act as the agent ada, as `looseleaf mcp` does."""
    principal = act_through(LOCAL_ADMINISTRATOR, 1, user=1, name="model")
    return workspace.acting(principal=principal, surface="mcp")


def call(context: Context, name: str, **given: object) -> object:
    """Call a tool by its name."""
    return call_tool(context, pick_tool(list_operation_tools(context), name), given)


def test_every_name_is_one_that_all_clients_take(workspace: Workspace) -> None:
    """Providers take letters, digits and underscores, 64 at most, and each name once."""
    names = [tool.name for tool in list_operation_tools(workspace.context)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) for name in names)


def test_the_small_set_is_part_of_the_full_one(workspace: Workspace) -> None:
    """The few tools of every day are there, in their order."""
    small = list_operation_tools(workspace.context, full=False)
    assert tuple(tool.name for tool in small) == SMALL
    assert set(SMALL) < {tool.name for tool in list_operation_tools(workspace.context)}


def test_the_small_set_is_brief(workspace: Workspace) -> None:
    """Every request carries it: of prompts, only the kind of session, and no sentence twice."""
    tools = {tool.name: tool for tool in list_operation_tools(workspace.context, full=False)}
    prompts = [tools[name] for name in ("compose_prompt", "explain_prompt")]
    texts = []
    for tool in prompts:
        properties = tool.parameters(is_scoped=True)["properties"]
        assert set(properties) == {"mode"}
        texts += [tool.summary, *(shape["description"] for shape in properties.values())]
        assert "agent" in tool.parameters(is_scoped=False)["properties"]
    assert len(set(texts)) == len(texts) == 4
    full = {tool.name: tool for tool in list_operation_tools(workspace.context)}
    assert "pipeline" in full["compose_prompt"].parameters(is_scoped=True)["properties"]
    carried = [
        {"name": tool.name, "description": tool.summary, "schema": tool.parameters(is_scoped=True)}
        for tool in tools.values()
    ]
    assert len(json.dumps(carried, separators=(",", ":"))) < 8_000


def test_a_change_names_versions_by_short_ids(acting: Context) -> None:
    """Which the next change may name, as well as the whole hash that a read gives."""
    saved: Any = call(acting, "append_agent_memory", section="Facts", content="- one")
    assert (len(saved["hash"]), len(saved["previous"])) == (12, 12)
    page: Any = call(acting, "get_agent_memory")
    assert len(page["hash"]) == 64
    assert page["hash"].startswith(saved["hash"])
    change = {"section": "Facts", "content": "- two"}
    second: Any = call(acting, "update_agent_memory", **change, if_match=saved["hash"])
    assert second["previous"] == saved["hash"]
    for stale in (saved["hash"], page["hash"], second["hash"][:11], "0" * 12):
        with pytest.raises(Conflicted):
            call(acting, "update_agent_memory", **change, if_match=stale)
    page = call(acting, "get_agent_memory")
    change["content"] = "- three"
    assert call(acting, "update_agent_memory", **change, if_match=page["hash"])


def test_appending_is_a_tool_apart_from_replacing() -> None:
    """One tool alone offers a mode that decides whether text is lost, and loses none without it."""
    for operation in CATALOG.values():
        for tool in tools_of(operation):
            mode = tool.parameters(is_scoped=True)["properties"].get("mode", {})
            choice = mode.get("default") if "append" in mode.get("enum", ()) else None
            assert choice == ("append" if tool.name == "daily_memory_write" else None), tool.name
    kinds = {item.name: item.destructive for many in VARIANTS.values() for item in many}
    assert kinds == {
        "append_agent_memory": False,
        "update_agent_memory": True,
        "daily_memory_append": False,
        "daily_memory_write": True,
    }


def test_a_day_is_appended_to_unless_the_call_says_otherwise(
    workspace: Workspace, acting: Context
) -> None:
    """As the ability of the same name does, which agents know."""
    context = replace(acting, settings=replace(acting.settings, daily_memory_enabled=True))
    page = workspace.agents.resolve("ada").shelf.page("daily/2026/04/17.md")
    for content in ("- one", "- two"):
        call(context, "daily_memory_write", content=content, date="2026-04-17")
    assert workspace.pages.text(page) == "# 2026-04-17\n\n- one\n- two\n"
    call(context, "daily_memory_write", content="- three", date="2026-04-17", mode="write")
    assert workspace.pages.text(page) == "- three"


def test_a_scoped_tool_leaves_no_choice_of_agent_or_user(workspace: Workspace) -> None:
    """Neither at the top of a schema nor inside of it."""

    def names(shape: dict[str, dict[str, object]]) -> set[str]:
        parts: dict[str, dict[str, object]] = shape.get("properties", {})  # type: ignore[assignment]
        return set(parts).union(*(names(part) for part in parts.values()))  # type: ignore[arg-type]

    for tool in list_operation_tools(workspace.context):
        assert not names(tool.parameters(is_scoped=True)) & {"agent", "user"}, tool.name
        assert set(tool.parameters(is_scoped=True)["required"]) <= names(
            tool.parameters(is_scoped=True)
        )


def test_a_model_writes_as_itself_on_its_own_surface(workspace: Workspace, acting: Context) -> None:
    """The history names the agent, whatever the program calls itself, and the surface."""
    call(acting, "append_agent_memory", section="Facts", content="- one")
    last = workspace.history.revisions(workspace.agents.resolve("ada").shelf.page("MEMORY.md"))[-1]
    assert (last.actor, last.surface) == ("ada", "mcp")


def test_whose_memory_it_is_is_not_the_models_choice(workspace: Workspace, acting: Context) -> None:
    """Another agent or user in the arguments is refused; its own is simply understood."""
    workspace.agents.create("bob", owner=1)
    call(acting, "get_agent_memory", agent="ada", user_id=1)
    call(acting, "get_agent_memory", agent=1)
    for given in ({"agent": "bob"}, {"agent_id": 2}, {"user": 7}):
        with pytest.raises(InvalidArgument, match="alone; call"):
            call(acting, "get_agent_memory", **given)
    with pytest.raises(AgentMissing):
        call(acting, "diff_prompts", mode="chat", other={"agent": "bob"})


def test_one_bound_to_no_agent_may_name_those_it_reaches(workspace: Workspace) -> None:
    """The principal decides: an agent it may not see is missing."""
    workspace.agents.create("bob", owner=2)
    eve = Principal(kind="token", user_id=2, name="eve")
    context = workspace.acting(principal=eve, surface="mcp")
    assert call(context, "list_agent_files", agent="bob", layer="agent") == []
    with pytest.raises(AgentMissing):
        call(context, "get_agent_memory", agent="ada")


def test_acting_through_an_agent_gives_no_more_than_one_has() -> None:
    """A credential that is bound to one agent cannot act through another."""
    bound = Principal(kind="token", user_id=2, name="eve", agent_id=1)
    assert act_through(bound, 1) == bound
    with pytest.raises(Forbidden):
        act_through(bound, 2)


def test_agents_write_their_journal_only_where_it_is_switched_on(acting: Context) -> None:
    """Whether by the journal's own tool or as a page."""
    for name, given in (
        ("daily_memory_append", {"content": "- one"}),
        ("write_agent_file", {"file": "daily/2026/04/17.md", "content": "- one"}),
    ):
        with pytest.raises(DailyMemoryOff):
            call(acting, name, **given)
    assert call(acting, "daily_memory_read", date="2026-04-17")["exists"] is False  # type: ignore[index]


def test_a_page_out_of_a_prompt_is_not_remembered_again(
    workspace: Workspace, acting: Context
) -> None:
    """What a prompt has shown must not come back as something new (T28)."""
    shown = workspace.compose("chat", "ada").text
    for content in (shown, "- new\n" + shown[-40:] if "</page" in shown[-40:] else shown):
        with pytest.raises(AssembledText):
            call(acting, "append_agent_memory", section="Facts", content=content)
    call(acting, "append_agent_memory", section="Facts", content="- a <page> of a book </page>")


def test_what_a_model_is_likely_to_guess_is_understood(acting: Context) -> None:
    """Other words for an argument are taken if they can only mean one."""
    call(acting, "append_agent_memory", heading="Facts", text="- one", position=None)
    found = call(acting, "search_agent_memory", q="- one", page_size=1)
    assert found["total"] == 1  # type: ignore[index]
    with pytest.raises(InvalidArgument, match="does not take it"):
        call(acting, "append_agent_memory", section="Facts", content="-", mode="set")
    # One server is for one agent and one user: neither is offered.
    with pytest.raises(InvalidArgument, match=r"takes query, since, until, lines, layer\."):
        call(acting, "search_daily_memory", query="one", start="2026-01-01")


def test_a_long_page_is_cut_and_says_so(acting: Context) -> None:
    """No tool fills a model's context."""
    long = "x" * (MOST_CHARACTERS + 1)
    call(acting, "write_agent_file", file="long.md", content=long)
    given = call(acting, "get_agent_memory", file="long.md")
    assert isinstance(given, dict)
    assert len(given["content"]) == MOST_CHARACTERS
    assert given["truncated"] is True
    assert given["content_length"] == len(long)


def test_an_unknown_tool_is_answered_with_those_there_are(acting: Context) -> None:
    """The names of Data Machine's abilities are known too."""
    with pytest.raises(ToolMissing, match="get_agent_memory"):
        call(acting, "remember")
    assert pick_tool(list_operation_tools(acting), "datamachine/get-agent-memory").name
    assert pick_tool(list_operation_tools(acting), "datamachine/daily-memory-read").name


def test_what_decides_about_rights_is_not_offered(workspace: Workspace) -> None:
    """Nobody's rights, policies or history depend on what a model was talked into."""
    offered = {tool.operation.permission for tool in list_operation_tools(workspace.context)}
    assert offered <= {"read", "history", "append", "write", "identity", "agents", "flows"}
    names = {tool.name for tool in list_operation_tools(workspace.context)}
    assert not names & {"configure_agent", "delete_agent", "create_token", "purge_revision"}
