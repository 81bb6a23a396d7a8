"""Talking to an agent: one turn of a conversation, event by event or whole at its end."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.prompt_assembly import build_request, compose
from looseleaf.catalog.resolution import agent_of, resolve_agent
from looseleaf.catalog.session_access import resolve_session
from looseleaf.catalog.tools.agent_turns import as_agent, choose_step_limit, model_of, run_call
from looseleaf.catalog.tools.model_tools import list_model_tools
from looseleaf.chat.events import TitleChanged, ToolCalled, TurnEnded
from looseleaf.chat.journal import draft_title
from looseleaf.chat.parts import chats_of
from looseleaf.chat.session import (
    BY_FIRST_WORDS,
    BY_MODEL,
    ChatInput,
    Opening,
    WrittenPage,
    derive_title,
)
from looseleaf.chat.turn import TurnRunner, TurnSetup
from looseleaf.errors import InvalidArgument, LooseleafError
from looseleaf.errors.chat import EmptyMessage
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.models.model import Attachment, Message, Offer, Usage
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.remote_context import RemoteContext
    from looseleaf.chat.events import Event
    from looseleaf.chat.session import BegunTurn, Session
    from looseleaf.models.model import Model
    from looseleaf.prompt.request import Request

_LONGEST_REQUEST = 200


@value(kw_only=True)
class Reply:
    """The end of a turn, for programs."""

    session_id: str
    turn: int
    status: str
    completed: bool
    response: str
    title: str
    steps: int
    max_turns: int
    max_turns_reached: bool
    warning: str
    tool_calls: tuple[ToolCalled, ...]
    written: tuple[WrittenPage, ...]
    usage: Usage


@value
class Cancelled:
    """Whether a turn was running, and is stopped."""

    cancelled: bool


def converse(
    context: Context | RemoteContext, chat_input: ChatInput, where: Where = DEFAULT_WHERE
) -> Iterator[Event]:
    """Send a message to an agent and yield every event of the answer; closing the iterator cancels.

    A wrong argument is an error before anything is saved. A later failure is raised by the
    iterator, and the message is kept.
    """
    if context.is_remote:
        from looseleaf.remote import conversation

        return conversation.converse(context, chat_input, where)
    context = context.with_permission("chat")
    session = resolve_session(context, chat_input.session) if chat_input.session else None
    agent = agent_of(context, session.agent) if session else resolve_agent(context, where)
    mode = session.mode if session else chat_input.mode
    if chat_input.message is not None and not chat_input.message.strip():
        raise EmptyMessage
    if not chat_input.request.isprintable() or len(chat_input.request) > _LONGEST_REQUEST:
        raise InvalidArgument("request", f"it has at most {_LONGEST_REQUEST} printable characters")
    model = model_of(context, agent, mode, chat_input.model)
    request = build_request(
        context.with_permission("read"), mode, where=Where(agent.id, where.user)
    )
    message = None
    if chat_input.message is not None:
        message = Message(role="user", text=chat_input.message, attachments=chat_input.attachments)
    local = context.principal.is_local
    opening = Opening(
        session=session.id if session else "",
        owner=request.user if local else context.principal.user_id,
        agent=agent.id,
        mode=mode,
        message=message,
        title=derive_title(chat_input.message or ""),
        request=chat_input.request,
        model=model.name,
    )
    start = chats_of(context.parts).turns.begin(opening)
    return _take_turn(context, start, request, model)


def _take_turn(
    context: Context, start: BegunTurn, request: Request, model: Model
) -> Iterator[Event]:
    chats = chats_of(context.parts)
    if start.lease is None:
        yield _repeat_end(context, start)
        return
    agent_context = as_agent(context, start.session, request.agent)
    setup = TurnSetup(
        model=model,
        system=lambda: _compose_system(context, request),
        offers=tuple(
            Offer(tool.name, tool.description, tool.parameters)
            for tool in list_model_tools(agent_context, request)
        ),
        run=lambda call: run_call(agent_context, request, call),
        limit=choose_step_limit(context, request.agent),
        compaction=request.agent.configuration.chat.compaction,
        should_stop=lambda: not context.is_current(),
    )
    for event in TurnRunner(chats, start, start.lease, setup, start.first_message).run():
        if isinstance(event, TurnEnded) and event.status == "completed":
            title = _name_session(context, start.session, model)
            if title:
                yield TitleChanged(title)
        yield event


def _compose_system(context: Context, request: Request) -> tuple[str, ...]:
    where = Where(request.agent.id, request.user if context.principal.is_local else None)
    return compose(context.with_permission("read"), request.mode, where=where).messages


def _repeat_end(context: Context, start: BegunTurn) -> TurnEnded:
    """Return the end of a turn that was asked for again."""
    entries = chats_of(context.parts).sessions.messages(start.session.id, after=start.turn.first)
    texts = [
        entry.message.text
        for entry in entries
        if entry.turn == start.turn.number and entry.message.role == "assistant"
    ]
    turn = start.turn
    text = texts[-1] if texts else ""
    return TurnEnded(
        session=start.session.id,
        turn=turn.number,
        status=turn.status,
        text=text,
        usage=turn.usage,
        written=turn.written,
        steps=0,
        warning="",
    )


def _name_session(context: Context, session: Session, model: Model) -> str:
    """Have the model name a session that only has its first words for a title."""
    first = session.titled in ("", BY_FIRST_WORDS) and session.answers == 0
    if not context.settings.chat_model_titles or not first:
        return ""
    sessions = chats_of(context.parts).sessions
    try:
        title = draft_title(sessions.messages(session.id), model)
    except LooseleafError as error:
        context.parts.report(f"The chat session {session.id} keeps its first words as title", error)
        return ""
    if title:
        sessions.change(session.id, title=title, titled=BY_MODEL)
    return title


@operation("datamachine/send-message", permission="chat", categories=("chat",))
def send_message(
    context: Context,
    message: str,
    *,
    session: str = "",
    mode: str = "chat",
    request: str = "",
    model: str = "",
    attachments: tuple[Attachment, ...] = (),
    where: Where = DEFAULT_WHERE,
) -> Reply:
    """Send a message to an agent and wait for its answer; without a session, a new one begins.

    Arguments:
        message: What is said to the agent.
        session: The id of the conversation to go on with; without it, a new conversation begins.
        mode: The kind of request that a new conversation is, which decides what its prompt has.
        request: An id of the sender's own choice; sending the same id again gives the same answer
            and asks no model.
        model: The model that answers this one time, as provider:model, instead of the agent's own;
            choosing it takes the permission to change settings.
        attachments: Files that belong to the message, named but not contained: name, media_type,
            reference and bytes of each.
        agent: The agent that is spoken to in a new conversation, by id or slug; without it, the
            token's or the default agent.
        user: The user whose agent and USER.md are meant, by id; without it, the user who acts.
        layer: Not used here: a conversation belongs to an agent, not to a layer.
    """
    fields = {"message": message, "session": session, "mode": mode, "request": request}
    events = begin_turn(context, {**fields, "model": model, "attachments": attachments}, where)
    return collect_reply(context, events)


@operation("looseleaf/continue-chat", permission="chat", categories=("chat",))
def continue_chat(context: Context, session: str, *, model: str = "") -> Reply:
    """Have an agent answer what it has not answered yet, after a failure or at the turn limit.

    Arguments:
        session: The id of the conversation whose last message has no complete answer yet.
        model: The model that answers this one time, as provider:model, instead of the agent's own;
            choosing it takes the permission to change settings.
    """
    return collect_reply(context, converse(context, ChatInput(None, session, model=model)))


@operation("looseleaf/cancel-chat", permission="chat", categories=("chat",), idempotent=True)
def cancel_chat(context: Context, session: str) -> Cancelled:
    """Stop the turn that is running in a session, here or in another process.

    Arguments:
        session: The id of the conversation whose running answer is stopped.
    """
    chat_session = resolve_session(context, session)
    return Cancelled(chats_of(context.parts).turns.cancel(chat_session.id))


def begin_turn(
    context: Context, arguments: Mapping[str, Any], where: Where | None = None
) -> Iterator[Event]:
    """Begin a turn by the arguments of `send_message` or `continue_chat`."""
    attachments = tuple(map(_parse_attachment, arguments.get("attachments", ())))
    fields = {name: argument for name, argument in arguments.items() if name != "attachments"}
    chat_input = ChatInput(**{"message": None, **fields, "attachments": attachments})
    return converse(context, chat_input, where or DEFAULT_WHERE)


def collect_reply(context: Context, events: Iterator[Event]) -> Reply:
    """Wait for the end of a turn."""
    calls: list[ToolCalled] = []
    end: TurnEnded | None = None
    for event in events:
        if isinstance(event, ToolCalled):
            calls.append(event)
        elif isinstance(event, TurnEnded):
            end = event
    if end is None:
        raise ValueError("a turn ended without saying so")
    return _reply(context.with_permission("chat"), end, calls)


def _reply(context: Context, end: TurnEnded, calls: list[ToolCalled]) -> Reply:
    """Sum up a turn."""
    session = resolve_session(context, end.session)
    agent = agent_of(context, session.agent)
    return Reply(
        session_id=end.session,
        turn=end.turn,
        status=end.status,
        completed=end.status == "completed",
        response=end.text,
        title=session.title,
        steps=end.steps,
        max_turns=choose_step_limit(context, agent),
        max_turns_reached=end.status == "limit",
        warning=end.warning,
        tool_calls=tuple(calls),
        written=end.written,
        usage=end.usage,
    )


def _parse_attachment(attachment: Attachment | dict[str, Any]) -> Attachment:
    if isinstance(attachment, Attachment):
        return attachment
    try:
        return Attachment(**attachment)
    except TypeError:
        rule = "each has a name, a media_type and a reference"
        raise InvalidArgument("attachments", rule) from None
