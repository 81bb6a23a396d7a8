"""Errors of agents."""

from __future__ import annotations

from looseleaf.errors import Ambiguous, NotFound, Refused, _InvalidThing


class InvalidAgent(_InvalidThing):
    """A slug or configuration that no agent can have."""

    code = "invalid_agent"
    template = "Invalid agent {name!r}: {why}."


class AgentMissing(NotFound):
    """No agent has that id or slug, or a user has none; `candidates` names those there are."""

    code = "agent_missing"

    def __init__(
        self, agent: object, candidates: tuple[str, ...], hint: str = "", *, user: int = 0
    ) -> None:
        self.agent, self.candidates = agent, candidates
        names = ", ".join(candidates) if candidates else "none yet (looseleaf agents create SLUG)"
        problem = f"User {user} has no active agent" if user else f"There is no agent {agent!r}"
        super().__init__(f"{problem}. Available agents: {names}.{hint}")


class AgentAmbiguous(Ambiguous):
    """Several agents could be meant; choose one."""

    code = "agent_ambiguous"

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(
            f"Which agent? Name one of: {', '.join(candidates)} (--agent or LOOSELEAF_AGENT in a "
            "terminal, agent in a request), or set default_agent in looseleaf.toml."
        )


class AgentExists(Refused):
    """The slug belongs to another agent."""

    code = "agent_exists"

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__(f"There is an agent {slug} already.")
