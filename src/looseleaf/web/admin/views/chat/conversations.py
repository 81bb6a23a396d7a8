"""Conversations with an agent: the list, and one that is read, continued and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.plugins.admin_pages import Document, Download, Redirect
from looseleaf.times import parse_time
from looseleaf.values import value
from looseleaf.web.admin.views.chat.transcript import UNFINISHED, build_parts

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.chat import Reply
    from looseleaf.operations.sessions import SessionInfo, SessionList
    from looseleaf.operations.transcripts import SessionText
    from looseleaf.plugins.admin_pages import Visit

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
