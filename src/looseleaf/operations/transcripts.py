"""What was said in a conversation: read it, or export it whole."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.schemas.json_values import LARGEST_INTEGER
from looseleaf.catalog.schemas.paging import bound_limit
from looseleaf.catalog.session_access import resolve_session
from looseleaf.chat.parts import chats_of
from looseleaf.chat.session import Turn
from looseleaf.chat.transcript import as_markdown
from looseleaf.errors.chat import SessionMissing
from looseleaf.models.model import Attachment, ToolCall
from looseleaf.operations.sessions import SessionInfo, describe_session
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NotRequired, TypedDict

    from looseleaf.catalog.context import Context
    from looseleaf.chat.session import Conversation, SessionEntry
else:
    TypedDict = dict


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
