"""The representation of a page in a response: raw bytes, or a JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.access.principals import ROLES, has_role
from looseleaf.catalog.json_values import to_json_value
from looseleaf.memory.pages import PageText
from looseleaf.times import format_time
from looseleaf.web.http.responses import JSON, check_read, encode_json, format_etag, is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from looseleaf.access.principals import Principal
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Found

    Document = dict[str, Any]

_BODIES: dict[tuple[str, str, str, float], bytes] = {}
_KEEP, _KEEP_BYTES = 256, 65_536
RAW = ("text/markdown", "text/plain")


def choose_raw_type(accept: str) -> str:
    """Choose the text type that the client prefers to JSON; "" means JSON."""
    if accept in RAW:
        return accept
    if accept == "*/*" or "text/" not in accept:
        return ""
    best_weight, selection = _parse_weight(accept, JSON), ""
    for kind in RAW:
        weight = _parse_weight(accept, kind)
        if weight > best_weight or (
            weight == best_weight > 0 and not selection and _parse_first_type(accept) == kind
        ):
            best_weight, selection = weight, kind
    return selection


def _parse_weight(accept: str, kind: str) -> float:
    """Return the weight of a media type in the Accept header; wildcards have none."""
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


def _parse_first_type(accept: str) -> str:
    return accept.lower().partition(",")[0].partition(";")[0].strip()


def represent_page(
    request: Request, version: str, raw: Callable[[], bytes], document: Callable[[], Document]
) -> Response:
    """Return a page in the preferred type, or answer that it has not changed."""
    headers = {"etag": format_etag(version), "vary": "accept"}
    check_read(request.headers, version)
    if is_unchanged(request.headers, version):
        return Response(None, 304, headers)
    kind = choose_raw_type(request.headers.get("accept", "*/*"))
    if kind:
        return Response(raw(), 200, headers, kind)
    return Response(encode_json({"success": True, "data": document()}), 200, headers, JSON)


def encode_page(scope: Scope, page: Found) -> bytes:
    """Encode a whole page as JSON; the result is cached for the next request."""
    key = (scope.filename, scope.layer, page.hash, page.updated)
    body = _BODIES.get(key)
    if body is None:
        text = PageText(scope.filename, page, scope.layer)
        body = encode_json({"success": True, "data": with_old_names(to_json_value(text))})
        if len(_BODIES) >= _KEEP:
            _BODIES.clear()
        if len(body) <= _KEEP_BYTES:
            _BODIES[key] = body
    return body


def with_old_names(info: dict[str, Any]) -> dict[str, Any]:
    """Add the names that the original plugin uses for the fields of a page."""
    if "file" not in info or "bytes" not in info:
        return info
    return {
        **info,
        "filename": info["file"],
        "size": info["bytes"],
        "modified": format_wordpress_time(info.get("updated") or 0.0),
    }


def can_edit(principal: Principal, requirement: str) -> bool:
    """Return whether a principal can have the role or capability for editing a page, if any."""
    if requirement in ROLES:
        return has_role(principal.role, requirement)
    return not requirement or principal.can(requirement)


def format_wordpress_time(seconds: float) -> str:
    """Write a time as the original plugin does, or "" if it is not known."""
    return format_time(seconds, "+00:00") if seconds else ""
