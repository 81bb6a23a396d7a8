"""An item of a source: its identity, and its texts within limits."""

from __future__ import annotations

import hashlib

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
