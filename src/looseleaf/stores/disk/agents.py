"""Agents as folders: a record in each, ids that never change, slugs that may."""

from __future__ import annotations

import os
import time

from looseleaf.agents.record import (
    STATUSES,
    AgentRecord,
    check_name,
    check_slug,
    find_slug_problem,
    format_record,
    ignore_outside_ids,
    resolve_only_active,
    start_without_pages,
)
from looseleaf.errors import LooseleafError, Unavailable, WorkspaceUnavailable
from looseleaf.errors.pages import AgentExists, AgentMissing, InvalidAgent
from looseleaf.files.folders import OsErrorContext, refuse_twin
from looseleaf.files.root_folder import RootFolder
from looseleaf.stores.disk.agent_records import RECORD, AgentsFolder
from looseleaf.times import format_time
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from looseleaf.stores.disk.agent_changes import LockedAgents

_MOST_DIGITS = 19  # of an id; "²" is a digit to Python, too, and no number


class DiskAgents:
    """The agents of a workspace as folders; every call sees what is on disk now."""

    def __init__(
        self,
        root: str | RootFolder,
        *,
        default: str = "",
        modes: tuple[int, int] = (0o600, 0o700),
        clock: Callable[[], float] = time.time,
    ) -> None:
        root_folder = RootFolder(root) if isinstance(root, str) else root
        self._folder = AgentsFolder(root_folder, modes, clock)
        self.root = root_folder.path
        self.default = default
        self.files = self._folder.files
        self._slugs: dict[int, str] = {}
        # The records whose id belongs to no other folder, by slug.
        self._verified_records: dict[str, AgentRecord] = {}
        self._listeners: list[Callable[[], None]] = []
        self._config_checks: list[Callable[[Mapping[str, Any]], None]] = []
        self.on_discard = self._folder.on_discard

    @property
    def changes(self) -> int:
        """How often this process has changed the list."""
        return self._folder.changes

    @property
    def folders(self) -> DiskAgents:
        """The folders of the agents: here every agent is a folder."""
        return self

    def records(self) -> list[AgentRecord]:
        """List every agent, by slug."""
        return [record for slug in self.slugs() if (record := self.files.read(slug)) is not None]

    def slugs(self) -> list[str]:
        """List the folders that can be agents, with or without a record."""
        return self.files.slugs()

    def resolve(self, reference: str | int | None = None) -> AgentRecord:
        """Find an agent by id or slug; without either, the default one or the only one."""
        if reference is None or reference == "":
            return self._resolve_default()
        text = str(reference)
        if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS:
            record = self._find_by_id(int(text))
        else:
            record = self.files.read(text) if find_slug_problem(text) is None else None
        if record is not None:
            self._require_own_id(record)
            self._slugs[record.id] = record.slug
        else:
            raise self._explain_missing(reference)
        return record

    def _explain_missing(self, reference: str | int) -> AgentMissing:
        """Build the error for a missing agent, once it is certain that the workspace is there."""
        self.files.require_agents()
        records = self.records()
        deleted = {str(record.id) for record in self.deleted_records()} | {
            record.slug for record in self.deleted_records()
        }
        hint = f" It was deleted: looseleaf agents restore {reference}"
        return AgentMissing(
            reference,
            tuple(record.slug for record in records),
            hint if str(reference) in deleted else "",
        )

    def _resolve_default(self) -> AgentRecord:
        if self.default:
            return self.resolve(self.default)
        slugs = self.slugs()
        return resolve_only_active([record for slug in slugs if (record := self.files.read(slug))])

    def slug_of(self, agent_id: int) -> str:
        """Return the slug of an agent: the name of the folder that has its record now."""
        slug = self._slugs.get(agent_id)
        if slug is not None and self.files.is_unchanged(slug, agent_id):
            return slug
        slug = self._folder.unfinished_folders.get(agent_id) or self._search_folder(agent_id)
        if slug is None:
            raise self._explain_missing(agent_id)
        return slug

    def is_folder_of(self, folder: int, agent_id: int) -> bool:
        """Return whether an open folder has the record of an agent, as it was read last."""
        return self.files.is_in(folder, self._slugs.get(agent_id, ""), agent_id)

    def on_move(self, listener: Callable[[], None]) -> None:
        """Call a listener whenever this process has renamed or removed an agent."""
        self._listeners.append(listener)

    def _notify_listeners(self) -> None:
        for listener in self._listeners:
            listener()

    def _find_by_id(self, agent_id: int) -> AgentRecord | None:
        last_slug = self._slugs.get(agent_id)
        record = self.files.read(last_slug) if last_slug is not None else None
        if record is not None and record.id == agent_id:
            return record
        slug = self._search_folder(agent_id)
        return self.files.read(slug) if slug else None

    def _search_folder(self, agent_id: int) -> str | None:
        """Find the folder of an agent that is not where it was known to be."""
        hint = self.files.hint(str(agent_id))
        if find_slug_problem(hint) is None and self._has(hint, agent_id):
            return hint
        return next((slug for slug in self.slugs() if self._has(slug, agent_id)), None)

    def _has(self, slug: str, agent_id: int) -> bool:
        record = self.files.read(slug)
        if record is None or record.id != agent_id:
            return False
        self._slugs[agent_id] = slug
        return True

    def _require_own_id(self, record: AgentRecord) -> None:
        """Refuse a folder that was copied by hand, whose record has the id of another agent."""
        if self._verified_records.get(record.slug) is record:
            return
        owner = self.files.hint(str(record.id))
        owner_record = (
            self.files.read(owner)
            if owner != record.slug and find_slug_problem(owner) is None
            else None
        )
        if owner_record is not None and owner_record.id == record.id:
            raise Unavailable(
                f"Agent {record.slug}",
                f"its {RECORD} has the id of {owner}, as in a copied folder. Delete that "
                "file, then run looseleaf init to give it an id of its own",
            )
        self._verified_records[record.slug] = record

    def create(
        self,
        slug: str,
        *,
        name: str = "",
        owner: int = 1,
        config: Mapping[str, Any] | None = None,
        start: Callable[[AgentRecord], object] = start_without_pages,
        highest_id: Callable[[], int] = ignore_outside_ids,
    ) -> AgentRecord:
        """Create an agent; a folder of that name without a record is taken over as it is.

        `start` writes the first pages; if that fails, no agent is created. If there is no
        register of ids, the new id is higher than the result of `highest_id`.
        """
        from looseleaf.agents.config import check_config
        from looseleaf.stores.disk import agent_changes

        check_slug(slug)
        title = check_name(slug, name or slug.replace("-", " ").replace("_", " ").title())
        valid_config = check_config(slug, config or {})
        self._check_keys(valid_config)
        has_register = os.path.lexists(f"{self.root}/agents/register.json")
        above = 0 if has_register else highest_id()
        with self._lock() as locked_agents:
            if self.files.read(slug) is not None:
                raise AgentExists(slug)
            refuse_twin(locked_agents.agents_fd, slug)
            number = locked_agents.begin(slug, above)
            day = format_time(self._folder.clock())
            record = AgentRecord(
                id=number,
                slug=slug,
                name=title,
                owner=owner,
                status="active",
                created=day,
                config=valid_config,
            )
            agent_changes.create(locked_agents, record, start)
        return record

    def rename(self, reference: str | int, slug: str, *, name: str = "") -> AgentRecord:
        """Move an agent's folder; its id and its history stay."""
        from looseleaf.stores.disk import agent_changes

        check_slug(slug)
        with self._lock() as locked_agents:
            record = self.resolve(reference)
            new_record = replace(record, slug=slug, name=check_name(slug, name or record.name))
            agent_changes.rename(locked_agents, record, new_record)
        if slug != record.slug:
            self._notify_listeners()
        return new_record

    def configure(self, reference: str | int, config: Mapping[str, Any]) -> AgentRecord:
        """Set keys of an agent's configuration; a key set to None is removed."""
        from looseleaf.agents.config import merge_config

        self._check_keys(config)
        with self._lock() as locked_agents:
            record = self.resolve(reference)
            new_record = replace(record, config=merge_config(record.slug, record.config, config))
            locked_agents.write_record(record.slug, format_record(new_record))
        return new_record

    def set_status(self, reference: str | int, status: str) -> AgentRecord:
        """Activate, deactivate or archive an agent."""
        if status not in STATUSES:
            raise InvalidAgent(reference, f"its status is one of {', '.join(STATUSES)}")
        with self._lock() as locked_agents:
            updated = replace(self.resolve(reference), status=status)
            locked_agents.write_record(updated.slug, format_record(updated))
        return updated

    def remove(self, reference: str | int, *, files: bool = False) -> AgentRecord:
        """Delete an agent, with the folder of its pages or without; it can be restored."""
        from looseleaf.stores.disk import agent_changes

        with self._lock() as locked_agents:
            record = self.resolve(reference)
            agent_changes.delete(
                locked_agents, record, format_time(self._folder.clock()), files=files
            )
        self._slugs.pop(record.id, None)
        self._notify_listeners()
        return record

    def deleted_records(self) -> list[AgentRecord]:
        """List the deleted agents that can be restored, by id."""
        return self._folder.deleted_records()

    def lost_slugs(self, ids: Collection[int]) -> list[str]:
        """List the agents that the register calls present, but not those with one of the ids.

        An agent whose folder is there is not lost, even if its record cannot be read.
        """
        from looseleaf.stores.disk.agent_changes import list_present_agents

        with OsErrorContext("The register of agents"):
            entries = list_present_agents(f"{self.root}/agents")
        slugs = self.slugs()
        return [entry.slug for entry in entries if entry.id not in ids and entry.slug not in slugs]

    def require_not_lost(self, agent_id: int) -> None:
        """Raise `WorkspaceUnavailable` if an agent was created and its folder is gone.

        The caller has not found the agent. If another agent has its folder, it does not come back.
        """
        from looseleaf.stores.disk.agent_changes import list_present_agents

        with OsErrorContext("The register of agents"):
            entries = list_present_agents(f"{self.root}/agents")
        for entry in entries:
            if entry.id == agent_id and not os.path.lexists(f"{self.root}/agents/{entry.slug}"):
                raise WorkspaceUnavailable(
                    f"the folder agents/{entry.slug} is missing; bring it back"
                )

    def restore(self, reference: str | int, slug: str = "") -> AgentRecord:
        """Restore a deleted agent under its slug or another one: the same id, pages, history."""
        from looseleaf.stores.disk import agent_changes

        with self._lock() as locked_agents:
            candidates = [
                record
                for record in self.deleted_records()
                if str(reference) in (str(record.id), record.slug)
            ]
            if not candidates:
                raise AgentMissing(
                    reference, tuple(record.slug for record in self.deleted_records())
                )
            if len(candidates) > 1:
                ids = ", ".join(str(record.id) for record in candidates)
                raise InvalidAgent(reference, f"several deleted agents had that slug; ids: {ids}")
            record = replace(candidates[0], slug=slug or candidates[0].slug)
            check_slug(record.slug)
            agent_changes.restore(locked_agents, f"{record.id}-{candidates[0].slug}", record)
        return record

    def recover(self) -> None:
        """Clear up after a process that died in the middle of a change; never wait for one."""
        if not self.files.is_interrupted():
            return
        try:
            with self._lock(seconds=0):
                return
        except LooseleafError:
            return  # an agent is being created now, or this process may not write here

    def on_configure(self, check: Callable[[Mapping[str, Any]], None]) -> None:
        """Validate keys of a configuration with `check` before they are stored."""
        self._config_checks.append(check)

    def _check_keys(self, config: Mapping[str, Any]) -> None:
        for check in self._config_checks:
            check(config)

    def _lock(self, **options: float) -> LockedAgents:
        from looseleaf.stores.disk.agent_changes import LockedAgents

        return LockedAgents(self._folder, **options)
