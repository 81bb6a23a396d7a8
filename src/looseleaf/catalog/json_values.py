"""The results of operations as values that JSON has: objects, lists, texts and numbers."""

from __future__ import annotations

from looseleaf.errors import Invalid, InvalidArgument
from looseleaf.memory.pages import PageText
from looseleaf.memory.store import Found
from looseleaf.values import Secret, as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


LARGEST_INTEGER = 2**53 - 1  # beyond it JSON's numbers are not exact, and databases have none


def to_json_value(result: object) -> Any:  # noqa: ANN401 - any JSON
    """Convert a result to objects, lists, texts and numbers; refuse secrets and undecoded pages."""
    if isinstance(result, PageText):
        return result.document()
    if isinstance(result, Found):
        raise TypeError("a page leaves as PageText")
    if isinstance(result, Secret):
        raise TypeError("a secret does not leave")
    if hasattr(type(result), "__match_args__"):
        return {name: to_json_value(field) for name, field in as_dict(result).items()}
    if isinstance(result, dict):
        return {str(key): to_json_value(entry) for key, entry in result.items()}
    if isinstance(result, list | tuple):
        return [to_json_value(item) for item in result]
    if isinstance(result, frozenset | set):
        return sorted(to_json_value(item) for item in result)
    return result


# Bounds of `limit` and `offset`, the arguments by which a long list is read in parts.
# Operations clamp: a number that is out of range counts as the nearest one in range. The audit
# alone refuses: its reader recognizes the last part by its length, and a clamped part would
# look like it. Searches in pages have their own bounds (`memory/search/results.py`).


MOST_LISTED = 100  # entries of one part of a list


def bound_limit(limit: int, maximum: int = MOST_LISTED, *, minimum: int = 1) -> int:
    """Return the number of entries to list: as many as asked for, within the bounds."""
    return max(minimum, min(limit, maximum))


def bound_offset(offset: int) -> int:
    """Return the number of entries to pass over: none for a negative one."""
    return max(0, min(offset, LARGEST_INTEGER))


def check_limit(limit: int, maximum: int) -> None:
    """Raise `Invalid` unless the number of entries to list is from 1 to the maximum."""
    if not 1 <= limit <= maximum:
        raise Invalid(f"limit is 1 to {maximum}.")


# Bytes in an argument of an operation, as base64.


def decode_data(data: str) -> bytes:
    """Return the bytes of the argument `data`, or raise `InvalidArgument`."""
    from base64 import b64decode

    try:
        return b64decode(data, validate=True)
    except ValueError:
        raise InvalidArgument("data", "it is not base64") from None
