"""Worker threads, divided so that no kind of work, token or page can occupy all of them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from looseleaf.errors import TooBusy, TookTooLong
from looseleaf.web.http.responses import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable, Mapping

    from starlette.requests import Request

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation


Outcome = TypeVar("Outcome")
# Computing threads delay the event loop, each for a few milliseconds in turn.
MOST_READING, MOST_READING_OF_ONE = 4, 2
MOST_WRITING = 40
MOST_PASSWORDS = 2  # each takes 32 MB and most of a processor
MOST_WAITING = 200  # for one page, for one token, or to sign in from one address
READ_SECONDS = 60.0
_PAGE_ARGUMENTS = (
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


class ServerThreads:
    """The threads of one server."""

    def __init__(self) -> None:
        self._read_limiter = CapacityLimiter(MOST_READING)
        self._write_limiter = CapacityLimiter(MOST_WRITING)
        self._password_limiter = CapacityLimiter(MOST_PASSWORDS)
        self._readers = Queues("Reading by one credential", MOST_READING_OF_ONE)
        self._pages = Queues("The page", 1)
        self._sign_ins = SignInQueue(MOST_PASSWORDS)

    async def run(
        self,
        context: Context,
        operation: Operation | None,
        arguments: Mapping[str, Any],
        work: Callable[[], Outcome],
    ) -> Outcome:
        """Run an operation, or, without one, work that only reads."""
        if operation is None or operation.read_only:
            return await self.read(context.principal.credential, work)
        page = build_page_key(context, operation, arguments)
        if page is None:
            return await run_sync(work, limiter=self._write_limiter)
        # A request that waits for a page waits here, without a thread.
        async with self._pages.turn(page):
            return await run_sync(work, limiter=self._write_limiter)

    async def read(self, credential: str, work: Callable[[], Outcome]) -> Outcome:
        """Run work that only reads, with a limit in total and for each credential."""
        try:
            async with asyncio.timeout(READ_SECONDS), self._readers.turn(credential):
                return await run_sync(work, limiter=self._read_limiter)
        except TimeoutError:
            raise TookTooLong(READ_SECONDS) from None

    async def write(self, work: Callable[[], Outcome]) -> Outcome:
        """Run a change whose arguments do not name one page."""
        return await run_sync(work, limiter=self._write_limiter)

    async def hash_password(self, address: str, work: Callable[[], Outcome]) -> Outcome:
        """Run the hashing of a password from an address, at most two at once."""
        async with self._sign_ins.turn(address):
            return await run_sync(work, limiter=self._password_limiter)


class Queues:
    """Queues by key: a few turns of one key at once, the others in order, up to a limit."""

    def __init__(self, subject: str, limit: int) -> None:
        self._subject, self._limit = subject, limit
        self._turns: dict[Hashable, asyncio.Semaphore] = {}
        self._waiting_counts: dict[Hashable, int] = {}

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, or refuse if too many wait already."""
        if self._waiting_counts.get(key, 0) >= MOST_WAITING:
            raise TooBusy(self._subject)
        turns = self._turns.setdefault(key, asyncio.Semaphore(self._limit))
        self._waiting_counts[key] = self._waiting_counts.get(key, 0) + 1
        try:
            async with turns:
                yield
        finally:
            self._waiting_counts[key] -= 1
            if not self._waiting_counts[key]:
                del self._waiting_counts[key], self._turns[key]


class SignInQueue:
    """Turns for hashing: addresses in rotation, the newest attempt of each first.

    Only hashing tells a right password from a wrong one, and an order by login would reveal which
    logins exist, so the order depends on addresses alone. A flood from one address delays no other
    address, and a person behind the flooding address does not wait for earlier guesses.
    """

    def __init__(self, limit: int) -> None:
        self._free_count = limit
        self._waiters: dict[str, list[asyncio.Future[None]]] = {}  # the next address first

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[None]:
        """Wait for a turn, or refuse if too many of the address wait already."""
        if self._free_count:
            self._free_count -= 1
        else:
            await self._wait(address)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, address: str) -> None:
        futures = self._waiters.setdefault(address, [])
        if len(futures) >= MOST_WAITING:
            raise TooBusy("Signing in")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        futures.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled():
                self._pass_on()  # the turn came just before the request was cancelled
            raise

    def _pass_on(self) -> None:
        """Pass a turn to the newest attempt of the next address, or keep it for later."""
        while self._waiters:
            address = next(iter(self._waiters))
            futures = self._waiters.pop(address)
            future = futures.pop()
            if futures:
                self._waiters[address] = futures
            if not future.done():
                future.set_result(None)
                return
        self._free_count += 1


def build_page_key(
    context: Context, operation: Operation, arguments: Mapping[str, Any]
) -> Hashable | None:
    """Return a key of the page that an operation changes by its arguments, or None without one.

    Two names of one page are two keys: then the lock of the page decides, as between processes.
    """
    if not operation.changes_page:
        return None
    page_arguments = tuple(str(arguments.get(name) or "") for name in _PAGE_ARGUMENTS)
    return (context.principal.agent_id, *page_arguments)


# A limit on event streams that are open at once, of a server and of one credential.


MOST_STREAMS = 200  # of one server
MOST_OF_ONE = 20  # of one credential: a browser opens few, and a leak of streams ends here


class OpenStreams:
    """The numbers of open streams, in total and by credential."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def take(self, credential: str) -> None:
        """Count a stream, or refuse it."""
        count = self._count.get(credential, 0)
        if count >= MOST_OF_ONE or sum(self._count.values()) >= MOST_STREAMS:
            message = "Too many event streams are open. Close some of them."
            raise RequestError(429, "too_many_streams", message, headers={"retry-after": "60"})
        self._count[credential] = count + 1

    def leave(self, credential: str) -> None:
        """Stop counting a stream."""
        self._count[credential] -= 1
        if not self._count[credential]:
            del self._count[credential]


def streams_of(request: Request) -> OpenStreams:
    """Return the open streams of the server that answers a request."""
    streams: OpenStreams = request.app.state.open_streams
    return streams
