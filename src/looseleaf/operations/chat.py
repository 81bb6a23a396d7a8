"""Talking to an agent: one turn of a conversation, told as it happens or whole at its end."""

from __future__ import annotations

import json

from looseleaf.chat.compaction import compaction_of
from looseleaf.chat.events import Called, Ended, Titled
from looseleaf.chat.journal import title_for
from looseleaf.chat.session import BY_FIRST_WORDS, BY_MODEL, Opening, Written, first_words
from looseleaf.chat.turn import Party, Result, TurnTaker
from looseleaf.errors import EmptyMessage, InvalidArgument, LooseleafError, ModelMissing
from looseleaf.models.model import Attachment, Message, Offer
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, agent_meant, agent_of, chats_of
from looseleaf.operations.model_tools import run_tool, tools_for
from looseleaf.operations.prompt import assemble
from looseleaf.operations.session_access import own_session
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.chat.events import Event
    from looseleaf.chat.session import Begun, Session
    from looseleaf.models.model import Model, ToolCall, Usage
    from looseleaf.operations.context import Context
    from looseleaf.operations.remote_context import Elsewhere
    from looseleaf.prompt.request import Request

_MOST_STEPS = 50
_LONGEST_REQUEST = 200


@value
class Saying:
    """What someone says, and to go on with which session; without a text, the last is answered."""

    message: str | None
    session: str = ""
    mode: str = "chat"
    request: str = ""
    model: str = ""
    attachments: tuple[Attachment, ...] = ()


@value
class Reply:
    """How a turn ended, as a program wants to know it."""

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
    tool_calls: tuple[Called, ...]
    written: tuple[Written, ...]
    usage: Usage


def converse(context: Context | Elsewhere, saying: Saying, where: Where = HERE) -> Iterator[Event]:
    """Say something to an agent, and give every event of its answer; to close it cancels.

    What is wrong is raised before anything is saved; what fails later is raised by the iterator,
    and the message is kept.
    """
    if context.is_remote:
        return context.converse(saying, where)
    context = context.during("chat")
    session = own_session(context, saying.session) if saying.session else None
    agent = agent_of(context, session.agent) if session else agent_meant(context, where)
    mode = session.mode if session else saying.mode
    if saying.message is not None and not saying.message.strip():
        raise EmptyMessage
    if not saying.request.isprintable() or len(saying.request) > _LONGEST_REQUEST:
        raise InvalidArgument("request", f"it has at most {_LONGEST_REQUEST} printable characters")
    model = model_of(context, agent, mode, saying.model)
    request = assemble(context.during("read"), mode, where=Where(agent.id, where.user)).request
    message = None
    if saying.message is not None:
        message = Message("user", saying.message, attachments=saying.attachments)
    local = context.principal.is_local
    opening = Opening(
        session.id if session else "",
        request.user if local else context.principal.user_id,
        agent.id,
        mode,
        message,
        first_words(saying.message or ""),
        saying.request,
        model.name,
    )
    begun = chats_of(context).turns.begin(opening)
    return _taken(context, begun, request, model)


def _taken(context: Context, begun: Begun, request: Request, model: Model) -> Iterator[Event]:
    chats = chats_of(context)
    if begun.lease is None:
        yield _again(context, begun)
        return
    why = f"chat session {begun.session.id}, turn {begun.turn.number}"
    acting = changed(context, actor=request.agent.slug, surface="chat", reason=why)
    party = Party(
        model,
        lambda: _system(context, request),
        tuple(
            Offer(tool.name, tool.description, tool.parameters)
            for tool in tools_for(acting, request)
        ),
        lambda call: _run(acting, request, call),
        step_limit(context, request.agent),
        compaction_of(request.agent.config),
        lambda: not context.is_current(),
    )
    for event in TurnTaker(chats, begun, begun.lease, party).take():
        if isinstance(event, Ended) and event.status == "completed":
            title = _titled(context, begun.session, model)
            if title:
                yield Titled(title)
        yield event


def _system(context: Context, request: Request) -> tuple[str, ...]:
    where = Where(request.agent.id, request.user if context.principal.is_local else None)
    return assemble(context.during("read"), request.mode, where=where).messages


def _run(context: Context, request: Request, call: ToolCall) -> Result:
    """Run a tool as the agent itself; what it wrote is told by revision."""
    envelope = run_tool(context, request, call.name, call.arguments)
    text = json.dumps(envelope, ensure_ascii=False)
    data = envelope.get("data", {})
    if not envelope["success"] or "revision" not in data or not data.get("changed", True):
        return Result(text, failed=not envelope["success"])
    file = data.get("filename") or data.get("file") or ""
    return Result(text, written=(Written(file, data["revision"], call.name, call.id),))


