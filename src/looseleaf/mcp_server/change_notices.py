"""Notices to clients over HTTP about changed pages, including edits by other programs."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)

from looseleaf.mcp_server.page_changes import LIST, MOST_SUBSCRIPTIONS, SECONDS, WatchedPages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mcp.server.session import ServerSession

    from looseleaf.mcp_server.page_changes import State


class ChangeNotices:
    """Checks the pages that clients have subscribed to, and notifies them of changes."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self._pages = WatchedPages()
        self._sessions: dict[tuple[str, str], ServerSession] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Check the pages repeatedly during the block, while the server runs."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._check_forever)
            yield
            tasks.cancel_scope.cancel()

    async def watch(self, uri: str, state: State) -> None:
        """Publish an event whenever the state changes, until the address is released."""
        await anyio.to_thread.run_sync(self._pages.watch, uri, state)

    @contextmanager
    def released_at_end(self, uris: list[str]) -> Iterator[None]:
        """Release the addresses at the end of the block, in any case."""
        try:
            yield
        finally:
            for uri in uris:
                self._pages.release(uri)

    async def subscribe(
        self, identity: str, uri: str, session: ServerSession, state: State
    ) -> None:
        """Notify a session of an older protocol about one page from now on."""
        key = (identity, uri)
        if key not in self._sessions:
            await self.watch(uri, state)
        self._sessions[key] = session
        if (
            len(self._sessions) > MOST_SUBSCRIPTIONS
        ):  # of sessions that ended without a DELETE request
            self.unsubscribe(*next(iter(self._sessions)))

    def unsubscribe(self, identity: str, uri: str | None = None) -> None:
        """Stop notifying a session about one page, or about all pages."""
        for key in [key for key in self._sessions if key[0] == identity and uri in (None, key[1])]:
            del self._sessions[key]
            self._pages.release(key[1])

    async def _check_forever(self) -> None:
        while True:
            await anyio.sleep(SECONDS)
            for uri in await anyio.to_thread.run_sync(self._pages.poll_changes):
                await self._publish(uri)

    async def _publish(self, uri: str) -> None:
        if uri == LIST:
            await self.bus.publish(ResourcesListChanged())
            return
        await self.bus.publish(ResourceUpdated(uri))
        for (_, session_uri), session in list(self._sessions.items()):
            if session_uri == uri:
                await session.send_resource_updated(uri)
