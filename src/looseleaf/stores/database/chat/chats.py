"""Conversations in the database: sessions and their turns."""

from __future__ import annotations

import time

from looseleaf.stores.database.chat.sessions import SqlSessions
from looseleaf.stores.database.chat.turns import SqlTurns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.stores.database.database import Database


class SqlChats:
    """The conversations of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.sessions = SqlSessions(database, clock=clock)
        self.turns = SqlTurns(database, clock=clock)
