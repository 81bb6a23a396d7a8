"""Listing the pages in a folder on disk, and nothing else that lies there."""

from __future__ import annotations

import errno
import os

from looseleaf.errors import LooseleafError
from looseleaf.files.folders import open_folder
from looseleaf.memory.scope import MAX_DEPTH, Shelf, check_filename
from looseleaf.memory.store import PageEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Scope


def list_pages(folder: int, prefix: str, *, deep: bool) -> list[PageEntry]:
    """List the pages in an open directory by name, and close it; `deep` looks into its folders."""
    return sorted(_walk_pages(folder, prefix, deep=deep), key=_filename_of)


def _filename_of(entry: PageEntry) -> str:
    return entry.filename


def _walk_pages(folder: int, prefix: str, *, deep: bool) -> Iterator[PageEntry]:
    """Yield the files of an open directory that can be pages, but no links, and close it."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if deep and name.count("/") < MAX_DEPTH - 1:
                        yield from _walk_subfolder(folder, entry.name, prefix)
                elif entry.is_file(follow_symlinks=False) and _is_page(name):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # deleted while we were listing
                    yield PageEntry(name, status.st_size, status.st_mtime)
    finally:
        os.close(folder)


def _walk_subfolder(folder: int, name: str, prefix: str) -> Iterator[PageEntry]:
    try:
        inner = open_folder(folder, (name,))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            return  # deleted, or turned into a link, while we were listing
        raise
    yield from _walk_pages(inner, f"{prefix}{name}/", deep=True)


def _is_page(filename: str) -> bool:
    try:
        check_filename(filename)
    except LooseleafError:
        return False
    return True


# The places of a page's history and its staged files, and how their names are parsed.


HISTORY = ".looseleaf/history"
STAGING = ".looseleaf/staging"
MAKING = ":making"
LOG = "log"
PACK = "pack"


def history_path_of(scope: Scope) -> str:
    """Return the folder of a page's history, below the root."""
    return f"{HISTORY}/{scope.shelf_name}/{scope.filename.replace('/', ':')}"


def staged_name_of(scope: Scope) -> str:
    """Return the name of a page's staged file; no page has `:` in its name, so it can be parsed."""
    return f"{scope.shelf_name}:{scope.filename.replace('/', ':')}"


def parse_staged_name(name: str) -> Scope | None:
    """Parse a name in staging, or in a shelf's history, or None if it is the name of no page."""
    shelf_name, _, rest = name.partition(":")
    shelf = parse_shelf_name(shelf_name)
    try:
        return shelf.page(rest.replace(":", "/")) if shelf is not None else None
    except LooseleafError:
        return None


def parse_shelf_name(name: str) -> Shelf | None:
    """Parse the name of a shelf, such as agent-3, or None if it is no such name."""
    layer, _, identity = name.partition("-")
    agent, dash, user = identity.partition("-")
    if bool(dash) != (layer == "principal"):
        return None
    agent_id, user_id = (
        int(number) if number.isascii() and number.isdigit() else 0
        for number in (agent, user or agent)
    )
    try:
        return Shelf(layer, user_id, agent_id)  # type: ignore[arg-type]
    except LooseleafError:
        return None
