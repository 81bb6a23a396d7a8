"""The outermost middleware: checks of host, origin and encoding, and the headers of responses."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from looseleaf.web.http import request_log
from looseleaf.web.http.authentication import SAFE_METHODS
from looseleaf.web.http.bodies import release_body
from looseleaf.web.http.request_log import HEADER, RequestIds
from looseleaf.web.http.responses import refuse_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from looseleaf.web.health import Metrics
    from looseleaf.web.http.request_log import RecentRequests

    FastAnswer = tuple[int, list[tuple[bytes, bytes]], bytes]  # status, headers, body

# A host name of its own keeps our cookies apart from those of other programs at 127.0.0.1.
OWN_NAME = "looseleaf.localhost"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", OWN_NAME)
ABSOLUTE_TARGET = (
    "looseleaf.absolute_target"  # set if a request has an absolute target, as for a proxy
)
PREFIX = "/wp-json"
_INDEXES = ("/", "/index.php")
_ROUTE_PARAMETER = b"rest_route="
_ROUTES = ("/datamachine/v1/", "/wp-abilities/v1/", "/looseleaf/v1/")
POLICY = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
_NO_STORE = (b"cache-control", b"no-store")
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    _NO_STORE,
)
_KEPT_HEADERS = tuple(header for header in HEADERS if header is not _NO_STORE)
_POLICY = (b"content-security-policy", POLICY)
EVERY_HEADER = (*HEADERS, _POLICY)
OWN_POLICY = "looseleaf.policy"  # set if a response has its own Content-Security-Policy
OWN_CACHING = "looseleaf.caching"  # set if a response has its own Cache-Control
HEADERS_BY_NAME = "looseleaf.headers"  # the headers of a request by name, for the fast path
START = "http.response.start"
_CHUNKED, _CLOSE = b"transfer-encoding", (b"connection", b"close")
_OWN_SITES = (b"same-origin", b"none")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")
_MOST_PORT = 65_535
_MAX_CACHED = 64


class Guard:
    """Refuses unsafe requests, and adds the same headers to every response."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        answer_fast: Callable[[Scope], FastAnswer | None],  # the most frequent requests, else None
        hosts: Iterable[str],
        metrics: Metrics,
        recent: RecentRequests,
    ) -> None:
        self.app, self.answer_fast = app, answer_fast
        self.hosts = frozenset(host.lower() for host in (*LOOPBACK, *hosts))
        self.metrics, self.recent = metrics, recent
        self._allowed_hosts: set[str] = set()  # Host headers that were checked
        self._request_ids = RequestIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on."""
        if scope["type"] != "http":
            await self._pass_other(scope, receive, send)
            return
        start_time, status = time.perf_counter(), 0
        _remove_prefix(scope)
        refusal_response = self._refuse(scope)
        request_headers = scope[HEADERS_BY_NAME]
        request_id = (HEADER, self._request_ids.identify(scope, request_headers))
        has_length = request_headers.get(b"content-length", b"0") != b"0"
        is_sending = has_length or _CHUNKED in request_headers
        try:
            if refusal_response is None and not is_sending:
                answer = self.answer_fast(scope)
                if answer is not None:
                    status, headers, body = answer
                    headers += (*HEADERS, request_id, _POLICY)
                    await send({"type": START, "status": status, "headers": headers})
                    await send({"type": "http.response.body", "body": body})
                    return
            response = _Response(scope, request_id, receive, send, is_sending=is_sending)
            receive_body = response.receive if is_sending else receive
            try:
                await (refusal_response or self.app)(scope, receive_body, response.send)
            finally:
                status = response.status
        finally:
            if is_sending:
                release_body(scope)
            seconds = time.perf_counter() - start_time
            self.metrics.count(scope, status, seconds)
            self.recent.add(scope, status, seconds)
            request_log.write(scope, status, seconds)

    def _is_allowed(self, host: str) -> bool:
        """Return whether a Host header is well formed and names this server."""
        parts = _HOST.fullmatch(host)
        if parts is None or int(parts[2] or 0) > _MOST_PORT or parts[1] not in self.hosts:
            return False
        if len(self._allowed_hosts) < _MAX_CACHED:
            self._allowed_hosts.add(host)
        return True

    async def _pass_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refuse(self, scope: Scope) -> Response | None:
        headers: dict[bytes, bytes] = {}
        scope[HEADERS_BY_NAME] = headers
        for name, content in scope["headers"]:
            if name == b"host" and b"host" in headers:
                return refuse_request(
                    400, "host_not_allowed", "The request has more than one Host header."
                )
            headers[name] = content
        if ABSOLUTE_TARGET in scope:
            message = (
                "The target of a request is a path, such as /health: this server is not a proxy."
            )
            return refuse_request(400, "invalid_request", message)
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host not in self._allowed_hosts and not self._is_allowed(host):
            message = "This server does not answer to that name. Its operator can allow it."
            return refuse_request(400, "host_not_allowed", message)
        if "\ufffd" in scope["path"] and not _is_utf8(scope):
            return refuse_request(400, "invalid_name", "The address is not UTF-8.")
        if scope["method"] in SAFE_METHODS:
            return None
        if _is_foreign(headers, host):
            message = "A page of another site sent this request; only pages of this server may."
            return refuse_request(403, "cross_site", message)
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding not in (b"identity", b""):
            message = "Send the body uncompressed: no Content-Encoding is supported."
            return refuse_request(415, "unsupported_encoding", message)
        return None


class _Response:
    """The response of the application to one request, with the headers that every response has."""

    def __init__(
        self,
        scope: Scope,
        request_id: tuple[bytes, bytes],
        receive: Receive,
        send: Send,
        *,
        is_sending: bool,
    ) -> None:
        self.status = 0
        self._scope, self._request_id = scope, request_id
        self._receive, self._send, self._is_sending = receive, send, is_sending

    async def receive(self) -> Message:
        """Receive a part of the body, and note whether there are more."""
        message = await self._receive()
        self._is_sending = bool(message.get("more_body"))
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the response, the first one with the headers."""
        if message["type"] == START:
            self.status = message["status"]
            common = HEADERS if self._scope.get(OWN_CACHING) is None else _KEPT_HEADERS
            headers = [*message.get("headers", ()), *common, self._request_id]
            if self._scope.get(OWN_POLICY) is None:
                headers.append(_POLICY)
            if self._is_sending:
                # The response does not wait for the rest of the body, which nobody reads.
                headers.append(_CLOSE)
            message["headers"] = headers
        await self._send(message)


