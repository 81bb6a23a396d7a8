"""Turns of worker threads: fair between users, never too many, none lost, ended by their time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import TooBusy, TookTooLong
from looseleaf.memory.deadline import check_deadline
from looseleaf.web.http import workers
from looseleaf.web.http.workers import MOST_WAITING, FairShares, ServerThreads

TOTAL, ALONE, BESIDE = 4, 2, 1


async def settle() -> None:
    """Let every task go on that can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_user_who_is_active_leaves_room_for_others() -> None:
    """Two turns alone, one beside somebody else; a flood delays another user by no turn."""

    async def run() -> None:
        shares, entered = FairShares("Reading", TOTAL, ALONE, BESIDE), list[str]()

        async def ask(user: str) -> None:
            await shares.enter(user)
            entered.append(user)

        flood = [asyncio.create_task(ask("flood")) for _ in range(50)]
        await settle()
        assert entered == ["flood"] * ALONE
        await ask("person")
        assert entered[-1] == "person"
        shares.leave("flood")
        await settle()
        assert len(entered) == 3, "beside somebody else the flood has one turn"
        shares.leave("person")
        shares.leave("flood")
        await settle()
        assert entered[3:] == ["flood"], "the person was there a moment ago"
        await ask("person")
        for task in flood:
            task.cancel()

    asyncio.run(run())


def test_users_who_wait_take_turns() -> None:
    """Whoever asks for more does not come more often."""

    async def run() -> list[str]:
        shares, entered = FairShares("Reading", 1, 1, 1), list[str]()

        async def ask(user: str) -> None:
            await shares.enter(user)
            entered.append(user)
            await asyncio.sleep(0)
            shares.leave(user)

        await asyncio.gather(*(ask(user) for user in ["a"] * 6 + ["b"] * 2 + ["c"]))
        return entered

    assert asyncio.run(run())[:6] == ["a", "a", "b", "c", "a", "b"]


def test_too_many_requests_of_one_user_are_refused() -> None:
    """Those of others are not."""

    async def run() -> None:
        shares = FairShares("Reading", 1, 1, 1)
        await shares.enter("a")
        waiting = [asyncio.create_task(shares.enter("a")) for _ in range(MOST_WAITING)]
        await settle()
        with pytest.raises(TooBusy):
            await shares.enter("a")
        other = asyncio.create_task(shares.enter("b"))
        await settle()
        for task in [*waiting, other]:
            task.cancel()

    asyncio.run(run())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.booleans()), max_size=30))
def test_no_turn_is_lost_or_given_twice(attempts: list[tuple[str, int, bool]]) -> None:
    """Whenever requests come and go away: at the end everything is free again."""

    async def run() -> None:
        shares = FairShares("Reading", TOTAL, ALONE, BESIDE)
        running = most = 0

        async def attempt(user: str) -> None:
            nonlocal running, most
            await shares.enter(user)
            running += 1
            most = max(most, running)
            try:
                await asyncio.sleep(0)
            finally:
                running -= 1
                shares.leave(user)

        tasks: list[asyncio.Task[None]] = []
        for user, pause, is_cancelled in attempts:
            tasks.append(asyncio.create_task(attempt(user)))
            for _ in range(pause):
                await asyncio.sleep(0)
            if is_cancelled:
                tasks[len(tasks) // 2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert most <= TOTAL
        assert running == 0
        for user in "wxyz":
            await asyncio.wait_for(shares.enter(user), 10)

    asyncio.run(run())


def test_a_turn_ends_with_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that does not look at the clock keeps its turn after its request was answered."""
    monkeypatch.setattr(workers, "READ_SECONDS", 0.05)
    monkeypatch.setattr(workers, "_GRACE_SECONDS", 0.0)

    async def run() -> None:
        threads, is_over = ServerThreads(), threading.Event()
        shares, is_left = threads._readers, asyncio.Event()
        leave = shares.leave

        def leave_and_say(user: Hashable) -> None:
            leave(user)
            is_left.set()

        monkeypatch.setattr(shares, "leave", leave_and_say)
        with pytest.raises(TookTooLong):
            await threads.read(1, is_over.wait)
        assert shares._counts == {1: 1}
        is_over.set()
        await is_left.wait()
        assert not shares._counts

    asyncio.run(run())


def test_work_that_looks_at_the_clock_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread is free when the error is sent."""
    monkeypatch.setattr(workers, "READ_SECONDS", 0.05)

    def work() -> None:
        while True:
            check_deadline()

    async def run() -> None:
        threads = ServerThreads()
        with pytest.raises(TookTooLong):
            await threads.read(1, work)
        assert not threads._readers._counts

    asyncio.run(run())


def test_reading_that_looks_at_no_deadline_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread ends and gives its turn back, and the next work in the thread goes on."""
    monkeypatch.setattr(workers, "READ_SECONDS", 0.05)
    monkeypatch.setattr(workers, "_GRACE_SECONDS", 0.05)
    ended = threading.Event()

    def loop() -> None:
        try:
            while True:
                pass
        finally:
            ended.set()

    async def run() -> None:
        threads = ServerThreads()
        for _ in range(workers.MOST_READING_OF_ONE + 1):  # more than one user has turns
            with pytest.raises(TookTooLong):
                await threads.read("user", loop)
        assert ended.wait(30)
        monkeypatch.setattr(workers, "READ_SECONDS", 60.0)
        assert await threads.read("user", lambda: sum(range(100_000))) == 4_999_950_000

    asyncio.run(run())


def test_work_that_is_over_is_not_interrupted() -> None:
    """An interrupt that comes too late does not hit what the thread does next."""
    work = workers.InterruptibleWork(lambda: 7)
    assert work.run() == 7
    work.interrupt(1.0)
    assert sum(range(1_000_000)) == 499_999_500_000
