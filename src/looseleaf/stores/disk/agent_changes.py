"""Creating, renaming, deleting and restoring an agent, each by one step that is done or not done.

A new agent is built beside the others, in `agents/.new`, and gets its slug by one rename. Renaming
is one rename, and the record says beforehand which name goes with the new slug. Deleting moves the
folder to `.looseleaf/deleted`, restoring moves it back. A step that cannot be made durable is
undone before the error is raised.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from looseleaf.agents.record import format_record
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.errors.pages import AgentExists, InvalidAgent
from looseleaf.files import atomic
from looseleaf.files.folders import (
    READ,
    OsErrorContext,
    casefold_name,
    explain_os_error,
    open_folder,
    read_all,
    refuse_twin,
)
from looseleaf.stores.disk.agent_records import DELETED_FOLDER, HINTS, NEW, RECORD, REGISTER, STAGED
from looseleaf.times import format_time
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.stores.disk.agent_records import AgentsFolder


# The register of agents: which ids were given, to whom, and who was deleted.
# It is `agents/register.json`, outside `.looseleaf`, so that no id is given again if that
# folder was lost. The records in the agents' folders are the truth about the agents that exist;
# the register remembers the others.


PRESENT, UNFINISHED, DELETED = "present", "unfinished", "deleted"


@value
class RegisterEntry:
    """An agent that has an id: present, deleted, or about to be created when a process died."""

    id: int
    slug: str
    state: str = PRESENT
    deleted: str = ""  # when


class Register:
    """The register as it was read; `write_register` replaces the file."""

    def __init__(self, next_id: int = 1, agents: Iterable[RegisterEntry] = ()) -> None:
        self.next_id = next_id
        self.agents = {entry.id: entry for entry in agents}

    def enter(self, entry: RegisterEntry) -> None:
        """Register an agent, in the place of an earlier entry of its id."""
        self.agents[entry.id] = entry
        self.next_id = max(self.next_id, entry.id + 1)

    def enter_records(self, records: Iterable[AgentRecord]) -> None:
        """Register the agents that have a record: created by hand, renamed, or brought back."""
        for record in records:
            entry = self.agents.get(record.id, RegisterEntry(record.id, ""))
            if (entry.slug, entry.state) != (record.slug, PRESENT):
                self.enter(RegisterEntry(record.id, record.slug))

    def is_present(self, record: AgentRecord) -> bool:
        """Return whether an agent is entered as present."""
        entry = self.agents.get(record.id)
        return entry is not None and entry.state == PRESENT

    def unfinished_entries(self) -> list[RegisterEntry]:
        """List the agents whose creation has not come to its end."""
        return [entry for entry in self.agents.values() if entry.state == UNFINISHED]

    def leave_out(self, agent_id: int) -> None:
        """Drop the entry of an agent that was never finished; its id is not given again."""
        self.agents.pop(agent_id, None)

    def mark_deleted(self, agent_id: int, slug: str, time: str) -> None:
        """Record that an agent was deleted."""
        entry = self.agents.get(agent_id, RegisterEntry(agent_id, slug))
        self.enter(replace(entry, slug=slug, state=DELETED, deleted=time))


def read_register(agents: int) -> Register | None:
    """Read the register in the folder of agents, or None if there is none yet."""
    try:
        fd = os.open(REGISTER, READ, dir_fd=agents)
    except FileNotFoundError:
        return None
    try:
        fields: Any = json.loads(read_all(fd))
        entries = [
            RegisterEntry(int(number), entry["slug"], entry["state"], entry.get("deleted", ""))
            for number, entry in fields["agents"].items()
        ]
        return Register(int(fields["next_id"]), entries)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"agents/{REGISTER} is damaged ({error}); restore it from a backup, or delete it"
        raise Unavailable("The register of agents", reason) from error
    finally:
        os.close(fd)


def write_register(agents: int, register: Register, *, mode: int, staging: tuple[int, str]) -> None:
    """Replace the register in the folder of agents."""
    entries = {}
    for agent in sorted(register.agents.values(), key=lambda entry: entry.id):
        entry = {"slug": agent.slug, "state": agent.state}
        entries[str(agent.id)] = entry | ({"deleted": agent.deleted} if agent.deleted else {})
    fields = {"next_id": register.next_id, "agents": entries}
    content = json.dumps(fields, indent=2).encode() + b"\n"
    atomic.replace(agents, REGISTER, content, mode=mode, staging=staging)


def list_present_agents(folder: str) -> list[RegisterEntry]:
    """List the agents that the register in a folder calls present, by id."""
    try:
        agents = os.open(folder, atomic.FOLDER)
    except FileNotFoundError:
        return []
    try:
        register = read_register(agents) or Register()
    finally:
        os.close(agents)
    entries = sorted(register.agents.values(), key=lambda entry: entry.id)
    return [entry for entry in entries if entry.state == PRESENT]


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


# The folder of agents under its lock: records, register and hints written, left-overs cleared.


SUBJECT = "The folder of agents"
_HISTORY = ".looseleaf/history"
_LEGACY_NEXT = "next"  # the hint that gave the next id before there was a register


class LockedAgents:
    """The folder of agents while this process has its lock; use it in a `with` block."""

    def __init__(self, folder: AgentsFolder, *, seconds: float = atomic.LOCK_SECONDS) -> None:
        self.folder = folder
        self.file_mode, self.folder_mode = folder.file_mode, folder.folder_mode
        self.seconds = seconds
        self.register = Register()
        self.agents_fd = self.hints_fd = -1
        self._open: list[int] = []

    def __enter__(self) -> LockedAgents:
        try:
            with OsErrorContext(SUBJECT):
                root = self.folder.root_folder.open()
                self._open.append(root)
                self.folder.files.require_agents()
                self.agents_fd = self._open_below(root, "agents")
                self.hints_fd = self._open_below(root, HINTS)
                atomic.lock(self.agents_fd, SUBJECT, seconds=self.seconds)
                self.folder.root_folder.ensure_identity((self.file_mode, self.folder_mode))
                self.register = read_register(self.agents_fd) or Register()
                self.register.next_id = max(self.register.next_id, self._find_least_id(root))
                self.register.enter_records(self._read_records())
                self._recover()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        self._close()
        self.folder.changes += 1
        if isinstance(error, OSError) and not isinstance(error, LooseleafError):
            raise explain_os_error(SUBJECT, error) from error

    def _close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def _open_below(self, root: int, path: str) -> int:
        self._open.append(open_folder(root, path.split("/"), create=self.folder_mode))
        return self._open[-1]

    def open_deleted(self) -> int:
        """Open the folder of deleted agents; it closes with the lock."""
        return self._open_below(self._open[0], DELETED_FOLDER)

    def open_agent(self, slug: str) -> int:
        """Open the folder of an agent; it closes with the lock."""
        self._open.append(open_folder(self.agents_fd, (slug,)))
        return self._open[-1]

    def _read_records(self) -> list[AgentRecord]:
        """Read all records but damaged ones; the register keeps the entries of those agents."""
        records = []
        for slug in self.folder.files.slugs():
            with suppress(LooseleafError):
                record = self.folder.files.read(slug)
                records += [record] if record is not None else []
        return records

    def _find_least_id(self, root: int) -> int:
        """Return the least id that no hint, no history and no deleted agent has."""
        ids = [0]
        for name in _list_names(root, HINTS):
            ids += [int(name)] if name.isdigit() else []
        for name in _list_names(root, _HISTORY):
            layer, _, number = name.partition("-")
            number = number.partition("-")[0]  # on the layer principal, before the user's
            has_agent = layer in ("agent", "principal")
            ids += [int(number)] if has_agent and number.isdigit() else []
        for name in _list_names(root, DELETED_FOLDER):
            number = name.partition("-")[0]
            ids += [int(number)] if number.isdigit() else []
        legacy = self.folder.files.hint(_LEGACY_NEXT)
        return max(max(ids) + 1, int(legacy) if legacy.isdigit() else 0)

    def _recover(self) -> None:
        """Clear up after a process that died in the middle of a change, and finish its notes."""
        atomic.remove(self.hints_fd, STAGED)
        for entry in self.register.unfinished_entries():
            self.abandon(entry)
        if NEW in os.listdir(self.agents_fd):
            atomic.remove_tree(self.agents_fd, NEW)
        unnoted_records = [
            record for record in self.folder.deleted_records() if self.register.is_present(record)
        ]
        for record in unnoted_records:
            self.note_deleted(record, format_time(self.folder.clock()))

    def begin(self, slug: str, above: int) -> int:
        """Reserve an id for an agent that is about to be created, and return it."""
        number = max(self.register.next_id, above + 1)
        # The id is reserved first: a crash in between wastes it, but no id is given twice.
        self.register.enter(RegisterEntry(number, slug, UNFINISHED))
        self.write_register()
        return number

    def abandon(self, entry: RegisterEntry) -> None:
        """Remove the files of an agent that was not finished; its id is not given again."""
        folder_exists = entry.slug in os.listdir(self.agents_fd)
        is_free = folder_exists and self.folder.files.read(entry.slug) is None
        self.folder.discard(entry.id, entry.slug if is_free else "")
        atomic.remove_tree(self.agents_fd, NEW)
        self.register.leave_out(entry.id)
        with suppress(OSError):
            self.write_register()

    def write_record(self, slug: str, content: bytes) -> None:
        """Replace the record of an agent; if that fails, the record stays what it was."""
        folder = self.open_agent(slug)
        before = self.folder.files.read(slug)
        try:
            self._replace(folder, RECORD, content)
        except BaseException:
            if before is not None:
                with suppress(OSError):
                    self._replace(folder, RECORD, format_record(before))
            raise

    def note(self, record: AgentRecord) -> None:
        """Record where an agent is now; the change is done, so the next repairs a failed note."""
        with suppress(OSError):
            self.register.enter(RegisterEntry(record.id, record.slug))
            self._replace(self.hints_fd, str(record.id), f"{record.slug}\n".encode())
            self.write_register()

    def note_deleted(self, record: AgentRecord, time: str) -> None:
        """Record that an agent was deleted; the change is done, as in `note`."""
        with suppress(OSError):
            self.register.mark_deleted(record.id, record.slug, time)
            self.write_register()
            atomic.remove(self.hints_fd, str(record.id))

    def write_register(self) -> None:
        """Replace the register."""
        staging = (self.hints_fd, STAGED)
        write_register(self.agents_fd, self.register, mode=self.file_mode, staging=staging)
        atomic.remove(self.hints_fd, _LEGACY_NEXT)

    def _replace(self, folder: int, name: str, content: bytes) -> None:
        staging = (self.hints_fd, STAGED)
        atomic.replace(folder, name, content, mode=self.file_mode, staging=staging)


def _list_names(root: int, path: str) -> list[str]:
    """List the names in a folder below the root, empty if there is no such folder."""
    try:
        folder = open_folder(root, path.split("/"))
    except FileNotFoundError:
        return []
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)
