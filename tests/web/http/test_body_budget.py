"""Room for bodies on their way: one credential takes half of it at most, and all get it back."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from looseleaf.web.http.bodies import BodyBudget


def test_a_body_waits_until_there_is_room() -> None:
    """Of one credential while it holds half, of all while everything is held."""

    async def scenario() -> list[str]:
        budget, entered = BodyBudget(limit=100), []

        async def read(who: str, size: int, leave: asyncio.Event) -> None:
            async with budget.reserve(who, size):
                entered.append(f"{who} {size}")
                await leave.wait()

        leaves = [asyncio.Event() for _ in range(5)]
        sizes = [("a", 40), ("a", 40), ("b", 40), ("c", 40), ("d", 15)]
        tasks = []
        for (who, size), leave in zip(sizes, leaves, strict=True):
            tasks.append(asyncio.create_task(read(who, size, leave)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert entered == ["a 40", "b 40", "d 15"]
        assert budget.reserved_bytes == 95
        leaves[0].set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(entered) == 4
        for leave in leaves:
            leave.set()
        await asyncio.gather(*tasks)
        assert budget.reserved_bytes == 0
        return entered

    entered = asyncio.run(scenario())
    assert sorted(entered[3:]) == ["a 40", "c 40"]


def test_one_body_always_finds_room() -> None:
    """However large the settings let it be; room that nobody waits for any more is given back."""

    async def scenario() -> int:
        budget = BodyBudget(limit=10)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(budget.reserve("a", 1_000))
            waiting = asyncio.create_task(stack.enter_async_context(budget.reserve("b", 1)))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        return budget.reserved_bytes

    assert asyncio.run(scenario()) == 0
