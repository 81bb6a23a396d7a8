"""A page as operations return it: its text, or one section of it, and its version."""

from __future__ import annotations

from looseleaf.memory.pages import decode_text
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from looseleaf.memory.store import Found
else:
    TypedDict = dict

MAIN = "MEMORY.md"  # the page that is meant if none is named


class PageDocument(TypedDict):
    """A page, or one section of it, as JSON has it; hash, bytes and updated are the page's."""

    file: str
    layer: str
    section: str | None
    content: str
    hash: str
    bytes: int
    updated: float


@value
class PageText:
    """A page, or one section of it, as it was read."""

    file: str
    page: Found
    layer: str
    section: str | None = None
    part: str | None = None

    @property
    def content(self) -> str:
        """The text that was asked for, exactly."""
        return self.part if self.part is not None else decode_text(self.file, self.page.content)

    @property
    def raw(self) -> bytes:
        """The same content as bytes; those of a page may be no valid text."""
        return self.part.encode() if self.part is not None else self.page.content

    @property
    def hash(self) -> str:
        """The version of the whole page."""
        return self.page.hash

    @property
    def size(self) -> int:
        """How many bytes the whole page has."""
        return len(self.page.content)

    @property
    def updated(self) -> float:
        """When the page last changed; 0 for a past version."""
        return self.page.updated

    def document(self) -> PageDocument:
        """Return the JSON document of the result: the text, without the rest of the page."""
        return PageDocument(
            file=self.file,
            layer=self.layer,
            section=self.section,
            content=self.content,
            hash=self.hash,
            bytes=self.size,
            updated=self.updated,
        )
