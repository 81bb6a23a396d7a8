"""Turns in the database: a lease that one process has at a time, and what it saves under it."""

from __future__ import annotations

import json
import time

import sqlalchemy as sa

from looseleaf.errors import TurnLost
from looseleaf.stores.beginnings import LEASE_SECONDS, begin, turn_of
from looseleaf.stores.messages import MICRO, add_messages, storable
from looseleaf.stores.tables import chat_sessions as sessions
from looseleaf.stores.tables import chat_turns as turns
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.chat.session import Begun, Lease, Opening, Outcome, Turn
    from looseleaf.models.model import Message
    from looseleaf.stores.database import Database

# Made once: to build a statement takes longer than to run it.
_SESSION: sa.BindParameter[str] = sa.bindparam("of_session")
_TOKEN: sa.BindParameter[str] = sa.bindparam("token")
_HELD = (sessions.c.id == _SESSION) & (sessions.c.lease == _TOKEN)
_KEEP = (
    sessions.update()
    .where(_HELD)
    .values(
        messages=sessions.c.messages + sa.bindparam("more"),
        answers=sessions.c.answers + sa.bindparam("more_answers"),
        updated=sa.case((sa.bindparam("more") > 0, sa.bindparam("now")), else_=sessions.c.updated),
        lease=sa.bindparam("new_lease"),
        lease_until=sa.bindparam("until"),
    )
    .returning(sessions.c.messages)
)
_ENDED = ("status", "finished", "usage", "error", "written")
_END = (
    turns.update()
    .where(turns.c.session == _SESSION, turns.c.number == sa.bindparam("turn"))
    .values({name: sa.bindparam(f"new_{name}") for name in _ENDED})
)
_LOOK = sa.select(sessions.c.cancelled, sessions.c.lease_until).where(_HELD)


class SqlTurns:
    """The turns of every session in one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def begin(self, opening: Opening) -> Begun:
        """Save the message and take the lease in one step, or raise `SessionBusy`."""
        try:
            return self._begun(opening)
        except sa.exc.IntegrityError:
            return self._begun(opening)  # another process has begun the same request just now

    def _begun(self, opening: Opening) -> Begun:
        with self._database.writing() as connection:
            return begin(connection, opening, self._now())

    def append(self, lease: Lease, messages: Sequence[Message]) -> int:
        """Save what was said, and keep the lease; give the number of the last message."""
        with self._database.writing() as connection:
            return _kept(connection, lease, messages, self._now(), lease.token)

    def end(self, lease: Lease, messages: Sequence[Message], outcome: Outcome) -> int:
        """Save the end of a turn, and give the lease back."""
        now = self._now()
        with self._database.writing() as connection:
            number = _kept(connection, lease, messages, now, "")
            connection.execute(
                _END,
                {
                    "of_session": lease.session,
                    "turn": lease.turn,
                    "new_status": outcome.status,
                    "new_finished": now,
                    "new_usage": json.dumps(as_dict(outcome.usage)),
                    "new_error": storable(outcome.error),
                    "new_written": json.dumps([as_dict(one) for one in outcome.written]),
                },
            )
        return number

    def renew(self, lease: Lease) -> bool:
        """Keep the lease; say whether someone wants the turn to stop."""
        now = self._now()
        held = {"of_session": lease.session, "token": lease.token}
        with self._database.reading() as connection:
            row = connection.execute(_LOOK, held).first()
        if row is None:
            raise TurnLost(lease.session)
        if row.lease_until - now < LEASE_SECONDS * MICRO * 2 // 3:
            with self._database.writing(relaxed=True) as connection:
                _kept(connection, lease, (), now, lease.token)
        return bool(row.cancelled)

    def cancel(self, session: str) -> bool:
        """Ask a running turn to stop; say whether there was one."""
        running = (sessions.c.id == session) & (sessions.c.lease_until > self._now())
        with self._database.writing(relaxed=True) as connection:
            done = connection.execute(sessions.update().where(running).values(cancelled=1))
            return bool(done.rowcount)

    def list(self, session: str) -> list[Turn]:
        """List the turns of a session."""
        query = sa.select(turns).where(turns.c.session == session).order_by(turns.c.number)
        with self._database.reading() as connection:
            return [turn_of(row) for row in connection.execute(query)]

    def _now(self) -> int:
        return round(self._clock() * MICRO)


def _kept(
    connection: sa.Connection, lease: Lease, said: Sequence[Message], now: int, token: str
) -> int:
    """Save messages under a lease, which is the proof that nobody else has; else `TurnLost`."""
    changes = {
        "of_session": lease.session,
        "token": lease.token,
        "more": len(said),
        "more_answers": sum(one.role == "assistant" and not one.calls for one in said),
        "now": now,
        "new_lease": token,
        "until": now + LEASE_SECONDS * MICRO if token else 0,
    }
    row = connection.execute(_KEEP, changes).first()
    if row is None:
        raise TurnLost(lease.session)
    number: int = row.messages
    if said:
        add_messages(connection, (lease.session, lease.turn, number - len(said) + 1), said, now)
    return number
