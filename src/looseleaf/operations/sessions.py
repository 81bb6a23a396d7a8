"""Conversations that were had: list, read, search, rename, export, delete."""

from __future__ import annotations

from datetime import UTC, datetime

from looseleaf.chat.session import BY_PERSON, TITLE_CHARACTERS
from looseleaf.chat.transcript import as_markdown
from looseleaf.errors import AgentMissing, Forbidden, InvalidArgument, InvalidQuery
from looseleaf.memory.characters import find_invisible
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, chats_of
from looseleaf.operations.session_access import own_session, reachable_sessions
from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from looseleaf.chat.session import Entry, Session, Turn
    from looseleaf.operations.context import Context

MOST_LISTED = 100
MOST_FOUND = 50
_AROUND = 60  # characters before what was found


@value
class SessionInfo:
    """A conversation as a list shows it."""

    session_id: str
    title: str
    mode: str
    agent_id: int
    agent_slug: str
    user_id: int
    message_count: int
    unread_count: int
    running: bool
    created_at: str
    updated_at: str
    finished_at: str


@value
class SessionList:
    """Some conversations, and how many there are in all."""

    sessions: tuple[SessionInfo, ...]
    total: int
    limit: int
    offset: int


@value
class SessionText:
    """A conversation, whole or its end, with how each turn went."""

    session: SessionInfo
    messages: tuple[dict[str, Any], ...]
    turns: tuple[Turn, ...]


@value
class Mention:
    """A message that holds what was searched for."""

    session_id: str
    title: str
    number: int
    role: str
    time: str
    excerpt: str


@operation(
    "datamachine/list-chat-sessions",
    permission="chat",
    categories=("chat", "sessions"),
    read_only=True,
)
def list_sessions(
    context: Context,
    *,
    where: Where = HERE,
    mode: str = "",
    limit: int = 20,
    offset: int = 0,
) -> SessionList:
    """List conversations, the one in which something was said last first."""
    chosen = max(1, min(limit, MOST_LISTED))
    start = max(offset, 0)
    found, total = chats_of(context).sessions.list(
        **reachable_sessions(context, where), mode=mode, limit=chosen, offset=start
    )
    return SessionList(tuple(info(context, one) for one in found), total, chosen, start)


@operation(
    "datamachine/get-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    read_only=True,
)
def show_session(context: Context, session: str, *, limit: int = 0) -> SessionText:
    """Read a conversation, whole or its last messages, with how each turn went."""
    found = own_session(context, session)
    chats = chats_of(context)
    entries = chats.sessions.messages(found.id, last=max(limit, 0))
    return SessionText(
        info(context, found), tuple(map(message_info, entries)), tuple(chats.turns.list(found.id))
    )


@operation(
    "looseleaf/search-chat-sessions",
    permission="chat",
    categories=("chat", "sessions"),
    read_only=True,
)
def search_sessions(
    context: Context, query: str, *, where: Where = HERE, limit: int = MOST_FOUND
) -> list[Mention]:
    """Find a text in what people and agents said, newest first."""
    if not query.strip():
        raise InvalidQuery(query, "it is empty")
    most = max(1, min(limit, MOST_FOUND))
    hits = chats_of(context).sessions.search(
        query, **reachable_sessions(context, where), limit=most
    )
    return [
        Mention(
            hit.session.id,
            hit.session.title,
            hit.entry.number,
            hit.entry.message.role,
            iso(hit.entry.time),
            _excerpt(hit.entry.message.text, query),
        )
        for hit in hits
    ]


@operation(
    "looseleaf/rename-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    idempotent=True,
)
def rename_session(context: Context, session: str, title: str) -> SessionInfo:
    """Give a conversation another title; it does not live longer for that."""
    found = own_session(context, session)
    line = " ".join(title.split())
    if not line or len(line) > TITLE_CHARACTERS or find_invisible(line, joined=True):
        why = f"it has between 1 and {TITLE_CHARACTERS} characters, all of them visible"
        raise InvalidArgument("title", why)
    chats_of(context).sessions.change(found.id, title=line, titled=BY_PERSON)
    return info(context, own_session(context, session))


