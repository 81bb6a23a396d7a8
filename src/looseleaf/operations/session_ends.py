"""The end of a conversation: its title, and its summary in the agent's journal."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.dispatch import refuse_assembled_text
from looseleaf.catalog.prompt_assembly import build_request
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.session_access import resolve_session
from looseleaf.catalog.tools.agent_turns import as_agent, model_of
from looseleaf.catalog.tools.model_rights import confine_to_agent
from looseleaf.chat.journal import describe_range, draft_entry, draft_title
from looseleaf.chat.parts import chats_of
from looseleaf.chat.session import BY_FIRST_WORDS, BY_MODEL, derive_title
from looseleaf.errors import Invalid, LooseleafError
from looseleaf.errors.chat import SessionBusy
from looseleaf.memory.scope import Where
from looseleaf.memory.store import Missing
from looseleaf.operations.daily import open_journal, write_day
from looseleaf.operations.sessions import SessionInfo, describe_session
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.chat.session import Session


@value
class TitleResult:
    """A title, and how it came to be."""

    title: str
    method: Literal["ai", "fallback", "existing"]


@value
class Finished:
    """A session that is over, and the revision of the journal with its summary, or 0 if none."""

    session: SessionInfo
    file: str
    revision: int


@operation(
    "datamachine/generate-session-title",
    permission="chat",
    categories=("chat", "sessions"),
    idempotent=True,
)
def generate_title(context: Context, session: str, *, force: bool = False) -> TitleResult:
    """Have the model name a conversation, or name it after its first words if none answers.

    Arguments:
        session: The id of the conversation, as the list of conversations gives it.
        force: Whether a title that a person or the model has given is replaced, too.
    """
    chat_session = resolve_session(context, session)
    if chat_session.title and chat_session.titled != BY_FIRST_WORDS and not force:
        return TitleResult(chat_session.title, "existing")
    sessions = chats_of(context.parts).sessions
    entries = sessions.messages(chat_session.id)
    user_entries = [entry for entry in entries if entry.message.role == "user"]
    if not user_entries:
        raise Invalid(f"Nobody has said anything in the chat session {session} yet.")
    agent = agent_of(context, chat_session.agent)
    try:
        title = draft_title(entries, model_of(context, agent, chat_session.mode))
    except LooseleafError as error:
        context.parts.report(
            f"The chat session {chat_session.id} is named after its first words", error
        )
        title = ""
    generated_title = TitleResult(
        title or derive_title(user_entries[0].message.text), "ai" if title else "fallback"
    )
    by = BY_MODEL if title else BY_FIRST_WORDS
    sessions.change(chat_session.id, title=generated_title.title, titled=by)
    return generated_title


@operation(
    "looseleaf/finish-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    idempotent=True,
)
def finish_session(context: Context, session: str) -> Finished:
    """End a conversation for now; an agent that opted in has it summed up in its journal.

    Arguments:
        session: The id of the conversation that is over; its summary goes into the journal if
            the agent's configuration says so.
    """
    chat_session = resolve_session(context, session)
    if chat_session.running:
        raise SessionBusy(session)
    agent = agent_of(context, chat_session.agent)
    file, revision = "", 0
    if agent.configuration.chat.journal:
        file, revision = _write_summary(context, chat_session, agent)
    chats_of(context.parts).sessions.change(chat_session.id, finished=context.clock())
    return Finished(describe_session(context, resolve_session(context, session)), file, revision)


def _write_summary(context: Context, session: Session, agent: AgentRecord) -> tuple[str, int]:
    """Write a summary of the new messages into today's journal, with the agent's own rights."""
    sessions = chats_of(context.parts).sessions
    entries = sessions.messages(session.id, after=session.journaled)
    if not any(entry.message.role == "user" for entry in entries):
        return "", 0
    request = build_request(context.with_permission("read"), session.mode, where=Where(agent.id))
    chat_context = replace(as_agent(context, session, agent), reason="summary of the session")
    agent_context = confine_to_agent(chat_context, request)
    where = Where(agent.id)
    today = open_journal(agent_context.with_permission("read"), where).read()
    if (
        not isinstance(today, Missing)
        and describe_range(session, entries).encode() in today.content
    ):
        receipt = None  # written by a process that was killed before it noted that
    else:
        # Before the model is paid for: the journal may be closed to agents.
        open_journal(agent_context.with_permission("write"), where)
        content = draft_entry(session, entries, model_of(context, agent, "system"))
        refuse_assembled_text({"content": content})
        receipt = write_day(agent_context, content, where=where)
    sessions.change(session.id, journaled=entries[-1].number)
    return (receipt.filename, receipt.revision) if receipt is not None else ("", 0)
