"""A list of agents that lies nowhere on a disk: the proof that the contract needs no folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from looseleaf.agents.config import check_config, merge_config
from looseleaf.agents.record import (
    STATUSES,
    AgentRecord,
    check_name,
    check_slug,
    ignore_outside_ids,
    resolve_only_active,
    start_without_pages,
)
from looseleaf.errors.pages import AgentExists, AgentMissing, InvalidAgent
from looseleaf.times import format_time
from looseleaf.values import replace


class MemoryAgents:
    """The agents of one process, as long as it runs."""

    folders = None

    def __init__(self, clock: Callable[[], float], default: str = "") -> None:
        self.clock, self.default = clock, default
        self.changes = 0
        self._agents: dict[int, AgentRecord] = {}
        self._deleted: dict[int, AgentRecord] = {}
        self._last_id = 0

    def records(self) -> list[AgentRecord]:
        """List every agent, by slug."""
        return sorted(self._agents.values(), key=lambda record: record.slug)

    def resolve(self, reference: str | int | None = None) -> AgentRecord:
        """Find an agent by id or slug; without either, the default one or the only one."""
        reference = reference or self.default
        if not reference:
            return resolve_only_active(self.records())
        for record in self.records():
            if str(reference) in (record.slug, str(record.id)):
                return record
        raise AgentMissing(reference, tuple(record.slug for record in self.records()))

    def slug_of(self, agent_id: int) -> str:
        """Return the slug of an agent, or raise `AgentMissing`."""
        return self.resolve(agent_id).slug

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
        """Create an agent; without its first pages there is none."""
        check_slug(slug)
        self._require_free(slug)
        self._last_id = max(self._last_id, highest_id()) + 1
        title = check_name(slug, name or slug.replace("-", " ").replace("_", " ").title())
        day, checked = format_time(self.clock()), check_config(slug, config or {})
        record = AgentRecord(
            id=self._last_id,
            slug=slug,
            name=title,
            owner=owner,
            status="active",
            created=day,
            config=checked,
        )
        self._agents[record.id] = record
        try:
            start(record)
        except BaseException:
            del self._agents[record.id]
            raise
        return self._put(record)

    def rename(self, reference: str | int, slug: str, *, name: str = "") -> AgentRecord:
        """Change the slug of an agent."""
        check_slug(slug)
        record = self.resolve(reference)
        if slug != record.slug:
            self._require_free(slug)
        return self._put(replace(record, slug=slug, name=check_name(slug, name or record.name)))

    def configure(self, reference: str | int, config: Mapping[str, Any]) -> AgentRecord:
        """Set keys of an agent's configuration; a key set to None is taken out."""
        record = self.resolve(reference)
        return self._put(replace(record, config=merge_config(record.slug, record.config, config)))

    def set_status(self, reference: str | int, status: str) -> AgentRecord:
        """Activate, deactivate or archive an agent."""
        if status not in STATUSES:
            raise InvalidAgent(reference, f"its status is one of {', '.join(STATUSES)}")
        return self._put(replace(self.resolve(reference), status=status))

    def remove(self, reference: str | int, *, files: bool = False) -> AgentRecord:  # noqa: ARG002
        """Delete an agent; it can be restored."""
        record = self._agents.pop(self.resolve(reference).id)
        self._deleted[record.id] = record
        self.changes += 1
        return record

    def deleted_records(self) -> list[AgentRecord]:
        """List the deleted agents that can be restored, by id."""
        return [self._deleted[number] for number in sorted(self._deleted)]

    def restore(self, reference: str | int, slug: str = "") -> AgentRecord:
        """Restore a deleted agent with the same id."""
        for record in self.deleted_records():
            if str(reference) in (record.slug, str(record.id)):
                self._require_free(slug or record.slug)
                return self._put(replace(self._deleted.pop(record.id), slug=slug or record.slug))
        raise AgentMissing(reference, tuple(record.slug for record in self.deleted_records()))

    def _put(self, record: AgentRecord) -> AgentRecord:
        self._agents[record.id] = record
        self.changes += 1
        return record

    def _require_free(self, slug: str) -> None:
        if any(record.slug == slug for record in self.records()):
            raise AgentExists(slug)
