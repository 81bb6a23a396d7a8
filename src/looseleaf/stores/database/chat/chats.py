"""Conversations in the database: sessions and their turns."""

from __future__ import annotations

import time

from looseleaf.chat.session import Conversation
from looseleaf.stores.database.chat.messages import MICRO
from looseleaf.stores.database.chat.sessions import SqlSessions, find_session, read_entries
from looseleaf.stores.database.chat.turns import SqlTurns, list_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.stores.database.database import Database


class SqlChats:
    """The conversations of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database, self._clock = database, clock
        self.sessions = SqlSessions(database, clock=clock)
        self.turns = SqlTurns(database, clock=clock)

    def read(self, session: str, *, last: int = 0) -> Conversation | None:
        """Read a session with its messages, or the last so many, and its turns."""
        with self._database.snapshot() as connection:
            chat_session = find_session(connection, session, round(self._clock() * MICRO))
            if chat_session is None:
                return None
            entries = read_entries(connection, session, last=last)
            return Conversation(
                chat_session, tuple(entries), tuple(list_turns(connection, session))
            )
