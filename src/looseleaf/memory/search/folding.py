"""Texts as a search compares them, and the pages it reads them from."""

from __future__ import annotations

from looseleaf.errors import Unsafe
from looseleaf.memory.sections import is_body_marker
from looseleaf.memory.store import Found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store

_MARKER = b"datamachine-section-body"


def fold_content(content: bytes) -> bytes:
    """Return a page's text as it is compared: case folded, marker lines of bodies emptied."""
    if _MARKER not in content and content.isascii():
        return content.lower()
    text = content.decode("utf-8", "replace")
    if _MARKER in content:
        text = "\n".join("" if is_body_marker(line) else line for line in text.split("\n"))
    return text.casefold().encode()


def count_lines(folded_text: bytes, needle: bytes) -> int:
    """Count the lines of a folded text that hold a needle."""
    count, at = 0, folded_text.find(needle)
    while at >= 0:
        count += 1
        end = folded_text.find(b"\n", at)
        at = folded_text.find(needle, end) if end >= 0 else -1
    return count


def read_content(store: Store, shelf: Shelf, filename: str) -> bytes | None:
    """Read a page for a search, or None if there is none."""
    try:
        page = store.read(shelf.page(filename))
    except Unsafe:
        return None  # a file that the store refuses is no page
    return page.content if isinstance(page, Found) else None


def read_folded_pages(store: Store, shelf: Shelf) -> Iterator[tuple[str, bytes]]:
    """Yield every page of a shelf with its folded text."""
    for entry in store.list_subtree(shelf, ""):
        content = read_content(store, shelf, entry.filename)
        if content is not None:
            yield entry.filename, fold_content(content)
