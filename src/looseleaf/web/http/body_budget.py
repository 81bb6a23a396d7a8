"""The memory budget of large bodies while they arrive, in total and for each sender."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from looseleaf.web.http.request_errors import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SMALL = 65_536  # bytes of a body outside the budget
MOST_BYTES = 48_000_000


class BodyBudget:
    """Counts the bytes reserved for arriving bodies; a body without free space waits unread."""

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self.limit = limit
        self.reserved_bytes = 0
        self._bytes_by_sender: dict[str, int] = {}
        self._condition = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, sender: str, size: int) -> AsyncIterator[None]:
        """Wait for space for a body, and reserve the space while the body is read."""
        async with self._condition:
            await self._condition.wait_for(lambda: self._fits(sender, size))
            self._add_bytes(sender, size)
        try:
            yield
        finally:
            self._add_bytes(sender, -size)
            async with self._condition:
                self._condition.notify_all()

    def _fits(self, sender: str, size: int) -> bool:
        sender_bytes = self._bytes_by_sender.get(sender, 0)
        # A single body always fits, even if the settings allow very large ones.
        fits_all = not self.reserved_bytes or self.reserved_bytes + size <= self.limit
        return fits_all and (not sender_bytes or sender_bytes + size <= self.limit // 2)

    def _add_bytes(self, sender: str, size: int) -> None:
        self.reserved_bytes += size
        sender_bytes = self._bytes_by_sender.get(sender, 0) + size
        if sender_bytes:
            self._bytes_by_sender[sender] = sender_bytes
        else:
            self._bytes_by_sender.pop(sender, None)


def build_too_busy(seconds: float) -> RequestError:
    """Build the error for a body that found no space in time."""
    message = (
        f"Too many large requests arrive at once; no space was free within {seconds:g} seconds."
    )
    headers = {"retry-after": "5", "connection": "close"}
    return RequestError(503, "too_busy", message, headers=headers)
