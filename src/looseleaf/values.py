"""Frozen values: what `dataclass(frozen=True, slots=True)` gives, without its import time.

`import dataclasses` alone takes longer than the whole of a cold `looseleaf memory read` may take
(docs/why.md has the figures), so the nouns of the core are made by this decorator instead.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_options: object) -> object:
        """Stand in for typing's marker, which only a type checker reads."""
        return lambda decorator: decorator


_OFTEN = 16


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Turn a class of annotated fields into an immutable value with slots, `==`, hash and repr.

    Where the class has a static method `normal`, the fields pass through it on their way in.
    """
    own = cls.__dict__.get("__annotations__", {})
    fields = tuple(own)
    defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
    keep = {
        name: attribute
        for name, attribute in cls.__dict__.items()
        if name not in defaults and name not in ("__dict__", "__weakref__")
    }
    keep.update(_SHARED, __slots__=fields, __match_args__=fields)
    keep.update(_defaults=defaults, _normal="normal" in keep, _made=0)
    made: type[T] = type(cls)(cls.__name__, cls.__bases__, keep)  # type: ignore[misc]
    made.__qualname__ = cls.__qualname__
    return made


def changed(instance: T, **changes: object) -> T:
    """Give a copy of a value with some fields replaced."""
    fields: tuple[str, ...] = type(instance).__match_args__  # type: ignore[attr-defined]
    return type(instance)(**({name: getattr(instance, name) for name in fields} | changes))


def as_dict(instance: object) -> dict[str, object]:
    """Give the fields of a value by name, in the order they are declared."""
    fields: tuple[str, ...] = type(instance).__match_args__  # type: ignore[attr-defined]
    return {name: getattr(instance, name) for name in fields}


def _init(self: object, *given: object, **named: object) -> None:
    """Set the fields one by one; a class that turns out to be made often gets a compiled version.

    A cold command makes a few instances of many classes, and compiling an `__init__` for each would
    take longer than everything else it does.
    """
    cls: Any = type(self)
    cls._made += 1
    if cls._made > _OFTEN:
        cls.__init__ = _compiled(cls)
        cls.__init__(self, *given, **named)
        return
    fields = cls.__match_args__
    if len(given) > len(fields) or not named.keys() <= set(fields[len(given) :]):
        raise TypeError(f"{cls.__name__} takes {', '.join(fields)}: given {given}, {named}")
    state = {**cls._defaults, **dict(zip(fields, given, strict=False)), **named}
    if len(state) < len(fields):
        missing = [name for name in fields if name not in state]
        raise TypeError(f"{cls.__name__} needs {', '.join(missing)}")
    ordered = tuple([state[name] for name in fields])
    for name, field in zip(fields, cls.normal(*ordered) if cls._normal else ordered, strict=True):
        object.__setattr__(self, name, field)


def _compiled(cls: Any) -> object:  # noqa: ANN401 - any class made by `value`
    fields, defaults = cls.__match_args__, cls._defaults
    parameters = ", ".join(f"{f}=_defaults[{f!r}]" if f in defaults else f for f in fields)
    names = "".join(f"{f}, " for f in fields)
    through = f"{names} = _normal({names})" if cls._normal else "pass"
    assignments = "\n    ".join(f"_set(self, {f!r}, {f})" for f in fields) or "pass"
    source = f"def __init__(self, {parameters}):\n    {through}\n    {assignments}\n"
    scope: dict[str, object] = {
        "_defaults": defaults,
        "_normal": getattr(cls, "normal", None),
        "_set": object.__setattr__,
    }
    exec(compile(source, "<value>", "exec"), scope)  # noqa: S102 - our own source, as in dataclasses
    return scope["__init__"]


def _state(self: object) -> tuple[object, ...]:
    fields: tuple[str, ...] = type(self).__match_args__  # type: ignore[attr-defined]
    return tuple([getattr(self, name) for name in fields])


def _repr(self: object) -> str:
    shown = ", ".join(f"{name}={given!r}" for name, given in as_dict(self).items())
    return f"{type(self).__name__}({shown})"


def _equal(self: object, other: object) -> object:
    if type(other) is not type(self):
        return NotImplemented
    return _state(self) == _state(other)


def _hash(self: object) -> int:
    return hash(_state(self))


def _reduce(self: object) -> tuple[type, tuple[object, ...]]:
    return type(self), _state(self)


def _refuse(self: object, name: str, *_value: object) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: make a new value")


_SHARED = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _equal,
    "__hash__": _hash,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__reduce__": _reduce,
}


class Secret:
    """A text that nobody sees by accident: neither its repr nor its str shows it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Give the text to whoever needs it to sign in."""
        return self._text

    @property
    def is_plain(self) -> bool:
        """Whether it is one word that a header can hold; HTTP libraries quote what they cannot."""
        text = self._text
        return bool(text) and text.isascii() and text.isprintable() and " " not in text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written down")
