"""The MCP server at `/mcp`, loaded while the web server already answers.

The official SDK takes longer to import than everything else of the server together. A request to
`/mcp` waits until the SDK is loaded; no other request waits.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

    from looseleaf.mcp_server.http import HttpServer


class McpMount:
    """An ASGI application in front of the MCP server, which is built in a thread of its own.

    `on_load` is called in that thread when the server is built.
    """

    def __init__(
        self, build: Callable[[], HttpServer], on_load: Callable[[], None] = lambda: None
    ) -> None:
        self._build, self._on_load = build, on_load
        self._server: asyncio.Future[HttpServer] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load the MCP server and let it serve during the block."""
        server = self._server = asyncio.get_running_loop().create_future()
        is_over = asyncio.Event()
        # One task enters and leaves the server, as its task groups require.
        task = asyncio.create_task(self._serve(server, is_over))
        try:
            yield
        finally:
            is_over.set()
            await task
            if not server.done():
                server.cancel()

    async def _serve(self, ready: asyncio.Future[HttpServer], is_over: asyncio.Event) -> None:
        try:
            server = await asyncio.to_thread(self._load)
        except Exception as error:  # noqa: BLE001 - every request to /mcp gets the error
            ready.set_exception(error)
            ready.exception()  # retrieved here, since perhaps no request does
            return
        async with server.running():
            ready.set_result(server)
            await is_over.wait()

    def _load(self) -> HttpServer:
        server = self._build()
        self._on_load()
        return server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, once the MCP server is loaded."""
        if self._server is None:
            raise RuntimeError("the MCP server is called outside `running`")
        server = await asyncio.shield(self._server)
        await server(scope, receive, send)
