"""Frozen values: what `dataclass(frozen=True, slots=True)` gives, without its import time.

`import dataclasses` alone takes longer than the whole of a cold `looseleaf memory read` may take
(docs/why.md has the figures), so the nouns of the core are made by this decorator instead.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property
    from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

    T = TypeVar("T")
    built_once = cached_property
    _AnyDict = dict[Any, Any]
else:
    _AnyDict = dict

    def dataclass_transform(**_options: object) -> object:
        """Stand in for typing's marker, which only a type checker reads."""
        return lambda decorator: decorator

    def overload(_function: object) -> None:
        """Stand in for typing's marker, which only a type checker reads."""

    class built_once:  # noqa: N801 - a decorator
        """A property of a value that is built when it is first read, and kept with the value."""

        def __init__(self, build: Callable[[Any], Any]) -> None:
            self._build, self.__doc__ = build, build.__doc__

        def __get__(self, instance: object, _owner: object = None) -> object:
            if instance is None:
                return self
            # From now on Python finds it in the dictionary, and asks the decorator no more.
            return instance.__dict__.setdefault(self._build.__name__, self._build(instance))


_OFTEN = 16
_MOST_POSITIONAL = 6


@overload
def value(cls: type[T]) -> type[T]: ...
@overload
def value(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...  # noqa: F811 - an overload
@dataclass_transform(frozen_default=True)
def value(cls: Any = None, *, kw_only: bool = False) -> Any:  # noqa: ANN401, F811 - see above
    """Convert a class of annotated fields into an immutable value with slots, `==`, hash and repr.

    A class with more than six fields is decorated with `@value(kw_only=True)`, so that no call can
    mix up two of them. If the class has a static method `normal`, the fields pass through it by
    name on their way in. A property that follows from the fields alone can be `built_once`. A
    default that can be changed is refused, since all instances would share it. A value has the
    fields of its own body: a field of a base class is declared again, and a value is no base class.
    """
    if cls is None:
        return lambda decorated: _build(decorated, kw_only=kw_only)
    return _build(cls, kw_only=kw_only)


def _build(cls: type, *, kw_only: bool) -> type:
    fields = tuple(cls.__dict__.get("__annotations__", ()))
    if len(fields) > _MOST_POSITIONAL and not kw_only:
        raise TypeError(f"{cls.__name__} has {len(fields)} fields: use @value(kw_only=True)")
    if cls.__bases__ != (object,):
        _require_own_fields(cls, fields)
    defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
    _require_immutable(cls.__name__, defaults)
    namespace = {
        name: attribute
        for name, attribute in cls.__dict__.items()
        if name not in defaults and name not in ("__dict__", "__weakref__")
    }
    keeps = any(type(attribute) is built_once for attribute in namespace.values())
    namespace.update(_SHARED, __slots__=(*fields, "__dict__") if keeps else fields)
    namespace.update(_fields=fields, __match_args__=() if kw_only else fields)
    namespace.update(_defaults=defaults, _normal="normal" in namespace, _count=0)
    new_class: type = type(cls)(cls.__name__, cls.__bases__, namespace)
    new_class.__qualname__ = cls.__qualname__
    return new_class


def _require_own_fields(cls: type, fields: tuple[str, ...]) -> None:
    """Raise `TypeError` if a base class has a field that the class does not declare itself."""
    for base in cls.__mro__[1:]:
        foreign = [name for name in base.__dict__.get("__annotations__", ()) if name not in fields]
        if foreign:
            names = ", ".join(foreign)
            raise TypeError(f"{cls.__name__} inherits {names} of {base.__name__}: declare it again")


def _require_immutable(name: str, defaults: dict[str, object]) -> None:
    """Raise `TypeError` if a default, or something in it, has no hash: it can be changed."""
    for field, default in defaults.items():
        try:
            hash(default)
        except TypeError:
            kind = type(default).__name__
            advice = "use a tuple, a frozenset, a FrozenDict or None"
            raise TypeError(f"{name}.{field} has a mutable default ({kind}): {advice}") from None


def field_names(cls: type) -> tuple[str, ...]:
    """Return the names of a value's fields, in the order of their declaration."""
    names: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    return names


def replace(instance: T, **changes: object) -> T:
    """Return a copy of a value with some fields replaced."""
    return type(instance)(**{**as_dict(instance), **changes})  # refuses a name that is no field


def as_dict(instance: object) -> dict[str, object]:
    """Return the fields of a value by name, in the order of their declaration."""
    return {name: getattr(instance, name) for name in field_names(type(instance))}


def list_required_fields(kind: type) -> list[str]:
    """Return the names of the fields of a value that have no default; none for other classes."""
    defaults = getattr(kind, "_defaults", None)
    return [] if defaults is None else [n for n in field_names(kind) if n not in defaults]


def _init(self: object, *positional: object, **keywords: object) -> None:
    """Set the fields one by one; a class with many instances gets a compiled version.

    A cold command makes a few instances of many classes, and compiling an `__init__` for each would
    take longer than everything else it does.
    """
    cls: Any = type(self)
    cls._count += 1
    if cls._count > _OFTEN:
        cls.__init__ = _compile_init(cls)
        cls.__init__(self, *positional, **keywords)
        return
    fields, positions = cls._fields, cls.__match_args__
    if len(positional) > len(positions) or not keywords.keys() <= set(fields[len(positional) :]):
        names = f"{', '.join(fields)}{'' if positions else ' by name'}"
        raise TypeError(f"{cls.__name__} takes {names}: given {positional}, {keywords}")
    state = {**cls._defaults, **dict(zip(fields, positional, strict=False)), **keywords}
    if len(state) < len(fields):
        missing = [name for name in fields if name not in state]
        raise TypeError(f"{cls.__name__} needs {', '.join(missing)}")
    if cls._normal:
        arguments = {name: state[name] for name in fields}
        state = dict(zip(fields, cls.normal(**arguments), strict=True))
    for name in fields:
        object.__setattr__(self, name, state[name])


def _compile_init(cls: Any) -> object:  # noqa: ANN401 - any class made by `value`
    """Compile an `__init__` that sets each field by its slot, faster than `object.__setattr__`."""
    fields, defaults = cls._fields, cls._defaults
    parameters = [f"{f}=_defaults[{f!r}]" if f in defaults else f for f in fields]
    if fields and not cls.__match_args__:
        parameters.insert(0, "*")
    names = "".join(f"{f}, " for f in fields)
    through = f"{names} = _normal({', '.join(f'{f}={f}' for f in fields)})" if cls._normal else ""
    assignments = "".join(f"    _set_{f}(self, {f})\n" for f in fields)
    source = f"def __init__(self, {', '.join(parameters)}):\n    {through or 'pass'}\n{assignments}"
    scope: dict[str, object] = {f"_set_{f}": cls.__dict__[f].__set__ for f in fields}
    scope.update(_defaults=defaults, _normal=getattr(cls, "normal", None))
    exec(compile(source, "<value>", "exec"), scope)  # noqa: S102 - our own source, as in dataclasses
    return scope["__init__"]


def _state_of(self: object) -> tuple[object, ...]:
    return tuple([getattr(self, name) for name in field_names(type(self))])


def _represent(self: object) -> str:
    pairs = ", ".join(f"{name}={field!r}" for name, field in as_dict(self).items())
    return f"{type(self).__name__}({pairs})"


def _compare(self: object, operand: object) -> object:
    if type(operand) is not type(self):
        return NotImplemented
    return _state_of(self) == _state_of(operand)


def _hash(self: object) -> int:
    return hash(_state_of(self))


def _reduce(self: object) -> tuple[object, tuple[object, ...]]:
    return _restore, (type(self), as_dict(self))


def _restore(cls: type[T], fields: dict[str, object]) -> T:
    return cls(**fields)


def _refuse_subclass(cls: type, **_options: object) -> None:
    base = next(parent for parent in cls.__mro__[1:] if "__match_args__" in parent.__dict__)
    raise TypeError(f"{cls.__name__} inherits from the value {base.__name__}: hold it in a field")


def _refuse(self: object, name: str, *_value: object) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: make a new value")


_SHARED = {
    "__init__": _init,
    "__repr__": _represent,
    "__eq__": _compare,
    "__hash__": _hash,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__reduce__": _reduce,
    "__init_subclass__": _refuse_subclass,
}


def _refuse_entry(self: object, *_arguments: object, **_keywords: object) -> NoReturn:
    raise TypeError(f"a {type(self).__name__} cannot be changed: make a new one")


class FrozenDict(_AnyDict):
    """A dictionary that cannot be changed, and that has a hash if its values have one."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[dict[Any, Any]]]:
        return type(self), (dict(self),)

    __setitem__ = __delitem__ = __ior__ = _refuse_entry
    clear = pop = popitem = setdefault = update = _refuse_entry


class Secret:
    """A text that nobody sees by accident: neither its repr nor its str shows it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, for code that needs it to sign in."""
        return self._text

    @property
    def is_plain(self) -> bool:
        """Whether it is one word that a header can hold; HTTP libraries quote what they cannot."""
        text = self._text
        return bool(text) and text.isascii() and text.isprintable() and " " not in text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, operand: object) -> bool:
        return isinstance(operand, Secret) and operand._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written down")
