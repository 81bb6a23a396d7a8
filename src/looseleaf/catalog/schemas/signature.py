"""The signature of an operation as it is written, read without `inspect` and `ast`.

A server over stdio describes its tools before it answers; importing the two modules would take as
long as starting Python.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
