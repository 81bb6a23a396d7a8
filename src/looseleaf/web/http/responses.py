"""Responses: the JSON envelope, the status of every error, and versions in headers."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.errors import (
    Ambiguous,
    Conflicted,
    DiskFull,
    ExtraMissing,
    Invalid,
    LooseleafError,
    NotFound,
    Refused,
    Unavailable,
)
from looseleaf.errors.features import RepositoryUnusable, SlugTaken, UpgradeOutdated
from looseleaf.errors.operations import (
    ModelFailed,
    SessionBusy,
    TurnLost,
    Unauthenticated,
    UserExists,
)
from looseleaf.errors.pages import (
    AgentExists,
    NameTaken,
    PreconditionUnsupported,
    TooLarge,
    VersionRequired,
)
from looseleaf.memory.store import ANY_VERSION, Precondition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import Headers
    from starlette.requests import Request


# Errors of a request itself, found before an operation runs.


class RequestError(Exception):
    """An invalid request, with status, code and message."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: dict[str, str] | None = None,
        **data: Any,  # noqa: ANN401 - any JSON
    ) -> None:
        self.status, self.code, self.message = status, code, message
        self.headers = headers or {}
        self.data = data
        super().__init__(message)


def build_too_large(limit: int) -> RequestError:
    """Build the error for a body that is too large; the rest of it is not read."""
    message = f"The request has more than {limit} bytes, the most this server reads."
    return RequestError(413, "too_large", message, headers={"connection": "close"}, limit=limit)


def build_precondition_failed(expected: str, actual: str) -> RequestError:
    """Build the error for a page of another version than the headers require."""
    message = (
        f"The page is not what your headers ask for: it is {actual or 'absent'}. "
        "Read it again, then repeat the change."
    )
    return RequestError(412, "precondition_failed", message, expected=expected, actual=actual)


# Versions in headers: ETag, If-Match and If-None-Match.


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


JSON = "application/json"
MOST_BYTES = 64_000_000  # of a response; a page of the largest size fits

# The first match counts; a test covers every error.
STATUSES: tuple[tuple[type[LooseleafError], int], ...] = (
    (TooLarge, 413),
    (VersionRequired, 428),
    (Invalid, 400),
    (NotFound, 404),
    (Ambiguous, 400),
    (Unauthenticated, 401),
    (NameTaken, 409),
    (AgentExists, 409),
    (RepositoryUnusable, 409),
    (SlugTaken, 409),
    (UpgradeOutdated, 409),
    (UserExists, 409),
    (Refused, 403),
    (Conflicted, 409),
    (SessionBusy, 409),
    (TurnLost, 409),
    (DiskFull, 507),
    (ModelFailed, 502),
    (Unavailable, 503),
)
CHALLENGE = {"www-authenticate": 'Bearer realm="looseleaf"'}


def status_of(error: LooseleafError) -> int:
    """Return the status for the kind of an error."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def encode_json(document: object) -> bytes:
    """Encode JSON; a lone surrogate, which UTF-8 cannot encode, becomes an escape."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def answer(
    data: object,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **extra_fields: Any,  # noqa: ANN401 - any JSON
) -> Response:
    """Build the response of a successful request."""
    body = encode_json({"success": True, "data": data, **extra_fields})
    if len(body) > MOST_BYTES:
        message = f"The answer has {len(body)} bytes, more than {MOST_BYTES}. Ask for less."
        raise RequestError(413, "answer_too_large", message, limit=MOST_BYTES)
    return Response(body, status, headers, JSON)


def refuse_request(
    status: int,
    code: str,
    message: str,
    data: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Build the response of an error."""
    body = encode_json(
        {"code": code, "message": message, "data": {"status": status, **(data or {})}}
    )
    return Response(body, status, headers, JSON)


def answer_problem(_request: Request, error: Exception) -> Response:
    """Respond to an invalid request."""
    problem = error if isinstance(error, RequestError) else RequestError(500, "internal_error", "")
    return refuse_request(
        problem.status, problem.code, problem.message, problem.data, problem.headers
    )


def answer_error(request: Request, error: Exception) -> Response:
    """Respond with a Looseleaf error."""
    if not isinstance(error, LooseleafError):
        return answer_failure(request, error)
    if isinstance(error, Conflicted) and is_conditional(request.headers):
        return answer_problem(request, build_precondition_failed(error.expected, error.actual))
    status = status_of(error)
    headers = CHALLENGE if status == 401 else {"retry-after": "5"} if status == 503 else None
    if error.public_message != str(error):
        sys.stderr.write(f"looseleaf: {error}\n")
        extra = {"extra": error.extra} if isinstance(error, ExtraMissing) else None
        return refuse_request(status, error.code, error.public_message, extra, headers)
    # The fields of the error, which its message names too, are for programs.
    fields = {name: _to_json(field) for name, field in vars(error).items()}
    return refuse_request(status, error.code, str(error), fields, headers)


def _to_json(field: object) -> object:
    if isinstance(field, tuple):
        return [_to_json(item) for item in field]
    if isinstance(field, dict):
        return {str(name): _to_json(item) for name, item in field.items()}
    return field if isinstance(field, str | int | float | None) else str(field)


def answer_failure(_request: Request, _error: Exception) -> Response:
    """Respond to a fault of the server; its log has the details."""
    message = "Something went wrong in the server. Its log says what."
    return refuse_request(500, "internal_error", message)


def answer_http_error(_request: Request, error: Exception) -> Response:
    """Handle a request that the router refuses: unknown path or method."""
    status = getattr(error, "status_code", 500)
    headers = getattr(error, "headers", None)
    code = {404: "no_route", 405: "method_not_allowed"}.get(status, "http_error")
    message = {
        404: "There is nothing at this address. /docs lists all addresses.",
        405: "This address does not take that method.",
    }.get(status, str(getattr(error, "detail", "")))
    return refuse_request(status, code, message, headers=headers)
