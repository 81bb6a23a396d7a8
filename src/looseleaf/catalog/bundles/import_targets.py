"""The pages here that the pages of an import go to, and the agents that it creates."""

from __future__ import annotations

from looseleaf.catalog.resolution import agent_of, has_user, user_of
from looseleaf.errors.access import UserMissing
from looseleaf.errors.agents import AgentMissing
from looseleaf.memory.scope import Shelf, Where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.importers.contract import SourcePage
    from looseleaf.catalog.context import Context


class ImportTargets:
    """Finds the shelf of each page; a missing agent is created if `create_agent` is given."""

    def __init__(
        self,
        context: Context,
        agent: str | int | None,
        user: int | None,
        create_agent: Callable[[str], AgentRecord] | None,
    ) -> None:
        self._context, self._agent, self._user = context, agent, user
        self._create_agent = create_agent
        self._records: dict[str, AgentRecord | None] = {}
        self.new_agents: list[str] = []

    def shelf(self, page: SourcePage) -> Shelf | None:
        """Return the shelf of a page, or None if its agent is not there yet."""
        if page.layer == "agent":
            record = self.find_agent(page.agent)
            return record.shelf if record is not None else None
        return Shelf("user", self._find_user()) if page.layer == "user" else Shelf(page.layer)

    def owner(self, page: SourcePage) -> str:
        """Return the owner of a page for the report: a slug, or the id of a user."""
        if page.layer == "agent":
            return self.name_agent(page.agent)
        return str(self._find_user()) if page.layer == "user" else ""

    def name_agent(self, agent: str) -> str:
        """Return the slug here of an agent of the source."""
        record = self.find_agent(agent)
        return record.slug if record is not None else agent

    def find_agent(self, agent: str) -> AgentRecord | None:
        """Find the agent here of an agent of the source, or None if it is not there yet."""
        slug = agent if self._agent is None else ""
        if slug not in self._records:
            self._records[slug] = self._resolve_agent(slug)
        return self._records[slug]

    def _resolve_agent(self, slug: str) -> AgentRecord | None:
        if not slug:
            return agent_of(self._context, self._agent)
        try:
            return agent_of(self._context, slug)
        except AgentMissing:
            self.new_agents.append(slug)
        return self._create_agent(slug) if self._create_agent is not None else None

    def _find_user(self) -> int:
        user = user_of(self._context, Where(self._agent, self._user))
        if not has_user(self._context, user):
            raise UserMissing(user)
        return user
