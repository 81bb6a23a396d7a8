"""A conversation and its parts, and the contracts of the stores that keep them."""

from __future__ import annotations

from looseleaf.models.model import Usage
from looseleaf.times import DAY_SECONDS
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Protocol

    from looseleaf.catalog.services import WorkspaceServices
    from looseleaf.models.model import Attachment, Message
    from looseleaf.settings import Settings

    Status = Literal["running", "completed", "failed", "cancelled", "limit", "lost"]
else:
    Protocol = object


CHAT = "chat"  # the source of a session that a person began
TITLE_CHARACTERS = 100
# The source of a session's title.
BY_FIRST_WORDS, BY_MODEL, BY_PERSON = "first words", "model", "person"


@value(kw_only=True)
class Session:
    """A conversation without its messages."""

    id: str
    owner: int  # a user
    agent: int
    mode: str
    created: float
    updated: float  # the time of the last message; reading or renaming does not change it
    title: str = ""
    titled: str = ""  # the source of the title: first words, model or person
    messages: int = 0  # the number of the last message
    answers: int = 0
    answers_read: int = 0
    source: str = CHAT
    finished: float = 0.0  # 0 while the session is not finished
    journaled: int = 0  # the last message that the journal covers
    summary: str = ""  # of the beginning, written by a model
    summarized: int = 0  # the last message that the summary covers
    running: bool = False

    @property
    def unread(self) -> int:
        """The number of unread answers."""
        return self.answers - self.answers_read


@value
class ChatInput:
    """The input of a turn; without a message, the last message of the session is answered."""

    message: str | None
    session: str = ""
    mode: str = CHAT
    request: str = ""
    model: str = ""
    attachments: tuple[Attachment, ...] = ()


@value
class SessionEntry:
    """One message of a session, with its number from 1."""

    number: int
    time: float
    turn: int
    message: Message


@value
class WrittenPage:
    """A page that the agent changed, by revision."""

    file: str
    revision: int
    tool: str
    call: str


@value(kw_only=True)
class Turn:
    """One answer to a person, with everything that led to it."""

    number: int
    status: Literal["running", "completed", "failed", "cancelled", "limit", "lost"]
    started: float
    finished: float = 0.0
    request: str = ""  # an id; a repeated request gets the same answer
    model: str = ""
    first: int = 0  # the number of the message that the turn answers
    usage: Usage = Usage()
    error: str = ""
    written: tuple[WrittenPage, ...] = ()


@value(kw_only=True)
class Opening:
    """A request to begin a turn; without a message, the last message is answered."""

    session: str  # "" begins a new session
    owner: int
    agent: int
    mode: str
    message: Message | None
    title: str = ""  # of a new session
    request: str = ""
    model: str = ""
    source: str = CHAT


@value
class Lease:
    """The right to write to a session; a writer that lost it is refused."""

    session: str
    turn: int
    token: str


@value
class BegunTurn:
    """A turn that has begun, or a finished turn whose request was repeated."""

    session: Session
    turn: Turn
    lease: Lease | None  # None for a finished turn
    new: bool
    first_message: Message | None = None  # of a new session, as saved


@value
class TurnOutcome:
    """How a turn ended."""

    status: Status
    usage: Usage
    error: str = ""
    written: tuple[WrittenPage, ...] = ()


@value
class MessageHit:
    """A message that contains the text of a search."""

    session: Session
    entry: SessionEntry


class Turns(Protocol):
    """The turns of sessions; a session has one running turn at a time, among all processes."""

    def begin(self, opening: Opening) -> BegunTurn:
        """Save the message and take the lease in one step, or raise `SessionBusy`."""

    def append(self, lease: Lease, messages: Sequence[Message]) -> int:
        """Save messages, and renew the lease; return the number of the last message."""

    def end(self, lease: Lease, messages: Sequence[Message], outcome: TurnOutcome) -> int:
        """Save the end of a turn, and release the lease."""

    def renew(self, lease: Lease) -> bool:
        """Renew the lease; return whether the turn was cancelled."""

    def cancel(self, session: str) -> bool:
        """Request a running turn to stop; return whether a turn was running."""

    def list(self, session: str) -> list[Turn]:
        """List the turns of a session."""


class Sessions(Protocol):
    """Conversations, by id."""

    def find(self, session: str) -> Session | None:
        """Find a session."""

    def find_by_prefix(
        self, prefix: str, *, owner: int = 0, agents: Sequence[int] | None = None
    ) -> Sequence[Session]:
        """Find up to two sessions by the start of their id, of an owner and of agents."""

    def list(
        self,
        *,
        owner: int = 0,
        agents: Sequence[int] | None = None,
        mode: str = "",
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[list[Session], int]:
        """List sessions, latest message first, and count all of them."""

    def search(
        self, query: str, *, owner: int = 0, agents: Sequence[int] | None = None, limit: int = 50
    ) -> Sequence[MessageHit]:
        """Find a text in messages, newest first."""

    def messages(self, session: str, *, last: int = 0, after: int = 0) -> Sequence[SessionEntry]:
        """List messages in order: the last so many, the messages after a number, or all."""

    def change(self, session: str, **fields: str | float) -> None:
        """Change fields of a session, but not the time of its last use."""

    def delete(self, session: str) -> bool:
        """Delete a session with its messages; `SessionBusy` while a turn runs."""

    def prune(
        self, *, said_before: float = 0.0, empty_before: float = 0.0, dry_run: bool = False
    ) -> int:
        """Delete sessions without recent messages; return the number of deleted sessions."""


@value
class Conversation:
    """A session with messages and turns, all as of one moment."""

    session: Session
    entries: tuple[SessionEntry, ...]
    turns: tuple[Turn, ...]


class Chats(Protocol):
    """The sessions and turns of one database."""

    @property
    def sessions(self) -> Sessions:
        """The conversations and their messages."""

    @property
    def turns(self) -> Turns:
        """The turns, running and finished."""

    def read(self, session: str, *, last: int = 0) -> Conversation | None:
        """Read a session with its messages, or the last so many, and its turns."""


def derive_title(text: str) -> str:
    """Name a session after its first message."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARACTERS - 3 else line[: TITLE_CHARACTERS - 3] + "..."


# The part that conversations add to a workspace.


CHATS = "chats"


def chats_of(parts: WorkspaceServices) -> Chats:
    """Return the conversations of a workspace, from the database of the accounts."""
    chats: Chats = parts.part(CHATS)
    return chats


# Removing conversations that are past their retention; a dry run only counts.


HOUR_SECONDS = 3_600


def prune_sessions(
    parts: WorkspaceServices, settings: Settings, *, dry_run: bool
) -> dict[str, int]:
    """Delete conversations in which nothing was said for a while, and empty ones."""
    if not parts.has_accounts():
        return {"sessions": 0, "empty_sessions": 0}
    sessions, now = chats_of(parts).sessions, parts.clock()
    said_before = now - settings.chat_retention_days * DAY_SECONDS
    empty_before = now - settings.chat_empty_hours * HOUR_SECONDS
    empty_count = sessions.prune(empty_before=empty_before, dry_run=dry_run)
    return {
        "sessions": sessions.prune(said_before=said_before, dry_run=dry_run),
        "empty_sessions": empty_count,
    }
