"""Telling clients over HTTP that pages changed, whoever changed them: a command, an editor."""

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

from looseleaf.mcp_server.changes import LIST, MOST_SUBSCRIPTIONS, SECONDS, WatchedPages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mcp.server.session import ServerSession

    from looseleaf.mcp_server.changes import State


class Watching:
    """Looks at what clients have asked to hear of, and tells them when it is no longer the same."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self._pages = WatchedPages()
        self._sessions: dict[tuple[str, str], ServerSession] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look again and again, while the server runs."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._look_on)
            yield
            tasks.cancel_scope.cancel()

    async def watch(self, uri: str, state: State) -> None:
        """Publish an event whenever the state is another one, until it is left."""
        await anyio.to_thread.run_sync(self._pages.watch, uri, state)

    @contextmanager
    def leaving(self, uris: list[str]) -> Iterator[None]:
        """Stop watching at the end, however it ends."""
        try:
            yield
        finally:
            for uri in uris:
                self._pages.leave(uri)

    async def subscribe(
        self, identity: str, uri: str, session: ServerSession, state: State
    ) -> None:
        """Tell a session of an older protocol about one page from now on."""
        key = (identity, uri)
        if key not in self._sessions:
            await self.watch(uri, state)
        self._sessions[key] = session
        if len(self._sessions) > MOST_SUBSCRIPTIONS:  # of sessions that ended without a word
            self.unsubscribe(*next(iter(self._sessions)))

    def unsubscribe(self, identity: str, uri: str | None = None) -> None:
        """Tell a session no more about one page, or about any."""
        for key in [key for key in self._sessions if key[0] == identity and uri in (None, key[1])]:
            del self._sessions[key]
            self._pages.leave(key[1])

    async def _look_on(self) -> None:
        while True:
            await anyio.sleep(SECONDS)
            for uri in await anyio.to_thread.run_sync(self._pages.changed):
                await self._publish(uri)

    async def _publish(self, uri: str) -> None:
        if uri == LIST:
            await self.bus.publish(ResourcesListChanged())
            return
        await self.bus.publish(ResourceUpdated(uri))
        for (_, subscribed), session in list(self._sessions.items()):
            if subscribed == uri:
                await session.send_resource_updated(uri)
