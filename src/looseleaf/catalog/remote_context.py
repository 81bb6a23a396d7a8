"""The contract of a context whose workspace lies on a server: operations run there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Literal, Protocol
else:
    Protocol = object


class RemoteContext(Protocol):
    """A context for operations that run on a server, in place of a `Context`."""

    is_remote: Literal[True]

    def call(
        self,
        name: str,
        run: Callable[..., Any],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:  # noqa: ANN401 - whatever the operation gives
        """Run an operation there, and return its result or raise its error."""

    def run(self, name: str, json_arguments: Mapping[str, object]) -> Any:  # noqa: ANN401 - as JSON data
        """Run an operation there with JSON arguments, and return its result as JSON data."""

    def listen(self, path: str, json_arguments: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Request a stream of events there, and yield each event as it comes."""
