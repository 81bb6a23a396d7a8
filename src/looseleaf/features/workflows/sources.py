"""The items of a source: from feeds (RSS and Atom), parsed as a stream, and from JSON documents.

Expat parses the feeds. A document that declares an entity is refused, so nothing can be expanded
and nothing outside the document is read; docs/why.md has the reasons.
"""

from __future__ import annotations

import email.utils
import hashlib
import html
import json
from xml.parsers import expat

from looseleaf.errors.features import InvalidSource
from looseleaf.times import format_time, parse_time
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


# An item of a source: its identity, and its texts within limits.


MOST_ITEMS = 1_000  # of one document; what follows is not read
LONGEST_CONTENT = 100_000
LONGEST_TEXT = 2_000  # of a title, an address or a time
_CUT = "…"


@value
class SourceItem:
    """An entry of a feed or of a JSON document.

    Fields:
        identity: The id of the entry in the source, which stays the same.
        title: The title, or "" if there is none.
        content: The text, which may be HTML.
        url: The address of the entry.
        published: The time of its publication in UTC, or "" if the source gives none.
    """

    identity: str
    title: str = ""
    content: str = ""
    url: str = ""
    published: str = ""

    @property
    def key(self) -> str:
        """The hash of the identity, by which the item is remembered."""
        return hashlib.sha256(self.identity.encode("utf-8", "surrogatepass")).hexdigest()

    def to_data(self) -> dict[str, Any]:
        """Return the data of a packet; empty texts are left out."""
        data = {
            "content": self.content,
            "title": self.title,
            "url": self.url,
            "id": self.identity,
            "published": self.published,
        }
        return {name: text for name, text in data.items() if text or name == "content"}


def create_item(
    *, identity: str = "", title: str = "", content: str = "", url: str = "", published: str = ""
) -> SourceItem:
    """Build an item with its texts cut to their limits.

    An entry without an identity of its own is identified by its address, else by its text.
    """
    item_id = identity.strip() or url.strip()
    if not item_id:
        digest = hashlib.sha256(f"{title}\n{content}".encode("utf-8", "surrogatepass"))
        item_id = f"sha256:{digest.hexdigest()}"
    return SourceItem(
        cut_text(item_id, LONGEST_TEXT),
        cut_text(" ".join(title.split()), LONGEST_TEXT),
        cut_text(content.strip(), LONGEST_CONTENT),
        cut_text(url.strip(), LONGEST_TEXT),
        published,
    )


def cut_text(text: str, limit: int) -> str:
    """Cut a text to a number of characters, with `…` at the end."""
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT


_DEEPEST = 64
_MOST_CHARACTERS = 400_000  # of one element
_ATOM = "http://www.w3.org/2005/Atom "
_XHTML = "http://www.w3.org/1999/xhtml "
_CONTENT = "http://purl.org/rss/1.0/modules/content/ "
_DUBLIN_CORE = "http://purl.org/dc/elements/1.1/ "
_RSS_1 = "http://purl.org/rss/1.0/ "
_ENTRIES = {"item", f"{_RSS_1}item", f"{_ATOM}entry"}
_ROOTS = {
    "rss",
    f"{_ATOM}feed",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns# RDF",
}
# The elements of an entry, the best source of each field first.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "identity": ("guid", f"{_ATOM}id"),
    "title": ("title", f"{_ATOM}title", f"{_RSS_1}title", f"{_DUBLIN_CORE}title"),
    "content": (
        f"{_CONTENT}encoded",
        f"{_ATOM}content",
        "description",
        f"{_RSS_1}description",
        f"{_ATOM}summary",
    ),
    "url": ("link", f"{_ATOM}link", f"{_RSS_1}link"),
    "published": ("pubDate", f"{_ATOM}published", f"{_DUBLIN_CORE}date", f"{_ATOM}updated"),
}
_KNOWN = {name for names in _FIELDS.values() for name in names}


