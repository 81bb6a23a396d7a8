"""Responses: the JSON envelope, and the status of every error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.errors import (
    Ambiguous,
    Conflicted,
    DiskFull,
    ExtraMissing,
    Invalid,
    Locked,
    LooseleafError,
    NotFound,
    Refused,
    TooBusy,
    TookTooLong,
    Unavailable,
)
from looseleaf.errors.access import Unauthenticated, UserExists
from looseleaf.errors.agents import AgentExists
from looseleaf.errors.bundles import RepositoryUnusable, UpgradeOutdated
from looseleaf.errors.chat import SessionBusy, TurnLost
from looseleaf.errors.models import ModelFailed
from looseleaf.errors.pages import NameTaken, TooLarge, VersionRequired
from looseleaf.errors.workflows import SlugTaken
from looseleaf.web.http.preconditions import is_conditional
from looseleaf.web.http.request_errors import RequestError, build_precondition_failed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

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
    if isinstance(error, Unavailable) and not isinstance(
        error, Locked | DiskFull | TooBusy | TookTooLong
    ):
        # The reason may name folders and addresses, which only the operator may see.
        sys.stderr.write(f"looseleaf: {error}\n")
        message = f"{error.what} is not available now. The server's operator can see why."
        return refuse_request(status, error.code, message, headers=headers)
    if isinstance(error, ExtraMissing):
        sys.stderr.write(f"looseleaf: {error}\n")
        message = f"{error.what} needs the extra {error.extra!r}, which this server does not have."
        return refuse_request(status, error.code, message, {"extra": error.extra}, headers)
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
