"""Versions in headers: ETag, If-Match and If-None-Match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from looseleaf.errors import PreconditionUnsupported
from looseleaf.memory.store import ANY_VERSION, Precondition
from looseleaf.web.problems import Problem, precondition_failed

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.requests import Request

_TAGS = re.compile(r'\s*(?:W/)?"([\x21\x23-\x7e]*)"\s*(?:,|$)')


def etag(version: str) -> str:
    """Write a version as an ETag."""
    return f'"{version}"'


def tags(header: str) -> list[str]:
    """Read the versions that a header names, or `*`.

    A tag that a proxy made weak counts: ours are hashes of the very bytes.
    """
    if header.strip() == ANY_VERSION:
        return [ANY_VERSION]
    found, at = [], 0
    while at < len(header):
        one = _TAGS.match(header, at)
        if one is None:
            message = 'If-Match and If-None-Match hold versions in quotes, "…", or *.'
            raise Problem(400, "invalid_etag", message)
        found.append(one[1])
        at = one.end()
    return found


def whole_header(headers: Headers, name: str) -> str | None:
    """Give a header that may be sent in several lines as the one list that the lines mean."""
    lines = headers.getlist(name)
    return ", ".join(lines) if lines else None


def unchanged(headers: Headers, version: str) -> bool:
    """Say whether the reader has this version already."""
    header = whole_header(headers, "if-none-match")
    if header is None:
        return False
    versions = tags(header)
    return ANY_VERSION in versions or version in versions


def check_read(headers: Headers, version: str) -> None:
    """Refuse to give a page that is not the version the reader wants."""
    header = whole_header(headers, "if-match")
    if header is None:
        return
    versions = tags(header)
    if ANY_VERSION not in versions and version not in versions:
        raise precondition_failed(header, version)


def precondition_of(headers: Headers) -> Precondition | None:
    """Give the versions that a change may replace; None where the headers name none."""
    match = whole_header(headers, "if-match")
    none_match = whole_header(headers, "if-none-match")
    if match is None and none_match is None:
        return None
    return Precondition(
        tuple(tags(match)) if match is not None else None,
        tuple(tags(none_match)) if none_match is not None else None,
    )


def refuse_precondition(request: Request, what: str) -> None:
    """Raise where a request names a version of a page and changes none."""
    if is_conditional(request.headers):
        raise PreconditionUnsupported(what)


def is_conditional(headers: Headers) -> bool:
    """Say whether a change names the version it replaces."""
    return "if-match" in headers or "if-none-match" in headers
