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


def unchanged(headers: Headers, version: str) -> bool:
    """Say whether the reader has this version already."""
    told = headers.get("if-none-match")
    if told is None:
        return False
    named = tags(told)
    return ANY_VERSION in named or version in named


def check_read(headers: Headers, version: str) -> None:
    """Refuse to give a page that is not the version the reader wants."""
    told = headers.get("if-match")
    if told is not None and ANY_VERSION not in (named := tags(told)) and version not in named:
        raise precondition_failed(told, version)


def precondition_of(headers: Headers) -> Precondition | None:
    """Give the versions that a change may replace; None where the headers name none."""
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
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
