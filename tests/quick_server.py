"""The server of the tests: uvicorn without its pauses when it starts and stops."""

from __future__ import annotations

import asyncio
import socket
import time

import uvicorn


class QuickServer(uvicorn.Server):
    """Stops at once; uvicorn looks ten times a second, and then pauses for as long."""

    async def main_loop(self) -> None:
        """Serve until the server is told to stop."""
        ticks = 0
        while not await self.on_tick(ticks // 10):
            ticks += 1
            await asyncio.sleep(0.01)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close what listens, and wait for running requests as long as the settings say."""
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        end = time.monotonic() + (self.config.timeout_graceful_shutdown or 20)
        state = self.server_state
        while (state.connections or state.tasks) and time.monotonic() < end:  # noqa: ASYNC110 - sets
            await asyncio.sleep(0.002)
        for task in state.tasks:
            task.cancel()
        await self.lifespan.shutdown()
