"""Worker threads, so divided that no kind of work, no token and no page takes all of them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from looseleaf.errors import TooBusy, TookTooLong

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable, Mapping

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context

Outcome = TypeVar("Outcome")
# Threads that compute hold up the event loop, each for a few milliseconds in turn.
MOST_READING, MOST_READING_OF_ONE = 4, 2
MOST_WRITING = 40
MOST_PASSWORDS = 2  # each takes 32 MB and most of a processor
MOST_WAITING = 200  # for one page, one token, or the hashing of a password
READ_SECONDS = 60.0
_PLACES = (
    "agent",
    "agent_id",
    "agent_slug",
    "user",
    "user_id",
    "layer",
    "file",
    "filename",
    "date",
)


class Workers:
    """The threads of one server."""

    def __init__(self) -> None:
        self._reading = CapacityLimiter(MOST_READING)
        self._writing = CapacityLimiter(MOST_WRITING)
        self._passwords = CapacityLimiter(MOST_PASSWORDS)
        self._readers = Queues("Reading by one credential", MOST_READING_OF_ONE)
        self._pages = Queues("The page", 1)
        self._hashing = Queues("Signing in", MOST_PASSWORDS)

    async def run(
        self,
        context: Context,
        operation: Operation | None,
        given: Mapping[str, Any],
        work: Callable[[], Outcome],
    ) -> Outcome:
        """Run an operation, or, without one, what only reads."""
        if operation is None or operation.read_only:
            return await self.read(context.principal.credential, work)
        page = page_key(context, operation, given)
        if page is None:
            return await run_sync(work, limiter=self._writing)
        # Whoever waits for a page waits here, without a thread.
        async with self._pages.turn(page):
            return await run_sync(work, limiter=self._writing)

    async def read(self, credential: str, work: Callable[[], Outcome]) -> Outcome:
        """Run what only reads, a few at once, and fewer of one credential."""
        try:
            async with asyncio.timeout(READ_SECONDS), self._readers.turn(credential):
                return await run_sync(work, limiter=self._reading)
        except TimeoutError:
            raise TookTooLong(READ_SECONDS) from None

    async def hash_password(self, work: Callable[[], Outcome]) -> Outcome:
        """Run what hashes a password, at most two at once."""
        async with self._hashing.turn(""):
            return await run_sync(work, limiter=self._passwords)


class Queues:
    """Turns by key: so many of one key at once, the others in order, and not too many of them."""

    def __init__(self, what: str, most: int) -> None:
        self._what, self._most = what, most
        self._turns: dict[Hashable, asyncio.Semaphore] = {}
        self._waiting: dict[Hashable, int] = {}

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, or refuse where too many wait already."""
        if self._waiting.get(key, 0) >= MOST_WAITING:
            raise TooBusy(self._what)
        turns = self._turns.setdefault(key, asyncio.Semaphore(self._most))
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            async with turns:
                yield
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._turns[key]


def page_key(context: Context, operation: Operation, given: Mapping[str, Any]) -> Hashable | None:
    """Name the page that an operation changes, as far as its arguments tell; None is no page.

    Two names of one page are two keys: then the lock of the page decides, as between processes.
    """
    if not operation.versioned:
        return None
    named = tuple(str(given.get(name) or "") for name in _PLACES)
    return (context.principal.agent_id, *named)
