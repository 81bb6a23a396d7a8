"""A request to another server, and its answer, as values."""

from __future__ import annotations

from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.values import Secret

MOST_BYTES = 5_000_000


@value
class OutgoingRequest:
    """A request to a server; `authorization` goes to the origin of `url` alone."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = FrozenDict()
    body: bytes = b""
    authorization: Secret | None = None
    max_bytes: int = MOST_BYTES


@value
class IncomingResponse:
    """The whole answer of a server; `url` is that of the last redirect."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
