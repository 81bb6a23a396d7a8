"""The id of a request: the one that its client sent, else one that the server creates."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from looseleaf.memory.provenance import REQUEST, Activity, is_activity_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Scope

HEADER = b"x-request-id"
_REQUEST_ID = "looseleaf.request_id"  # the key of the id in a scope


class RequestIds:
    """Gives ids to the requests of one process; no other process gives the same id."""

    def __init__(self) -> None:
        self._prefix, self._numbers = os.urandom(8).hex(), count(1)

    def identify(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bytes:
        """Store the id of a request in its scope, and return the id as a header of the answer."""
        header = headers.get(HEADER)
        if header is not None:
            text = header.decode("latin-1")
            if is_activity_id(text):
                scope[_REQUEST_ID] = text
                return header
        text = scope[_REQUEST_ID] = f"{self._prefix}-{next(self._numbers)}"
        return text.encode("ascii")


def request_id_of(scope: Scope) -> str:
    """Return the id of a request."""
    identity: str = scope[_REQUEST_ID]
    return identity


def activity_of(scope: Scope) -> Activity:
    """Return a request as the activity that its changes belong to."""
    return Activity(REQUEST, request_id_of(scope))
