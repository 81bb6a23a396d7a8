"""The hot request: a page of one's own by token, answered without what other requests need."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from looseleaf.errors import LooseleafError
from looseleaf.folders import MOMENT_SECONDS
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.memory.store import Found
from looseleaf.operations import run
from looseleaf.operations.context import HERE, scope_of
from looseleaf.web.endpoints import NAMESPACE
from looseleaf.web.guard import HEADERS_BY_NAME
from looseleaf.web.metrics import ROUTE
from looseleaf.web.representation import json_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from looseleaf.memory.scope import Scope as PageScope
    from looseleaf.web.reception import Reception

READ = "datamachine/get-agent-memory"
PREFIX = f"{NAMESPACE}/files/agent/"
TEMPLATE = f"{PREFIX}{{file:page}}"
# How long it stays decided that a token may read a page; the page itself is read every time.
DECIDED_SECONDS = MOMENT_SECONDS
_DECISIONS = 4096
# Whoever sends one of these wants more than the page as it is.
_MORE = frozenset((b"if-none-match", b"if-match", b"x-looseleaf-reason"))
_RAW = {
    b"text/markdown": b"text/markdown; charset=utf-8",
    b"text/plain": b"text/plain; charset=utf-8",
}
_JSON = b"application/json"
_AS_JSON = (None, b"*/*", _JSON)
_VARY = (b"vary", b"accept")


class HotPages:
    """Answers what is plain and allowed; everything else, every refusal too, goes the usual way."""

    def __init__(self, app: ASGIApp, reception: Reception) -> None:
        self.app = app
        self.reception = reception
        self._pages = reception.workspace.pages
        self._decided: dict[tuple[bytes, str], tuple[float, PageScope]] = {}

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
        try:
            page_scope = self._allowed(headers.get(b"authorization", b""), path)
            page = self._pages.read(page_scope) if page_scope is not None else None
            if page_scope is None or not isinstance(page, Found):
                return None
            body = page.content if kind is not None else json_body(page_scope, page)
        except LooseleafError:
            return None  # the usual way says what is wrong
        return kind or _JSON, page.hash, body

    def _allowed(self, authorization: bytes, path: str) -> PageScope | None:
        """Find the page that is meant, if whoever asks may read it; None for a closer look."""
        now = time.monotonic()
        decided = self._decided.get((authorization, path))
        if decided is not None and now < decided[0]:
            return decided[1]
        context = self.reception.by_token(authorization)
        if context is None:
            return None
        file = path[len(PREFIX) :]
        run.act(context, run.find(context, READ), {"file": file})
        if len(self._decided) >= _DECISIONS:
            self._decided.clear()
        found = scope_of(context, file, HERE)
        self._decided[authorization, path] = (now + DECIDED_SECONDS, found)
        return found
