"""The MCP server loads behind the first answers; its own requests wait for it."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from looseleaf import Workspace
from looseleaf.mcp.http import HttpServer
from looseleaf.web.app import McpMount, build_application

Message = MutableMapping[str, Any]


class Loaded:
    """A server that notes what happens to it."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Record the begin and the end."""
        self.events.append("begin")
        yield
        self.events.append("end")

    async def __call__(self, *_connection: object) -> None:
        """Record a request."""
        self.events.append("request")


async def no_message() -> Message:
    """Return nothing."""
    return {}


async def ignore(_message: Message) -> None:
    """Send nothing."""


def test_a_request_waits_until_the_server_is_loaded() -> None:
    """It is answered then, and the block that serves begins without waiting."""
    loaded, may_load = Loaded(), threading.Event()

    def build() -> HttpServer:
        assert may_load.wait(60)
        return cast("HttpServer", loaded)

    async def run() -> None:
        mount = McpMount(build)
        async with mount.running():
            request = asyncio.create_task(mount({}, no_message, ignore))
            await asyncio.sleep(0)
            assert not request.done()
            assert loaded.events == []
            may_load.set()
            await request
            await mount({}, no_message, ignore)

    asyncio.run(run())
    assert loaded.events == ["begin", "request", "request", "end"]


def test_a_server_that_stops_while_it_loads_still_ends_in_order() -> None:
    """What was begun late is ended at once."""
    loaded, may_load = Loaded(), threading.Event()

    def build() -> HttpServer:
        assert may_load.wait(60)
        return cast("HttpServer", loaded)

    async def run() -> None:
        async with McpMount(build).running():
            await asyncio.sleep(0)
            may_load.set()

    asyncio.run(run())
    assert loaded.events == ["begin", "end"]


def test_every_request_is_told_why_the_server_does_not_load() -> None:
    """And the rest of the server goes on."""

    def build() -> HttpServer:
        raise ImportError("no such part")

    async def run() -> None:
        mount = McpMount(build)
        async with mount.running():
            for _ in range(2):
                with pytest.raises(ImportError, match="no such part"):
                    await mount({}, no_message, ignore)

    asyncio.run(run())


def test_an_application_in_a_process_of_others_leaves_their_garbage_alone(
    workspace: Workspace,
) -> None:
    """Only a process of our own leaves its present objects out of collections for good."""
    frozen_count, is_loaded = gc.get_freeze_count(), threading.Event()
    app = build_application(workspace, on_load=is_loaded.set)

    async def run() -> None:
        messages: asyncio.Queue[Message] = asyncio.Queue()
        server = asyncio.ensure_future(app({"type": "lifespan", "state": {}}, messages.get, ignore))
        messages.put_nowait({"type": "lifespan.startup"})
        assert await asyncio.to_thread(is_loaded.wait, 60)
        messages.put_nowait({"type": "lifespan.shutdown"})
        await server

    asyncio.run(run())
    assert gc.get_freeze_count() == frozen_count


def test_a_server_that_is_not_running_answers_nothing() -> None:
    """A mistake of ours is no endless wait."""
    mount = McpMount(lambda: cast("HttpServer", Loaded()))
    with pytest.raises(RuntimeError, match="running"):
        asyncio.run(mount({}, no_message, ignore))


def test_the_application_is_imported_without_the_protocol_library() -> None:
    """Its import takes longer than that of all the rest."""
    script = "import sys, looseleaf.web.server; print('mcp' in sys.modules)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
