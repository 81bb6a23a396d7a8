"""The fast path of the most frequent request: reading a page by token."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation, scope_of
from looseleaf.errors import LooseleafError
from looseleaf.files.folders import MOMENT_SECONDS
from looseleaf.memory.scope import DEFAULT_WHERE, PAGE_SUFFIXES
from looseleaf.memory.store import Found
from looseleaf.web.http.guard import HEADERS_BY_NAME
from looseleaf.web.http.preconditions import has_version
from looseleaf.web.http.request_errors import RequestError
from looseleaf.web.metrics import ROUTE
from looseleaf.web.rest.endpoints import NAMESPACE
from looseleaf.web.rest.representation import encode_page

if TYPE_CHECKING:
    from starlette.types import Scope

    from looseleaf.memory.scope import Scope as PageScope
    from looseleaf.web.http.authentication import Authenticator
    from looseleaf.web.http.guard import FastAnswer

READ = "datamachine/get-agent-memory"
PREFIX = f"{NAMESPACE}/files/agent/"
TEMPLATE = f"{PREFIX}{{file:page}}"
# How long the right of a token to read a page is cached; the page itself is read every time.
DECISION_SECONDS = MOMENT_SECONDS
_MAX_DECISIONS = 4096
# A request with one of these headers needs more than the page as it is.
_SPECIAL_HEADERS = frozenset((b"if-match", b"x-looseleaf-reason"))
_NONE_MATCH = b"if-none-match"
_RAW = {
    b"text/markdown": b"text/markdown; charset=utf-8",
    b"text/plain": b"text/plain; charset=utf-8",
}
_JSON = b"application/json"
_AS_JSON = (None, b"*/*", _JSON)
_VARY = (b"vary", b"accept")


class FastPageReads:
    """Answers plain allowed reads; the application answers everything else, refusals too."""

    def __init__(self, authenticator: Authenticator) -> None:
        self.authenticator = authenticator
        self._pages = authenticator.workspace.pages
        self._decisions: dict[tuple[bytes, str], tuple[float, PageScope]] = {}

    def answer(self, scope: Scope) -> FastAnswer | None:
        """Return status, headers and body of the answer, or None if the application must answer."""
        page_response = self._read_plain_page(scope)
        if page_response is None:
            return None
        kind, version, body = page_response
        headers = [(b"etag", b'"%s"' % version.encode()), _VARY]
        if body is not None:
            size = (b"content-length", b"%d" % len(body))
            headers = [(b"content-type", kind), size, *headers]
        scope[ROUTE] = TEMPLATE
        return (304, headers, b"") if body is None else (200, headers, body)

    def _read_plain_page(self, scope: Scope) -> tuple[bytes, str, bytes | None] | None:
        """Read the type, version and body of a page; no body if the client has this version."""
        path = scope["path"]
        if not path.startswith(PREFIX) or scope["method"] != "GET" or scope["query_string"]:
            return None
        headers: dict[bytes, bytes] = scope[HEADERS_BY_NAME]
        accept = headers.get(b"accept")
        kind = _RAW.get(accept or b"")
        is_plain = kind is not None or accept in _AS_JSON
        if (
            not is_plain
            or not _SPECIAL_HEADERS.isdisjoint(headers)
            or not path.endswith(PAGE_SUFFIXES)
        ):
            return None
        try:
            page_scope = self._find_allowed_page(headers.get(b"authorization", b""), path)
            page = self._pages.read(page_scope) if page_scope is not None else None
            if page_scope is None or not isinstance(page, Found):
                return None
            none_match = headers.get(_NONE_MATCH)
            if none_match is not None:
                if len(headers) != len(scope["headers"]):
                    return None  # a header in several lines, which the application joins
                if has_version(none_match.decode("latin-1"), page.hash):
                    return kind or _JSON, page.hash, None
            body = page.content if kind is not None else encode_page(page_scope, page)
        except (LooseleafError, RequestError):
            return None  # the application reports the error
        return kind or _JSON, page.hash, body

    def _find_allowed_page(self, authorization: bytes, path: str) -> PageScope | None:
        """Find the page, if the token may read it, or None if the application must decide."""
        now = time.monotonic()
        decision = self._decisions.get((authorization, path))
        if decision is not None and now < decision[0]:
            return decision[1]
        context = self.authenticator.by_token(authorization)
        if context is None:
            return None
        file = path[len(PREFIX) :]
        dispatch.run_parsed(context, find_operation(context, READ), {"file": file})
        if len(self._decisions) >= _MAX_DECISIONS:
            self._decisions.clear()
        page_scope = scope_of(context, file, DEFAULT_WHERE)
        self._decisions[authorization, path] = (now + DECISION_SECONDS, page_scope)
        return page_scope
