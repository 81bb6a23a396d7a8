"""The hot request: a page of one's own by token, answered without what other requests need."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from looseleaf.errors import LooseleafError
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.operations import run
from looseleaf.web.endpoints import NAMESPACE
from looseleaf.web.guard import HEADERS_BY_NAME
from looseleaf.web.metrics import ROUTE
from looseleaf.web.representation import json_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from looseleaf.operations.memory import PageText
    from looseleaf.web.reception import Reception

READ = "datamachine/get-agent-memory"
PREFIX = f"{NAMESPACE}/files/agent/"
TEMPLATE = f"{PREFIX}{{file:page}}"
# Whoever sends one of these wants more than the page as it is.
_MORE = frozenset((b"if-none-match", b"if-match", b"x-looseleaf-reason"))
_RAW = {
    b"text/markdown": b"text/markdown; charset=utf-8",
    b"text/plain": b"text/plain; charset=utf-8",
}
_AS_JSON = (None, b"*/*", b"application/json")
_VARY = (b"vary", b"accept")


class HotPages:
    """Answers what is plain and allowed; everything else, every refusal too, goes the usual way."""

    def __init__(self, app: ASGIApp, reception: Reception) -> None:
        self.app = app
        self.reception = reception

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        found = self._found(scope)
        if found is None:
            await self.app(scope, receive, send)
            return
        kind, version, body = found
        headers = [
            (b"content-type", kind),
            (b"content-length", b"%d" % len(body)),
            (b"etag", b'"%s"' % version.encode()),
            _VARY,
        ]
        scope[ROUTE] = TEMPLATE
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _found(self, scope: Scope) -> tuple[bytes, str, bytes] | None:
        path = scope["path"] if scope["type"] == "http" else ""
        if not path.startswith(PREFIX) or scope["method"] != "GET" or scope["query_string"]:
            return None
        headers: dict[bytes, bytes] = scope[HEADERS_BY_NAME]
        accept = headers.get(b"accept")
        kind = _RAW.get(accept or b"")
        plain = kind is not None or accept in _AS_JSON
        if not plain or not _MORE.isdisjoint(headers) or not path.endswith(PAGE_SUFFIXES):
            return None
        context = self.reception.by_token(headers.get(b"authorization", b""))
        if context is None:
            return None
        try:
            operation = run.find(context, READ)
            page = cast("PageText", run.act(context, operation, {"file": path[len(PREFIX) :]}))
            version = page.page.hash
            return (
                (kind, version, page.page.content)
                if kind is not None
                else (b"application/json", version, json_body(page))
            )
        except LooseleafError:
            return None  # the usual way says what is wrong
