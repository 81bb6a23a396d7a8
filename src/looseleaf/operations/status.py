"""The status: which workspace, agent, user and version a call reaches."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.errors.pages import AgentAmbiguous, AgentMissing
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.values import value
from looseleaf.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context

MOST_AGENTS = 20


@value(kw_only=True)
class StatusInfo:
    """Which workspace answers, for whom, and which agent is meant when none is named."""

    version: str
    workspace: str  # its name, for people
    root: str  # "" for everyone but the operator on the same machine
    actor: str
    user_id: int
    agent: str  # "" if none, or more than one, could be meant
    agents: tuple[str, ...]  # those one may see, the first of them
    agent_count: int
    model: str  # that answers for the agent in chat, or "" if none is named
    journal: bool  # whether agents may write their journal


@operation("looseleaf/show-status", permission="read", categories=("agents",), read_only=True)
def show_status(context: Context, *, where: Where = DEFAULT_WHERE) -> StatusInfo:
    """Show which workspace, agent, user and version answer here.

    Arguments:
        agent: The agent to look for, by id or slug; without it, the one that is meant if none
            is named.
        user: Not used here: the answer is about the user who acts.
        layer: Not used here: the answer is about the whole workspace.
    """
    settings, principal = context.settings, context.principal
    slugs = [record.slug for record in list_visible_agents(context)]
    agent = _find_agent(context, where)
    model = context.parts.model_for(agent[0], "chat") if agent else None
    return StatusInfo(
        version=__version__,
        workspace=settings.name,
        root=settings.root if principal.is_local else "",
        actor=context.actor or principal.name,
        user_id=settings.default_user if principal.is_local else principal.user_id,
        agent=agent[1] if agent else "",
        agents=tuple(slugs[:MOST_AGENTS]),
        agent_count=len(slugs),
        model=model or "",
        journal=settings.daily_memory_enabled,
    )


def _find_agent(context: Context, where: Where) -> tuple[int, str] | None:
    """Find the agent as every operation would; an agent that was named must be there."""
    try:
        record = agent_of(context, where.agent)
    except (AgentAmbiguous, AgentMissing):
        if where.agent is not None:
            raise
        return None
    return record.id, record.slug
