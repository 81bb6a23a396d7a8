"""Telling clients that pages changed, whoever changed them: a server, a command, an editor."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from looseleaf.errors import LooseleafError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ServerEvent

    State = Callable[[], object]

SECONDS = 0.5
MOST = 1000  # subscriptions of sessions that may have ended without a word


class Watching:
    """Looks at what clients have asked to hear of, and tells them when it is no longer the same.

    Looking costs one `lstat` a page. It sees every change, also by programs that know nothing of
    us, on every store.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self._watched: dict[ServerEvent, tuple[State, object]] = {}
        self._wanted: dict[ServerEvent, int] = {}
        self._sessions: dict[tuple[str, str], ServerSession] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look again and again, while the server runs."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._look_on)
            yield
            tasks.cancel_scope.cancel()

    async def watch(self, event: ServerEvent, state: State) -> None:
        """Publish the event whenever the state is another one, until it is let go."""
        self._wanted[event] = self._wanted.get(event, 0) + 1
        if event not in self._watched:
            self._watched[event] = (state, await anyio.to_thread.run_sync(_seen, state))

    def leave(self, event: ServerEvent) -> None:
        """Let go of an event that was watched once."""
        self._wanted[event] = self._wanted.get(event, 0) - 1
        if self._wanted[event] <= 0:
            self._wanted.pop(event)
            self._watched.pop(event, None)

    @contextmanager
    def leaving(self, events: list[ServerEvent]) -> Iterator[None]:
        """Let go of events at the end, however it ends."""
        try:
            yield
        finally:
            for event in events:
                self.leave(event)

    async def subscribe(
        self, identity: str, uri: str, session: ServerSession, state: State
    ) -> None:
        """Tell a session of an older protocol about one page from now on."""
        key = (identity, uri)
        if key not in self._sessions:
            await self.watch(ResourceUpdated(uri), state)
        self._sessions[key] = session
        if len(self._sessions) > MOST:
            self.unsubscribe(*next(iter(self._sessions)))

    def unsubscribe(self, identity: str, uri: str | None = None) -> None:
        """Tell a session no more about one page, or about any."""
        for key in [key for key in self._sessions if key[0] == identity and uri in (None, key[1])]:
            del self._sessions[key]
            self.leave(ResourceUpdated(key[1]))

    async def _look_on(self) -> None:
        while True:
            await anyio.sleep(SECONDS)
            if self._watched:
                before = dict(self._watched)
                now = await anyio.to_thread.run_sync(_all_seen, before)
                for event, seen in now.items():
                    await self._tell(event, before[event], seen)

    async def _tell(self, event: ServerEvent, before: tuple[State, object], seen: object) -> None:
        if seen == before[1] or self._watched.get(event) is not before:
            return
        self._watched[event] = (before[0], seen)
        await self.bus.publish(event)
        if isinstance(event, ResourceUpdated):
            for (_, uri), session in list(self._sessions.items()):
                if uri == event.uri:
                    await session.send_resource_updated(uri)


def _seen(state: State) -> object:
    try:
        return state()
    except LooseleafError as error:
        return error.code


def _all_seen(watched: dict[Any, tuple[State, object]]) -> dict[Any, object]:
    return {event: _seen(state) for event, (state, _) in watched.items()}
