"""Buffered bodies for an application that reads bodies itself: complete, and within the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request

from looseleaf.web.http.bodies import BodyLimits, read_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from looseleaf.web.http.authentication import Authenticator
    from looseleaf.web.http.body_budget import BodyBudget

MOST_BYTES = 4_194_304  # the inner application parses it on the event loop


class BufferedBody:
    """Reads the body of an authenticated request, then calls the application."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, budget: BodyBudget) -> None:
        self.app = app
        self.authenticator = authenticator
        self.budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        request = Request(scope, receive)
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        self.authenticator.principal(request)  # refuse an unauthenticated body
        settings = self.authenticator.workspace.settings
        size = min(settings.max_request_bytes, MOST_BYTES)
        limits = BodyLimits(size, settings.request_seconds, self.authenticator.sender(request))
        body = await read_body(request, limits, self.budget)
        is_delivered = False

        async def replay() -> Message:
            nonlocal is_delivered
            if is_delivered:
                return await receive()
            is_delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)
