"""One who talks until the power is cut, and says which messages were acknowledged, a line each.

Called as `python -m tests.features.chat.talk_until_dark ROOT sync|nosync`; the second is how the
test shows that it can fail.
"""

from __future__ import annotations

import os
import sys

import sqlalchemy as sa

from looseleaf.features.chat.session import TurnOutcome
from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.models.model import Message, Usage
from looseleaf.stores.database.database import Database
from tests.features.chat.conftest import build_opening, lease_of


def main(root: str, syncing: str) -> None:
    """Take turns in one session, round after round."""
    database = Database("", root)
    if syncing == "nosync":
        sa.event.listen(
            sa.Engine,
            "before_cursor_execute",
            lambda _c, _k, statement, parameters, _x, _m: (
                statement.replace("synchronous = FULL", "synchronous = OFF"),
                parameters,
            ),
            retval=True,
        )
    chats = SqlChats(database)
    session, number = "", 0
    while True:
        number += 1
        turn = chats.turns.begin(build_opening(f"question {number}", session))
        session = turn.session.id
        os.write(1, f"{session} question {number}\n".encode())
        answer = Message(role="assistant", text=f"answer {number}")
        chats.turns.end(lease_of(turn), (answer,), TurnOutcome("completed", Usage()))
        os.write(1, f"{session} answer {number}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
