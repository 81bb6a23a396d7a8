"""The fields of a JSON schema as people fill them: name, help, default, choices, and their text.

Forms, `--set name=value` and the description of a step use this one reading of a declared schema,
so that a setting that is declared can be filled in everywhere.
"""

from __future__ import annotations

import json
import re
from math import isfinite

from looseleaf.schema_check import find_problem
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal

    FieldType = Literal[
        "text", "choice", "integer", "number", "yes or no", "list", "names and values", "JSON"
    ]
    Settings = dict[str, Any]

LINE, COMMA = "\n", ","  # between two entries of a list: in a form, at the command line
OTHER = "*"  # the field of everything that the schema does not name
_LONG_TEXT = 400  # characters; a text that may be longer is typed in several lines
_ENTRY = re.compile(r"^\[([0-9]+)\]")  # the place of a problem in a list
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_YES = frozenset(("yes", "true", "on", "1"))
_NO = frozenset(("no", "false", "off", "0"))
_MISSING = object()


class FieldProblem(ValueError):
    """The reason why a text is no value of a field."""


@value(kw_only=True)
class SchemaField:
    """One field of a schema; a field of an object within it has a name with dots.

    Fields:
        name: The name, such as max_items or fields.title.
        path: The names of the objects around it, and its own.
        schema: The schema of the field alone.
        is_required: Whether its object cannot be without it.
    """

    name: str
    path: tuple[str, ...]
    schema: Mapping[str, Any]
    is_required: bool = False

    @property
    def title(self) -> str:
        """The name for people: that of the schema, or the name in words."""
        words = self.path[-1].replace("_", " ").replace("-", " ").strip()
        return str(self.schema.get("title") or words[:1].upper() + words[1:] or self.name)

    @property
    def help(self) -> str:
        """What the field means; "" if the schema does not say."""
        return str(self.schema.get("description", ""))

    @property
    def type(self) -> FieldType:
        """How a person fills the field."""
        schema, name = self.schema, self.schema.get("type")
        if "anyOf" in schema:
            return "JSON"
        if "enum" in schema:
            return "choice" if len(self._by_choice()) == len(schema["enum"]) else "JSON"
        if name == "array":
            return "list" if _is_text(schema.get("items", {})) else "JSON"
        if name == "object":
            return "JSON" if "properties" in schema else "names and values"
        plain: dict[str, FieldType] = {
            "string": "text",
            "integer": "integer",
            "number": "number",
            "boolean": "yes or no",
        }
        return plain.get(name, "JSON") if isinstance(name, str) else "JSON"

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values that it can have, or those of the entries of a list."""
        if self.type == "list":
            return tuple(map(str, self.schema["items"].get("enum", ())))
        return tuple(self._by_choice()) if self.type == "choice" else ()

    @property
    def has_default(self) -> bool:
        """Whether the schema says what counts without a value."""
        return "default" in self.schema

    @property
    def default_text(self) -> str:
        """The value that counts without one, as people type it; "" if the schema has none."""
        return self.format(self.schema["default"]) if self.has_default else ""

    @property
    def names(self) -> str:
        """What a text, or each entry of a list, is the name of, such as page or tool."""
        return str(self.schema.get("format") or self.schema.get("items", {}).get("format", ""))

    @property
    def is_secret(self) -> bool:
        """Whether the value is never shown again."""
        return bool(self.schema.get("writeOnly", False))

    @property
    def is_long(self) -> bool:
        """Whether it is typed in several lines."""
        if self.type == "text":
            return int(self.schema.get("maxLength", _LONG_TEXT)) > _LONG_TEXT and not self.names
        return self.type in {"list", "names and values", "JSON"}

    @property
    def limits(self) -> str:
        """The least and the most, in words; "" without any."""
        bounds = _read_bounds(self.schema)
        low, high, unit = bounds if bounds is not None else (None, None, "")
        numbers = [None if bound is None else f"{bound:,}" for bound in (low, high)]
        if numbers[0] is not None and numbers[1] is not None:
            return f"{numbers[0]} to {numbers[1]}{unit}"
        if numbers[1] is not None:
            return f"at most {numbers[1]}{unit}"
        return f"at least {numbers[0]}{unit}" if numbers[0] is not None else ""

    @property
    def condition(self) -> Mapping[str, tuple[str, ...]]:
        """The values of other fields with which this one counts; {} if it always counts."""
        declared: Mapping[str, Any] = self.schema.get("x-when", {})
        return FrozenDict({name: tuple(map(str, texts)) for name, texts in declared.items()})

    def counts(self, settings: Mapping[str, Any], fields: Iterable[SchemaField] = ()) -> bool:
        """Return whether the field counts beside other settings, of which some have defaults."""
        defaults = {field.name: field.schema.get("default") for field in fields}
        return all(
            str(settings.get(name, defaults.get(name))) in texts
            for name, texts in self.condition.items()
        )

    def read(self, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
        """Return the value in settings, or None if they have none."""
        found = self._find(settings)
        return None if found is _MISSING else found

    def is_set(self, settings: Mapping[str, Any]) -> bool:
        """Return whether settings have a value of the field."""
        return self._find(settings) is not _MISSING

    def _find(self, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
        found: Any = settings
        for name in self.path:
            if not isinstance(found, dict) or name not in found:
                return _MISSING
            found = found[name]
        return found

    def put(self, settings: Mapping[str, Any], new: Any) -> Settings:  # noqa: ANN401 - any JSON
        """Return settings with another value of the field."""
        return _put(settings, self.path, new)

    def drop(self, settings: Mapping[str, Any]) -> Settings:
        """Return settings without the field, and without an object that is empty then."""
        return _drop(settings, self.path)

    def parse(self, text: str, *, separator: str = LINE) -> Any:  # noqa: ANN401 - any JSON
        """Return the value of a text, or raise `FieldProblem` if the schema refuses it."""
        parsed = self._parse(text, separator)
        problem = find_problem(self.schema, parsed)
        if problem is not None:
            raise FieldProblem(_ENTRY.sub(lambda place: f"entry {int(place[1]) + 1}", problem))
        return parsed

    def format(self, content: Any, *, separator: str = LINE) -> str:  # noqa: ANN401 - any JSON
        """Return the text of a value, such that `parse` gives the value back."""
        text = self._format(content, separator)
        try:
            if _is_same(self._parse(text, separator), content):
                return text
        except FieldProblem:
            pass
        return json.dumps(content, ensure_ascii=False)

    def _parse(self, text: str, separator: str) -> Any:  # noqa: ANN401 - any JSON
        kind, word = self.type, text.strip()
        if kind == "text":
            return text
        if kind == "list" and not word.startswith("["):
            return [entry.strip() for entry in text.split(separator) if entry.strip()]
        if kind == "names and values" and not word.startswith("{"):
            return _parse_pairs(text)
        if kind == "choice":
            return _parse_choice(word, self._by_choice())
        return _PARSERS.get(kind, parse_json)(word)

    def _format(self, content: Any, separator: str) -> str:  # noqa: ANN401 - any JSON
        kind = self.type
        if kind == "choice":
            choices = self._by_choice().items()
            return next((text for text, choice in choices if _is_same(choice, content)), "")
        if kind == "yes or no":
            return "yes" if content is True else "no"
        if kind == "list" and isinstance(content, list | tuple):
            return ("\n" if separator == LINE else f"{separator} ").join(map(str, content))
        if kind == "names and values" and isinstance(content, dict):
            return "\n".join(f"{name} = {_format_entry(part)}" for name, part in content.items())
        if kind == "JSON":
            return json.dumps(content, ensure_ascii=False, indent=2)
        return str(content)

    def _by_choice(self) -> dict[str, Any]:
        return {
            choice if isinstance(choice, str) else json.dumps(choice): choice
            for choice in self.schema.get("enum", ())
        }


def list_fields(schema: Mapping[str, Any]) -> tuple[SchemaField, ...]:
    """List the fields of a schema in its order, those of inner objects too.

    If the schema allows fields that it does not name, the last field is `OTHER`, which holds them.
    """
    fields = _list_inner_fields(schema)
    return fields if schema.get("additionalProperties", True) is False else (*fields, OTHERS)


def _list_inner_fields(
    schema: Mapping[str, Any],
    path: tuple[str, ...] = (),
    condition: Mapping[str, Any] | None = None,
) -> tuple[SchemaField, ...]:
    """List the fields of an object; they count if the object does."""
    fields: list[SchemaField] = []
    for name, declared in schema.get("properties", {}).items():
        place = (*path, name)
        inner = {**declared, "x-when": condition} if condition else declared
        if _is_closed_object(inner):
            fields += _list_inner_fields(inner, place, inner.get("x-when"))
            continue
        is_required = not path and name in schema.get("required", ())
        fields.append(
            SchemaField(name=".".join(place), path=place, schema=inner, is_required=is_required)
        )
    return tuple(fields)


OTHERS = SchemaField(
    name=OTHER,
    path=(OTHER,),
    schema={
        "type": "object",
        "title": "Other settings",
        "description": "Each on a line of its own, such as name = value.",
    },
)


def split_others(
    schema: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[Settings, Settings]:
    """Split settings into those that a schema names, and all others."""
    named = schema.get("properties", {})
    known = {name: part for name, part in settings.items() if name in named}
    return known, {name: part for name, part in settings.items() if name not in named}


def find_field(schema: Mapping[str, Any], name: str) -> SchemaField:
    """Return the field of a name, or raise `FieldProblem` with the names that there are.

    A name that an open schema does not have is a field of any JSON.
    """
    fields = [field for field in list_fields(schema) if field.name != OTHER]
    field = next((field for field in fields if field.name == name), None)
    if field is not None:
        return field
    inner: Any = schema.get("properties", {}).get(name)
    if inner is not None:  # an object whose fields have names of their own
        return SchemaField(name=name, path=(name,), schema=inner)
    if schema.get("additionalProperties", True) is not False:
        return SchemaField(name=name, path=(name,), schema={})
    names = ", ".join(field.name for field in fields) or "none"
    raise FieldProblem(f"it is not known; the settings are: {names}")


def parse_json(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Parse JSON that a person typed; NaN and its like are no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(":")[0]
        raise FieldProblem(f"it is not JSON: {reason}") from None


def read_fields(
    schema: Mapping[str, Any], settings: Mapping[str, Any], texts: Mapping[str, str]
) -> tuple[Settings, dict[str, str]]:
    """Return settings after a form, and the problem of each field that cannot be used.

    A field that the form does not have, or whose text was not changed, stays as it is; an empty
    text takes it away, except for a secret, which `NAME:clear` takes away.
    """
    known, others = split_others(schema, settings)
    problems: dict[str, str] = {}
    for field in list_fields(schema):
        if field.name == OTHER:
            continue
        text = texts.get(field.name)
        if text is not None:
            try:
                known = _change(field, known, _normalize_lines(text), texts)
            except FieldProblem as problem:
                problems[field.name] = str(problem)
        if field.is_required and not field.is_set(known) and field.name not in problems:
            problems[field.name] = "it is needed"
    if OTHER in texts:
        try:
            others = _change(OTHERS, {OTHER: others}, _normalize_lines(texts[OTHER]), texts)
            others = others.get(OTHER, {})
        except FieldProblem as problem:
            problems[OTHER] = str(problem)
    names = [*schema.get("properties", {}), *others]
    order = [name for name in settings if name in known or name in others]
    order += [name for name in names if name not in order]
    combined = {**others, **known}
    return {name: combined[name] for name in order if name in combined}, problems


def show_field(field: SchemaField, settings: Mapping[str, Any]) -> str:
    """Return the text of a field in a form; a secret is never shown."""
    if field.is_secret or not field.is_set(settings):
        return ""
    return field.format(field.read(settings))


# Secrets: settings that a schema marks as writeOnly. Documents have a mask in their place, and a
# mask that comes back means that the secret stays.


HIDDEN = "[hidden]"


def hide_secrets(schema: Mapping[str, Any], settings: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return settings with a mask in place of each secret."""
    return _replace_secrets(schema, settings, None, lambda _secret, _stored: HIDDEN)


