"""The context of a workspace on a server: operations with this context run there."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.errors import Invalid
from looseleaf.errors.pages import NotText
from looseleaf.memory.page_text import MAIN
from looseleaf.remote.results import PageRead, build_result, gives_page
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from looseleaf.remote.connection import ServerConnection

_PLACE = ("agent", "as_of", "layer", "user")  # select the owner and the time of a page


class Remote:
    """The context of operations on a server: a connection in place of the workspace's parts."""

    is_remote: Literal[True] = True

    def __init__(self, connection: ServerConnection, *, reason: str = "", origin: str = "") -> None:
        self._connection = connection
        self._reason, self._origin = reason, origin
        self.clock = time.time

    def call(
        self,
        name: str,
        run: Callable[..., Any],
        positional: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:  # noqa: ANN401 - the result of any operation
        """Run an operation on the server; return its result, or raise its error."""
        json_arguments = encode_arguments(run, positional, options)
        try:
            document = self.run(name, json_arguments)
        except NotText:
            if not gives_page(run) or json_arguments.keys() - {"file", *_PLACE}:
                raise
            return self._read_page(json_arguments)
        return build_result(run, document)

    def run(self, name: str, json_arguments: Mapping[str, object]) -> Any:  # noqa: ANN401 - JSON data
        """Run an operation on the server with JSON arguments; return its result as JSON data."""
        return self._connection.run(name, json_arguments, reason=self._reason, origin=self._origin)

    def listen(self, path: str, json_arguments: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Request a stream of events from the server, and yield each event as it comes."""
        return self._connection.listen(path, json_arguments)

    def _read_page(self, json_arguments: Mapping[str, Any]) -> PageRead:
        """Read a whole page that JSON cannot hold."""
        place = {name: str(json_arguments[name]) for name in _PLACE if json_arguments.get(name)}
        file = json_arguments.get("file", MAIN)
        raw, version = self._connection.page(file, place)
        return PageRead(
            file=file, layer="", section=None, raw=raw, hash=version, size=len(raw), updated=0.0
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Invalid("This works only on the machine of the workspace, not through a server.")


def encode_arguments(
    run: Callable[..., Any], positional: tuple[Any, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call as JSON data, without arguments that have their default."""
    signature = inspect.signature(run)
    call_arguments = signature.bind(None, *positional, **options).arguments
    json_arguments: dict[str, Any] = {}
    for name, argument in list(call_arguments.items())[1:]:
        if name == "where":
            json_arguments |= {
                part: field for part, field in as_dict(argument).items() if field is not None
            }
        elif argument != signature.parameters[name].default:
            json_arguments[name] = to_json_value(argument)
    return json_arguments
