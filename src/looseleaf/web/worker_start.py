"""What starts after the server's first answer, so that no request waits for it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

LATEST_SECONDS = 3.0  # after the start, when no request has come


class AfterFirstAnswer:
    """Calls a function once, in a thread, after the first answer or after some seconds."""

    def __init__(self, app: ASGIApp, start: Callable[[], None]) -> None:
        self._app, self._start = app, start
        self._is_begun = False

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request on, and call the function after the first one."""
        # Not a coroutine of its own: every request passes here.
        pass_on = self._app if self._is_begun else self._pass_first
        return pass_on(scope, receive, send)

    async def _pass_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            asyncio.get_running_loop().call_later(LATEST_SECONDS, self._begin)
        await self._app(scope, receive, send)
        if scope["type"] == "http":
            self._begin()

    def _begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            name = "looseleaf-server-start"
            threading.Thread(target=self._start, name=name, daemon=True).start()
