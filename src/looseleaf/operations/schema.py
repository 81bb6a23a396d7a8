"""Operations as JSON: the schema of their arguments, arguments from JSON, results as JSON."""

from __future__ import annotations

from functools import cache

from looseleaf.errors import InvalidArgument
from looseleaf.memory.scope import LAYERS
from looseleaf.memory.store import Found
from looseleaf.operations.context import Where
from looseleaf.operations.memory import PageText
from looseleaf.operations.signature import (
    REQUIRED,
    signature_of,
    split_outside,
    unquote,
    unwrap,
)
from looseleaf.values import Secret, as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from typing import Any

    from looseleaf.operations.catalog import Operation

    Schema = dict[str, Any]

# What a parameter means wherever it occurs; a test asks for every one.
MEANING = {
    "action": "What to do.",
    "after": "The newer version: a revision number or a time; the present without it.",
    "allow_shrink": "Even if a core page loses most of its text, or it ends in a placeholder.",
    "allow_only": "Only these pages and tools.",
    "agent": "The agent, by id or slug; without it, the token's or the default one.",
    "attachments": "What comes with the message: name, media_type, reference, bytes.",
    "as_of": "A revision number or a UTC time: what it said then.",
    "before": "The older version: a revision number or a time.",
    "capabilities": "Capabilities, by name.",
    "config": "Keys of the configuration; null takes a key out.",
    "content": "The text.",
    "daily": "Whether to list the journal too.",
    "data": "The file's bytes, in base64.",
    "date": "A day, YYYY-MM-DD, in UTC; without it, today.",
    "days": "How many days prior versions are kept.",
    "deny": "Not these pages and tools.",
    "email": "An e-mail address.",
    "expires_in": "After how many seconds it expires; without it, never.",
    "file": "The name of the page.",
    "files": "Whether its pages go too.",
    "force": "Even if there is one already.",
    "format": "How the answer is laid out.",
    "host": "The program that reads a hook (claude-code, codex, any), whose limit is kept.",
    "id": "The public id.",
    "if_match": "Only if the page is this version (its hash), or absent.",
    "label": "What people call it.",
    "layer": "Whose page: shared, agent, user or network; without it, where the page belongs.",
    "limit": "At most so many.",
    "lines": "How many lines around a match.",
    "login": "The name to sign in with.",
    "max_bytes": "At most so many bytes; 0 is no limit.",
    "max_chars": "At most so many characters.",
    "max_characters": "At most so many characters; 0 is what the settings say.",
    "max_tokens": "At most so many tokens; 0 is no limit.",
    "message": "What to say.",
    "model": "Who answers this time: provider:model; takes manage_settings.",
    "mode": "How the content is put in; of a prompt, what kind of request it is for.",
    "name": "The name.",
    "new": "What stands in its place.",
    "number": "Entries before this number.",
    "old": "The exact text that is there, once.",
    "offset": "After so many.",
    "other": "The other side of the comparison; what is not said is as on this side.",
    "owner": "The user it belongs to.",
    "password": "A password; without it, none.",
    "position": "The section's position, where several share a name.",
    "query": "The text to find, whatever its case.",
    "request": "An id of the sender's own; the same again gives the same answer.",
    "revision": "A revision number, or a UTC time.",
    "role": "viewer, operator or admin.",
    "section": "The name of the section.",
    "session": "The id of a chat session.",
    "setting": "The value.",
    "settings": "Settings by name; null takes one back to what the settings file says.",
    "since": "The first day of the range.",
    "slug": "Lower-case letters, digits, - and _.",
    "status": "The status.",
    "title": "The title.",
    "until": "The last day of the range.",
    "user": "The user, by id; without it, the one who acts.",
    "verify": "Whether to read everything and compare it with its hash.",
    "versions": "How many prior versions are kept.",
    "words": "What the pages are about.",
}
# The names that the documents the project was made from have for the same things.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "agent_config": ("config",),
    "agent_id": ("agent",),
    "agent_name": ("name",),
    "agent_slug": ("agent", "slug"),  # of a new agent, the slug that it gets
    "filename": ("file",),
    "from": ("since",),
    "owner_id": ("owner",),
    "request_id": ("request",),
    "session_id": ("session",),
    "to": ("until",),
    "user_id": ("user",),
}
_WHERE = {
    "agent": "str | int | None",
    "user": "int | None",
    "layer": f"Literal[{', '.join(map(repr, LAYERS))}] | None",
}
LARGEST = 2**53 - 1  # beyond it JSON's numbers are not exact, and databases have none
_TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "str": ("string", str),
    "bytes": ("string", str),
    "int": ("integer", int),
    "float": ("number", (int, float)),
    "bool": ("boolean", bool),
    "None": ("null", type(None)),
    "Mapping": ("object", dict),
    "tuple": ("array", list),
}


def schema(operation: Operation) -> Schema:
    """Give the JSON schema of an operation's arguments, from its signature."""
    properties: Schema = {}
    required = []
    for name, (annotation, default) in _parameters(operation).items():
        properties[name] = {
            **_schema_of(operation, annotation),
            "description": MEANING.get(name, ""),
        }
        if default is REQUIRED:
            required.append(name)
        elif default not in (None, "", ()) and isinstance(default, str | int | float):
            properties[name]["default"] = default
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _parameters(operation: Operation) -> dict[str, tuple[str, object]]:
    return _parameters_of(operation.run)


@cache
def _parameters_of(run: Callable[..., Any]) -> dict[str, tuple[str, object]]:
    """Give the type and default of each argument; `where` is spread into what it is made of."""
    parameters: dict[str, tuple[str, object]] = {}
    for name, annotation, default in signature_of(run):
        if name == "where":
            parameters |= {part: (kind, None) for part, kind in _WHERE.items()}
        else:
            parameters[name] = (annotation, default)
    return parameters


