"""Agents as folders: a record in each, ids that never change, slugs that may."""

from __future__ import annotations

import os
import time

from looseleaf.agents.files import RECORD, RecordFiles, read_deleted
from looseleaf.agents.record import (
    STATUSES,
    AgentRecord,
    check_config,
    check_name,
    check_slug,
    record_day,
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
from looseleaf.folders import Reporting, refuse_twin
from looseleaf.root import RootFolder
from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from looseleaf.agents.held import HeldAgents

_MOST_DIGITS = 19  # of an id; "²" is a digit to Python, too, and no number


class Agents:
    """The agents of a workspace; every call sees what is on disk now."""

    def __init__(
        self,
        root: str | RootFolder,
        *,
        default: str = "",
        modes: tuple[int, int] = (0o600, 0o700),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root_folder = RootFolder(root) if isinstance(root, str) else root
        self.root = self.root_folder.path
        self.default = default
        self.file_mode, self.folder_mode = modes
        self.clock = clock
        self.files = RecordFiles(self.root_folder)
        self._slugs: dict[int, str] = {}
        self._own: dict[str, AgentRecord] = {}  # those whose id was found to be their own
        self.building: dict[int, str] = {}  # the folders of agents that are being created
        self._listeners: list[Callable[[], None]] = []
        self._discards: list[Callable[[int, str], None]] = []
        self.changes = 0  # by this process, of any agent

    def records(self) -> list[AgentRecord]:
        """List every agent, by slug."""
        return [record for slug in self.slugs() if (record := self.files.read(slug)) is not None]

    def slugs(self) -> list[str]:
        """Name the folders that can be agents', with or without a record."""
        return self.files.slugs()

    def resolve(self, reference: str | int | None = None) -> AgentRecord:
        """Find an agent by id or slug; without either, the default one or the only one."""
        if reference is None or reference == "":
            return self._default()
        text = str(reference)
        if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS:
            record = self._by_id(int(text))
        else:
            record = self.files.read(text) if why_not(text) is None else None
        if record is not None:
            self._require_own_id(record)
            self._slugs[record.id] = record.slug
        else:
            raise self._missing(reference)
        return record

    def _missing(self, reference: str | int) -> AgentMissing:
        """Say that there is no such agent, once it is certain that the workspace is there."""
        self.files.require_agents()
        records = self.records()
        deleted = {str(one.id) for one in self.deleted()} | {one.slug for one in self.deleted()}
        hint = f" It was deleted: looseleaf agents restore {reference}"
        return AgentMissing(
            reference,
            tuple(one.slug for one in records),
            hint if str(reference) in deleted else "",
        )

    def _default(self) -> AgentRecord:
        if self.default:
            return self.resolve(self.default)
        slugs = self.slugs()
        records = [self.files.read(slug) for slug in slugs] if len(slugs) < 2 else self.records()
        active = [record for record in records if record and record.status == "active"]
        if len(active) == 1:
            return active[0]
        if not active:
            raise AgentMissing("(default)", tuple(record.slug for record in records if record))
        raise AgentAmbiguous(tuple(record.slug for record in active))

    def has_register(self) -> bool:
        """Say whether it is written down which ids were given."""
        return os.path.lexists(f"{self.root}/agents/register.json")

    def folder(self, agent_id: int) -> str:
        """Name the folder of an agent below `agents/`, making sure that it is still its own."""
        slug = self._slugs.get(agent_id)
        if slug is not None and self.files.unchanged(slug, agent_id):
            return slug
        slug = self.building.get(agent_id) or self._searched(agent_id)
        if slug is None:
            raise self._missing(agent_id)
        return slug

    def is_folder_of(self, folder: int, agent_id: int) -> bool:
        """Say whether an open folder is an agent's: the one whose record `folder` has looked at."""
        return self.files.is_in(folder, self._slugs.get(agent_id, ""), agent_id)

    def on_move(self, listener: Callable[[], None]) -> None:
        """Tell someone whenever this process has renamed or removed an agent."""
        self._listeners.append(listener)

    def _tell_of_move(self) -> None:
        for listener in self._listeners:
            listener()

    def _by_id(self, agent_id: int) -> AgentRecord | None:
        known = self._slugs.get(agent_id)
        record = self.files.read(known) if known is not None else None
        if record is not None and record.id == agent_id:
            return record
        slug = self._searched(agent_id)
        return self.files.read(slug) if slug else None

    def _searched(self, agent_id: int) -> str | None:
        """Find the folder of an agent that is not where it was known to be."""
        hinted = self.files.hint(str(agent_id))
        if why_not(hinted) is None and self._has(hinted, agent_id):
            return hinted
        return next((slug for slug in self.slugs() if self._has(slug, agent_id)), None)

    def _has(self, slug: str, agent_id: int) -> bool:
        record = self.files.read(slug)
        if record is None or record.id != agent_id:
            return False
        self._slugs[agent_id] = slug
        return True

    def _require_own_id(self, record: AgentRecord) -> None:
        """A folder copied by hand has the id of another agent, and must not pass for it."""
        if self._own.get(record.slug) is record:
            return
        owner = self.files.hint(str(record.id))
        other = self.files.read(owner) if owner != record.slug and why_not(owner) is None else None
        if other is not None and other.id == record.id:
            raise Unavailable(
                f"Agent {record.slug}",
                f"its {RECORD} has the id of {owner}, as in a copied folder. Delete that "
                "file, then run looseleaf init to give it an id of its own",
            )
        self._own[record.slug] = record

    def create(
        self,
        slug: str,
        *,
        name: str = "",
        owner: int = 1,
        config: Mapping[str, Any] | None = None,
        start: Callable[[AgentRecord], object] = lambda _record: None,
        above: int = 0,
    ) -> AgentRecord:
        """Make an agent; a folder of that name without a record is taken over as it is.

        `start` writes the first pages: there is an agent with them, or no agent. Its id is higher
        than `above`, for a caller who knows of ids that are not on this disk.
        """
        from looseleaf.agents import changes

        check_slug(slug)
        title = check_name(slug, name or slug.replace("-", " ").replace("_", " ").title())
        checked = check_config(slug, config or {})
        with self._changing() as held:
            if self.files.read(slug) is not None:
                raise AgentExists(slug)
            refuse_twin(held.agents, slug)
            number = held.begin(slug, above)
            day = record_day(self.clock())
            record = AgentRecord(number, slug, title, owner, "active", day, checked)
            changes.create(held, record, start)
        return record

    def rename(self, reference: str | int, slug: str, *, name: str = "") -> AgentRecord:
        """Move an agent's folder; its id and its history stay."""
        from looseleaf.agents import changes

        check_slug(slug)
        with self._changing() as held:
            record = self.resolve(reference)
            renamed = changed(record, slug=slug, name=check_name(slug, name or record.name))
            changes.rename(held, record, renamed)
        if slug != record.slug:
            self._tell_of_move()
        return renamed

    def configure(self, reference: str | int, config: Mapping[str, Any]) -> AgentRecord:
        """Set keys of an agent's configuration; a key set to None is taken out."""
        with self._changing() as held:
            record = self.resolve(reference)
            merged = {**record.config, **config}
            kept = {key: setting for key, setting in merged.items() if setting is not None}
            configured = changed(record, config=check_config(record.slug, kept))
            held.write_record(record.slug, record_text(configured))
        return configured

    def set_status(self, reference: str | int, status: str) -> AgentRecord:
        """Activate, deactivate or archive an agent."""
        if status not in STATUSES:
            raise InvalidAgent(reference, f"its status is one of {', '.join(STATUSES)}")
        with self._changing() as held:
            updated = changed(self.resolve(reference), status=status)
            held.write_record(updated.slug, record_text(updated))
        return updated

    def remove(self, reference: str | int, *, files: bool = False) -> AgentRecord:
        """Delete an agent, with the folder of its pages or without; it can be restored."""
        from looseleaf.agents import changes

        with self._changing() as held:
            record = self.resolve(reference)
            changes.delete(held, record, record_day(self.clock()), files=files)
        self._slugs.pop(record.id, None)
        self._tell_of_move()
        return record

    def deleted(self) -> list[AgentRecord]:
        """List the deleted agents that can be restored, by id."""
        records = [read_deleted(self.root, name) for name in self.files.deleted()]
        return sorted((one for one in records if one is not None), key=lambda one: one.id)

    def lost(self, found: Collection[int]) -> list[str]:
        """Name the agents that the register has as present, besides those whose id was found.

        A folder whose record cannot be read is not lost.
        """
        from looseleaf.agents.register import present_agents

        with Reporting("The register of agents"):
            entries = present_agents(f"{self.root}/agents")
        slugs = self.slugs()
        return [one.slug for one in entries if one.id not in found and one.slug not in slugs]

    def restore(self, reference: str | int, slug: str = "") -> AgentRecord:
        """Bring a deleted agent back under its slug or another one: the same id, pages, history."""
        from looseleaf.agents import changes

        with self._changing() as held:
            known = [one for one in self.deleted() if str(reference) in (str(one.id), one.slug)]
            if not known:
                raise AgentMissing(reference, tuple(one.slug for one in self.deleted()))
            if len(known) > 1:
                ids = ", ".join(str(one.id) for one in known)
                raise InvalidAgent(reference, f"several deleted agents had that slug; ids: {ids}")
            record = changed(known[0], slug=slug or known[0].slug)
            check_slug(record.slug)
            changes.restore(held, f"{record.id}-{known[0].slug}", record)
        return record

    def recover(self) -> None:
        """Clear up after a process that died in the middle of a change; never wait for one."""
        if not self.files.is_interrupted():
            return
        try:
            with self._changing(seconds=0):
                return
        except LooseleafError:
            return  # it is being created now, or this process may not write here

    def on_discard(self, listener: Callable[[int, str], None]) -> None:
        """Have someone take away what was written of an agent that was never finished.

        It is told the id, and the slug of the folder that was to be taken over, or "".
        """
        self._discards.append(listener)

    def discard(self, agent_id: int, slug: str) -> None:
        """Take away what was written of an agent that was never finished."""
        for listener in self._discards:
            listener(agent_id, slug)

    def _changing(self, **options: float) -> HeldAgents:
        from looseleaf.agents.held import HeldAgents

        return HeldAgents(self, **options)
