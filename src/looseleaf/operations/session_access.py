"""Which conversations the one who acts may see."""

from __future__ import annotations

from looseleaf.errors import AgentMissing, SessionAmbiguous, SessionMissing
from looseleaf.operations.context import HERE, agent_of, chats_of, require_user, visible_agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.chat.session import Session
    from looseleaf.operations.context import Context, Where

FEWEST_ID_CHARACTERS = 4  # of a shortened id


def own_session(context: Context, identity: str) -> Session:
    """Find a session that the one who acts may see; another's is missing, as one not there.

    The id may be shortened, as long as it is the beginning of one session's id alone.
    """
    found = chats_of(context).sessions.find(identity) or _session_by_prefix(context, identity)
    principal = context.principal
    if principal.is_local and found is not None:
        return found
    if not principal.is_local:
        context.allow()
    if found is not None and (found.owner == principal.user_id or principal.can("manage_agents")):
        try:
            agent_of(context, found.agent)
        except AgentMissing:
            raise SessionMissing(identity) from None
        return found
    raise SessionMissing(identity)


def _session_by_prefix(context: Context, prefix: str) -> Session | None:
    if len(prefix) < FEWEST_ID_CHARACTERS:
        return None
    candidates = chats_of(context).sessions.find_by_prefix(
        prefix, **reachable_sessions(context, HERE)
    )
    if len(candidates) > 1:
        raise SessionAmbiguous(prefix)
    return candidates[0] if candidates else None


def reachable_sessions(context: Context, where: Where) -> dict[str, Any]:
    """Say whose sessions are meant: of a user, of agents; for most people, their own."""
    principal = context.principal
    if where.user is not None:
        require_user(context, where.user)
    agents = None if where.agent is None else [agent_of(context, where.agent).id]
    if principal.is_local:
        return {"owner": where.user or 0, "agents": agents}
    context.allow()
    if principal.can("manage_agents") and not principal.agent_id:
        return {"owner": where.user or 0, "agents": agents}
    seen = [one.id for one in visible_agents(context)] if agents is None else agents
    return {"owner": principal.user_id, "agents": seen}
