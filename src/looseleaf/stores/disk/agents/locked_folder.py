"""The folder of agents under its lock: records, register and hints written, left-overs cleared."""

from __future__ import annotations

import os
from contextlib import suppress

from looseleaf.agents.record import format_record
from looseleaf.errors import LooseleafError
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext, explain_os_error, open_folder
from looseleaf.stores.disk.agents.record_files import DELETED, HINTS, NEW, RECORD, STAGED
from looseleaf.stores.disk.agents.register import (
    UNFINISHED,
    Register,
    RegisterEntry,
    read_register,
    write_register,
)
from looseleaf.times import format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.stores.disk.agents.agents_folder import AgentsFolder

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
        return self._open_below(self._open[0], DELETED)

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
            ids += [int(number)] if layer == "agent" and number.isdigit() else []
        for name in _list_names(root, DELETED):
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