def _schema_of(operation: Operation, annotation: str) -> Schema:
    return _of_annotation(operation.run, annotation)


@cache
def _of_annotation(run: Callable[..., Any], annotation: str) -> Schema:
    options = [_of_option(run, one) for one in split_outside(annotation, "|")]
    distinct = [one for at, one in enumerate(options) if one not in options[:at]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _of_option(run: Callable[..., Any], text: str) -> Schema:
    """Give the schema of one type, which may stand between two bars."""
    name, bracket, rest = text.partition("[")
    inner = rest[:-1] if bracket and rest.endswith("]") else ""
    if name == "Literal" and inner:
        return {"type": "string", "enum": [unquote(one) for one in split_outside(inner, ",")]}
    if name == "tuple" and inner.endswith(", ..."):
        return {"type": "array", "items": _of_annotation(run, inner.removesuffix(", ..."))}
    if name in _TYPES and (inner or not bracket):
        return {"type": _TYPES[name][0]}
    if not bracket and (kind := _value_class(run, name)):
        fields = kind.__annotations__.items()
        parts = {field: _of_annotation(run, str(part)) for field, part in fields}
        return {"type": "object", "properties": parts, "additionalProperties": False}
    raise TypeError(f"an operation cannot take {text}: JSON has nothing like it")


@cache
def _value_class(run: Callable[..., Any], name: str) -> type | None:
    """Find the value that an operation takes, in the module that has the operation."""
    found = unwrap(run).__globals__.get(name)
    return found if isinstance(found, type) and hasattr(found, "__match_args__") else None


def arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments of an operation from JSON, or raise `InvalidArgument`."""
    known = _parameters(operation)
    chosen: dict[str, Any] = {}
    for told, argument in given.items():
        name = meant_by(told, known)
        if name not in known:
            raise InvalidArgument(told, f"{operation.name} takes {', '.join(known) or 'none'}")
        if told in ("agent_id", "user_id") and argument == 0:
            argument = None  # noqa: PLW2901 - as the seeds say: nobody in particular
        if name in chosen and chosen[name] != argument:
            raise InvalidArgument(told, f"it says something else than {name}")
        _check(told, argument, _schema_of(operation, known[name][0]))
        chosen[name] = _made(operation, argument, known[name][0])
    for name, (_, default) in known.items():
        if default is REQUIRED and name not in chosen:
            raise InvalidArgument(name, "it is needed")
    return _gathered(operation, chosen)


def meant_by(name: str, known: Container[str]) -> str:
    """Give the argument that a name means among those that an operation takes."""
    if name in known:
        return name
    return next((one for one in SYNONYMS.get(name, ()) if one in known), name)


def _made(operation: Operation, argument: object, annotation: str) -> object:
    if isinstance(argument, list):
        return tuple(argument)
    made = _value_class(operation.run, annotation)
    return made(**argument) if made is not None and isinstance(argument, dict) else argument


def _gathered(operation: Operation, chosen: dict[str, Any]) -> dict[str, Any]:
    if not _takes_where(operation.run):
        return chosen
    where = Where(*(chosen.pop(part, None) for part in _WHERE))
    return {**chosen, "where": where}


@cache
def _takes_where(run: Callable[..., Any]) -> bool:
    return any(name == "where" for name, _, _ in signature_of(run))


def _check(name: str, argument: object, wanted: Schema) -> None:
    if _fits(argument, wanted):
        return
    options = [
        str(choice) for one in _options(wanted) for choice in one.get("enum") or [one["type"]]
    ]
    listed = f"one of {', '.join(options)}" if options[1:] else options[0]
    raise InvalidArgument(name, f"it is {listed}")


def _options(wanted: Schema) -> list[Schema]:
    return wanted.get("anyOf") or [wanted]


def _fits(argument: object, wanted: Schema) -> bool:
    return any(_fits_one(argument, one) for one in _options(wanted))


def _fits_one(argument: object, wanted: Schema) -> bool:
    if not _is(argument, wanted["type"]):
        return False
    if "enum" in wanted:
        return argument in wanted["enum"]
    if isinstance(argument, int) and abs(argument) > LARGEST:
        return False
    if isinstance(argument, list):
        return all(_fits(one, wanted["items"]) for one in argument)
    if isinstance(argument, dict) and "properties" in wanted:
        parts = wanted["properties"]
        return all(name in parts and _fits(one, parts[name]) for name, one in argument.items())
    return True


def _is(argument: object, kind: str) -> bool:
    types = next(types for name, types in _TYPES.values() if name == kind)
    # In JSON, true is no number.
    return isinstance(argument, types) and (kind == "boolean" or not isinstance(argument, bool))


def plain(result: object) -> Any:  # noqa: ANN401 - whatever JSON can say
    """Give a result as JSON can say it."""
    if isinstance(result, PageText):
        return {
            "file": result.file,
            "layer": result.layer,
            "section": result.section,
            "content": result.content,
            "hash": result.hash,
            "bytes": result.size,
            "updated": result.updated,
        }
    if isinstance(result, Found):
        raise TypeError("a page leaves as PageText")
    if isinstance(result, Secret):
        raise TypeError("a secret does not leave")
    if hasattr(type(result), "__match_args__"):
        return {name: plain(one) for name, one in as_dict(result).items()}
    if isinstance(result, dict):
        return {str(name): plain(one) for name, one in result.items()}
    if isinstance(result, list | tuple):
        return [plain(one) for one in result]
    if isinstance(result, frozenset | set):
        return sorted(plain(one) for one in result)
    return result
