"""How a page leaves: its raw bytes, or a JSON document about it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.operations.memory import PageText
from looseleaf.operations.schema import plain
from looseleaf.web.answers import JSON, encoded
from looseleaf.web.preconditions import check_read, etag, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Found

    Document = dict[str, Any]

_BODIES: dict[tuple[str, str, str, float], bytes] = {}
_KEEP, _KEEP_BYTES = 256, 65_536
RAW = ("text/markdown", "text/plain")


def raw_type(accept: str) -> str:
    """Choose text over JSON where the reader prefers it; "" means JSON."""
    if accept in RAW:
        return accept
    if accept == "*/*" or "text/" not in accept:
        return ""
    best, chosen = _weight(accept, JSON), ""
    for kind in RAW:
        weight = _weight(accept, kind)
        if weight > best or (weight == best > 0 and not chosen and _first(accept) == kind):
            best, chosen = weight, kind
    return chosen


def _weight(accept: str, kind: str) -> float:
    """Give how much the reader wants this very kind; wildcards prefer nothing."""
    for part in accept.lower().split(","):
        name, *parameters = (word.strip() for word in part.split(";"))
        if name != kind:
            continue
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    return float(parameter[2:])
                except ValueError:
                    return 0.0
        return 1.0
    return 0.0


def _first(accept: str) -> str:
    return accept.lower().partition(",")[0].partition(";")[0].strip()


def represented(
    request: Request, version: str, raw: Callable[[], bytes], document: Callable[[], Document]
) -> Response:
    """Give a page as the reader wants it, or say that it has not changed."""
    headers = {"etag": etag(version), "vary": "accept"}
    check_read(request.headers, version)
    if unchanged(request.headers, version):
        return Response(None, 304, headers)
    kind = raw_type(request.headers.get("accept", "*/*"))
    if kind:
        return Response(raw(), 200, headers, kind)
    return Response(encoded({"success": True, "data": document()}), 200, headers, JSON)


def json_body(scope: Scope, page: Found) -> bytes:
    """Write a whole page as JSON; what was written is kept for the next reader."""
    key = (scope.filename, scope.layer, page.hash, page.updated)
    kept = _BODIES.get(key)
    if kept is None:
        text = PageText(scope.filename, page, scope.layer)
        kept = encoded({"success": True, "data": with_old_names(plain(text))})
        if len(_BODIES) >= _KEEP:
            _BODIES.clear()
        if len(kept) <= _KEEP_BYTES:
            _BODIES[key] = kept
    return kept


def with_old_names(info: dict[str, Any]) -> dict[str, Any]:
    """Add the names under which the original plugin tells the same of a page."""
    if "file" not in info or "bytes" not in info:
        return info
    return {
        **info,
        "filename": info["file"],
        "size": info["bytes"],
        "modified": iso(info.get("updated") or 0.0),
    }


def iso(seconds: float) -> str:
    """Write a time as ISO 8601, in UTC; "" where it is not known."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds)) if seconds else ""