def restore_secrets(schema: Mapping[str, Any], settings: Any, stored: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return settings with the stored secret in place of each mask that has one."""

    def restore(secret: object, before: object) -> object:
        return before if secret == HIDDEN and before is not _MISSING else secret

    return _replace_secrets(schema, settings, stored, restore)


def has_hidden(schema: Mapping[str, Any], settings: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether settings have a mask where a secret belongs."""
    found: list[object] = []

    def note(secret: object, _stored: object) -> object:
        found.append(secret)
        return secret

    _replace_secrets(schema, settings, None, note)
    return HIDDEN in found


def _replace_secrets(
    schema: Mapping[str, Any],
    part: Any,  # noqa: ANN401 - any JSON
    stored: Any,  # noqa: ANN401 - any JSON
    change: Callable[[Any, Any], Any],
) -> Any:  # noqa: ANN401 - any JSON
    if schema.get("writeOnly"):
        return part if part in (None, "") else change(part, stored)
    for option in schema.get("anyOf", ()):
        part = _replace_secrets(option, part, stored, change)
    if isinstance(part, dict):
        known = stored if isinstance(stored, dict) else {}
        others = schema.get("additionalProperties")
        inner = schema.get("properties", {})
        rest = others if isinstance(others, dict) else {}
        return {
            name: _replace_secrets(inner.get(name, rest), entry, known.get(name, _MISSING), change)
            for name, entry in part.items()
        }
    if isinstance(part, list | tuple) and "items" in schema:
        items = schema["items"]
        entries = list(stored) if isinstance(stored, list | tuple) else []
        # Entries may have moved: a secret goes back to the entry that is otherwise as it was.
        shown = [(hide_secrets(items, entry), entry) for entry in entries]
        return [
            _replace_secrets(
                items,
                entry,
                next((whole for hidden, whole in shown if _is_same(hidden, entry)), _MISSING),
                change,
            )
            for entry in part
        ]
    return part


def _change(
    field: SchemaField, settings: Mapping[str, Any], text: str, texts: Mapping[str, str]
) -> Settings:
    if field.is_secret:
        if texts.get(f"{field.name}:clear"):
            return field.drop(settings)
        return field.put(settings, field.parse(text)) if text else dict(settings)
    shown = _normalize_lines(show_field(field, settings))
    if text == shown or (field.type != "text" and text.strip() == shown.strip()):
        return dict(settings)
    return field.put(settings, field.parse(text)) if text.strip() else field.drop(settings)


def _normalize_lines(text: str) -> str:
    """Return a text with the line ends that a form of a browser is compared with."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _put(settings: Mapping[str, Any], path: tuple[str, ...], new: Any) -> Settings:  # noqa: ANN401
    name, *inner = path
    if not inner:
        return {**settings, name: new}
    before = settings.get(name)
    return {**settings, name: _put(before if isinstance(before, dict) else {}, tuple(inner), new)}


def _drop(settings: Mapping[str, Any], path: tuple[str, ...]) -> Settings:
    name, *inner = path
    rest = {key: part for key, part in settings.items() if key != name}
    before = settings.get(name)
    if inner and isinstance(before, dict) and (left := _drop(before, tuple(inner))):
        return {key: left if key == name else part for key, part in settings.items()}
    return rest


def _is_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and "anyOf" not in schema


def _is_closed_object(schema: Mapping[str, Any]) -> bool:
    is_object = schema.get("type") == "object" and "anyOf" not in schema and "enum" not in schema
    return is_object and "properties" in schema and schema.get("additionalProperties") is False


def _is_same(left: object, right: object) -> bool:
    """Return whether two values are the same JSON; unlike Python, JSON tells true from 1."""
    try:
        return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    except (TypeError, ValueError):
        return False


def _read_bounds(schema: Mapping[str, Any]) -> tuple[Any, Any, str] | None:
    for low, high, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " entries"),
    ):
        if low in schema or high in schema:
            least = schema.get(low)
            # That a text has a character is said by its being needed.
            return (None if low == "minLength" and least == 1 else least), schema.get(high), unit
    return None


def _parse_choice(word: str, choices: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    if word not in choices:
        raise FieldProblem(f"it must be one of {', '.join(choices)}")
    return choices[word]


def _parse_yes_or_no(word: str) -> bool:
    if word.casefold() not in _YES | _NO:
        raise FieldProblem("it must be yes or no")
    return word.casefold() in _YES


def _parse_integer(word: str) -> int:
    if not _INTEGER.fullmatch(word):
        raise FieldProblem("it must be a whole number, such as 10")
    return int(word)


def _parse_number(word: str) -> float:
    try:
        number = float(word) if len(word) < 40 else float("nan")
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise FieldProblem("it must be a number, such as 0.5")
    return int(word) if _INTEGER.fullmatch(word) else number


def _parse_pairs(text: str) -> Settings:
    pairs: Settings = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, equals, entry = line.partition("=")
        if not equals or not name.strip():
            raise FieldProblem(f"each line is name = value, and {line.strip()[:60]!r} is not")
        pairs[name.strip()] = _parse_entry(entry.strip())
    return pairs


def _parse_entry(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Parse the value of a name: JSON if it is some, else the text itself."""
    try:
        return parse_json(text)
    except FieldProblem:
        return text


def _format_entry(part: Any) -> str:  # noqa: ANN401 - any JSON
    is_plain = isinstance(part, str) and _is_same(_parse_entry(part), part)
    return part if is_plain else json.dumps(part, ensure_ascii=False)


def _refuse_constant(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


_PARSERS: dict[str, Callable[[str], Any]] = {
    "yes or no": _parse_yes_or_no,
    "integer": _parse_integer,
    "number": _parse_number,
}
