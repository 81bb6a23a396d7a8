"""Listing the pages in a folder on disk, and nothing else that lies there."""

from __future__ import annotations

import errno
import os

from looseleaf.errors import LooseleafError
from looseleaf.files.folders import open_folder
from looseleaf.memory.scope import MAX_DEPTH, check_filename
from looseleaf.memory.store import PageEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


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
