"""The MCP server loads behind the first answers; its own requests wait for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from looseleaf.mcp_server.http import HttpServer
from looseleaf.web.mcp_mount import McpMount

Message = MutableMapping[str, Any]


class Loaded:
    """A server that notes what happens to it."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Note the begin and the end."""
        self.events.append("begin")
        yield
        self.events.append("end")

    async def __call__(self, *_connection: object) -> None:
        """Note a request."""
        self.events.append("request")


async def no_message() -> Message:
    """Give nothing."""
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
