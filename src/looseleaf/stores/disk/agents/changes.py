"""Creating, renaming, deleting and restoring an agent, each by one step that is done or not done.

A new agent is built beside the others, in `agents/.new`, and gets its slug by one rename. Renaming
is one rename, and the record says beforehand which name goes with the new slug. Deleting moves the
folder to `.looseleaf/deleted`, restoring moves it back. A step that cannot be made durable is
undone before the error is raised.
"""

from __future__ import annotations

import os
from contextlib import suppress

from looseleaf.agents.record import format_record
from looseleaf.errors import LooseleafError
from looseleaf.errors.agents import AgentExists, InvalidAgent
from looseleaf.files import atomic
from looseleaf.files.folders import casefold_name, open_folder, refuse_twin
from looseleaf.stores.disk.agents.record_files import NEW, RECORD
from looseleaf.stores.disk.agents.register import RegisterEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.stores.disk.agents.locked_folder import LockedAgents


def create(
    locked_agents: LockedAgents, record: AgentRecord, start: Callable[[AgentRecord], object]
) -> None:
    """Create an agent that `LockedAgents.begin` has given an id; `start` writes its first pages.

    A folder of that name without a record is taken over as it is: the record makes it an agent.
    """
    slug = record.slug
    taken_over = slug in os.listdir(locked_agents.agents_fd)
    try:
        atomic.create_folder(locked_agents.agents_fd, NEW, mode=locked_agents.folder_mode)
        new = locked_agents.open_agent(NEW)
        atomic.create_durably(new, RECORD, format_record(record), mode=locked_agents.file_mode)
        locked_agents.folder.unfinished_folders[record.id] = slug if taken_over else NEW
        start(record)
        if taken_over:
            _move_durably((new, RECORD), (locked_agents.open_agent(slug), RECORD))
        else:
            _move_durably((locked_agents.agents_fd, NEW), (locked_agents.agents_fd, slug))
    except BaseException:
        with suppress(OSError, LooseleafError):
            locked_agents.abandon(RegisterEntry(record.id, slug))
        raise
    finally:
        locked_agents.folder.unfinished_folders.pop(record.id, None)
    with suppress(OSError):
        atomic.remove_tree(locked_agents.agents_fd, NEW)
    locked_agents.note(record)


def rename(locked_agents: LockedAgents, record: AgentRecord, new_record: AgentRecord) -> None:
    """Rename an agent's folder to another slug, and change the name in its record."""
    if new_record.slug == record.slug:
        locked_agents.write_record(record.slug, format_record(new_record))
        return
    if new_record.slug in os.listdir(locked_agents.agents_fd):
        raise AgentExists(new_record.slug)
    if casefold_name(new_record.slug) != casefold_name(record.slug):
        refuse_twin(locked_agents.agents_fd, new_record.slug)
    locked_agents.write_record(record.slug, format_record(record, new_record=new_record))
    try:
        _move_durably(
            (locked_agents.agents_fd, record.slug), (locked_agents.agents_fd, new_record.slug)
        )
    except BaseException:
        with suppress(OSError):
            locked_agents.write_record(record.slug, format_record(record))
        raise
    with suppress(OSError):
        locked_agents.write_record(new_record.slug, format_record(new_record))
    locked_agents.note(new_record)


def delete(locked_agents: LockedAgents, record: AgentRecord, time: str, *, files: bool) -> None:
    """Move an agent's folder, or its record alone, to the folder of deleted agents."""
    deleted, name = locked_agents.open_deleted(), f"{record.id}-{record.slug}"
    if files:
        _move_durably((locked_agents.agents_fd, record.slug), (deleted, name))
    else:
        atomic.create_folder(deleted, name, mode=locked_agents.folder_mode)
        deleted_folder = open_folder(deleted, (name,))
        try:
            _move_durably((locked_agents.open_agent(record.slug), RECORD), (deleted_folder, RECORD))
        except BaseException:
            with suppress(OSError):
                atomic.remove_folder(deleted, name)
            raise
        finally:
            os.close(deleted_folder)
        with suppress(OSError):
            remove_empty(locked_agents.agents_fd, record.slug)
    locked_agents.note_deleted(record, time)


def restore(locked_agents: LockedAgents, name: str, record: AgentRecord) -> None:
    """Restore the folder of a deleted agent, or its record if the folder stayed."""
    deleted = locked_agents.open_deleted()
    if locked_agents.folder.files.read(record.slug) is not None:
        raise AgentExists(record.slug)
    if record.slug not in os.listdir(locked_agents.agents_fd):
        refuse_twin(locked_agents.agents_fd, record.slug)
        _move_durably((deleted, name), (locked_agents.agents_fd, record.slug))
    else:
        deleted_folder = open_folder(deleted, (name,))
        try:
            if os.listdir(deleted_folder) != [RECORD]:
                reason = f"agents/{record.slug} holds pages of no agent; restore it as another slug"
                raise InvalidAgent(record.slug, reason)
            _move_durably((deleted_folder, RECORD), (locked_agents.open_agent(record.slug), RECORD))
        finally:
            os.close(deleted_folder)
        with suppress(OSError):
            atomic.remove_folder(deleted, name)
    locked_agents.note(record)


def _move_durably(source: tuple[int, str], target: tuple[int, str]) -> None:
    """Move a name from one open folder to another, durably, or leave it where it was."""
    atomic.move(*source, *target)
    try:
        for folder in {source[0], target[0]}:
            atomic.sync(folder)
    except BaseException:
        with suppress(OSError):
            atomic.move(*target, *source)
            atomic.sync(source[0])
        raise


def remove_empty(parent: int, name: str) -> bool:
    """Remove a folder and the folders in it, unless a file is left somewhere."""
    folder = open_folder(parent, (name,))
    try:
        for inner in _list_folders(folder):
            remove_empty(folder, inner)
        empty = not os.listdir(folder)
    finally:
        os.close(folder)
    if empty:
        atomic.remove_folder(parent, name)
    return empty


def _list_folders(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
