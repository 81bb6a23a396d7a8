"""Conversations with an agent: the list, and one that is read, continued and exported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from looseleaf.plugins.admin_pages import Document, Download, Redirect
from looseleaf.times import parse_time
from looseleaf.values import value
from looseleaf.web.admin.views.pages import build_page_link, render_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.agents.record import AgentRecord
    from looseleaf.features.chat.operations import Reply
    from looseleaf.features.chat.session import Turn, WrittenPage
    from looseleaf.features.chat.session_operations import (
        MessageInfo,
        SessionInfo,
        SessionList,
        SessionText,
    )
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.models.model import ToolCall
    from looseleaf.plugins.admin_pages import Visit


# A conversation as people read it: messages, tool calls in words, and the pages they wrote.


MOST_CHARACTERS = 4000  # of one argument or result that is shown
_UNSHOWN = ("hash", "previous", "warnings")  # the link to the revision shows more
ENDINGS = {
    "running": "The answer is being written.",
    "failed": "The answer failed",
    "cancelled": "Stopped.",
    "limit": "Stopped: it took as many steps as one answer may take.",
    "lost": "Interrupted: the process that was answering has ended.",
}
UNFINISHED = ("failed", "limit", "lost")  # turns that can be continued


@value
class PageWrite:
    """A page that a tool call changed, and the address of that revision."""

    file: str
    revision: int
    link: str


@value(kw_only=True)
class ToolUse:
    """One call of a tool: its arguments and its result, as names and texts."""

    name: str
    action: str
    arguments: tuple[tuple[str, str], ...]
    result: tuple[tuple[str, str], ...]
    error: str
    has_result: bool
    writes: tuple[PageWrite, ...]


@value(kw_only=True)
class Part:
    """One message; `ending` tells how its turn ended, unless the turn was completed."""

    number: int
    is_person: bool
    time: float
    text: str
    html: str
    tools: tuple[ToolUse, ...]
    attachments: tuple[str, ...]
    ending: str
    is_bad: bool


def build_parts(text: SessionText, agent: str, registry: FileRegistry) -> list[Part]:
    """Return the messages in order, each tool call beside its result."""
    results = {
        message["tool_call_id"]: message for message in text.messages if message["role"] == "tool"
    }
    writes = _link_writes(text.turns, agent, registry)
    messages = [message for message in text.messages if message["role"] != "tool"]
    last = {message["turn"]: message["number"] for message in messages}
    endings = {last[turn.number]: turn for turn in text.turns if turn.number in last}
    return [
        _build_part(message, results, writes, endings.get(message["number"]), agent)
        for message in messages
        if message["content"] or message.get("tool_calls") or message["number"] in endings
    ]


def _link_writes(
    turns: tuple[Turn, ...], agent: str, registry: FileRegistry
) -> dict[tuple[int, str], tuple[PageWrite, ...]]:
    """List the pages that each call wrote; the id of a call is unique within its turn only."""
    writes: dict[tuple[int, str], tuple[PageWrite, ...]] = {}
    for turn in turns:
        for write in turn.written:
            key = (turn.number, write.call)
            writes[key] = (*writes.get(key, ()), _build_page_write(write, agent, registry))
    return writes


def _build_page_write(write: WrittenPage, agent: str, registry: FileRegistry) -> PageWrite:
    entry = registry.get(write.file)
    layer = entry.layer if entry else "agent"
    link = f"{build_page_link(agent, layer, write.file, 'history')}?revision={write.revision}"
    return PageWrite(write.file, write.revision, link)


def _build_part(
    message: MessageInfo,
    results: Mapping[str, MessageInfo],
    writes: Mapping[tuple[int, str], tuple[PageWrite, ...]],
    turn: Turn | None,
    agent: str,
) -> Part:
    tools = tuple(
        describe_call(call, results.get(call.id), writes.get((message["turn"], call.id), ()))
        for call in message.get("tool_calls", ())
    )
    return Part(
        number=message["number"],
        is_person=message["role"] == "user",
        time=parse_time(message["time"]),
        text=message["content"],
        html=render_page(message["content"], agent, "agent"),
        tools=tools,
        attachments=tuple(attachment.name for attachment in message.get("attachments", ())),
        ending=_describe_ending(turn),
        is_bad=turn is not None and turn.status in UNFINISHED,
    )


def _describe_ending(turn: Turn | None) -> str:
    if turn is None or turn.status == "completed":
        return ""
    sentence = ENDINGS[turn.status]
    if turn.status == "failed":
        return f"{sentence}: {turn.error}" if turn.error else f"{sentence}."
    return sentence


def describe_call(
    call: ToolCall, result: MessageInfo | None, writes: tuple[PageWrite, ...] = ()
) -> ToolUse:
    """Describe the arguments and the result of a tool call for people."""
    arguments = _parse(call.arguments)
    rows = build_rows(arguments)
    action = str(arguments.get("action", "")) if isinstance(arguments, dict) else ""
    answer = _parse(result["content"]) if result is not None else {}
    error = _find_error(answer, result)
    data = answer.get("data", {}) if isinstance(answer, dict) and "success" in answer else answer
    result_rows = (
        () if error else tuple(row for row in build_rows(data) if row[0] not in _UNSHOWN and row[1])
    )
    argument_rows = tuple(row for row in rows if row[0] != "action")
    return ToolUse(
        name=call.name,
        action=action,
        arguments=argument_rows,
        result=result_rows,
        error=error,
        has_result=result is not None,
        writes=writes,
    )


def _parse(text: str) -> Any:  # noqa: ANN401 - any JSON value, or the text itself
    try:
        return json.loads(text)
    except ValueError:
        return text


def _find_error(answer: object, result: MessageInfo | None) -> str:
    if isinstance(answer, dict) and answer.get("success") is False:
        return str(answer.get("error", "It failed."))
    if result is not None and result.get("failed"):
        return str(answer)
    return ""


def build_rows(document: object) -> tuple[tuple[str, str], ...]:
    """Write the members of a JSON object as names and texts, each text within a bound."""
    if isinstance(document, dict):
        return tuple(
            (name.replace("_", " "), describe_value(item)[:MOST_CHARACTERS])
            for name, item in document.items()
        )
    text = describe_value(document)[:MOST_CHARACTERS]
    return (("text", text),) if text else ()


def describe_value(document: object) -> str:
    """Write a value of JSON as people write: a line per item, yes and no."""
    if isinstance(document, bool):
        return "yes" if document else "no"
    if document is None:
        return "nothing"
    if isinstance(document, dict):
        return "\n".join(f"{name}: {describe_value(item)}" for name, item in document.items())
    if isinstance(document, list):
        return "\n".join(describe_value(item) for item in document)
    return str(document)


MOST_LISTED = 30  # conversations on one page of the list
MOST_MESSAGES = 200  # of a conversation, unless all are asked for
WARNINGS = {"cancelled": "Stopped.", "limit": "It took as many steps as one answer may take."}


@value(kw_only=True)
class ConversationRow:
    """A conversation as a list shows it."""

    title: str
    link: str
    updated: float
    count: int
    unread: int
    is_running: bool
    is_here: bool


def list_conversations(visit: Visit) -> Document | Redirect:
    """List the person's own conversations with an agent, with the form for a new one."""
    agent: AgentRecord = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    offset = visit.query.get("offset", "")
    sessions = _list_sessions(visit, agent, int(offset) if offset.isdecimal() else 0)
    end = sessions.offset + len(sessions.sessions)
    data = {
        "agent": agent,
        "model": visit.run("looseleaf/show-status", agent=agent.slug).model,
        "entries": _build_entries(sessions, agent.slug),
        "total": sessions.total,
        "next": end if end < sessions.total else 0,
    }
    return Document("chat/conversations.html", "Conversations", data)


