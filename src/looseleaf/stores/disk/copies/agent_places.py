"""Where the agents of a workspace lie at one moment, so that all of them are copied as they were.

An agent that is renamed, deleted or restored while a copy is made moves to another folder. It is
found again by the inode number of its folder, and copied under the name that it had.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from looseleaf.agents.record import parse_record
from looseleaf.files import atomic
from looseleaf.files.file_copies import copy_file
from looseleaf.files.folders import READ, open_folder, read_all
from looseleaf.stores.disk.agents.record_files import DELETED, NEW, RECORD
from looseleaf.stores.disk.agents.register import REGISTER
from looseleaf.stores.disk.copies.folder_copies import list_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.files.file_copies import FileCopy

AGENTS = "agents"
_SUBJECT = "The folder of agents"
_NO_ID = 0


class AgentPlace(NamedTuple):
    """The folder of an agent, present or deleted: `parent` is the path of the folder it lies in."""

    parent: str
    name: str
    inode: int
    agent_id: int  # 0 if it has no record that can be read


class AgentPlaces(NamedTuple):
    """All folders of agents and the register, as they were at one moment."""

    places: list[AgentPlace]
    register: FileCopy | None
    left_out: list[str]


def list_agent_places(root: int) -> AgentPlaces:
    """Look at the agents while none of them can be created, moved or deleted."""
    agents = _open(root, AGENTS)
    if agents is None:
        return AgentPlaces([], None, [])
    places: list[AgentPlace] = []
    left_out: list[str] = []
    try:
        atomic.lock(agents, _SUBJECT)
        for parent in (AGENTS, DELETED):
            folder = _open(root, parent)
            if folder is None:
                continue
            try:
                for name, is_folder, is_file in list_folder(folder):
                    if is_folder and name != NEW:
                        places.append(_look_at(folder, parent, name))
                    elif not is_folder and not is_file:
                        left_out.append(f"{parent}/{name}: it is a link or a device")
            finally:
                os.close(folder)
        try:
            register = copy_file(agents, REGISTER, os.fsencode(f"{AGENTS}/{REGISTER}"))
        except FileNotFoundError:
            register = None
    finally:
        os.close(agents)
    return AgentPlaces(places, register, left_out)


def open_place(root: int, place: AgentPlace) -> int | None:
    """Open the folder of an agent, wherever it lies now, or None if it no longer exists."""
    folder = _open(root, f"{place.parent}/{place.name}")
    if folder is not None:
        if os.fstat(folder).st_ino == place.inode:
            return folder
        os.close(folder)
    for parent in (AGENTS, DELETED):
        name = _find_name(root, parent, place.inode)
        if name:
            return _open(root, f"{parent}/{name}")
    return None


def find_moved_record(root: int, place: AgentPlace) -> FileCopy | None:
    """Read the record of an agent that was deleted meanwhile and whose pages stayed."""
    if place.agent_id == _NO_ID:
        return None
    deleted = _open(root, f"{DELETED}/{place.agent_id}-{place.name}")
    if deleted is None:
        return None
    try:
        return copy_file(deleted, RECORD, os.fsencode(f"{place.parent}/{place.name}/{RECORD}"))
    except FileNotFoundError:
        return None
    finally:
        os.close(deleted)


def has_record(folder: int) -> bool:
    """Return whether an open folder has the record of an agent."""
    try:
        os.stat(RECORD, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _look_at(folder: int, parent: str, name: str) -> AgentPlace:
    inner = open_folder(folder, (name,))
    try:
        return AgentPlace(parent, name, os.fstat(inner).st_ino, _read_id(inner))
    finally:
        os.close(inner)


def _read_id(folder: int) -> int:
    try:
        fd = os.open(RECORD, READ, dir_fd=folder)
    except OSError:
        return _NO_ID
    try:
        return parse_record("", read_all(fd)).id
    except (ValueError, KeyError, TypeError):
        return _NO_ID
    finally:
        os.close(fd)


def _find_name(root: int, parent: str, inode: int) -> str:
    """Find the folder with an inode number, or "" if there is none."""
    folder = _open(root, parent)
    if folder is None:
        return ""
    try:
        with os.scandir(folder) as entries:
            return next((entry.name for entry in entries if entry.inode() == inode), "")
    finally:
        os.close(folder)


def _open(folder: int, path: str) -> int | None:
    try:
        return open_folder(folder, path.split("/"))
    except (FileNotFoundError, NotADirectoryError):
        return None
