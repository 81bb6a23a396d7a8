"""The memory that large bodies take while they arrive: bounded for all, and for each who sends."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from looseleaf.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SMALL = 65_536  # bytes that a body may take without asking
MOST_BYTES = 48_000_000


class BodyBudget:
    """Counts the bytes that are kept for bodies on their way; who finds no room waits unread."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self.held = 0
        self._held_by: dict[str, int] = {}
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def room(self, who: str, size: int) -> AsyncIterator[None]:
        """Keep room for a body while it is read; wait for it as long as the caller lets us."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._fits(who, size))
            self._hold(who, size)
        try:
            yield
        finally:
            self._hold(who, -size)
            async with self._changed:
                self._changed.notify_all()

    def _fits(self, who: str, size: int) -> bool:
        own = self._held_by.get(who, 0)
        # One body always fits, however large the settings let it be.
        fits_all = not self.held or self.held + size <= self.most
        return fits_all and (not own or own + size <= self.most // 2)

    def _hold(self, who: str, size: int) -> None:
        self.held += size
        own = self._held_by.get(who, 0) + size
        if own:
            self._held_by[who] = own
        else:
            self._held_by.pop(who, None)


def too_many_bodies(seconds: float) -> Problem:
    """Say that no room was found for a body in time."""
    message = (
        f"Too many large requests are on their way; there was no room for {seconds:g} seconds."
    )
    headers = {"retry-after": "5", "connection": "close"}
    return Problem(503, "too_busy", message, headers=headers)
