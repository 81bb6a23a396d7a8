"""Streamable HTTP: the official client at a real server that knows who asks by their token."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceUpdatedNotification

from looseleaf import Workspace
from looseleaf.access.principals import CAPABILITIES, Principal
from looseleaf.mcp.http import HttpServer
from tests.mcp.conftest import ERAS
from tests.quick_server import QuickServer

ADA, BOB = "looseleaf://agents/ada/MEMORY.md", "looseleaf://agents/bob/MEMORY.md"
TOKENS = {
    "ada-token": Principal(kind="token", user_id=1, name="ann", agent_id=1, credential="t1"),
    "reader": Principal(
        kind="token", user_id=1, name="ann", agent_id=1, role="viewer", credential="t2"
    ),
    "eve-token": Principal(kind="token", user_id=7, name="eve", credential="t3"),
    "root-token": Principal(
        kind="token", user_id=9, name="root", capabilities=frozenset(CAPABILITIES), credential="t4"
    ),
}


def principal_of(scope: Any) -> Principal | None:  # noqa: ANN401 - as ASGI has it
    """Return who shows this token."""
    shown = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
    return TOKENS.get(shown)


@contextmanager
def serving(root: Path, **options: Any) -> Iterator[str]:  # noqa: ANN401 - as the server takes them
    """Run a server with the MCP application alone, in a thread; yield its address."""
    app = HttpServer(Workspace.open(root), principal_of, **options)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def asgi(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        await app(scope, receive, send)

    config = uvicorn.Config(
        asgi,
        port=port,
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=60,  # longer than a client's, so that no request meets a closing one
    )
    server = QuickServer(config)

    async def run() -> None:
        async with app.running():
            await server.serve()

    thread = threading.Thread(target=anyio.run, args=(run,))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def url(root: Path) -> Iterator[str]:
    """Yield the address of a server."""
    with serving(root) as address:
        yield address


@asynccontextmanager
async def client_at(url: str, token: str, **more: Any) -> Any:  # noqa: ANN401
    """Connect with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), **more) as client,
    ):
        yield client


@pytest.mark.parametrize("era", ERAS)
def test_a_token_of_an_agent_reaches_its_memory(url: str, root: Path, era: str) -> None:
    """In both eras; the history names the token's user."""

    async def run() -> None:
        async with client_at(url, "ada-token", mode=era) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "agent" not in tools["get_agent_memory"].input_schema["properties"]
            saved = await client.call_tool(
                "append_agent_memory", {"section": "Facts", "content": "- one"}
            )
            assert not saved.is_error
            assert "- one" in (await client.read_resource(ADA)).contents[0].text
            prompt = await client.get_prompt("start-session")
            assert prompt.description == "The memory of ada for chat."

    anyio.run(run)
    workspace = Workspace.open(root)
    last = workspace.history.revisions(workspace.agents.resolve("ada").shelf.page("MEMORY.md"))[-1]
    assert (last.actor, last.surface, last.actor_kind) == ("ann", "mcp", "agent")
    # The newer protocol has no sessions, and this server gives its requests no ids.
    assert last.activity == ("session" if era == "legacy" else "")
    assert bool(last.activity_id) == bool(last.activity)


def test_nobody_is_let_in_without_a_token(url: str) -> None:
    """The answer says what to show, before the protocol begins."""
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        answer = httpx2.post(url, headers=headers, json={})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_what_one_may_not_read_cannot_be_listed_read_or_watched(url: str) -> None:
    """Another's agent is missing, as one that is not there."""

    async def run() -> None:
        async with client_at(url, "eve-token") as client:
            uris = [resource.uri for resource in (await client.list_resources()).resources]
            assert not [uri for uri in uris if "agents/" in uri]
            refused = await client.call_tool("get_agent_memory", {"agent": "ada"})
            assert refused.structured_content["code"] == "agent_missing"
            for uri in (ADA, "looseleaf://users/1/USER.md"):
                with pytest.raises(Exception, match=r"no agent|may not"):
                    await client.read_resource(uri)
            with pytest.raises(Exception, match="no agent"):
                async with client.listen(resource_subscriptions=[ADA]):
                    pass

    anyio.run(run)


def test_a_token_for_reading_only_reads(url: str) -> None:
    """Whatever the tool is called."""

    async def run() -> None:
        async with client_at(url, "reader") as client:
            assert not (await client.call_tool("get_agent_memory")).is_error
            told = {"section": "Facts", "content": "- one"}
            refused = await client.call_tool("append_agent_memory", told)
            assert refused.structured_content["code"] == "forbidden"

    anyio.run(run)


def test_one_who_reaches_several_agents_may_name_one_or_be_bound_by_the_address(url: str) -> None:
    """`?agent=` in the address leaves the model no choice."""

    async def run() -> None:
        async with client_at(url, "root-token") as client:
            for agent in ("ada", "bob"):
                given = {"agent": agent, "file": "notes.md", "section": "A", "content": agent}
                assert not (await client.call_tool("append_agent_memory", given)).is_error
        async with client_at(f"{url}?agent=bob", "root-token") as client:
            read = await client.call_tool("get_agent_memory", {"file": "notes.md"})
            assert read.structured_content["content"].endswith("bob\n")
            other = await client.call_tool("get_agent_memory", {"file": "notes.md", "agent": "ada"})
            assert other.structured_content["code"] == "invalid_argument"

    anyio.run(run)
    refused = httpx2.post(
        f"{url}?agent=bob", headers={"Authorization": "Bearer ada-token"}, json={}
    )
    assert refused.status_code == 403


