"""Worker threads, divided so that no kind of work, user or page can occupy all of them."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from looseleaf.errors import TooBusy, TookTooLong
from looseleaf.memory.deadline import run_within
from looseleaf.web.http.responses import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable, Mapping

    from starlette.requests import Request

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation


Outcome = TypeVar("Outcome")
# Computing threads delay the event loop and each other, each for a few milliseconds in turn.
MOST_READING, MOST_READING_OF_ONE = 4, 2
MOST_WRITING, MOST_WRITING_OF_ONE = 40, 20
MOST_WRITING_BESIDE = 4  # of one user while others are active
MOST_PASSWORDS = 2  # each takes 32 MB and most of a processor
MOST_WAITING = 200  # for one page, for one user, or to sign in from one address
READ_SECONDS = 60.0
WRITE_SECONDS = 600.0  # for what a change computes; a model may have kept it waiting
_GRACE_SECONDS = 5.0  # for a thread to end by itself after its time is over, before an interrupt
_ACTIVE_SECONDS = 1.0  # after its last turn a user still counts as active
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
    """The threads of one server, divided between users: credentials of one user share."""

    def __init__(self) -> None:
        self._password_limiter = CapacityLimiter(MOST_PASSWORDS)
        self._readers = FairShares("Reading by one user", MOST_READING, MOST_READING_OF_ONE, 1)
        self._writers = FairShares(
            "Writing by one user", MOST_WRITING, MOST_WRITING_OF_ONE, MOST_WRITING_BESIDE
        )
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
        user = context.principal.user_id
        if operation is None or operation.read_only:
            return await self.read(user, work)
        page = build_page_key(context, operation, arguments)
        if page is None:
            return await self.write(user, work)
        # A request that waits for a page waits here, without a thread.
        async with self._pages.turn(page):
            return await self.write(user, work)

    async def read(self, user: Hashable, work: Callable[[], Outcome]) -> Outcome:
        """Run work that only reads, with a limit in total and for each user."""
        start = time.monotonic()
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self._readers.enter(user)
        except TimeoutError:
            raise TookTooLong(READ_SECONDS) from None
        seconds = max(0.0, start + READ_SECONDS - time.monotonic())
        work = partial(run_within, seconds, work)
        return await self._readers.run(user, work, patience=seconds + _GRACE_SECONDS)

    async def write(self, user: Hashable, work: Callable[[], Outcome]) -> Outcome:
        """Run a change, with a limit in total and for each user; its outcome is awaited."""
        await self._writers.enter(user)
        return await self._writers.run(user, partial(run_within, WRITE_SECONDS, work))

    async def hash_password(self, address: str, work: Callable[[], Outcome]) -> Outcome:
        """Run the hashing of a password from an address, at most two at once."""
        async with self._sign_ins.turn(address):
            return await run_sync(work, limiter=self._password_limiter)


class _Interrupted(BaseException):
    """What another thread raises in the work: no handler of an error takes it for its own."""


class InterruptibleWork(Generic[Outcome]):
    """Work that another thread can end at its next instruction.

    Most loops look at their deadline; those that do not, of a plugin perhaps, end by this.
    """

    def __init__(self, work: Callable[[], Outcome]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._thread_id = 0  # while the work runs
        self._seconds = 0.0

    def run(self) -> Outcome:
        """Run the work, or raise `TookTooLong` once it is interrupted."""
        self._thread_id = threading.get_ident()
        try:
            try:
                return self._work()
            finally:
                self._leave()
        except _Interrupted:
            self._leave()
            raise TookTooLong(self._seconds) from None

    def _leave(self) -> None:
        """End the time in which the thread may be interrupted; it goes on to other work."""
        with self._lock:
            self._thread_id = 0

    def interrupt(self, seconds: float) -> None:
        """Raise an exception in the thread of the work, if the work still runs."""
        import ctypes  # rarely needed

        with self._lock:
            if self._thread_id:
                self._seconds = seconds
                raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in_thread(ctypes.c_ulong(self._thread_id), ctypes.py_object(_Interrupted))


def _ignore_outcome(thread: asyncio.Future[Any]) -> None:
    """Look at the outcome of a thread that nobody waits for any more."""
    if not thread.cancelled():
        thread.exception()


class FairShares:
    """Turns that users share: an active user leaves room for others, and those who wait rotate.

    A user has at most `alone` turns, and at most `beside` while another user has one, waits for one
    or had one a moment ago: what computes for one user slows down another no further.
    """

    def __init__(self, subject: str, total: int, alone: int, beside: int) -> None:
        self._subject, self._total, self._alone, self._beside = subject, total, alone, beside
        self._count = 0
        self._counts: dict[Hashable, int] = {}  # turns by user
        self._last_times: dict[Hashable, float] = {}  # the last turn of users who have none
        self._waiters: dict[Hashable, deque[asyncio.Future[None]]] = {}  # the next user first
        self._limiter = CapacityLimiter(math.inf)  # the turns bound the threads

    async def enter(self, user: Hashable) -> None:
        """Wait for a turn, or refuse if too many of the user wait already; `leave` ends it."""
        if user not in self._waiters and self._has_room(user):
            self._add(user)
            return
        futures = self._waiters.setdefault(user, deque())
        if len(futures) >= MOST_WAITING:
            raise TooBusy(self._subject)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        futures.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.leave(user)  # the turn came just before the request was cancelled
            else:
                self._drop(user, future)
            raise

    async def run(
        self, user: Hashable, work: Callable[[], Outcome], *, patience: float | None = None
    ) -> Outcome:
        """Run work in a thread during a turn, which ends with the thread, whoever waits for it.

        Work with a `patience` only reads, and is interrupted after it.
        """
        interruptible = InterruptibleWork(work)
        thread = asyncio.ensure_future(run_sync(interruptible.run, limiter=self._limiter))
        thread.add_done_callback(lambda _: self.leave(user))
        try:
            async with asyncio.timeout(patience):
                return await asyncio.shield(thread)
        except TimeoutError:
            thread.add_done_callback(_ignore_outcome)
            interruptible.interrupt(patience or 0.0)
            raise TookTooLong(patience or 0.0) from None

    def leave(self, user: Hashable) -> None:
        """End a turn of a user, and pass it on."""
        self._count -= 1
        self._counts[user] -= 1
        if not self._counts[user]:
            del self._counts[user]
            self._last_times[user] = time.monotonic()
        for waiting_user in list(self._waiters):
            if self._count < self._total and self._has_room(waiting_user):
                self._pass_to(waiting_user)

    def _pass_to(self, user: Hashable) -> None:
        """Pass a turn to the request of a user that waits longest; the user goes to the end."""
        futures = self._waiters.pop(user)
        future = futures.popleft()
        if futures:
            self._waiters[user] = futures
        self._add(user)
        future.set_result(None)

    def _drop(self, user: Hashable, future: asyncio.Future[None]) -> None:
        futures = self._waiters[user]
        futures.remove(future)
        if not futures:
            del self._waiters[user]

    def _add(self, user: Hashable) -> None:
        self._count += 1
        self._counts[user] = self._counts.get(user, 0) + 1
        self._last_times.pop(user, None)

    def _has_room(self, user: Hashable) -> bool:
        if self._count >= self._total:
            return False
        count = self._counts.get(user, 0)
        return count < self._beside or (count < self._alone and not self._has_others(user))

    def _has_others(self, user: Hashable) -> bool:
        """Return whether another user is active; forget those who were active long ago."""
        since = time.monotonic() - _ACTIVE_SECONDS
        for other, last_time in list(self._last_times.items()):
            if last_time < since:
                del self._last_times[other]
        actives = (self._counts, self._waiters, self._last_times)
        return any(other != user for users in actives for other in users)


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
        """Wait for a turn; if too many of the address wait, the oldest of them is refused."""
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
        while len(futures) >= MOST_WAITING:
            oldest = futures.pop(0)
            if not oldest.done():
                oldest.set_exception(TooBusy("Signing in"))
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        futures.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled() and future.exception() is None:
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


# A limit on event streams that are open at once, of a server and of one user.


MOST_STREAMS = 200  # of one server
MOST_OF_ONE = 20  # of one user: a browser opens few, and a leak of streams ends here
# A server that is nearly full keeps its last streams for users who have almost none.
_NEARLY_FULL, _FEW = 160, 2


class OpenStreams:
    """The numbers of open streams, in total and by user."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def take(self, user: int) -> None:
        """Count a stream, or refuse it."""
        count, total = self._counts.get(user, 0), sum(self._counts.values())
        limit = MOST_OF_ONE if total < _NEARLY_FULL else _FEW
        if count >= limit or total >= MOST_STREAMS:
            message = "Too many event streams are open. Close some of them."
            raise RequestError(429, "too_many_streams", message, headers={"retry-after": "60"})
        self._counts[user] = count + 1

    def leave(self, user: int) -> None:
        """Stop counting a stream."""
        self._counts[user] -= 1
        if not self._counts[user]:
            del self._counts[user]


def streams_of(request: Request) -> OpenStreams:
    """Return the open streams of the server that answers a request."""
    streams: OpenStreams = request.app.state.open_streams
    return streams
