"""The guard before everything: hosts, origins, encodings, and the headers of every answer."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from looseleaf.web import request_log
from looseleaf.web.answers import refusal
from looseleaf.web.reception import SAFE_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from looseleaf.web.metrics import Metrics

# Browsers keep the cookies of a name apart from those of other programs at 127.0.0.1.
OWN_NAME = "looseleaf.localhost"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", OWN_NAME)
ABSOLUTE_TARGET = (
    "looseleaf.absolute_target"  # set where a request names its target as a proxy does
)
PREFIX = "/wp-json"
POLICY = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_POLICY = (b"content-security-policy", POLICY)
EVERY_HEADER = (*HEADERS, _POLICY)
OWN_POLICY = "looseleaf.policy"  # set where an answer brings its own Content-Security-Policy
HEADERS_BY_NAME = "looseleaf.headers"  # where the headers of a request are, for who is in a hurry
_CHUNKED, _CLOSE = b"transfer-encoding", (b"connection", b"close")
_NO_BODY = frozenset((None, b"0"))
_OWN_SITES = (b"same-origin", b"none")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")
_MOST_PORT = 65_535
_REMEMBER = 64


class Guard:
    """Turns away what must not come in, and puts the same headers on everything that goes out."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], metrics: Metrics) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in (*LOOPBACK, *hosts))
        self.metrics = metrics
        self._allowed: set[str] = set()  # Host headers that were looked at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at a request before anyone else does."""
        if scope["type"] != "http":
            await self._other(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        wrong = self._wrong(scope)
        is_sending = not _NO_BODY.issuperset(
            (scope[HEADERS_BY_NAME].get(b"content-length"), scope[HEADERS_BY_NAME].get(_CHUNKED))
        )

        async def reading() -> Message:
            nonlocal is_sending
            message = await receive()
            is_sending = bool(message.get("more_body"))
            return message

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"] = [*message.get("headers", ()), *HEADERS]
                if scope.get(OWN_POLICY) is None:
                    headers.append(_POLICY)
                if is_sending:
                    # The answer does not wait for the rest of the body, and nobody reads it.
                    headers.append(_CLOSE)
            await send(message)

        try:
            taken = reading if is_sending else receive
            await (wrong or self.app)(_without_prefix(scope), taken, guarded)
        finally:
            seconds = time.perf_counter() - began
            self.metrics.count(scope, status, seconds)
            request_log.write(scope, status, seconds)

    def _allow(self, host: str) -> bool:
        """Say whether a Host header is well formed and names this server."""
        parts = _HOST.fullmatch(host)
        if parts is None or int(parts[2] or 0) > _MOST_PORT or parts[1] not in self.hosts:
            return False
        if len(self._allowed) < _REMEMBER:
            self._allowed.add(host)
        return True

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _wrong(self, scope: Scope) -> Response | None:
        found: dict[bytes, bytes] = {}
        scope[HEADERS_BY_NAME] = found
        for name, told in scope["headers"]:
            if name == b"host" and b"host" in found:
                return refusal(400, "host_not_allowed", "There is more than one Host.")
            found[name] = told
        if ABSOLUTE_TARGET in scope:
            message = "The target of a request is a path, such as /health: this is no proxy."
            return refusal(400, "invalid_request", message)
        host = found.get(b"host", b"").decode("latin-1").lower()
        if host not in self._allowed and not self._allow(host):
            message = "This server does not answer to that name. Its operator can allow it."
            return refusal(400, "host_not_allowed", message)
        if "\ufffd" in scope["path"] and not _is_utf8(scope):
            return refusal(400, "invalid_name", "The address is not UTF-8.")
        if scope["method"] in SAFE_METHODS:
            return None
        if _is_foreign(found, host):
            message = "A page of another site sent this request; only our own may."
            return refusal(403, "cross_site", message)
        encoding = found.get(b"content-encoding", b"identity").strip().lower()
        if encoding not in (b"identity", b""):
            message = "Send the body as it is: no Content-Encoding is understood."
            return refusal(415, "unsupported_encoding", message)
        return None


def _is_foreign(headers: dict[bytes, bytes], host: str) -> bool:
    """Say whether a browser tells that the request comes from another site's page."""
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


def _without_prefix(scope: Scope) -> Scope:
    """Let `/wp-json/…` mean the same as `/…`."""
    path = scope["path"]
    if path.startswith(PREFIX + "/"):
        scope["path"] = path[len(PREFIX) :]
    return scope