def _list_sessions(visit: Visit, agent: AgentRecord, offset: int = 0) -> SessionList:
    sessions: SessionList = visit.run(
        "datamachine/list-chat-sessions", agent=agent.slug, limit=MOST_LISTED, offset=offset
    )
    return sessions


def _build_entries(sessions: SessionList, agent: str, current: str = "") -> list[ConversationRow]:
    return [
        ConversationRow(
            title=session.title or "Without a title",
            link=build_conversation_link(agent, session.session_id),
            updated=parse_time(session.updated_at),
            count=session.message_count,
            unread=session.unread_count,
            is_running=session.running,
            is_here=session.session_id == current,
        )
        for session in sessions.sessions
    ]


def build_conversation_link(agent: str, session: str) -> str:
    """Return the address of a conversation."""
    return f"/admin/agents/{quote(agent)}/chat/{quote(session)}"


def start_conversation(visit: Visit) -> Document | Redirect:
    """Send the first message and wait for the answer."""
    agent: AgentRecord = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    reply: Reply = visit.run(
        "datamachine/send-message", message=_message_of(visit), agent=agent.slug
    )
    address = build_conversation_link(agent.slug, reply.session_id)
    return Redirect(f"{address}#end", WARNINGS.get(reply.status, ""))


def _message_of(visit: Visit) -> str:
    return visit.form.get("message", "").replace("\r\n", "\n")


