"""The results of operations as values that JSON has: objects, lists, texts and numbers."""

from __future__ import annotations

from looseleaf.memory.page_text import PageText
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
