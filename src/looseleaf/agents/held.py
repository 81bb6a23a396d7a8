"""The folder of agents under its lock: records, register and hints written, left-overs cleared."""

from __future__ import annotations

import os
from contextlib import suppress

from looseleaf import atomic
from looseleaf.agents.files import DELETED, HINTS, NEW, RECORD, STAGED
from looseleaf.agents.record import record_day, record_text
from looseleaf.agents.register import (
    UNFINISHED,
    Register,
    Registered,
    read_register,
    write_register,
)
from looseleaf.errors import LooseleafError
from looseleaf.folders import Reporting, explained, open_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.directory import Agents
    from looseleaf.agents.record import AgentRecord

WHAT = "The folder of agents"
_HISTORY = ".looseleaf/history"
_LEGACY_NEXT = "next"  # the hint that gave the next id before there was a register


class HeldAgents:
    """The folder of agents while this process has its lock; use it in a `with` block."""

    def __init__(self, agents: Agents, *, seconds: float = atomic.LOCK_SECONDS) -> None:
        self.directory = agents
        self.file_mode, self.folder_mode = agents.file_mode, agents.folder_mode
        self.seconds = seconds
        self.register = Register()
        self.agents = self.home = -1
        self._open: list[int] = []

    def __enter__(self) -> HeldAgents:
        try:
            with Reporting(WHAT):
                root = self.directory.root_folder.open()
                self._open.append(root)
                self.directory.files.require_agents()
                self.agents = self._open_below(root, "agents")
                self.home = self._open_below(root, HINTS)
                atomic.lock(self.agents, WHAT, seconds=self.seconds)
                self.directory.root_folder.give_identity((self.file_mode, self.folder_mode))
                self.register = read_register(self.agents) or Register()
                self.register.next_id = max(self.register.next_id, self._least_id(root))
                self.register.compare(self._records())
                self._recover()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        self._close()
        self.directory.changes += 1
        if isinstance(error, OSError) and not isinstance(error, LooseleafError):
            raise explained(WHAT, error) from error

    def _close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def _open_below(self, root: int, path: str) -> int:
        self._open.append(open_folder(root, path.split("/"), create=self.folder_mode))
        return self._open[-1]

    def open_deleted(self) -> int:
        """Open the folder of what deleted agents left; it closes with the lock."""
        return self._open_below(self._open[0], DELETED)

    def open_agent(self, slug: str) -> int:
        """Open the folder of an agent; it closes with the lock."""
        self._open.append(open_folder(self.agents, (slug,)))
        return self._open[-1]

    def _records(self) -> list[AgentRecord]:
        """Read the records that can be read; one that is damaged keeps its entry."""
        found = []
        for slug in self.directory.slugs():
            with suppress(LooseleafError):
                record = self.directory.files.read(slug)
                found += [record] if record is not None else []
        return found

    def _least_id(self, root: int) -> int:
        """Give the least id that no hint, no history and no deleted agent has."""
        ids = [0]
        for name in _names(root, HINTS):
            ids += [int(name)] if name.isdigit() else []
        for name in _names(root, _HISTORY):
            layer, _, number = name.partition("-")
            ids += [int(number)] if layer == "agent" and number.isdigit() else []
        for name in _names(root, DELETED):
            number = name.partition("-")[0]
            ids += [int(number)] if number.isdigit() else []
        legacy = self.directory.files.hint(_LEGACY_NEXT)
        return max(max(ids) + 1, int(legacy) if legacy.isdigit() else 0)

    def _recover(self) -> None:
        """Clear up after a process that died in the middle of a change, and finish its notes."""
        atomic.remove(self.home, STAGED)
        for entry in self.register.unfinished():
            self.abandon(entry)
        if NEW in os.listdir(self.agents):
            atomic.remove_tree(self.agents, NEW)
        unnoted = [one for one in self.directory.deleted() if self.register.is_present(one)]
        for record in unnoted:
            self.note_deleted(record, record_day(self.directory.clock()))

    def begin(self, slug: str, above: int) -> int:
        """Spend an id for an agent that is about to be created, and give it."""
        number = max(self.register.next_id, above + 1)
        # The id is spent first: a crash in between wastes it, and never gives it out twice.
        self.register.enter(Registered(number, slug, UNFINISHED))
        self.write_register()
        return number

    def abandon(self, entry: Registered) -> None:
        """Take away what there is of an agent that was not finished; its id stays spent."""
        taken = entry.slug in os.listdir(self.agents)
        free = taken and self.directory.files.read(entry.slug) is None
        self.directory.discard(entry.id, entry.slug if free else "")
        atomic.remove_tree(self.agents, NEW)
        self.register.leave_out(entry.id)
        with suppress(OSError):
            self.write_register()

    def write_record(self, slug: str, content: bytes) -> None:
        """Replace the record of an agent; where that fails, the record stays what it was."""
        folder = self.open_agent(slug)
        before = self.directory.files.read(slug)
        try:
            self._replace(folder, RECORD, content)
        except BaseException:
            if before is not None:
                with suppress(OSError):
                    self._replace(folder, RECORD, record_text(before))
            raise

    def note(self, record: AgentRecord) -> None:
        """Note where an agent is now; the change is done, so that a failure is left to the next."""
        with suppress(OSError):
            self.register.enter(Registered(record.id, record.slug))
            self._replace(self.home, str(record.id), f"{record.slug}\n".encode())
            self.write_register()

    def note_deleted(self, record: AgentRecord, time: str) -> None:
        """Note that an agent was deleted; the change is done, as in `note`."""
        with suppress(OSError):
            self.register.mark_deleted(record.id, record.slug, time)
            self.write_register()
            atomic.remove(self.home, str(record.id))

    def write_register(self) -> None:
        """Replace the register."""
        staging = (self.home, STAGED)
        write_register(self.agents, self.register, mode=self.file_mode, staging=staging)
        atomic.remove(self.home, _LEGACY_NEXT)

    def _replace(self, folder: int, name: str, content: bytes) -> None:
        staging = (self.home, STAGED)
        atomic.replace(folder, name, content, mode=self.file_mode, staging=staging)


def _names(root: int, path: str) -> list[str]:
    """Name what lies in a folder below the root; nothing where there is none."""
    try:
        folder = open_folder(root, path.split("/"))
    except FileNotFoundError:
        return []
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)
