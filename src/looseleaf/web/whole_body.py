"""Bodies for an application that reads them itself: whole, within the limits, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request

from looseleaf.web.bodies import Limits, read_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from looseleaf.web.body_budget import BodyBudget
    from looseleaf.web.reception import Reception

MOST_BYTES = 4_194_304  # the other application parses it between two answers to others


class WholeBody:
    """Reads the body of whoever is let in, then hands the request on."""

    def __init__(self, app: ASGIApp, reception: Reception, budget: BodyBudget) -> None:
        self.app = app
        self.reception = reception
        self.budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        self.reception.principal(request)  # who is nobody sends nothing
        settings = self.reception.workspace.settings
        size = min(settings.max_request_bytes, MOST_BYTES)
        limits = Limits(size, settings.request_seconds, self.reception.sender(request))
        body = await read_body(request, limits, self.budget)
        is_given = False

        async def replay() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)
