"""Conversations in a fresh database, and models whose answers are scripted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from looseleaf.features.chat.session import BegunTurn, Lease, Opening
from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.models.model import Answer, Delta, Message, Question, Retry, ToolCall, Usage
from looseleaf.stores.database.database import Database
from tests.conftest import Clock

ME = 1
Reply = str | ToolCall | Exception | tuple[object, ...]


class Script:
    """A model with scripted replies, one for each question; the last one is repeated."""

    def __init__(self, *replies: Reply) -> None:
        self.name = "script"
        self.replies = list(replies)
        self.questions: list[Question] = []

    def ask(
        self, question: Question, should_stop: Callable[[], bool]
    ) -> Iterator[Delta | Retry | Answer]:
        """Stream the next reply, word by word."""
        self.questions.append(question)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        parts = reply if isinstance(reply, tuple) else (reply,)
        text, calls = "", []
        for part in parts:
            if isinstance(part, Exception):
                raise part
            if callable(part):
                part()
            elif isinstance(part, ToolCall):
                calls.append(part)
            else:
                text += str(part)
                yield Delta(str(part))
            if should_stop():
                return
        yield Answer(
            Message(role="assistant", text=text, calls=tuple(calls)), Usage(1, 10, 2), self.name
        )


@pytest.fixture
def database(tmp_path: Path, database_url: str) -> Iterator[Database]:
    """Yield each kind of database in turn, fresh."""
    (tmp_path / "chats" / ".looseleaf").mkdir(parents=True)
    fresh_database = Database(database_url, str(tmp_path / "chats"))
    yield fresh_database
    fresh_database.close()


@pytest.fixture
def chats(database: Database, clock: Clock) -> SqlChats:
    """Return the conversations of a fresh database."""
    return SqlChats(database, clock=clock)


def build_opening(
    text: str | None = "Hello", session: str = "", request: str = "", title: str = ""
) -> Opening:
    """Build the opening of a turn: a message to agent 1."""
    message = None if text is None else Message(role="user", text=text)
    return Opening(
        session=session,
        owner=ME,
        agent=1,
        mode="chat",
        message=message,
        title=title or (text or ""),
        request=request,
        model="script",
    )


def lease_of(turn: BegunTurn) -> Lease:
    """Return the lease of a turn that has begun."""
    assert turn.lease is not None
    return turn.lease