def parse_feed(document: bytes, *, limit: int = MOST_ITEMS) -> tuple[SourceItem, ...]:
    """Read the items of a feed in its order, or raise `InvalidSource`."""
    reader = _Reader(limit)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    # With a foreign DTD that is never read, an entity of HTML such as &nbsp; is skipped, not fatal.
    parser.UseForeignDTD(True)
    parser.ExternalEntityRefHandler = lambda *_names: 1
    parser.SkippedEntityHandler = reader.add_entity
    parser.EntityDeclHandler = _refuse_entity
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.add_text
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        place = f"line {error.lineno}"
        raise InvalidSource(
            "feed", f"it is not XML ({place}: {expat.ErrorString(error.code)})"
        ) from None
    except _Complete:
        pass
    return tuple(reader.items)


class _Complete(Exception):
    """The limit of items is reached."""


def _refuse_entity(*_declaration: object) -> None:
    raise InvalidSource("feed", "it declares entities, which no feed needs")


class _Reader:
    """Gathers the texts of the entries while the document is parsed."""

    def __init__(self, limit: int) -> None:
        self.items: list[SourceItem] = []
        self._limit = limit
        self._path: list[str] = []
        self._entry_depth = 0  # of the entry that is being read; 0 for none
        self._fields: dict[str, str] = {}
        self._element = ""  # the field that is being read
        self._parts: list[str] = []
        self._size = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Record the beginning of an element."""
        self._path.append(name)
        depth = len(self._path)
        if depth == 1 and name not in _ROOTS:
            raise InvalidSource("feed", "it is neither RSS nor Atom; check the address")
        if depth > _DEEPEST:
            raise InvalidSource("feed", f"it is nested more than {_DEEPEST} levels deep")
        if name in _ENTRIES and not self._entry_depth:
            self._entry_depth, self._fields = depth, {}
        elif self._entry_depth and depth == self._entry_depth + 1 and name in _KNOWN:
            self._element, self._parts, self._size = name, [], 0
            if name == f"{_ATOM}link":
                self._note_link(attributes)
        elif self._element and name.startswith(_XHTML):
            self.add_text(f"<{name.removeprefix(_XHTML)}>")

    def end(self, name: str) -> None:
        """Record the end of an element."""
        depth = len(self._path)
        self._path.pop()
        if self._element and depth == self._entry_depth + 1:
            text = "".join(self._parts).strip()
            if text:
                self._fields.setdefault(self._element, text)
            self._element = ""
        elif self._element and name.startswith(_XHTML):
            self.add_text(f"</{name.removeprefix(_XHTML)}>")
        elif self._entry_depth and depth == self._entry_depth:
            self._entry_depth = 0
            self._add_item()

    def add_text(self, text: str) -> None:
        """Add text to the field that is being read."""
        if not self._element:
            return
        self._parts.append(text[: _MOST_CHARACTERS - self._size])
        self._size += len(self._parts[-1])

    def add_entity(self, name: str, _is_parameter: bool) -> None:  # noqa: FBT001 - as expat calls it
        """Add an entity of HTML that the document does not declare."""
        self.add_text(html.unescape(f"&{name};"))

    def _note_link(self, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate") == "alternate" and attributes.get("href"):
            self._fields.setdefault(f"{_ATOM}link", attributes["href"])

    def _add_item(self) -> None:
        fields = {
            field: next((self._fields[name] for name in names if name in self._fields), "")
            for field, names in _FIELDS.items()
        }
        fields["title"] = html.unescape(fields["title"])
        self.items.append(create_item(**{**fields, "published": read_time(fields["published"])}))
        if len(self.items) >= self._limit:
            raise _Complete


def read_time(text: str) -> str:
    """Read a time as RSS, Atom or JSON write it, or "" if the text is no time."""
    text = text.strip()
    try:
        return format_time(parse_time(text))
    except (ValueError, OverflowError):
        pass
    try:
        return format_time(email.utils.parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""


# Items of a JSON document: a path to the list, and paths to the fields of an entry.


_MOST_PATH_PARTS = 20  # parts of a path
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
    if len(parts) > _MOST_PATH_PARTS:
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
