"""What is wrong with a request itself, before any operation is asked."""

from __future__ import annotations

from typing import Any


class Problem(Exception):
    """A request that cannot be answered as it stands; says its status, code and reason."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: dict[str, str] | None = None,
        **data: Any,  # noqa: ANN401 - whatever JSON can say
    ) -> None:
        self.status, self.code, self.message = status, code, message
        self.headers = headers or {}
        self.data = data
        super().__init__(message)


def too_large(limit: int) -> Problem:
    """Say that a body is larger than the server reads; the rest of it is not waited for."""
    message = f"The request has more than {limit} bytes, the most this server reads."
    return Problem(413, "too_large", message, headers={"connection": "close"}, limit=limit)


def precondition_failed(expected: str, actual: str) -> Problem:
    """Say that the page is another version than the one the headers asked for."""
    message = (
        f"The page is not what your headers ask for: it is {actual or 'absent'}. "
        "Read it again, then repeat the change."
    )
    return Problem(412, "precondition_failed", message, expected=expected, actual=actual)
