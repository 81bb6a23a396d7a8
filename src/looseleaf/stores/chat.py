"""Conversations in the database: what was said, and what is being said."""

from __future__ import annotations

import time

from looseleaf.stores.accounts import SqlAccounts
from looseleaf.stores.sessions import SqlSessions
from looseleaf.stores.turns import SqlTurns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.accounts import Accounts
    from looseleaf.stores.database import Database


class SqlChats:
    """The conversations of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.sessions = SqlSessions(database, clock=clock)
        self.turns = SqlTurns(database, clock=clock)


def open_chats(accounts: Accounts, *, clock: Callable[[], float]) -> SqlChats:
    """Open the conversations in the database that has the accounts."""
    if not isinstance(accounts, SqlAccounts):
        raise TypeError("conversations are kept beside accounts in a database")
    return SqlChats(accounts.database, clock=clock)
