"""Agents as folders: a record in each, ids that never change, slugs that may."""

from __future__ import annotations

import os
import time

from looseleaf import atomic
from looseleaf.agents.files import RECORD, RecordFiles
from looseleaf.agents.record import (
    STATUSES,
    AgentRecord,
    check_config,
    record_text,
    why_not,
)
from looseleaf.errors import (
    AgentAmbiguous,
    AgentExists,
    AgentMissing,
    InvalidAgent,
    LooseleafError,
    Unavailable,
)
from looseleaf.folders import (
    Reporting,
    fold,
    open_folder,
    refuse_twin,
)
from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

HINTS = ".looseleaf/agents"  # the next id, and for each id where to look first

_MOST_DIGITS = 19  # of an id; "²" is a digit to Python, too, and no number


class Agents:
    """The agents of a workspace; every call sees what is on disk now."""

    def __init__(
        self,
        root: str,
        *,
        default: str = "",
        modes: tuple[int, int] = (0o600, 0o700),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = os.path.realpath(root)
        self.default = default
        self.file_mode, self.folder_mode = modes
        self.clock = clock
        self._slugs: dict[int, str] = {}
        self._files = RecordFiles(self.root)
        self._own: dict[str, AgentRecord] = {}  # those whose id was found to be their own
        self._listeners: list[Callable[[], None]] = []

    def records(self) -> list[AgentRecord]:
        """List every agent, by slug."""
        return [record for slug in self.slugs() if (record := self._files.read(slug)) is not None]

    def slugs(self) -> list[str]:
        """Name the folders that can be agents', with or without a record."""
        return self._files.slugs()

    def resolve(self, reference: str | int | None = None) -> AgentRecord:
        """Find an agent by id or slug; without either, the default one or the only one."""
        if reference is None or reference == "":
            return self._default()
        text = str(reference)
        if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS:
            record = self._by_id(int(text))
        else:
            record = self._files.read(text) if why_not(text) is None else None
        if record is not None:
            self._require_own_id(record)
            self._slugs[record.id] = record.slug
        else:
            raise AgentMissing(reference, tuple(one.slug for one in self.records()))
        return record

    def _default(self) -> AgentRecord:
        if self.default:
            return self.resolve(self.default)
        slugs = self.slugs()
        records = [self._files.read(slug) for slug in slugs] if len(slugs) < 2 else self.records()
        active = [record for record in records if record and record.status == "active"]
        if len(active) == 1:
            return active[0]
        if not active:
            raise AgentMissing("(default)", tuple(record.slug for record in records if record))
        raise AgentAmbiguous(tuple(record.slug for record in active))

    def folder(self, agent_id: int) -> str:
        """Name the folder of an agent below `agents/`, making sure that it is still its own."""
        slug = self._slugs.get(agent_id)
        if slug is not None and self._files.unchanged(slug, agent_id):
            return slug
        slug = self._searched(agent_id)
        if slug is None:
            raise AgentMissing(agent_id, tuple(one.slug for one in self.records()))
        return slug

    def is_folder_of(self, folder: int, agent_id: int) -> bool:
        """Say whether an open folder is an agent's: the one whose record `folder` has looked at."""
        return self._files.is_in(folder, self._slugs.get(agent_id, ""), agent_id)

    def on_move(self, listener: Callable[[], None]) -> None:
        """Tell someone whenever this process has renamed or removed an agent."""
        self._listeners.append(listener)

    def _tell_of_move(self) -> None:
        for listener in self._listeners:
            listener()

    def _by_id(self, agent_id: int) -> AgentRecord | None:
        known = self._slugs.get(agent_id)
        record = self._files.read(known) if known is not None else None
        if record is not None and record.id == agent_id:
            return record
        slug = self._searched(agent_id)
        return self._files.read(slug) if slug else None

    def _searched(self, agent_id: int) -> str | None:
        """Find the folder of an agent that is not where it was known to be."""
        hinted = self._hint(str(agent_id))
        if why_not(hinted) is None and self._has(hinted, agent_id):
            return hinted
        return next((slug for slug in self.slugs() if self._has(slug, agent_id)), None)

    def _has(self, slug: str, agent_id: int) -> bool:
        record = self._files.read(slug)
        if record is None or record.id != agent_id:
            return False
        self._slugs[agent_id] = slug
        return True

    def _require_own_id(self, record: AgentRecord) -> None:
        """A folder copied by hand has the id of another agent, and must not pass for it."""
        if self._own.get(record.slug) is record:
            return
        owner = self._hint(str(record.id))
        other = self._files.read(owner) if owner != record.slug and why_not(owner) is None else None
        if other is not None and other.id == record.id:
            raise Unavailable(
                f"Agent {record.slug}",
                f"its {RECORD} has the id of {owner}, as in a copied folder. Delete that "
                "file, then run looseleaf init to give it an id of its own",
            )
        self._own[record.slug] = record

    def create(
        self, slug: str, *, name: str = "", owner: int = 1, config: Mapping[str, Any] | None = None
    ) -> AgentRecord:
        """Make an agent; a folder of that name without a record is taken over as it is."""
        why = why_not(slug)
        if why is not None:
            raise InvalidAgent(slug, why)
        checked = check_config(slug, config or {})
        with self._changing() as (agents, home):
            if self._files.read(slug) is not None:
                raise AgentExists(slug)
            refuse_twin(agents, slug)
            number = self._next_id()
            record = AgentRecord(
                number, slug, name or slug.replace("-", " ").replace("_", " ").title(),
                owner, "active", _day(self.clock()), checked,
            )  # fmt: skip
            # The id is spent first: a crash in between wastes it, and never gives it out twice.
            self._note(home, "next", str(number + 1))
            self._note(home, str(number), slug)
            atomic.make_folder(agents, slug, mode=self.folder_mode)
            self._write(agents, record)
        return record

    def rename(self, reference: str | int, slug: str, *, name: str = "") -> AgentRecord:
        """Move an agent's folder; its id and its history stay."""
        why = why_not(slug)
        if why is not None:
            raise InvalidAgent(slug, why)
        with self._changing() as (agents, home):
            record = self.resolve(reference)
            if slug != record.slug:
                if slug in os.listdir(agents):
                    raise AgentExists(slug)
                if fold(slug) != fold(record.slug):
                    refuse_twin(agents, slug)
                atomic.move(agents, record.slug, agents, slug)
                atomic.sync(agents)
                self._note(home, str(record.id), slug)
                self._tell_of_move()
            renamed = changed(record, slug=slug, name=name or record.name)
            self._write(agents, renamed)
        return renamed

    def configure(self, reference: str | int, config: Mapping[str, Any]) -> AgentRecord:
        """Set keys of an agent's configuration; a key set to None is taken out."""
        with self._changing() as (agents, _home):
            record = self.resolve(reference)
            merged = {**record.config, **config}
            kept = {key: setting for key, setting in merged.items() if setting is not None}
            configured = changed(record, config=check_config(record.slug, kept))
            self._write(agents, configured)
        return configured

    def set_status(self, reference: str | int, status: str) -> AgentRecord:
        """Activate, deactivate or archive an agent."""
        if status not in STATUSES:
            raise InvalidAgent(reference, f"its status is one of {', '.join(STATUSES)}")
        with self._changing() as (agents, _home):
            updated = changed(self.resolve(reference), status=status)
            self._write(agents, updated)
        return updated

    def remove(self, reference: str | int) -> AgentRecord:
        """Take an agent's record away, and its folder where nothing is left in it."""
        with self._changing() as (agents, _home):
            record = self.resolve(reference)
            folder = open_folder(agents, (record.slug,))
            try:
                atomic.remove(folder, RECORD)
                atomic.sync(folder)
            finally:
                os.close(folder)
            remove_empty(agents, record.slug)
            atomic.sync(agents)
        self._slugs.pop(record.id, None)
        self._tell_of_move()
        return record

    def _hint(self, name: str) -> str:
        """Read where an agent was last seen, or "next", the next id; "" where nothing is noted."""
        try:
            with open(f"{self.root}/{HINTS}/{name}", encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, UnicodeDecodeError):
            return ""  # it can be made again from the records

    def _note(self, home: int, name: str, text: str) -> None:
        atomic.replace(home, name, f"{text}\n".encode(), mode=self.file_mode)

    def _next_id(self) -> int:
        noted = self._hint("next")
        if noted.isdigit():
            return int(noted)
        return max([0, *(record.id for record in self.records())]) + 1

    def _write(self, agents: int, record: AgentRecord) -> None:
        folder = open_folder(agents, (record.slug,))
        try:
            atomic.replace(folder, RECORD, record_text(record), mode=self.file_mode)
        finally:
            os.close(folder)

    def _changing(self) -> _Changing:
        return _Changing(self.root, self.folder_mode)


class _Changing:
    """Hold the lock of the folder of agents, with it and the hints open."""

    def __init__(self, root: str, mode: int) -> None:
        self.root, self.mode = root, mode
        self.open: list[int] = []

    def __enter__(self) -> tuple[int, int]:
        with Reporting("The folder of agents"):
            self.open.append(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            for path in ("agents", HINTS):
                self.open.append(open_folder(self.open[0], path.split("/"), create=self.mode))
            atomic.lock(self.open[1], "The folder of agents")
        return self.open[1], self.open[2]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        for fd in self.open:
            os.close(fd)
        if isinstance(error, OSError) and not isinstance(error, LooseleafError):
            with Reporting("The folder of agents"):
                raise error


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


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
