"""What the server offers and answers, with the official client in this process."""

from __future__ import annotations

import pytest
from mcp import Client

from looseleaf import Workspace
from looseleaf.catalog.operation_tools import SMALL, list_operation_tools, pick_tool
from looseleaf.mcp import methods
from looseleaf.mcp.http import MemoryServer, client_of
from looseleaf.mcp.methods import Features, build_address, build_instructions, parse_address
from looseleaf.mcp.stdio import local_context_of
from looseleaf.memory.scope import Where
from looseleaf.operations.settings import set_setting
from tests.mcp.conftest import talk


def server(workspace: Workspace, agent: int = 1, *, full: bool = True) -> MemoryServer:
    """Make a server for one agent, or for all."""
    tools = list_operation_tools(workspace.context, full=full)
    acting = local_context_of(workspace, agent, 1, full=full)
    return MemoryServer(lambda asking: acting(client_of(asking)), Features(tools))


def test_annotations_say_what_a_tool_may_do(workspace: Workspace) -> None:
    """Reading is read-only, appending not destructive, and no tool reaches beyond the memory."""
    set_setting(workspace.context, "daily_memory_enabled", setting=True)

    async def session(client: Client) -> None:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        for name, hints in tools.items():
            assert hints is not None
            assert hints.open_world_hint is False, name
            assert None not in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint)
            if hints.read_only_hint:
                assert not hints.destructive_hint
                assert hints.idempotent_hint
        destructive = {name for name, hints in tools.items() if hints and hints.destructive_hint}
        assert {name for name in tools if name.startswith(("delete", "clear"))} < destructive
        assert {"update_agent_memory", "write_agent_file", "daily_memory_write"} < destructive
        assert not [name for name in destructive if "append" in name]

    talk(server(workspace).server, session)


@pytest.mark.parametrize("journal", [True, False])
def test_the_instructions_and_the_list_offer_only_what_will_be_accepted(
    workspace: Workspace,
    journal: bool,  # noqa: FBT001
) -> None:
    """A model that follows them does not run into the void: if the journal is closed, too."""
    set_setting(workspace.context, "daily_memory_enabled", setting=journal)
    text = build_instructions(workspace.database.settings())
    words = {word.strip(".,:;()") for word in text.split() if "_" in word}
    assert "find_pages" in words, "a plain question has a tool of its own"
    assert ("daily_memory_append" in words) == journal

    async def session(client: Client) -> None:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert words <= listed
        refused = await client.call_tool("daily_memory_append", {"content": "- one"})
        assert refused.is_error != journal
        for tool in SMALL:
            assert (tool in listed) == (journal or tool != "daily_memory_append")

    talk(server(workspace, full=False).server, session)


def test_no_tool_that_writes_the_journal_is_listed_where_it_is_closed(workspace: Workspace) -> None:
    """Of all tools: those that are left out are those that would be refused."""

    async def session(client: Client) -> None:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        left_out = {tool.name for tool in list_operation_tools(workspace.context)} - listed
        assert len(left_out) == 6
        for name in left_out:
            given = {"date": "2026-04-17", "content": "x", "old": "x", "new": "y"}
            tool = pick_tool(list_operation_tools(workspace.context), name)
            taken = tool.parameters(is_scoped=True)["properties"]
            answer = await client.call_tool(
                name, {key: item for key, item in given.items() if key in taken}
            )
            assert answer.structured_content["code"] == "daily_memory_disabled", name

    talk(server(workspace).server, session)


def test_errors_carry_a_code_and_what_to_do_next(workspace: Workspace) -> None:
    """As the result of the tool, so that the model reads them."""

    async def session(client: Client) -> None:
        for name, given, code, hint in (
            ("get_agent_memory", {"file": "nope.md"}, "page_missing", "list_agent_files"),
            ("get_agent_memory", {"section": "Nope"}, "section_missing", "State"),
            ("get_agent_memory", {"file": "../x.md"}, "invalid_name", "../x.md"),
            ("search_agent_memory", {}, "invalid_argument", "query"),
            ("delete_agent_file", {"file": "SOUL.md"}, "protected", "Clear"),
            ("daily_memory_append", {"content": "-"}, "daily_memory_disabled", "operator"),
        ):
            answer = await client.call_tool(name, given)
            assert answer.is_error
            assert answer.structured_content["code"] == code
            assert hint in answer.content[0].text  # type: ignore[union-attr]
        with pytest.raises(Exception, match="Available tools"):
            await client.call_tool("remember", {})

    talk(server(workspace).server, session)


