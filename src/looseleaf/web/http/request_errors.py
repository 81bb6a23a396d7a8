"""Errors of a request itself, found before an operation runs."""

from __future__ import annotations

from typing import Any


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
