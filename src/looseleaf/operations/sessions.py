"""Conversations of the past: list, search, rename, delete."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.schemas.paging import bound_limit, bound_offset
from looseleaf.catalog.session_access import build_session_filter, resolve_session
from looseleaf.chat import removal
from looseleaf.chat.parts import chats_of
from looseleaf.chat.session import BY_PERSON, TITLE_CHARACTERS
from looseleaf.errors import Forbidden, InvalidArgument
from looseleaf.errors.agents import AgentMissing
from looseleaf.errors.pages import InvalidQuery
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.text.hidden_characters import find_invisible
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.chat.session import Session

MOST_FOUND = 50
_AROUND = 60  # characters of an excerpt before the match


@value(kw_only=True)
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
class SessionDeleted:
    """A conversation that is gone for good."""

    session_id: str
    deleted: bool


@value
class SessionsPruned:
    """How many conversations were deleted."""

    deleted: int


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
    where: Where = DEFAULT_WHERE,
    mode: str = "",
    limit: int = 20,
    offset: int = 0,
) -> SessionList:
    """List conversations, the one in which something was said last first.

    Arguments:
        mode: The only mode whose conversations are listed, such as chat; without it, every mode.
        limit: The most conversations to give, from 1 to 100.
        offset: How many conversations to pass over first, to read a long list in parts.
        agent: The agent whose conversations are listed, by id or slug; without it, every agent
            that one may talk to.
        user: The user whose conversations are listed, by id; without it, the user who acts.
        layer: Not used here: a conversation belongs to an agent, not to a layer.
    """
    page_size, start = bound_limit(limit), bound_offset(offset)
    sessions, total = chats_of(context.parts).sessions.list(
        **build_session_filter(context, where), mode=mode, limit=page_size, offset=start
    )
    return SessionList(
        tuple(describe_session(context, session) for session in sessions), total, page_size, start
    )


@operation(
    "looseleaf/search-chat-sessions",
    permission="chat",
    categories=("chat", "sessions"),
    read_only=True,
)
def search_sessions(
    context: Context, query: str, *, where: Where = DEFAULT_WHERE, limit: int = MOST_FOUND
) -> list[Mention]:
    """Find a text in what people and agents said, newest first.

    Arguments:
        query: The text to find in messages; upper and lower case are the same.
        limit: The most messages to give, from 1 to 50.
        agent: The agent whose conversations are searched, by id or slug; without it, every agent
            that one may talk to.
        user: The user whose conversations are searched, by id; without it, the user who acts.
        layer: Not used here: a conversation belongs to an agent, not to a layer.
    """
    if not query.strip():
        raise InvalidQuery(query, "it is empty")
    most_hits = bound_limit(limit, MOST_FOUND)
    hits = chats_of(context.parts).sessions.search(
        query, **build_session_filter(context, where), limit=most_hits
    )
    return [
        Mention(
            hit.session.id,
            hit.session.title,
            hit.entry.number,
            hit.entry.message.role,
            format_time(hit.entry.time),
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
    """Rename a conversation; this does not extend its retention.

    Arguments:
        session: The id of the conversation, as the list of conversations gives it.
        title: The new title: one line of at most 100 visible characters.
    """
    chat_session = resolve_session(context, session)
    line = " ".join(title.split())
    if not line or len(line) > TITLE_CHARACTERS or find_invisible(line, allow_joiners=True):
        rule = f"it has between 1 and {TITLE_CHARACTERS} characters, all of them visible"
        raise InvalidArgument("title", rule)
    chats_of(context.parts).sessions.change(chat_session.id, title=line, titled=BY_PERSON)
    return describe_session(context, resolve_session(context, session))


@operation(
    "datamachine/mark-session-read",
    permission="chat",
    categories=("chat", "sessions"),
    idempotent=True,
)
def mark_read(context: Context, session: str) -> SessionInfo:
    """Note that every answer so far was read.

    Arguments:
        session: The id of the conversation, as the list of conversations gives it.
    """
    chat_session = resolve_session(context, session)
    chats_of(context.parts).sessions.change(chat_session.id, answers_read=chat_session.answers)
    return describe_session(context, resolve_session(context, session))


@operation(
    "datamachine/delete-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    destructive=True,
)
def delete_session(context: Context, session: str) -> SessionDeleted:
    """Delete a conversation for good, with all that was said; a person's act.

    Arguments:
        session: The id of the conversation that is deleted for good.
    """
    chat_session = resolve_session(context, session)
    if context.principal.is_agent:
        raise Forbidden(context.permission, "a person: an agent deletes no conversations")
    return SessionDeleted(chat_session.id, chats_of(context.parts).sessions.delete(chat_session.id))


@operation(
    "looseleaf/prune-chat-sessions",
    permission="operate",
    categories=("chat", "sessions"),
    destructive=True,
)
def prune_sessions(context: Context) -> SessionsPruned:
    """Delete sessions in which nothing was said for as long as the settings say, and empty ones."""
    context.allow()
    counts = removal.prune_sessions(context.parts, context.settings, dry_run=False)
    return SessionsPruned(sum(counts.values()))


def describe_session(context: Context, session: Session) -> SessionInfo:
    """Describe a session."""
    try:
        slug = context.parts.agents.resolve(session.agent).slug
    except AgentMissing:
        slug = ""  # deleted; what was said stays
    return SessionInfo(
        session_id=session.id,
        title=session.title,
        mode=session.mode,
        agent_id=session.agent,
        agent_slug=slug,
        user_id=session.owner,
        message_count=session.messages,
        unread_count=session.unread,
        running=session.running,
        created_at=format_time(session.created),
        updated_at=format_time(session.updated),
        finished_at=format_time(session.finished) if session.finished else "",
    )


def _excerpt(text: str, query: str) -> str:
    at = max(text.casefold().find(query.casefold()) - _AROUND, 0)
    excerpt = " ".join(text[at : at + 2 * _AROUND + len(query)].split())
    return ("…" if at else "") + excerpt
