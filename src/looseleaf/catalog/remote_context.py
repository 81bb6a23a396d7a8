"""The contract of a context whose workspace lies on a server: operations run there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal, Protocol

    from looseleaf.chat.events import Event as TurnEvent
    from looseleaf.chat.session import ChatInput
    from looseleaf.memory.scope import Where
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
        """Run an operation there, and give its result or raise its error."""

    def converse(self, chat_input: ChatInput, where: Where) -> Iterator[TurnEvent]:
        """Say something to an agent there, and give every event of its answer."""
