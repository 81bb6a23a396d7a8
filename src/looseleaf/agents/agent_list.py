"""The contract of the list of agents; stores implement it, on a disk or elsewhere.

Every call sees the agents as they are now. `Unavailable` means that the list cannot be
read, which is never the same as an agent that does not exist.
"""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.errors.agents import AgentAmbiguous, AgentMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from looseleaf.agents.record import AgentRecord
else:
    Protocol = object


class AgentFolders(Protocol):
    """An optional ability of a list of agents: each agent is a folder that people can reach."""

    def slugs(self) -> list[str]:
        """List the folders that can be agents', with or without a readable record."""

    def lost_slugs(self, ids: Collection[int]) -> list[str]:
        """List the slugs of created agents whose folder is gone, except those with these ids."""


class AgentList(Protocol):
    """The agents of a workspace: ids that never change, slugs that may."""

    @property
    def changes(self) -> int:
        """How often this process has changed the list."""

    @property
    def folders(self) -> AgentFolders | None:
        """The folders of the agents, or None if agents do not lie in folders."""

    def records(self) -> list[AgentRecord]:
        """List every agent, by slug."""

    def resolve(self, reference: str | int | None = None) -> AgentRecord:
        """Find an agent by id or slug; without either, the default one or the only one."""

    def slug_of(self, agent_id: int) -> str:
        """Return the slug of an agent, or raise `AgentMissing`."""

    def create(
        self,
        slug: str,
        *,
        name: str = "",
        owner: int = 1,
        config: Mapping[str, Any] | None = None,
        start: Callable[[AgentRecord], object] = ...,
        highest_id: Callable[[], int] = ...,
    ) -> AgentRecord:
        """Create an agent; `start` writes its first pages: both are done, or neither.

        `highest_id` returns the highest id that is used outside the list. It is called only if
        the list itself does not know which ids it has given.
        """

    def rename(self, reference: str | int, slug: str, *, name: str = "") -> AgentRecord:
        """Rename the slug of an agent; its id, pages and history stay."""

    def configure(self, reference: str | int, config: Mapping[str, Any]) -> AgentRecord:
        """Set keys of an agent's configuration; a key set to None is taken out."""

    def set_status(self, reference: str | int, status: str) -> AgentRecord:
        """Activate, deactivate or archive an agent."""

    def remove(self, reference: str | int, *, files: bool = False) -> AgentRecord:
        """Delete an agent, with its pages if they lie in its folder; it can be restored."""

    def deleted_records(self) -> list[AgentRecord]:
        """List the deleted agents that can be restored, by id."""

    def restore(self, reference: str | int, slug: str = "") -> AgentRecord:
        """Restore a deleted agent under its slug or another one, with the same id."""


def start_without_pages(_record: AgentRecord) -> None:
    """Start an agent without pages."""


def ignore_outside_ids() -> int:
    """Return 0, as if no id were used outside the list."""
    return 0


def resolve_only_active(records: Sequence[AgentRecord]) -> AgentRecord:
    """Resolve the agent if a caller names none: the only active one."""
    active = [record for record in records if record.status == "active"]
    if len(active) > 1:
        raise AgentAmbiguous(tuple(record.slug for record in active))
    if not active:
        raise AgentMissing("(default)", tuple(record.slug for record in records))
    return active[0]


def list_readable_agents(agents: AgentList) -> Iterator[AgentRecord]:
    """List the agents whose records can be read; a damaged record hides no other one."""
    if agents.folders is None:
        yield from agents.records()
        return
    for slug in agents.folders.slugs():
        try:
            yield agents.resolve(slug)
        except LooseleafError:
            continue
