"""The pages of deleted agents, which can be restored, in the folder of the deletion."""

from __future__ import annotations

import os

from looseleaf.files.folders import open_folder, open_page_at, read_all
from looseleaf.memory.store import Found, Missing
from looseleaf.stores.disk.agents.record_files import DELETED, RECORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.scope import Scope
    from looseleaf.stores.disk.store_folder import StoreFolder


def read_deleted_page(store: StoreFolder, scope: Scope) -> tuple[Found | Missing, bool]:
    """Read a page of an agent that is not in use, and return whether its folder was found."""
    folder = _find_folder(store, scope.agent_id)
    if not folder:
        return Missing(), False
    try:
        fd = open_page_at(store.root, f"{folder}/{scope.filename}")
    except (FileNotFoundError, NotADirectoryError):
        return Missing(), True
    try:
        return Found(read_all(fd), os.fstat(fd).st_mtime), True
    finally:
        os.close(fd)


def _find_folder(store: StoreFolder, agent_id: int) -> str:
    """Return the folder of a deleted agent's pages, or "" if it has none any more."""
    deleted = store.open_own(*DELETED.split("/"))
    if deleted is None:
        return ""
    try:
        for name in os.listdir(deleted):
            number, _, slug = name.partition("-")
            if number != str(agent_id):
                continue
            names = _list_names(deleted, name)
            if names != [RECORD]:
                return f"{DELETED}/{name}"
            # Only the record was moved; another agent may use the folder since.
            path = f"agents/{slug}"
            is_free = not os.path.lexists(f"{store.root}/{path}/{RECORD}")
            return path if is_free and os.path.isdir(f"{store.root}/{path}") else ""
    finally:
        os.close(deleted)
    return ""


def _list_names(parent: int, name: str) -> list[str]:
    folder = open_folder(parent, (name,))
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)
