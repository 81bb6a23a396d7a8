"""Verification of a search index: its texts against the pages, its terms against the texts."""

from __future__ import annotations

import sqlite3
from itertools import zip_longest

from looseleaf.errors import LooseleafError
from looseleaf.memory.search.folding import fold_content
from looseleaf.memory.store import Found
from looseleaf.stores.index.file_states import Tree
from looseleaf.stores.index.index_checksum import is_abandoned
from looseleaf.stores.index.index_file import IN_MEMORY, IndexFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Shelf
    from looseleaf.stores.index.shelf_index import DiskPages


def verify_index(store: DiskPages, shelf: Shelf, path: str) -> list[str]:
    """List the first difference between an index and its pages; changed pages are skipped."""
    if is_abandoned(path):
        return []
    try:
        index = IndexFile(path)
    except sqlite3.DatabaseError as error:
        return [str(error)]
    new_index = IndexFile(IN_MEMORY)
    try:
        index.begin()
        # To the end, since the terms are compared with an index of all texts.
        differences = [*_verify_texts(store, shelf, index, new_index)]
        return (differences or [*_verify_terms(index, new_index)])[:1]
    except (sqlite3.DatabaseError, UnicodeError, TypeError) as error:
        return [str(error)]
    finally:
        index.close()
        new_index.close()


def _verify_texts(
    store: DiskPages, shelf: Shelf, index: IndexFile, new_index: IndexFile
) -> Iterator[str]:
    """Compare each text with its page, and add it to a new index."""
    tree = Tree(store.folder(shelf), may_watch=False)
    for name, number, signature in sorted(index.pages(), key=lambda page: page[1]):
        text = index.text(number)
        new_index.add(name, text, number=number)
        if index.has_words(number):
            new_index.add_words(number, name)
            if new_index.stems(number) != index.stems(number):
                yield f"the words of {name} differ from those of the page"
        if signature is not None and tree.check_page(name) == signature:
            try:
                page = store.read(shelf.page(name))
            except LooseleafError:
                continue  # an unreadable page is a finding of its own
            if isinstance(page, Found) and fold_content(page.content) != text:
                yield f"the text of {name} differs from that of the page"


def _verify_terms(index: IndexFile, new_index: IndexFile) -> Iterator[str]:
    for table in ("trigrams", "words"):
        pairs = zip_longest(index.terms(table), new_index.terms(table))
        if any(entry != rebuilt_entry for entry, rebuilt_entry in pairs):
            yield f"its {table} differ from those of its texts"
