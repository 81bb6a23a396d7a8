"""The context of a workspace on a server: operations with this context run there."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from looseleaf.catalog.json_values import to_json_value
from looseleaf.catalog.signature import (
    Items,
    Record,
    Row,
    Table,
    Union,
    read_record,
    read_result_type,
)
from looseleaf.errors import Invalid, Unavailable
from looseleaf.errors.pages import NotText
from looseleaf.memory.pages import MAIN, PageText, decode_text
from looseleaf.values import as_dict, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeVar

    from looseleaf.catalog.signature import Type
    from looseleaf.remote.connection import ServerConnection

    Kind = TypeVar("Kind")


# Answers of a server as the values that operations return: the reverse of `to_json_value`.


_FORMS: dict[type, type] = {Items: list, Row: list, Table: dict}


@value(kw_only=True)
class PageRead:
    """A page, or one section of it, from a server; it has the same properties as `PageText`."""

    file: str
    layer: str
    section: str | None
    raw: bytes
    hash: str
    size: int
    updated: float

    @property
    def content(self) -> str:
        """The exact text of the page or section."""
        return decode_text(self.file, self.raw)


def build_result(run: Callable[..., Any], document: Any) -> Any:  # noqa: ANN401 - as declared
    """Build the result that an operation declares from the JSON of an answer."""
    with _VersionMismatch():
        return _build(read_result_type(run), document)


def build_value(kind: type[Kind], document: Mapping[str, Any]) -> Kind:
    """Build a value from its JSON."""
    with _VersionMismatch():
        record: type = kind
        instance: Kind = _build(read_record(record), document)
        return instance


def gives_page(run: Callable[..., Any]) -> bool:
    """Return whether an operation returns a page, whose bytes JSON may not be able to hold."""
    declared_type = read_result_type(run)
    return isinstance(declared_type, Record) and declared_type.kind is PageText


class _VersionMismatch:
    """Report an answer that cannot be parsed as that of a server of another version."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (KeyError, TypeError, AttributeError, ValueError)):
            reason = "it is of another version; use the same version here and on the server"
            raise Unavailable("The server's answer", reason) from error


def _build(declared_type: Type, document: Any) -> Any:  # noqa: ANN401 - as declared
    """Build a value of a declared type; texts, numbers and null stay as they are."""
    match declared_type:
        case Union(options):
            return _build(_choose_type(options, document), document)
        case Items(of, container):
            return container(_build(of, item) for item in _require_list(document))
        case Row(parts):
            pairs = zip(parts, _require_list(document), strict=True)
            return tuple(_build(part, item) for part, item in pairs)
        case Table(of):
            return {name: _build(of, item) for name, item in document.items()}
        case Record():
            return _build_record(declared_type, document)
    return document


def _build_record(record: Record, document: Mapping[str, Any]) -> object:
    fields = {
        field.name: _build(field.type, document[field.name])
        for field in record.fields
        if field.name in document  # a missing field has its default
    }
    if record.kind is PageText:  # JSON has the requested text only, not the whole page
        raw = fields.pop("content").encode()
        return PageRead(raw=raw, size=fields.pop("bytes"), **fields)
    return fields if record.is_dictionary else record.kind(**fields)


def _choose_type(options: tuple[Type, ...], document: object) -> Type:
    """Choose the one of several types that fits the form of a document."""
    for option in options:
        if isinstance(option, Record) and isinstance(document, dict):
            if all(field.name in document for field in option.fields if field.required):
                return option
        elif isinstance(document, _FORMS.get(type(option), ())):
            return option
    return next(
        option for option in options if not isinstance(option, Items | Record | Row | Table)
    )


def _require_list(document: object) -> list[Any]:
    if not isinstance(document, list):
        raise TypeError("this is no list")
    return document


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
