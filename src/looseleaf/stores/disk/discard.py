"""Removing the files of an agent that was never finished."""

from __future__ import annotations

import os

from looseleaf.files import atomic
from looseleaf.files.folders import NO_FILE, READ, inode_of, open_folder, read_all
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.revisions import PageLog
from looseleaf.stores.disk.history_names import HISTORY, MAKING, STAGING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.stores.disk.store_folder import StoreFolder


def discard_agent(store: StoreFolder, agent_id: int, slug: str) -> None:
    """Remove the history of an id that no agent has, and the first pages that it had.

    `slug` names the folder that was to be taken over. A page in it is removed only if it still has
    its first text: a text that anyone wrote there before or since stays.
    """
    shelf = Shelf("agent", 0, agent_id)
    folder = store.open_own("agents", slug) if slug else None
    staging = store.open_own(*STAGING.split("/"))
    history = store.open_own(*HISTORY.split("/"))
    try:
        if staging is not None:
            _remove_staged(staging, folder, shelf)
        if history is not None:
            if folder is not None:
                _remove_started(history, folder, shelf)
            atomic.remove_tree(history, shelf.name)
    finally:
        for fd in (folder, staging, history):
            if fd is not None:
                os.close(fd)


def _remove_staged(staging: int, folder: int | None, shelf: Shelf) -> None:
    """Remove the staged files of interrupted writes, and the pages that are the same files."""
    for name in os.listdir(staging):
        shelf_name, _, page = name.removesuffix(MAKING).partition(":")
        if shelf_name == shelf.name:
            if folder is not None and inode_of(folder, page) == inode_of(staging, name):
                atomic.remove(folder, page)
            atomic.remove(staging, name)


def _remove_started(history: int, folder: int, shelf: Shelf) -> None:
    try:
        pages = open_folder(history, (shelf.name,))
    except FileNotFoundError:
        return
    try:
        for name in os.listdir(pages):
            is_core = ":" not in name and not name.startswith(".")  # a page, and not in a folder
            if is_core and _is_as_started(pages, folder, name):
                atomic.remove(folder, name)
    finally:
        os.close(pages)


def _is_as_started(pages: int, folder: int, name: str) -> bool:
    """Return whether a page has one version, written for this agent, and still has its text."""
    inner = open_folder(pages, (name,))
    try:
        lines = PageLog(inner, name).lines()
    finally:
        os.close(inner)
    if len(lines) != 1 or inode_of(folder, name) == NO_FILE:
        return False
    fd = os.open(name, READ, dir_fd=folder)
    try:
        return bool(hash_content(read_all(fd)) == lines[0]["hash"])
    finally:
        os.close(fd)
