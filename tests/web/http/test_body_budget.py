"""Room for bodies on their way: one credential takes half of it at most, and all get it back."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.web.http import bodies
from looseleaf.web.http.bodies import MOST_VALUES, BodyBudget, check_value_count
from looseleaf.web.http.responses import RequestError


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


@pytest.mark.parametrize("value", ["[]", "{}", "1", '""', '{"a":{}}', '"\\\\"', '"\\""'])
def test_wide_json_is_refused_before_it_is_parsed(value: str) -> None:
    """Each value takes many times its bytes in memory, so values are counted first."""
    with pytest.raises(RequestError, match="more than 100,000 values"):
        check_value_count(f"[{','.join([value] * (MOST_VALUES + 1))}]".encode())


def test_signs_in_texts_are_no_values() -> None:
    """A page of a million commas is one value, even if its end is missing."""
    text = json.dumps({"content": '[{,"\\' * 500_000})
    check_value_count(text.encode())
    check_value_count(text[:-3].encode())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_every_value_is_counted_once(document: Any) -> None:  # noqa: ANN401
    """As a parser would count them, so that the limit is where the message says."""

    def count(part: Any) -> int:  # noqa: ANN401
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return 1 + sum(map(count, inner))

    raw = json.dumps(document, indent=1).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bodies, "MOST_VALUES", count(document))
        check_value_count(raw)
        patched.setattr(bodies, "MOST_VALUES", count(document) - 1)
        if count(document) > 1:
            with pytest.raises(RequestError):
                check_value_count(raw)
