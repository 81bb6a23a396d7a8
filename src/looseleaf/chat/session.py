"""A conversation and its parts, and the contracts of whoever keeps them."""

from __future__ import annotations

from looseleaf.models.model import Usage
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Protocol

    from looseleaf.models.model import Message

    Status = Literal["running", "completed", "failed", "cancelled", "limit", "lost"]
else:
    Protocol = object

CHAT = "chat"  # where a session comes from, when a person began it
TITLE_CHARACTERS = 100
# Who named a session.
BY_FIRST_WORDS, BY_MODEL, BY_PERSON = "first words", "model", "person"


@value
class Session:
    """What is known of a conversation besides its messages."""

    id: str
    owner: int  # a user
    agent: int
    mode: str
    created: float
    updated: float  # when something was last said; to read or rename it changes nothing here
    title: str = ""
    titled: str = ""  # by first words, model or person
    messages: int = 0  # the number of the last one
    answers: int = 0
    answers_read: int = 0
    source: str = CHAT
    finished: float = 0.0  # 0: it goes on
    journaled: int = 0  # up to which message the journal tells of it
    summary: str = ""  # of what came before, written by a model
    summarized: int = 0  # up to which message the summary tells
    running: bool = False

    @property
    def unread(self) -> int:
        """How many answers nobody has looked at."""
        return self.answers - self.answers_read


@value
class Entry:
    """One message of a session, with its number from 1."""

    number: int
    time: float
    turn: int
    message: Message


@value
class Written:
    """A page that the agent changed, by revision."""

    file: str
    revision: int
    tool: str
    call: str


@value
class Turn:
    """One answer to a person, with everything that led to it."""

    number: int
    status: Status
    started: float
    finished: float = 0.0
    request: str = ""  # whoever sends the same again is given the same answer
    model: str = ""
    first: int = 0  # the number of the message it answers
    usage: Usage = Usage()
    error: str = ""
    written: tuple[Written, ...] = ()


@value
class Opening:
    """A turn that someone wants to begin; without a message, the last one is answered."""

    session: str  # "" begins a new one
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
    """The right to write to a session; who lost it to another is refused."""

    session: str
    turn: int
    token: str


@value
class Begun:
    """A turn that has begun, or one that was asked for again and is over."""

    session: Session
    turn: Turn
    lease: Lease | None  # None where nothing is left to do
    new: bool


@value
class Outcome:
    """How a turn ended."""

    status: Status
    usage: Usage
    error: str = ""
    written: tuple[Written, ...] = ()


@value
class Hit:
    """A message that holds what was searched for."""

    session: Session
    entry: Entry


class Turns(Protocol):
    """Turns, of which a session has one at a time, whatever the process."""

    def begin(self, opening: Opening) -> Begun:
        """Save the message and take the lease in one step, or raise `SessionBusy`."""

    def append(self, lease: Lease, messages: Sequence[Message]) -> int:
        """Save what was said, and keep the lease; give the number of the last message."""

    def end(self, lease: Lease, messages: Sequence[Message], outcome: Outcome) -> int:
        """Save the end of a turn, and give the lease back."""

    def renew(self, lease: Lease) -> bool:
        """Keep the lease; say whether someone wants the turn to stop."""

    def cancel(self, session: str) -> bool:
        """Ask a running turn to stop; say whether there was one."""

    def list(self, session: str) -> list[Turn]:
        """List the turns of a session."""


class Sessions(Protocol):
    """Conversations, by id."""

    def find(self, session: str) -> Session | None:
        """Find a session."""

    def find_by_prefix(
        self, prefix: str, *, owner: int = 0, agents: Sequence[int] | None = None
    ) -> Sequence[Session]:
        """Find up to two sessions whose id begins so, among those of an owner and of agents."""

    def list(
        self,
        *,
        owner: int = 0,
        agents: Sequence[int] | None = None,
        mode: str = "",
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[list[Session], int]:
        """List sessions, what was last said first, and count how many there are in all."""

    def search(
        self, query: str, *, owner: int = 0, agents: Sequence[int] | None = None, limit: int = 50
    ) -> Sequence[Hit]:
        """Find a text in what was said, newest first."""

    def messages(self, session: str, *, last: int = 0, after: int = 0) -> Sequence[Entry]:
        """Give messages in order: the last so many, those after a number, or all."""

    def change(self, session: str, **fields: str | float) -> None:
        """Change what is known of a session, and not when it was last used."""

    def delete(self, session: str) -> bool:
        """Delete a session with all that was said; `SessionBusy` while a turn runs."""

    def prune(self, *, said_before: float, empty_before: float) -> int:
        """Delete sessions in which nothing was said for long; give how many."""


class Chats(Protocol):
    """Both of them, in one database."""

    @property
    def sessions(self) -> Sessions:
        """What was said."""

    @property
    def turns(self) -> Turns:
        """What is being said."""


def first_words(text: str) -> str:
    """Name a session after its first message."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARACTERS - 3 else line[: TITLE_CHARACTERS - 3] + "..."
