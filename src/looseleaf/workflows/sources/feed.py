"""Feeds: RSS and Atom, parsed as a stream up to the limits of items and texts.

Expat does the parsing. A document that declares an entity is refused, so nothing can be expanded
and nothing outside the document is read; docs/why.md has the reasons.
"""

from __future__ import annotations

import email.utils
import html
from xml.parsers import expat

from looseleaf.errors.workflows import InvalidSource
from looseleaf.times import format_time, parse_time
from looseleaf.workflows.sources.item import MOST_ITEMS, create_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.workflows.sources.item import SourceItem

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
