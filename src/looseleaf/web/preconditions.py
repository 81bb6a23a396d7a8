"""Versions in headers: ETag, If-Match and If-None-Match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from looseleaf.memory.store import ABSENT
from looseleaf.web.problems import Problem, precondition_failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.datastructures import Headers

_HASH = re.compile(r"[0-9a-f]{64}")
_TAGS = re.compile(r'\s*(?:W/)?"([\x21\x23-\x7e]*)"\s*(?:,|$)')
ANY = "*"


def etag(version: str) -> str:
    """Write a version as an ETag."""
    return f'"{version}"'


def tags(header: str) -> list[str]:
    """Read the versions that a header names, or `*`.

    A tag that a proxy made weak counts: ours are hashes of the very bytes.
    """
    if header.strip() == ANY:
        return [ANY]
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
    return ANY in named or version in named


def check_read(headers: Headers, version: str) -> None:
    """Refuse to give a page that is not the version the reader wants."""
    told = headers.get("if-match")
    if told is not None and ANY not in (named := tags(told)) and version not in named:
        raise precondition_failed(told, version)


def wanted_version(headers: Headers, current: Callable[[], str]) -> str | None:
    """Give the version that a change must replace (or `ABSENT`); None where any will do.

    `current` reads the present version, "" where there is no page; most changes do not need it.
    """
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
    if match is None and none_match is None:
        return None
    if match is not None and none_match is None:
        named = tags(match)
        if len(named) == 1 and _HASH.fullmatch(named[0]):
            return named[0]
    if match is None and none_match is not None and tags(none_match) == [ANY]:
        return ABSENT
    return _judged(match, none_match, current())


def _judged(match: str | None, none_match: str | None, present: str) -> str:
    if match is not None:
        named = tags(match)
        if not present or (ANY not in named and present not in named):
            raise precondition_failed(match, present)
    if none_match is not None and present:
        named = tags(none_match)
        if ANY in named or present in named:
            raise precondition_failed(none_match, present)
    # From here on nobody may come between: the change replaces what was judged.
    return present or ABSENT


def is_conditional(headers: Headers) -> bool:
    """Say whether a change names the version it replaces."""
    return "if-match" in headers or "if-none-match" in headers