def _is_foreign(headers: dict[bytes, bytes], host: str) -> bool:
    """Return whether a request comes from another site's page, according to the browser."""
    site = headers.get(b"sec-fetch-site")
    if site is not None and site not in _OWN_SITES:
        return True
    origin = headers.get(b"origin")
    if origin is None:
        return False
    return origin.decode("latin-1").lower().partition("://")[2] != host


def _is_utf8(scope: Scope) -> bool:
    try:
        unquote_to_bytes(scope.get("raw_path") or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _remove_prefix(scope: Scope) -> None:
    """Treat `/wp-json/…` like `/…`, and `/?rest_route=/…`, as WordPress without rewriting does."""
    path = scope["path"]
    if path.startswith(PREFIX + "/"):
        scope["path"] = path[len(PREFIX) :]
    elif path in _INDEXES and _ROUTE_PARAMETER in scope["query_string"]:
        _take_route(scope)


def _take_route(scope: Scope) -> None:
    """Move the address of a REST route from the query to the path; pages for people have none."""
    parameters = scope["query_string"].split(b"&")
    found = next((text for text in parameters if text.startswith(_ROUTE_PARAMETER)), b"")
    raw_path = found[len(_ROUTE_PARAMETER) :].replace(b"+", b"%20")
    path = unquote_to_bytes(raw_path).decode("utf-8", "replace")
    if path.startswith(_ROUTES):
        scope["path"], scope["raw_path"] = path, raw_path
        parameters.remove(found)
        scope["query_string"] = b"&".join(parameters)