@pytest.mark.parametrize("address", ["", "?agent=bob"])
@pytest.mark.parametrize("full", [False, True])
def test_a_model_cannot_change_identity_or_rules_whatever_its_token(
    root: Path,
    address: str,
    full: bool,  # noqa: FBT001
) -> None:
    """As over stdio: with the small tool set it writes its own pages, and no others."""

    async def run(url: str) -> list[bool]:
        async with client_at(url + address, "root-token") as client:
            agent = {} if address else {"agent": "bob"}
            answers = []
            for file in ("SOUL.md", "RULES.md", "SITE.md", "MEMORY.md"):
                told = {"file": file, "section": "X", "content": "y", **agent}
                answers.append(await client.call_tool("append_agent_memory", told))
            return [item.is_error for item in answers]

    with serving(root, full=full) as url:
        refused = anyio.run(run, url)
    assert refused == ([False, False, True, False] if full else [True, True, True, False])


def test_an_address_with_an_agent_leaves_no_way_to_another(root: Path) -> None:
    """Not by an argument of any tool, not by an address, not by a prompt; whatever the token."""

    async def run(url: str) -> None:
        async with client_at(f"{url}?agent=ada", "root-token") as client:
            tools = (await client.list_tools()).tools
            assert len(tools) > 25
            for tool in tools:
                assert not {"agent", "user"} & set(tool.input_schema["properties"]), tool.name
                for name, other in (("agent", "bob"), ("agent_id", 2), ("user", 7)):
                    answer = await client.call_tool(tool.name, {name: other})
                    assert answer.is_error, (tool.name, name)
                    assert answer.structured_content["code"] == "invalid_argument", tool.name
            with pytest.raises(Exception, match="no agent"):
                await client.read_resource(BOB)
            uris = [resource.uri for resource in (await client.list_resources()).resources]
            assert ADA in uris
            assert not [uri for uri in uris if "bob" in uri]
            prompt = await client.get_prompt("start-session", {"agent": "bob"})
            assert prompt.description == "The memory of ada for chat."

    with serving(root, full=True) as url:
        anyio.run(run, url)


def test_a_session_belongs_to_the_credential_that_began_it(url: str) -> None:
    """A session id is no way in for anyone else, and has 128 bits."""
    accept = {"Accept": "application/json, text/event-stream"}
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    }
    mine = {**accept, "Authorization": "Bearer ada-token"}
    began = httpx2.post(url, headers=mine, json=hello)
    session = began.headers["mcp-session-id"]
    assert len(bytes.fromhex(session)) * 8 == 128
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    named = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    assert httpx2.post(url, headers={**mine, **named}, json=ask).status_code == 200
    for token, status in (("reader", 404), ("root-token", 404), ("wrong", 401)):
        theirs = {**accept, **named, "Authorization": f"Bearer {token}"}
        assert httpx2.post(url, headers=theirs, json=ask).status_code == status
    assert httpx2.delete(url, headers={**mine, **named}).status_code == 200
    assert httpx2.post(url, headers={**mine, **named}, json=ask).status_code == 404


def test_a_subscriber_over_http_hears_of_an_outside_edit(url: str, root: Path) -> None:
    """By a stream of its own."""

    async def run() -> None:
        with anyio.fail_after(30):
            async with (
                client_at(url, "ada-token") as client,
                client.listen(resource_subscriptions=[ADA]) as stream,
            ):
                (root / "agents/ada/MEMORY.md").write_text("- by hand\n")
                async for event in stream:
                    assert event.uri == ADA
                    return

    anyio.run(run)


@pytest.mark.filterwarnings("ignore:resources/:mcp.MCPDeprecationWarning")
def test_a_session_of_the_old_protocol_hears_of_changes(url: str, root: Path) -> None:
    """By the stream that belongs to the session."""
    hearing = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification) and message.params.uri == ADA:
            hearing.set()

    async def run() -> None:
        with anyio.fail_after(30):
            more = {"mode": "legacy", "message_handler": hear}
            async with client_at(url, "ada-token", **more) as client:
                await client.subscribe_resource(ADA)
                (root / "agents/ada/MEMORY.md").write_text("- by hand\n")
                await hearing.wait()

    anyio.run(run)


@pytest.mark.parametrize("era", ERAS)
def test_any_worker_can_answer_where_no_sessions_are_kept(root: Path, era: str) -> None:
    """With `stateless`, two servers answer one client by turns."""

    async def run(urls: list[str]) -> None:
        for url in urls:
            async with client_at(url, "ada-token", mode=era) as client:
                told = {"section": "Facts", "content": "- one"}
                assert not (await client.call_tool("append_agent_memory", told)).is_error

    with serving(root, stateless=True) as first, serving(root, stateless=True) as second:
        anyio.run(run, [first, second])
