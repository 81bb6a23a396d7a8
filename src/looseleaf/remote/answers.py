"""Answers of a server as the values that operations give: the way back from `schema.plain`."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from looseleaf.errors import Unavailable
from looseleaf.memory.pages import decoded
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    Kind = TypeVar("Kind")

PAGE = "PageText"  # which leaves without the whole page of which it may be a part


@value
class PageRead:
    """A page, or one section of it, as a server gave it; has all that `PageText` tells."""

    file: str
    layer: str
    section: str | None
    raw: bytes
    hash: str
    size: int
    updated: float

    @property
    def content(self) -> str:
        """The text that was asked for, exactly."""
        return decoded(self.file, self.raw)


def returned(run: Callable[..., Any], document: Any) -> Any:  # noqa: ANN401 - whatever it gives
    """Make of JSON what an operation says that it returns."""
    annotation = str(run.__annotations__.get("return", ""))
    with _Understanding():
        if annotation == PAGE:
            return _page(document)
        return _made(run.__module__, _tree(annotation), document)


def made(kind: type[Kind], document: Mapping[str, Any]) -> Kind:
    """Make a value of its JSON."""
    with _Understanding():
        value: Kind = _made(kind.__module__, _tree(kind.__name__), document)
        return value


class _Understanding:
    """Say of what turns out to be no answer of ours that it is another version's."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (KeyError, TypeError, AttributeError)):
            why = "it answers as another version does; use the same version here and there"
            raise Unavailable("The server's answer", why) from error


def _page(document: Mapping[str, Any]) -> PageRead:
    return PageRead(
        document["file"],
        document["layer"],
        document["section"],
        document["content"].encode(),
        document["hash"],
        document["bytes"],
        document["updated"],
    )


@cache
def _tree(annotation: str) -> ast.expr:
    return ast.parse(annotation or "None", mode="eval").body


def _made(module: str, node: ast.expr, document: Any) -> Any:  # noqa: ANN401
    """Make what an annotation of a module means; what is plain in JSON too stays as it is."""
    match node:
        case ast.BinOp(left=left, right=right):
            made = _made(module, left, document)
            return _made(module, right, document) if made is document else made
        case ast.Subscript(value=ast.Name(name), slice=inner) if isinstance(document, list):
            return _gathered(module, name, inner, document)
        case ast.Subscript(slice=ast.Tuple(elts=[_, item])) if isinstance(document, dict):
            return {key: _made(module, item, one) for key, one in document.items()}
        case ast.Name(name) if isinstance(document, dict) and (kind := _kind(module, name)):
            fields: dict[str, str] = kind.__annotations__
            return kind(
                **{
                    field: _made(kind.__module__, _tree(wanted), document[field])
                    for field, wanted in fields.items()
                    if field in document  # else what it is when nobody says
                }
            )
    return document


def _gathered(module: str, name: str, inner: ast.expr, items: list[Any]) -> object:
    if name != "tuple":
        made = [_made(module, inner, one) for one in items]
        return frozenset(made) if name in ("frozenset", "set") else made
    kinds = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if isinstance(kinds[-1], ast.Constant):  # …, as many as there are
        kinds = kinds[:1] * len(items)
    return tuple(_made(module, kind, one) for kind, one in zip(kinds, items, strict=True))


@cache
def _kind(module: str, name: str) -> Any:  # noqa: ANN401 - a class made by `value`, or None
    """Find the value that a module calls by a name, also if only its annotations need it."""
    known = vars(sys.modules[module])
    found = known.get(name)
    if found is None and name in (origins := _origins(module)):
        found = getattr(import_module(origins[name]), name)
    return found if isinstance(found, type) and hasattr(found, "__match_args__") else None


@cache
def _origins(module: str) -> dict[str, str]:
    """Tell where a module has its names from; what stands below TYPE_CHECKING is not there."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }
