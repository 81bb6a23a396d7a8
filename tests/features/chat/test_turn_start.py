"""The start of a turn: what is saved, and what the turn need not read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.features.chat.session import Opening
from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.models.model import Attachment, Message
from looseleaf.stores.database.database import Database

MESSAGES = [
    Message(role="user", text="Hello"),
    Message(role="user", text="A NUL \0, a lone surrogate \udc80 and an umlaut ü."),
    Message(
        role="user",
        text="See the file.",
        attachments=(Attachment("a.md", "text/markdown", "ref", 3),),
    ),
]


@pytest.mark.parametrize("message", MESSAGES, ids=["plain", "not storable", "with attachment"])
def test_the_first_message_is_as_saved(tmp_path: Path, database_url: str, message: Message) -> None:
    """A new session gives its message as a later turn reads it from the database."""
    (tmp_path / ".looseleaf").mkdir()
    database = Database(database_url, str(tmp_path))
    chats = SqlChats(database)
    begun = chats.turns.begin(Opening(session="", owner=1, agent=1, mode="chat", message=message))
    saved = [entry.message for entry in chats.sessions.messages(begun.session.id)]
    assert [begun.first_message] == saved
    database.close()


def test_a_later_turn_has_to_read_its_messages(tmp_path: Path, database_url: str) -> None:
    """In a session with other messages, the start of a turn does not claim to know them."""
    (tmp_path / ".looseleaf").mkdir()
    database = Database(database_url, str(tmp_path))
    chats = SqlChats(database)
    first = chats.turns.begin(
        Opening(session="", owner=1, agent=1, mode="chat", message=MESSAGES[0], request="a")
    )
    again = chats.turns.begin(
        Opening(session="", owner=1, agent=1, mode="chat", message=MESSAGES[0], request="b")
    )
    assert first.first_message is not None
    assert again.first_message is not None
    assert first.lease is not None
    chats.turns.append(first.lease, ())
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE chat_sessions SET lease = ''")
    later = chats.turns.begin(
        Opening(session=first.session.id, owner=1, agent=1, mode="chat", message=MESSAGES[0])
    )
    assert later.first_message is None
    repeated = chats.turns.begin(
        Opening(session="", owner=1, agent=1, mode="chat", message=MESSAGES[0], request="b")
    )
    assert repeated.first_message is None
    database.close()
