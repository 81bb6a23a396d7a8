"""Versions in headers: ETag, If-Match and If-None-Match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from looseleaf.errors.pages import PreconditionUnsupported
from looseleaf.memory.store import ANY_VERSION, Precondition
from looseleaf.web.http.request_errors import RequestError, build_precondition_failed

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.requests import Request

_TAGS = re.compile(r'\s*(?:W/)?"([\x21\x23-\x7e]*)"\s*(?:,|$)')


def format_etag(version: str) -> str:
    """Write a version as an ETag."""
    return f'"{version}"'


def parse_tags(header: str) -> list[str]:
    """Parse the versions of a header, or `*`.

    A tag that a proxy made weak is accepted, since our tags are hashes of the bytes.
    """
    if header.strip() == ANY_VERSION:
        return [ANY_VERSION]
    versions, position = [], 0
    while position < len(header):
        tag = _TAGS.match(header, position)
        if tag is None:
            message = 'If-Match and If-None-Match hold versions in quotes, "…", or *.'
            raise RequestError(400, "invalid_etag", message)
        versions.append(tag[1])
        position = tag.end()
    return versions


def join_header(headers: Headers, name: str) -> str | None:
    """Join the lines of a header that may be sent in several lines."""
    lines = headers.getlist(name)
    return ", ".join(lines) if lines else None


def is_unchanged(headers: Headers, version: str) -> bool:
    """Return whether the client has this version already."""
    header = join_header(headers, "if-none-match")
    return header is not None and has_version(header, version)


def has_version(header: str, version: str) -> bool:
    """Return whether a header names a version, or any."""
    versions = parse_tags(header)
    return ANY_VERSION in versions or version in versions


def check_read(headers: Headers, version: str) -> None:
    """Refuse to return a page that is not the requested version."""
    header = join_header(headers, "if-match")
    if header is not None and not has_version(header, version):
        raise build_precondition_failed(header, version)


def precondition_of(headers: Headers) -> Precondition | None:
    """Return the versions that a change may replace, or None without such headers."""
    match = join_header(headers, "if-match")
    none_match = join_header(headers, "if-none-match")
    if match is None and none_match is None:
        return None
    return Precondition(
        tuple(parse_tags(match)) if match is not None else None,
        tuple(parse_tags(none_match)) if none_match is not None else None,
    )


def refuse_precondition(request: Request, action: str) -> None:
    """Raise if a request has a precondition but changes no page."""
    if is_conditional(request.headers):
        raise PreconditionUnsupported(action)


def is_conditional(headers: Headers) -> bool:
    """Return whether a request has a precondition."""
    return "if-match" in headers or "if-none-match" in headers
