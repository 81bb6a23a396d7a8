"""Notes by which a lost history is noticed: the pages that had one, and the end of each log.

The list of pages stands beside the histories of a shelf, the number of the newest change beside
each log. Neither is synced: a power cut may undo a note, and a later loss is then not noticed.
Nothing else depends on the notes. By the note of removals, a running search learns that versions
are gone.
"""

from __future__ import annotations

import os

from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.scope import Shelf
    from looseleaf.stores.disk.store_folder import StoreFolder

NAME = ".pages"
HEAD = ".head"
REMOVALS = ".removals"
HISTORY = ".looseleaf/history"


def note_page(history_folder: int, name: str) -> None:
    """Add a page to the list of its shelf; `history_folder` is its open history."""
    line = name.replace("/", ":").encode() + b"\n"
    shelf = os.open("..", atomic.FOLDER, dir_fd=history_folder)
    try:
        atomic.add_line(shelf, NAME, line, mode=atomic.derive_file_mode(shelf))
    finally:
        os.close(shelf)


def read_known_pages(store: StoreFolder, shelf: Shelf) -> set[str]:
    """Read the names of all pages of a shelf that ever had a history."""
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


def note_head(history_folder: int, number: int) -> None:
    """Record the number of the newest change that is in a log."""
    atomic.overwrite(history_folder, HEAD, b"%020d\n" % number)


def read_head(history_folder: int) -> int:
    """Read the number of the newest change that was ever in a log, or 0 if it is not noted."""
    try:
        fd = os.open(HEAD, READ, dir_fd=history_folder)
    except FileNotFoundError:
        return 0  # an older Looseleaf made it
    try:
        digits = read_all(fd).strip()
    finally:
        os.close(fd)
    return int(digits) if digits.isdigit() else 0


def is_head_damaged(history_folder: int) -> bool:
    """Return whether the note of the newest change is no number; a power cut may leave it empty."""
    try:
        fd = os.open(HEAD, READ, dir_fd=history_folder)
    except FileNotFoundError:
        return False
    try:
        digits = read_all(fd).strip(b"\0\n")
    finally:
        os.close(fd)
    return bool(digits) and not digits.isdigit()


def note_removal(store: StoreFolder, shelf: Shelf) -> None:
    """Record that versions of a shelf are being removed: the note becomes longer."""
    folder = store.open_own(*HISTORY.split("/"), shelf.name)
    if folder is None:
        return
    try:
        with OsErrorContext(f"The history of {shelf.name}"):
            atomic.add_line(folder, REMOVALS, b"\n", mode=atomic.derive_file_mode(folder))
    finally:
        os.close(folder)


def count_removals(store: StoreFolder, shelf: Shelf) -> int:
    """Return the length of the note of removals; it changes with every removal."""
    try:
        return os.lstat(f"{store.root}/{HISTORY}/{shelf.name}/{REMOVALS}").st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0