def test_a_fault_of_ours_ends_one_call_and_tells_no_paths(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """The operator reads what it was."""

    async def session(client: Client) -> None:
        (broken,) = [item for item in memory._features.tools if item.name == "get_agent_memory"]
        object.__setattr__(broken, "operation", None)
        answer = await client.call_tool("get_agent_memory", {})
        assert answer.structured_content["code"] == "internal_error"
        assert workspace.root not in answer.content[0].text  # type: ignore[union-attr]

    memory = server(workspace)
    talk(memory.server, session)
    assert "Traceback" in capsys.readouterr().err


def test_the_policy_of_the_agent_holds_here_too(workspace: Workspace) -> None:
    """A tool it denies is neither listed nor run."""
    policy = {"mode": "deny", "categories": ["daily"], "tools": ["update_agent_memory"]}
    workspace.agents.configure("ada", {"tool_policy": policy})

    async def session(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        denied = {"daily_memory_read", "search_daily_memory", "update_agent_memory"}
        assert "get_agent_memory" in names
        assert not names & denied
        for name in denied:
            answer = await client.call_tool(name, {})
            assert answer.structured_content["code"] == "tool_denied"

    talk(server(workspace).server, session)


@pytest.mark.parametrize("agent", [0, 1])
def test_identity_and_rules_are_changed_only_where_everything_was_asked_for(
    workspace: Workspace, agent: int
) -> None:
    """A model that a page has talked into it does not rewrite who it is, or what all obey."""

    async def session(client: Client) -> list[bool]:
        return [
            (
                await client.call_tool(
                    "append_agent_memory", {"file": file, "section": "X", "content": "y"}
                )
            ).is_error
            for file in ("SOUL.md", "RULES.md", "MEMORY.md", "USER.md")
        ]

    few = talk(server(workspace, agent, full=False).server, session)
    assert few == [True, True, False, False]
    assert talk(server(workspace, agent).server, session) == [False] * 4


def test_a_prompt_is_given_as_text_a_page_as_itself_and_data_as_json(workspace: Workspace) -> None:
    """Each as a model reads it best; the data are all there beside it."""

    async def session(client: Client) -> None:
        prompt = await client.call_tool("compose_prompt", {"mode": "chat"})
        assert [item.text for item in prompt.content] == [  # type: ignore[union-attr]
            message["content"] for message in prompt.structured_content["messages"]
        ]
        listed = await client.call_tool("list_agent_memory_sections", {})
        assert listed.content[0].text.startswith('[{"name": ')  # type: ignore[union-attr]
        assert listed.structured_content["result"][0]["name"] == "State"
        missing = await client.call_tool("daily_memory_read", {"date": "2026-04-17"})
        assert missing.structured_content["exists"] is False
        assert '"exists": false' in missing.content[0].text  # type: ignore[union-attr]

    talk(server(workspace).server, session)


def test_many_agents_are_listed_some_at_a_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page comes exactly once."""
    monkeypatch.setattr(methods, "PAGE", 10)
    for number in range(12):
        record = workspace.agents.create(f"agent-{number}", owner=1)
        for page in ("a.md", "b.txt"):
            scope = record.shelf.page(page)
            workspace.pages.write(scope, "x", change=workspace.context.change("write"))

    async def session(client: Client) -> list[str]:
        found, cursor, rounds = [], None, 0
        while rounds == 0 or cursor:
            answer = await client.list_resources(cursor=cursor)
            found += [resource.uri for resource in answer.resources]
            cursor, rounds = answer.next_cursor, rounds + 1
        assert rounds > 2
        return found

    found = talk(server(workspace, 0).server, session)
    assert len(found) == len(set(found))
    assert len([uri for uri in found if uri.endswith((".txt", "/a.md"))]) == 24


@pytest.mark.parametrize(
    ("uri", "file", "where"),
    [
        ("looseleaf://shared/RULES.md", "RULES.md", Where(layer="shared")),
        ("looseleaf://network/NETWORK.md", "NETWORK.md", Where(layer="network")),
        ("looseleaf://users/1/USER.md", "USER.md", Where(user=1, layer="user")),
        ("looseleaf://agents/ada/daily/2026/04/17.md", "daily/2026/04/17.md",
         Where(agent="ada", layer="agent")),
        ("looseleaf://agents/ada/na%C3%AFve%20plan.md", "naïve plan.md",
         Where(agent="ada", layer="agent")),
    ],
)  # fmt: skip
def test_an_address_is_the_path_in_the_workspace(uri: str, file: str, where: Where) -> None:
    """There and back."""
    assert parse_address(uri) == (file, where)
    owner = where.agent or where.user or ""
    assert build_address(where.layer or "", owner, file) == uri


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "looseleaf://",
        "looseleaf://agents/ada",
        "looseleaf://agents/ada/",
        "looseleaf://agents//MEMORY.md",
        "looseleaf://users/ann/USER.md",
        "looseleaf://agents/ada/../bob/MEMORY.md",
        "looseleaf://agents/ada/%2e%2e/bob/MEMORY.md",
        "looseleaf://agents/ada/.looseleaf/x.md",
        "looseleaf://shared/%00.md",
    ],
)
def test_an_address_that_is_none_is_refused(workspace: Workspace, uri: str) -> None:
    """No way leads out of the pages."""

    async def session(client: Client) -> None:
        with pytest.raises(Exception, match=r"cannot be used as a name|has a NUL"):
            await client.read_resource(uri)

    talk(server(workspace).server, session)
