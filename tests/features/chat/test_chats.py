"""A conversation is read as of one moment, however its parts change meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path

from looseleaf.features.chat.session import Opening, TurnOutcome
from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.models.model import Message, Usage
from looseleaf.stores.database.database import Database

ROUNDS = 60


def test_session_messages_and_turns_are_of_one_moment(tmp_path: Path, database_url: str) -> None:
    """A turn is running if and only if its session is, and it has its answer once it has ended."""
    (tmp_path / ".looseleaf").mkdir()
    database = Database(database_url, str(tmp_path))
    chats = SqlChats(database)
    first = chats.turns.begin(
        Opening(
            session="", owner=1, agent=1, mode="chat", message=Message(role="user", text="Hello")
        )
    )
    assert first.lease is not None
    chats.turns.end(first.lease, (), TurnOutcome("completed", Usage()))
    session, is_over = first.session.id, threading.Event()

    def talk() -> None:
        for _ in range(ROUNDS):
            turn = chats.turns.begin(
                Opening(
                    session=session,
                    owner=1,
                    agent=1,
                    mode="chat",
                    message=Message(role="user", text="And?"),
                )
            )
            assert turn.lease is not None
            chats.turns.end(
                turn.lease, [Message(role="assistant", text="So.")], TurnOutcome("failed", Usage())
            )
        is_over.set()

    thread = threading.Thread(target=talk)
    thread.start()
    states = set()
    while not is_over.is_set():
        conversation = chats.read(session)
        assert conversation is not None
        statuses = [turn.status for turn in conversation.turns]
        assert ("running" in statuses) is conversation.session.running
        answers = sum(entry.message.role == "assistant" for entry in conversation.entries)
        assert answers == statuses.count("failed")
        states.add(conversation.session.running)
    thread.join()
    assert chats.read("no such session") is None
    assert False in states
    database.close()
