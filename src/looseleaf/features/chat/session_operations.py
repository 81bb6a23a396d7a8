"""Conversations of the past: list, search, read, export, rename, delete."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.json_values import LARGEST_INTEGER, bound_limit, bound_offset
from looseleaf.catalog.resolution import agent_of, list_visible_agents, require_user
from looseleaf.errors import Forbidden, InvalidArgument
from looseleaf.errors.operations import SessionAmbiguous, SessionMissing
from looseleaf.errors.pages import AgentMissing, InvalidQuery
from looseleaf.features.chat import session as removal
from looseleaf.features.chat.session import BY_PERSON, TITLE_CHARACTERS, Turn, chats_of
from looseleaf.features.chat.turn import as_markdown
from looseleaf.memory.hidden_characters import find_invisible
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.models.model import Attachment, ToolCall
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, NotRequired, TypedDict

    from looseleaf.catalog.context import Context
    from looseleaf.features.chat.session import Conversation, Session, SessionEntry
else:
    TypedDict = dict


# The conversations that a principal may see.


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


# What was said in a conversation: read it, or export it whole.


class MessageInfo(TypedDict):
    """A message of a conversation; a field that does not apply to it is left out."""

    number: int
    turn: int
    time: str
    role: str
    content: str
    tool_calls: NotRequired[tuple[ToolCall, ...]]
    attachments: NotRequired[tuple[Attachment, ...]]
    tool_call_id: NotRequired[str]
    name: NotRequired[str]
    failed: NotRequired[bool]
    native: NotRequired[str]  # only in an export: other data of the provider


@value
class SessionText:
    """A conversation, whole or its end, with how each turn went."""

    session: SessionInfo
    messages: tuple[MessageInfo, ...]
    turns: tuple[Turn, ...]


@value
class SessionMarkdown:
    """A whole conversation as a Markdown page."""

    session_id: str
    content: str


@value
class SessionExport:
    """A whole conversation with everything that is stored; `schema` is the version of its form."""

    schema: int
    session: SessionInfo
    messages: tuple[MessageInfo, ...]
    turns: tuple[Turn, ...]


@operation(
    "datamachine/get-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    read_only=True,
)
def show_session(context: Context, session: str, *, limit: int = 0) -> SessionText:
    """Read a conversation, whole or its last messages, with how each turn went.

    Arguments:
        session: The id of the conversation, as the list of conversations gives it.
        limit: How many of the last messages to give; 0 gives all.
    """
    last = bound_limit(limit, LARGEST_INTEGER, minimum=0)
    conversation = _read_conversation(context, session, last=last)
    return SessionText(
        describe_session(context, conversation.session),
        tuple(map(describe_message, conversation.entries)),
        conversation.turns,
    )


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
) -> SessionMarkdown | SessionExport:
    """Export a whole conversation as a Markdown page, or as JSON with everything that is stored.

    Arguments:
        session: The id of the conversation, as the list of conversations gives it.
        format: markdown is a page for people; json has everything that is stored.
    """
    conversation = _read_conversation(context, session)
    chat_session, entries = conversation.session, conversation.entries
    session_info = describe_session(context, chat_session)
    if format == "markdown":
        agent, day = session_info.agent_slug or "assistant", session_info.created_at[:10]
        return SessionMarkdown(chat_session.id, as_markdown(chat_session, entries, agent, day))
    messages = tuple(_export_message(entry) for entry in entries)
    return SessionExport(1, session_info, messages, conversation.turns)


def _read_conversation(context: Context, session: str, *, last: int = 0) -> Conversation:
    """Read a conversation that the principal may see, as of one moment."""
    identity = resolve_session(context, session).id
    conversation = chats_of(context.parts).read(identity, last=last)
    if conversation is None:
        raise SessionMissing(session)  # deleted meanwhile
    return conversation


def describe_message(entry: SessionEntry) -> MessageInfo:
    """Describe a message, without the fields that do not apply to it."""
    message = entry.message
    document = MessageInfo(
        number=entry.number,
        turn=entry.turn,
        time=format_time(entry.time),
        role=message.role,
        content=message.text,
    )
    if message.calls:
        document["tool_calls"] = message.calls
    if message.attachments:
        document["attachments"] = message.attachments
    if message.role == "tool":
        document["tool_call_id"] = message.call
        document["name"] = message.name
        document["failed"] = message.failed
    return document


def _export_message(entry: SessionEntry) -> MessageInfo:
    document = describe_message(entry)
    document["native"] = entry.message.native
    return document
