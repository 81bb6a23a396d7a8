"""A context whose workspace lies elsewhere: operations that are given it are run there."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from looseleaf.errors import Invalid, NotText
from looseleaf.operations.memory import MAIN
from looseleaf.operations.schema import plain
from looseleaf.remote import talking
from looseleaf.remote.answers import PAGE, PageRead, returned
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from looseleaf.chat.events import Event
    from looseleaf.operations.chat import Saying
    from looseleaf.operations.context import Where
    from looseleaf.remote.connection import Connection

_PLACE = ("agent", "as_of", "layer", "user")  # what says which page of that name, and when


class Remote:
    """What operations take instead of a `Context`: it has no rooms, only a way to a server."""

    is_remote: Literal[True] = True
    models = None  # the server asks its own

    def __init__(self, connection: Connection, *, reason: str = "") -> None:
        self._connection = connection
        self._reason = reason
        self.clock = time.time

    def call(
        self, name: str, run: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:  # noqa: ANN401 - whatever the operation gives
        """Run an operation on the server; give its result, or raise its error."""
        asked = arguments(run, given, named)
        try:
            document = self._connection.run(name, asked, reason=self._reason)
        except NotText:
            if run.__annotations__.get("return") != PAGE or asked.keys() - {"file", *_PLACE}:
                raise
            return self._page(asked)
        return returned(run, document)

    def converse(self, saying: Saying, where: Where) -> Iterator[Event]:
        """Say something to an agent there, and give every event of its answer."""
        return talking.converse(self._connection, saying, where)

    def _page(self, asked: Mapping[str, Any]) -> PageRead:
        """Read a whole page that JSON cannot hold."""
        place = {name: str(asked[name]) for name in _PLACE if asked.get(name)}
        file = asked.get("file", MAIN)
        raw, version = self._connection.page(file, place)
        return PageRead(file, "", None, raw, version, len(raw), 0.0)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Invalid("This works only where the workspace lies, not through a server.")


def arguments(
    run: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Give the arguments of a call as JSON has them; what nobody says is left out."""
    signature = inspect.signature(run)
    bound = signature.bind(None, *given, **named).arguments
    told: dict[str, Any] = {}
    for name, argument in list(bound.items())[1:]:
        if name == "where":
            told |= {part: one for part, one in as_dict(argument).items() if one is not None}
        elif argument != signature.parameters[name].default:
            told[name] = plain(argument)
    return told
