"""What is made of a conversation when it is over: a title, and lines in the agent's journal."""

from __future__ import annotations

from looseleaf.chat.journal import entry_for, mark, title_for
from looseleaf.chat.session import BY_FIRST_WORDS, BY_MODEL, first_words
from looseleaf.errors import Invalid, LooseleafError, SessionBusy
from looseleaf.memory.store import Missing
from looseleaf.operations.catalog import operation
from looseleaf.operations.chat import model_of
from looseleaf.operations.context import Where, agent_of, chats_of
from looseleaf.operations.daily import journal, write_day
from looseleaf.operations.door import refuse_assembled
from looseleaf.operations.model_tools import for_agent
from looseleaf.operations.prompt import assemble
from looseleaf.operations.session_access import own_session
from looseleaf.operations.sessions import info
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.agents.record import AgentRecord
    from looseleaf.chat.session import Session
    from looseleaf.operations.context import Context
    from looseleaf.operations.sessions import SessionInfo


@value
class TitleMade:
    """A title, and how it came to be."""

    title: str
    method: Literal["ai", "fallback", "existing"]


@value
class Finished:
    """A session that is over, and the revision of the journal that tells of it; 0 is none."""

    session: SessionInfo
    file: str
    revision: int


@operation(
    "datamachine/generate-session-title",
    permission="chat",
    categories=("chat", "sessions"),
    idempotent=True,
)
def generate_title(context: Context, session: str, *, force: bool = False) -> TitleMade:
    """Let the model name a conversation, or name it after its first words where none answers."""
    found = own_session(context, session)
    if found.title and found.titled != BY_FIRST_WORDS and not force:
        return TitleMade(found.title, "existing")
    sessions = chats_of(context).sessions
    entries = sessions.messages(found.id)
    said = [entry for entry in entries if entry.message.role == "user"]
    if not said:
        raise Invalid(f"Nobody has said anything in the chat session {session} yet.")
    agent = agent_of(context, found.agent)
    try:
        title = title_for(entries, model_of(context, agent, found.mode))
    except LooseleafError as error:
        context.report(f"The chat session {found.id} is named after its first words", error)
        title = ""
    made = TitleMade(title or first_words(said[0].message.text), "ai" if title else "fallback")
    by = BY_MODEL if title else BY_FIRST_WORDS
    sessions.change(found.id, title=made.title, titled=by)
    return made


@operation(
    "looseleaf/finish-chat-session",
    permission="chat",
    categories=("chat", "sessions"),
    idempotent=True,
)
def finish_session(context: Context, session: str) -> Finished:
    """End a conversation for now; an agent that opted in has it summed up in its journal."""
    found = own_session(context, session)
    if found.running:
        raise SessionBusy(session)
    agent = agent_of(context, found.agent)
    file, revision = "", 0
    if agent.config.get("chat", {}).get("journal", False):
        file, revision = _journaled(context, found, agent)
    chats_of(context).sessions.change(found.id, finished=context.clock())
    return Finished(info(context, own_session(context, session)), file, revision)


def _journaled(context: Context, session: Session, agent: AgentRecord) -> tuple[str, int]:
    """Have what was not told yet written into today's journal, by the agent's own rights."""
    sessions = chats_of(context).sessions
    entries = sessions.messages(session.id, after=session.journaled)
    if not any(entry.message.role == "user" for entry in entries):
        return "", 0
    request = assemble(context.during("read"), session.mode, where=Where(agent.id)).request
    why = f"summary of chat session {session.id}"
    acting = for_agent(changed(context, actor=agent.slug, surface="chat", reason=why), request)
    where = Where(agent.id)
    today = journal(acting.during("read"), where).read()
    if not isinstance(today, Missing) and mark(session, entries).encode() in today.content:
        saved = None  # told before, by someone who was killed before noting it
    else:
        # Before the model is paid for: the journal may be closed to agents.
        journal(acting.during("write"), where)
        content = entry_for(session, entries, model_of(context, agent, "system"))
        refuse_assembled({"content": content})
        saved = write_day(acting, content, where=where)
    sessions.change(session.id, journaled=entries[-1].number)
    return (saved.filename, saved.revision) if saved is not None else ("", 0)
