"""Creating, renaming, deleting and restoring an agent, each by one step that is done or not done.

A new agent is built beside the others, in `agents/.new`, and gets its slug by one rename. Renaming
is one rename, and the record says beforehand which name goes with the new slug. Deleting moves the
folder to `.looseleaf/deleted`, restoring moves it back. A step that cannot be made durable is
undone before the error is raised.
"""

from __future__ import annotations

import os
from contextlib import suppress

from looseleaf import atomic
from looseleaf.agents.files import NEW, RECORD
from looseleaf.agents.record import record_text
from looseleaf.agents.register import Registered
from looseleaf.errors import AgentExists, InvalidAgent, LooseleafError
from looseleaf.folders import fold, open_folder, refuse_twin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.held import HeldAgents
    from looseleaf.agents.record import AgentRecord


def create(held: HeldAgents, record: AgentRecord, start: Callable[[AgentRecord], object]) -> None:
    """Create an agent that `HeldAgents.begin` has given an id; `start` writes its first pages.

    A folder of that name without a record is taken over as it is: its record is what makes it one.
    """
    slug = record.slug
    taken_over = slug in os.listdir(held.agents)
    try:
        atomic.make_folder(held.agents, NEW, mode=held.folder_mode)
        new = held.open_agent(NEW)
        atomic.create_durably(new, RECORD, record_text(record), mode=held.file_mode)
        held.directory.building[record.id] = slug if taken_over else NEW
        start(record)
        if taken_over:
            _step((new, RECORD), (held.open_agent(slug), RECORD))
        else:
            _step((held.agents, NEW), (held.agents, slug))
    except BaseException:
        with suppress(OSError, LooseleafError):
            held.abandon(Registered(record.id, slug))
        raise
    finally:
        held.directory.building.pop(record.id, None)
    with suppress(OSError):
        atomic.remove_tree(held.agents, NEW)
    held.note(record)


def rename(held: HeldAgents, record: AgentRecord, renamed: AgentRecord) -> None:
    """Give an agent's folder another slug, and its record another name with it."""
    if renamed.slug == record.slug:
        held.write_record(record.slug, record_text(renamed))
        return
    if renamed.slug in os.listdir(held.agents):
        raise AgentExists(renamed.slug)
    if fold(renamed.slug) != fold(record.slug):
        refuse_twin(held.agents, renamed.slug)
    held.write_record(record.slug, record_text(record, renamed=renamed))
    try:
        _step((held.agents, record.slug), (held.agents, renamed.slug))
    except BaseException:
        with suppress(OSError):
            held.write_record(record.slug, record_text(record))
        raise
    with suppress(OSError):
        held.write_record(renamed.slug, record_text(renamed))
    held.note(renamed)


def delete(held: HeldAgents, record: AgentRecord, time: str, *, files: bool) -> None:
    """Move an agent's folder, or its record alone, to where deleted agents are kept."""
    deleted, name = held.open_deleted(), f"{record.id}-{record.slug}"
    if files:
        _step((held.agents, record.slug), (deleted, name))
    else:
        atomic.make_folder(deleted, name, mode=held.folder_mode)
        there = open_folder(deleted, (name,))
        try:
            _step((held.open_agent(record.slug), RECORD), (there, RECORD))
        except BaseException:
            with suppress(OSError):
                atomic.remove_folder(deleted, name)
            raise
        finally:
            os.close(there)
        with suppress(OSError):
            remove_empty(held.agents, record.slug)
    held.note_deleted(record, time)


def restore(held: HeldAgents, name: str, record: AgentRecord) -> None:
    """Give a deleted agent its folder back, or its record where the folder stayed."""
    deleted = held.open_deleted()
    if held.directory.files.read(record.slug) is not None:
        raise AgentExists(record.slug)
    if record.slug not in os.listdir(held.agents):
        refuse_twin(held.agents, record.slug)
        _step((deleted, name), (held.agents, record.slug))
    else:
        there = open_folder(deleted, (name,))
        try:
            if os.listdir(there) != [RECORD]:
                why = f"agents/{record.slug} holds pages of no agent; restore it as another slug"
                raise InvalidAgent(record.slug, why)
            _step((there, RECORD), (held.open_agent(record.slug), RECORD))
        finally:
            os.close(there)
        with suppress(OSError):
            atomic.remove_folder(deleted, name)
    held.note(record)


def _step(source: tuple[int, str], target: tuple[int, str]) -> None:
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
        for inner in _folders(folder):
            remove_empty(folder, inner)
        empty = not os.listdir(folder)
    finally:
        os.close(folder)
    if empty:
        atomic.remove_folder(parent, name)
    return empty


def _folders(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
