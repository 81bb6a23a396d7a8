"""What operations work with where the workspace lies on a server: they are run there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal, Protocol

    from looseleaf.chat.events import Event as TurnEvent
    from looseleaf.operations.chat import Saying
    from looseleaf.operations.context import Where
else:
    Protocol = object


class Elsewhere(Protocol):
    """What operations take instead of a `Context` where the workspace lies on a server."""

    is_remote: Literal[True]

    def call(
        self, name: str, run: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:  # noqa: ANN401 - whatever the operation gives
        """Run an operation there, and give its result or raise its error."""

    def converse(self, saying: Saying, where: Where) -> Iterator[TurnEvent]:
        """Say something to an agent there, and give every event of its answer."""