def show_conversation(visit: Visit) -> Document | Redirect:
    """Show one conversation like a chat."""
    agent: AgentRecord = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    shows_all = visit.query.get("show") == "all"
    text: SessionText = visit.run(
        "datamachine/get-chat-session",
        session=visit.parameters["session"],
        limit=0 if shows_all else MOST_MESSAGES,
    )
    session = text.session
    if session.agent_slug != agent.slug:
        return Redirect(
            build_conversation_link(session.agent_slug or agent.slug, session.session_id)
        )
    if session.unread_count and not session.running:
        visit.run("datamachine/mark-session-read", session=session.session_id)
    data = {
        "agent": agent,
        "session": session,
        "updated": parse_time(session.updated_at),
        "parts": build_parts(text, agent.slug, visit.context.pages.registry),
        "earlier": session.message_count - len(text.messages),
        "can_continue": bool(text.turns) and text.turns[-1].status in UNFINISHED,
        "model": visit.run("looseleaf/show-status", agent=agent.slug).model,
        "entries": _build_entries(_list_sessions(visit, agent), agent.slug, session.session_id),
        "link": build_conversation_link(agent.slug, session.session_id),
    }
    return Document("chat/conversation.html", session.title or "Conversation", data)


def change_conversation(visit: Visit) -> Document | Redirect:
    """Send a message, continue, stop, rename or delete, by the button that was pressed."""
    agent, session = visit.parameters["agent"], visit.parameters["session"]
    address = build_conversation_link(agent, session)
    action = visit.form.get("action", "send")
    if action == "stop":
        was_running = visit.run("looseleaf/cancel-chat", session=session).cancelled
        return Redirect(
            address, "The answer is stopped." if was_running else "No answer was running."
        )
    if action == "rename":
        info: SessionInfo = visit.run(
            "looseleaf/rename-chat-session", session=session, title=visit.form.get("title", "")
        )
        return Redirect(address, f"The conversation is called “{info.title}” now.")
    if action == "delete":
        consequence = "All that was said is deleted for good. What it wrote to memory stays."
        visit.run("datamachine/get-chat-session", session=session)  # or it is refused, not asked
        visit.ask("Delete this conversation?", consequence)
        visit.run("datamachine/delete-chat-session", session=session)
        return Redirect(f"/admin/agents/{quote(agent)}/chat", "The conversation is deleted.")
    if action == "continue":
        reply: Reply = visit.run("looseleaf/continue-chat", session=session)
    else:
        reply = visit.run("datamachine/send-message", message=_message_of(visit), session=session)
    return Redirect(f"{address}#end", WARNINGS.get(reply.status, ""))


def export_conversation(visit: Visit) -> Document | Redirect | Download:
    """Return a conversation as a Markdown file."""
    session = visit.parameters["session"]
    page = visit.run("looseleaf/export-chat-session", session=session, format="markdown")
    return Download(f"conversation-{page.session_id}.md", "text/markdown", page.content)


def find_conversation(visit: Visit) -> Document | Redirect:
    """Redirect to a conversation, by its id alone."""
    session = visit.parameters["session"]
    text: SessionText = visit.run("datamachine/get-chat-session", session=session, limit=1)
    info = text.session
    if not info.agent_slug:
        return Redirect("/admin", "The agent of that conversation is deleted.")
    return Redirect(build_conversation_link(info.agent_slug, info.session_id))
