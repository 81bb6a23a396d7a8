"""The conversations that a principal may see."""

from __future__ import annotations

from looseleaf.catalog.resolution import agent_of, list_visible_agents, require_user
from looseleaf.chat.parts import chats_of
from looseleaf.errors.agents import AgentMissing
from looseleaf.errors.chat import SessionAmbiguous, SessionMissing
from looseleaf.memory.scope import DEFAULT_WHERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.chat.session import Session
    from looseleaf.memory.scope import Where

FEWEST_ID_CHARACTERS = 4  # of a shortened id


def resolve_session(context: Context, identity: str) -> Session:
    """Find a session that the principal may see; any other session is missing for them.

    The id may be shortened, as long as it is the beginning of one session's id alone.
    """
    session = chats_of(context.parts).sessions.find(identity) or _find_by_prefix(context, identity)
    principal = context.principal
    if principal.is_local and session is not None:
        return session
    if not principal.is_local:
        context.allow()
    if session is not None and (
        session.owner == principal.user_id or principal.can("manage_agents")
    ):
        try:
            agent_of(context, session.agent)
        except AgentMissing:
            raise SessionMissing(identity) from None
        return session
    raise SessionMissing(identity)


def _find_by_prefix(context: Context, prefix: str) -> Session | None:
    if len(prefix) < FEWEST_ID_CHARACTERS:
        return None
    candidates = chats_of(context.parts).sessions.find_by_prefix(
        prefix, **build_session_filter(context, DEFAULT_WHERE)
    )
    if len(candidates) > 1:
        raise SessionAmbiguous(prefix)
    return candidates[0] if candidates else None


def build_session_filter(context: Context, where: Where) -> dict[str, Any]:
    """Build the filter for the sessions that the principal may see; for most people, their own."""
    principal = context.principal
    if where.user is not None:
        require_user(context, where.user)
    agents = None if where.agent is None else [agent_of(context, where.agent).id]
    if principal.is_local:
        return {"owner": where.user or 0, "agents": agents}
    context.allow()
    if principal.can("manage_agents") and not principal.agent_id:
        return {"owner": where.user or 0, "agents": agents}
    agent_ids = [agent.id for agent in list_visible_agents(context)] if agents is None else agents
    return {"owner": principal.user_id, "agents": agent_ids}