def _again(context: Context, begun: Begun) -> Ended:
    """Give the end of a turn that was asked for again."""
    entries = chats_of(context).sessions.messages(begun.session.id, after=begun.turn.first)
    texts = [
        entry.message.text
        for entry in entries
        if entry.turn == begun.turn.number and entry.message.role == "assistant"
    ]
    turn = begun.turn
    text = texts[-1] if texts else ""
    return Ended(begun.session.id, turn.number, turn.status, text, turn.usage, turn.written, 0, "")


def _titled(context: Context, session: Session, model: Model) -> str:
    """Let the model name a session that only has its first words for a title."""
    first = session.titled in ("", BY_FIRST_WORDS) and session.answers == 0
    if not context.settings.chat_model_titles or not first:
        return ""
    sessions = chats_of(context).sessions
    try:
        title = title_for(sessions.messages(session.id), model)
    except LooseleafError as error:
        context.report(f"The chat session {session.id} keeps its first words as title", error)
        return ""
    if title:
        sessions.change(session.id, title=title, titled=BY_MODEL)
    return title


def model_of(context: Context, agent: AgentRecord, mode: str, told: str = "") -> Model:
    """Open the model that answers for an agent in a mode, or raise `ModelMissing`."""
    if told:
        context.during("settings").allow()
    name = told or (context.model_for(agent.id, mode) if context.model_for else None)
    if not name or context.models is None:
        raise ModelMissing(agent.slug, mode)
    return context.models().open(name)


def step_limit(context: Context, agent: AgentRecord) -> int:
    """Say how often a model may be asked for one answer."""
    told = agent.config.get("chat", {}).get("turn_limit", context.settings.chat_turn_limit)
    return max(1, min(int(told), _MOST_STEPS))


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
    where: Where = HERE,
) -> Reply:
    """Say something to an agent and wait for its answer; without a session, a new one begins."""
    given = {"message": message, "session": session, "mode": mode, "request": request}
    events = begun(context, {**given, "model": model, "attachments": attachments}, where)
    return replied(context, events)


@operation("looseleaf/continue-chat", permission="chat", categories=("chat",))
def continue_chat(context: Context, session: str, *, model: str = "") -> Reply:
    """Let an agent answer what it has not answered yet, after a failure or at the turn limit."""
    return replied(context, converse(context, Saying(None, session, model=model)))


@operation("looseleaf/cancel-chat", permission="chat", categories=("chat",), idempotent=True)
def cancel_chat(context: Context, session: str) -> dict[str, bool]:
    """Stop the turn that is running in a session, here or in another process."""
    found = own_session(context, session)
    return {"cancelled": chats_of(context).turns.cancel(found.id)}


def begun(
    context: Context, given: Mapping[str, Any], where: Where | None = None
) -> Iterator[Event]:
    """Begin a turn by the arguments of `send_message` or `continue_chat`."""
    attached = tuple(_attachment(one) for one in given.get("attachments", ()))
    told = {name: one for name, one in given.items() if name != "attachments"}
    saying = Saying(**{"message": None, **told, "attachments": attached})
    return converse(context, saying, where or HERE)


def replied(context: Context, events: Iterator[Event]) -> Reply:
    """Wait for the end of a turn."""
    calls: list[Called] = []
    end: Ended | None = None
    for event in events:
        if isinstance(event, Called):
            calls.append(event)
        elif isinstance(event, Ended):
            end = event
    if end is None:
        raise ValueError("a turn ended without saying so")
    return _reply(context.during("chat"), end, calls)


def _reply(context: Context, end: Ended, calls: list[Called]) -> Reply:
    """Sum up a turn."""
    session = own_session(context, end.session)
    agent = agent_of(context, session.agent)
    return Reply(
        end.session,
        end.turn,
        end.status,
        end.status == "completed",
        end.text,
        session.title,
        end.steps,
        step_limit(context, agent),
        end.status == "limit",
        end.warning,
        tuple(calls),
        end.written,
        end.usage,
    )


def _attachment(given: Attachment | dict[str, Any]) -> Attachment:
    if isinstance(given, Attachment):
        return given
    try:
        return Attachment(**given)
    except TypeError:
        why = "each has a name, a media_type and a reference"
        raise InvalidArgument("attachments", why) from None
