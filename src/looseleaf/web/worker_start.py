"""The worker inside the server: it starts after the first answer, so that none waits for it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from looseleaf.errors import LooseleafError
from looseleaf.web import job_log
from looseleaf.workflows.parts import jobs_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from looseleaf.workspace import Workspace

LATEST_SECONDS = 3.0  # after the start, when no request has come


class WorkerStart:
    """Starts the worker of a workspace once, after the first answer or after some seconds."""

    def __init__(
        self, app: ASGIApp, workspace: Workspace, on_load: Callable[[], None] = lambda: None
    ) -> None:
        self._app, self._workspace, self._on_load = app, workspace, on_load
        self._is_begun = False

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request on, and start the worker after the first one."""
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
            threading.Thread(target=self._start, name="looseleaf-worker-start", daemon=True).start()

    def _start(self) -> None:
        try:
            jobs_of(self._workspace).start_worker(job_log.write)
            self._on_load()
        except LooseleafError as error:
            self._workspace.report("Jobs and schedules do not run in this server", error)
