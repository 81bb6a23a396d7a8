"""Verifying a search index: its texts against the pages, its terms against the texts."""

from __future__ import annotations

import sqlite3
from itertools import zip_longest

from looseleaf.errors import LooseleafError
from looseleaf.memory.folding import fold
from looseleaf.memory.store import Found
from looseleaf.stores.freshness import Tree
from looseleaf.stores.index_file import IN_MEMORY, IndexFile
from looseleaf.stores.index_seal import is_abandoned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Shelf
    from looseleaf.stores.shelf_index import DiskPages


def verify_index(store: DiskPages, shelf: Shelf, path: str) -> list[str]:
    """Say what an index has that its pages have not; a page that changed since is passed over."""
    if is_abandoned(path):
        return []
    try:
        index = IndexFile(path)
    except sqlite3.DatabaseError as error:
        return [str(error)]
    anew = IndexFile(IN_MEMORY)
    try:
        index.begin()
        return [*_verify_texts(store, shelf, index, anew), *_verify_terms(index, anew)][:1]
    except (sqlite3.DatabaseError, UnicodeError, TypeError) as error:
        return [str(error)]
    finally:
        index.close()
        anew.close()


def _verify_texts(
    store: DiskPages, shelf: Shelf, index: IndexFile, anew: IndexFile
) -> Iterator[str]:
    """Compare each text with its page, and put it into an index made anew."""
    tree = Tree(store.folder(shelf), watching=False)
    for name, number, signature in sorted(index.pages(), key=lambda page: page[1]):
        text = index.text(number)
        anew.add(name, text, number=number)
        if index.has_words(number):
            anew.add_words(number, name)
            if anew.stems(number) != index.stems(number):
                yield f"the words of {name} are not those of the page"
        if signature is not None and tree.look(name) == signature:
            try:
                page = store.read(shelf.page(name))
            except LooseleafError:
                continue  # what cannot be read is another finding
            if isinstance(page, Found) and fold(page.content) != text:
                yield f"the text of {name} is not that of the page"


def _verify_terms(index: IndexFile, anew: IndexFile) -> Iterator[str]:
    for table in ("trigrams", "words"):
        pairs = zip_longest(index.terms(table), anew.terms(table))
        if any(stored != expected for stored, expected in pairs):
            yield f"its {table} are not those of its texts"
