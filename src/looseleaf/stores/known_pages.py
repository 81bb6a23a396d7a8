"""The list of pages of a shelf that ever had a history, by which one that is gone is missed.

A line is added when the history of a page begins. It is not synced: a power cut may take the line
away, and then a history that goes missing later is not missed; nothing else depends on the list.
"""

from __future__ import annotations

import os

from looseleaf import atomic
from looseleaf.folders import READ, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.scope import Shelf
    from looseleaf.stores.disk import DiskStore

NAME = ".pages"
HISTORY = ".looseleaf/history"


def note_page(history_folder: int, name: str, *, mode: int) -> None:
    """Add a page to the list of its shelf; `history_folder` is that of the page, open."""
    shelf = os.open("..", atomic.FOLDER, dir_fd=history_folder)
    try:
        atomic.add_line(shelf, NAME, name.replace("/", ":").encode() + b"\n", mode=mode)
    finally:
        os.close(shelf)


def known_pages(store: DiskStore, shelf: Shelf) -> set[str]:
    """Give the names of all pages of a shelf that ever had a history."""
    folder = store.open_own(*HISTORY.split("/"), shelf.name)
    if folder is None:
        return set()
    try:
        fd = os.open(NAME, READ, dir_fd=folder)
    except FileNotFoundError:
        return set()  # an older Looseleaf made it
    finally:
        os.close(folder)
    try:
        lines = read_all(fd).decode("utf-8", "replace").split("\n")
    finally:
        os.close(fd)
    return {line.replace(":", "/") for line in lines[:-1]}
