"""Items of a JSON document: a path to the list, and paths to the fields of an entry."""

from __future__ import annotations

import json

from looseleaf.errors.workflows import InvalidSource
from looseleaf.values import FrozenDict
from looseleaf.workflows.sources.feed import read_time
from looseleaf.workflows.sources.item import MOST_ITEMS, create_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.workflows.sources.item import SourceItem

_DEEPEST = 20  # parts of a path
# The usual names of a field, the best one first; JSON Feed and WordPress among them.
_USUAL: Mapping[str, tuple[str, ...]] = {
    "identity": ("id", "guid", "uuid", "url"),
    "title": ("title.rendered", "title", "name", "headline"),
    "content": ("content_html", "content_text", "content.rendered", "content", "body", "summary"),
    "url": ("url", "link", "href"),
    "published": ("date_published", "published", "published_at", "date_gmt", "date", "created_at"),
}


def parse_json_items(
    document: bytes,
    *,
    path: str = "",
    fields: Mapping[str, str] = FrozenDict(),
    limit: int = MOST_ITEMS,
) -> tuple[SourceItem, ...]:
    """Read the items at a path such as data.posts, or raise `InvalidSource`.

    Without a path the document itself is the list, or has one called items.
    """
    try:
        root = json.loads(document)
    except (ValueError, RecursionError):
        raise InvalidSource("JSON document", "it is not JSON; check the address") from None
    entries = _find_entries(root, path)
    return tuple(_read_entry(entry, fields) for entry in entries[:limit])


def find_value(document: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the value at a path of names and positions, or None if there is none."""
    parts = path.split(".") if path else []
    if len(parts) > _DEEPEST:
        return None
    for part in parts:
        if isinstance(document, dict):
            document = document.get(part)
        elif isinstance(document, list) and part.isascii() and part.isdecimal():
            position = int(part[:9])
            document = document[position] if position < len(document) else None
        else:
            return None
    return document


def _find_entries(root: Any, path: str) -> list[Any]:  # noqa: ANN401 - any JSON
    entries = find_value(root, path)
    if not path and isinstance(root, dict):
        entries = root.get("items")
    if isinstance(entries, dict):
        return [entries]
    if not isinstance(entries, list):
        place = f"items_path {path!r}" if path else "it"
        raise InvalidSource("JSON document", f"{place} has no list of items")
    return entries


def _read_entry(entry: Any, fields: Mapping[str, str]) -> SourceItem:  # noqa: ANN401 - any JSON
    texts = {}
    for field, usual in _USUAL.items():
        field_path = fields.get("id" if field == "identity" else field)
        paths = (field_path,) if field_path else usual
        texts[field] = next((text for path in paths if (text := _find_text(entry, path))), "")
    if not texts["content"] and "content" not in fields:
        texts["content"] = (
            entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False, indent=1)
        )
    return create_item(**{**texts, "published": read_time(texts["published"])})


def _find_text(entry: Any, path: str) -> str:  # noqa: ANN401 - any JSON
    entry_value = find_value(entry, path)
    if isinstance(entry_value, str):
        return entry_value
    if isinstance(entry_value, bool) or entry_value is None:
        return ""
    if isinstance(entry_value, int | float):
        return str(entry_value)
    return ""
