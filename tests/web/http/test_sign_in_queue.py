"""Turns for the hashing of passwords: fair between addresses, newest first, never too many."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import TooBusy
from looseleaf.web.http.workers import MOST_WAITING, SignInQueue

LIMIT = 2


async def hold(queue: SignInQueue, address: str, name: str, order: list[str]) -> None:
    """Take a turn, note it, and hold it for a while."""
    async with queue.turn(address):
        order.append(name)
        for _ in range(3):
            await asyncio.sleep(0)


def run_attempts(attempts: list[tuple[str, str]], limit: int = 1) -> list[str]:
    """Let attempts come one after the other; return the order of their turns."""
    order: list[str] = []

    async def run() -> None:
        queue = SignInQueue(limit)
        await asyncio.gather(*(hold(queue, address, name, order) for address, name in attempts))

    asyncio.run(run())
    return order


def test_a_flood_of_one_address_delays_nobody_elsewhere() -> None:
    """A sign-in from another address has the next turn but one."""
    flood = [("bad", f"guess {number}") for number in range(60)]
    order = run_attempts([*flood, ("good", "person")])
    assert order.index("person") <= 2


def test_a_person_behind_the_same_address_waits_for_no_earlier_guess() -> None:
    """The newest attempt has the next turn."""
    flood = [("home", f"guess {number}") for number in range(60)]
    order = run_attempts([*flood, ("home", "person")])
    assert order.index("person") == 1
    assert len(order) == 61


def test_of_too_many_attempts_of_one_address_the_oldest_is_refused() -> None:
    """So the newest, which may be the person's, has its turn; other addresses are not concerned."""

    async def run() -> None:
        queue, order = SignInQueue(1), list[str]()
        first = asyncio.create_task(hold(queue, "bad", "first", order))
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(hold(queue, "bad", "x", order)) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0)
        await hold(queue, "bad", "person", order)
        await hold(queue, "good", "another person", order)
        with pytest.raises(TooBusy):
            await waiting[0]
        await asyncio.gather(first, *waiting[1:])
        assert order[1] == "person"
        assert len(order) == MOST_WAITING + 2

    asyncio.run(run())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.booleans()), max_size=30))
def test_no_turn_is_lost_or_given_twice(attempts: list[tuple[str, int, bool]]) -> None:
    """Whenever requests come and whenever they go away, at most two run, and all others do."""

    async def run() -> None:
        queue = SignInQueue(LIMIT)
        running = most = 0

        async def attempt(address: str) -> None:
            nonlocal running, most
            async with queue.turn(address):
                running += 1
                most = max(most, running)
                try:
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                finally:
                    running -= 1

        tasks: list[asyncio.Task[None]] = []
        for address, pause, is_cancelled in attempts:
            tasks.append(asyncio.create_task(attempt(address)))
            for _ in range(pause):
                await asyncio.sleep(0)
            if is_cancelled:
                tasks[len(tasks) // 2].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} <= {type(None), asyncio.CancelledError}
        assert most <= LIMIT
        for _ in range(LIMIT):  # every turn is free again
            await asyncio.wait_for(attempt("a"), 10)
        held = [queue.turn("a") for _ in range(LIMIT)]
        for turn in held:
            await asyncio.wait_for(turn.__aenter__(), 10)
        for turn in held:
            await turn.__aexit__(None, None, None)

    asyncio.run(run())
