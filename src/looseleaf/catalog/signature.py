"""The signature of an operation as it is written, read without `inspect` and `ast`.

A server over stdio describes its tools before it answers; importing the two modules would take as
long as starting Python.
"""

from __future__ import annotations

import sys
from functools import cache

from looseleaf.errors import InvalidArgument
from looseleaf.memory.provenance import STATED_BY_AGENTS, list_stated_origins
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation

    Scope: TypeAlias = Mapping[str, Any]  # the names that a module has

    Type: TypeAlias = "Plain | Choice | Items | Row | Table | Record | Union"


REQUIRED = object()  # stands for a missing default
_OPENING, _CLOSING, _QUOTES = "[(", "])", "\"'"


def unwrap(function: Callable[..., Any]) -> Any:  # noqa: ANN401 - a function, or what is like one
    """Return the function that stands inside of its wrappers."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def signature_of(run: Callable[..., Any]) -> list[tuple[str, str, object]]:
    """Return name, written type and default of each parameter after the first, the context.

    A parameter after ** is left out, since only callers in Python can use it.
    """
    signature = getattr(run, "__signature__", None)
    if signature is not None:  # of a plugin's function, which may be any callable
        parameters = list(signature.parameters.values())[1:]
        return [
            (
                parameter.name,
                str(parameter.annotation),
                REQUIRED if parameter.default is parameter.empty else parameter.default,
            )
            for parameter in parameters
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
    function = unwrap(run)
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False))
    defaults |= function.__kwdefaults__ or {}
    types = function.__annotations__
    return [
        (name, str(types.get(name, "")), defaults.get(name, REQUIRED))
        for name in (*positional[1:], *keyword_only)
    ]


def count_positional(run: Callable[..., Any]) -> int:
    """Return how many of these parameters a caller may give by position."""
    signature = getattr(run, "__signature__", None)
    if signature is None:
        return int(unwrap(run).__code__.co_argcount) - 1
    kinds = [parameter.kind for parameter in list(signature.parameters.values())[1:]]
    return sum(kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD) for kind in kinds)


def split_outside(text: str, mark: str) -> list[str]:
    """Split a written type at a mark, but not inside of brackets or quotes."""
    if mark not in text:
        return [text.strip()]
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        else:
            depth += (character in _OPENING) - (character in _CLOSING)
        if character == mark and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    if depth or quote:
        raise TypeError(f"{text} is no type: a bracket or a quote is left open")
    return [part.strip() for part in parts]


def unquote(text: str) -> str:
    """Return the text that stands between quotes."""
    if len(text) < 2 or text[0] not in _QUOTES or text[-1] != text[0] or "\\" in text:
        raise TypeError(f"an operation cannot take {text}: a choice is a text in quotes")
    return text[1:-1]


# Types as annotations write them, read into a small tree of types that JSON has.
# Arguments and results of operations are declared by their annotations alone. They are read
# here as text, without `typing`, `inspect` and `ast`: a server over stdio describes its tools
# before it answers, and importing the three would take longer than starting Python.


ANYTHING = ""  # the kind of a type that allows anything
_KINDS = {
    "Any": ANYTHING,
    "None": "null",
    "bool": "boolean",
    "bytes": "string",
    "float": "number",
    "int": "integer",
    "object": ANYTHING,
    "str": "string",
}
_CONTAINERS: dict[str, type] = {"frozenset": frozenset, "list": list, "set": set, "tuple": tuple}
_TABLES = ("Mapping", "dict")


@value
class Plain:
    """A type that JSON has, too, by its name in JSON."""

    kind: str


@value
class Choice:
    """One of a few texts."""

    texts: tuple[str, ...]


@value
class Items:
    """Any number of one type."""

    of: Type
    container: type


@value
class Row:
    """A tuple of a fixed length, each part of its own type."""

    parts: tuple[Type, ...]


@value
class Table:
    """A mapping from texts to one type."""

    of: Type


@value
class Field:
    """A field of a record; one that is not required may be missing."""

    name: str
    type: Type
    required: bool


@value
class Record:
    """A value, a dataclass or a typed dictionary, with its fields."""

    kind: type
    fields: tuple[Field, ...]

    @property
    def is_dictionary(self) -> bool:
        """Whether the type is a typed dictionary, which has the same form in JSON."""
        return issubclass(self.kind, dict)


@value
class Union:
    """One of several types."""

    options: tuple[Type, ...]


@cache
def read_result_type(run: Callable[..., Any]) -> Type:
    """Read the type that an operation declares as its result, or raise `TypeError`."""
    signature = getattr(run, "__signature__", None)  # of a plugin's function
    if signature is not None:
        text = "" if signature.return_annotation is signature.empty else signature.return_annotation
    else:
        text = str(run.__annotations__.get("return", ""))
    declared_type = read_type(text, names_of(run)) if text else Plain(ANYTHING)
    if declared_type == Plain(ANYTHING):
        raise TypeError("it declares no result: annotate what the function returns")
    return declared_type


def names_of(run: Callable[..., Any]) -> Scope:
    """Return the names that the module of a function has."""
    names: Scope = getattr(unwrap(run), "__globals__", {})
    return names


def read_type(text: str, names: Scope) -> Type:
    """Read a type as it is written in a module with these names."""
    return _read_built_in(text) or _read_union(text, names)


@cache
def _read_built_in(text: str) -> Type | None:
    """Read a type that needs no names, once for all modules, or None if it needs some."""
    try:
        return _read_union(text, {})
    except TypeError:
        return None


def _read_union(text: str, names: Scope) -> Type:
    options = tuple(_read_option(option, names) for option in split_outside(text, "|"))
    return options[0] if len(options) == 1 else Union(options)


def _read_option(text: str, names: Scope) -> Type:
    """Read one type, which may be an option of a union."""
    name, bracket, rest = text.partition("[")
    inner = rest[:-1] if bracket and rest.endswith("]") else ""
    if inner:
        return _read_generic(name, split_outside(inner, ","), text, names)
    if not bracket and name in _KINDS:
        return Plain(_KINDS[name])
    if not bracket and name == "Mapping":
        return Table(Plain(ANYTHING))
    kind = None if bracket else find_record(name, names)
    if kind is None:
        raise TypeError(f"an operation cannot take or give {text}: JSON has nothing like it")
    return read_record(kind)


def _read_generic(name: str, inner: list[str], text: str, names: Scope) -> Type:
    if name == "Literal":
        return Choice(tuple(unquote(choice) for choice in inner))
    if name in _TABLES and len(inner) == 2 and inner[0] == "str":
        return Table(read_type(inner[1], names))
    if name == "tuple" and inner[-1] != "...":
        return Row(tuple(read_type(part, names) for part in inner))
    if name in _CONTAINERS and len(inner) == (2 if name == "tuple" else 1):
        return Items(read_type(inner[0], names), _CONTAINERS[name])
    raise TypeError(f"an operation cannot take or give {text}: JSON has nothing like it")


def find_record(name: str, names: Scope) -> type | None:
    """Find the value or typed dictionary that a module has under a name."""
    record = names.get(name)
    module, dot, attribute = name.rpartition(".")
    if record is None and dot and names:  # as `inspect` writes a type that was evaluated
        record = getattr(sys.modules.get(module), attribute, None)
    is_record = isinstance(record, type) and (
        hasattr(record, "__match_args__") or issubclass(record, dict)
    )
    return record if is_record else None


@cache
def read_record(kind: type) -> Record:
    """Read the fields of a value, a dataclass or a typed dictionary, as they become JSON."""
    names = vars(sys.modules[kind.__module__])
    document = getattr(kind, "document", None)
    if callable(document):  # a value that becomes JSON in another form
        leaves_as = find_record(document.__annotations__["return"], names)
        if leaves_as is None:
            raise TypeError(f"{kind.__name__}.document says nothing of what it gives")
        return Record(kind, read_record(leaves_as).fields)
    return Record(
        kind,
        tuple(
            _read_field(name, _text_of(annotation), names)
            for name, annotation in kind.__annotations__.items()
        ),
    )


def _read_field(name: str, text: str, names: Scope) -> Field:
    inner = text.removeprefix("NotRequired[")
    required = inner == text
    return Field(name, read_type(text if required else inner[:-1], names), required)


def _text_of(annotation: object) -> str:
    """Return the text of an annotation, also of one that was evaluated."""
    if isinstance(annotation, str):
        return annotation
    text: str | None = getattr(annotation, "__forward_arg__", None)
    if text is not None:
        return text
    if not isinstance(annotation, type) or hasattr(annotation, "__args__"):
        return str(annotation).replace("typing.", "")
    if annotation.__module__ == "builtins":
        return annotation.__name__
    return f"{annotation.__module__}.{annotation.__qualname__}"


# What parameters mean, read from the docstring of the function or value that has them.
# A docstring that says more than one sentence ends with a list of the parameters:
# Arguments: section: The section to read, by the text of its ## header. position: …
# The docstring of a value that operations take has the same list under `Fields:`.


ARGUMENTS, FIELDS = "Arguments:", "Fields:"


def read_texts(docstring: str | None, heading: str = ARGUMENTS) -> dict[str, str]:
    """Return the text of each parameter that stands below the heading of a docstring."""
    lines = (docstring or "").splitlines()
    texts: dict[str, str] = {}
    name, indent, is_listed = "", 0, False
    for line in lines:
        text = line.strip()
        if not is_listed or not text:
            is_listed = is_listed or text == heading
            continue
        depth = len(line) - len(line.lstrip())
        indent = indent or depth
        if depth > indent:
            texts[name] += f" {text}"
        else:
            name, _, description = text.partition(":")
            texts[name] = description.strip()
    return texts


# The origin of a text: the one part of its provenance that the actor itself states.
# The system knows the name, the kind and the surface of an actor by itself.


ORIGIN = "origin"
_TEXTS = ("content", "data", "new")  # arguments whose text goes into a page
# The argument as the tools of models declare it.
ORIGIN_SCHEMA: dict[str, Any] = {
    "type": "string",
    "enum": list(STATED_BY_AGENTS),
    "description": "Where the content is from, for the history: user (the user said it), agent "
    "(you inferred it; so without this), tool (a tool or the web gave it).",
}


def takes_origin(operation: Operation) -> bool:
    """Return whether an operation writes a text to a page, so that the text has an origin."""
    return operation.changes_page and any(
        name in _TEXTS for name, _, _ in signature_of(operation.run)
    )


def with_origin(context: Context, origin: object) -> Context:
    """Return a context whose changes have this origin; raise `InvalidArgument` if not allowed."""
    if origin is None or origin == "":
        return context
    choices = list_stated_origins(context.principal.actor_kind)
    if origin not in choices:
        raise InvalidArgument(ORIGIN, f"it must be one of {', '.join(choices)}")
    return replace(context, origin=origin)