@operation(
    "datamachine/mark-session-read",
    permission="chat",
    categories=("chat", "sessions"),
    idempotent=True,
)
def mark_read(context: Context, session: str) -> SessionInfo:
    """Note that every answer so far was read."""
    found = own_session(context, session)
    chats_of(context).sessions.change(found.id, answers_read=found.answers)
    return info(context, own_session(context, session))


@operation(
    "datamachine/delete-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    destructive=True,
)
def delete_session(context: Context, session: str) -> dict[str, object]:
    """Delete a conversation for good, with all that was said; a person's act."""
    found = own_session(context, session)
    if context.principal.is_agent:
        raise Forbidden(context.permission, "a person: an agent deletes no conversations")
    return {"session_id": found.id, "deleted": chats_of(context).sessions.delete(found.id)}


@operation(
    "looseleaf/export-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    read_only=True,
)
def export_session(
    context: Context,
    session: str,
    *,
    format: Literal["markdown", "json"] = "markdown",  # noqa: A002 - as everywhere
) -> dict[str, Any]:
    """Give a whole conversation as a Markdown page, or as JSON with everything that is stored."""
    found = own_session(context, session)
    chats = chats_of(context)
    entries = chats.sessions.messages(found.id)
    about = info(context, found)
    if format == "markdown":
        agent, day = about.agent_slug or "assistant", about.created_at[:10]
        return {"session_id": found.id, "content": as_markdown(found, entries, agent, day)}
    messages = [{**message_info(one), "native": one.message.native} for one in entries]
    turns = [as_dict(one) for one in chats.turns.list(found.id)]
    return {"schema": 1, "session": as_dict(about), "messages": messages, "turns": turns}


@operation(
    "looseleaf/prune-chat-sessions",
    permission="operate",
    categories=("chat", "sessions"),
    destructive=True,
)
def prune_sessions(context: Context) -> dict[str, int]:
    """Delete sessions in which nothing was said for as long as the settings say, and empty ones."""
    context.allow()
    settings, now = context.settings, context.clock()
    deleted = chats_of(context).sessions.prune(
        said_before=now - settings.chat_retention_days * 86_400,
        empty_before=now - settings.chat_empty_hours * 3_600,
    )
    return {"deleted": deleted}


def info(context: Context, session: Session) -> SessionInfo:
    """Describe a session."""
    try:
        slug = context.agents.resolve(session.agent).slug
    except AgentMissing:
        slug = ""  # deleted; what was said stays
    return SessionInfo(
        session.id,
        session.title,
        session.mode,
        session.agent,
        slug,
        session.owner,
        session.messages,
        session.unread,
        session.running,
        iso(session.created),
        iso(session.updated),
        iso(session.finished) if session.finished else "",
    )


def message_info(entry: Entry) -> dict[str, Any]:
    """Describe a message; what it has none of is left away."""
    message = entry.message
    told: dict[str, Any] = {
        "number": entry.number,
        "turn": entry.turn,
        "time": iso(entry.time),
        "role": message.role,
        "content": message.text,
    }
    if message.calls:
        told["tool_calls"] = [as_dict(call) for call in message.calls]
    if message.attachments:
        told["attachments"] = [as_dict(one) for one in message.attachments]
    if message.role == "tool":
        told |= {"tool_call_id": message.call, "name": message.name, "failed": message.failed}
    return told


def iso(seconds: float) -> str:
    """Write a time as UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _excerpt(text: str, query: str) -> str:
    at = max(text.casefold().find(query.casefold()) - _AROUND, 0)
    cut = " ".join(text[at : at + 2 * _AROUND + len(query)].split())
    return ("…" if at else "") + cut
