"""Turns in the database: a lease that one process has at a time, and the messages it saves."""

from __future__ import annotations

import json
import time

import sqlalchemy as sa

from looseleaf.chat.tables import chat_sessions as sessions
from looseleaf.chat.tables import chat_turns as turns
from looseleaf.errors.chat import TurnLost
from looseleaf.stores.database.chat.lease_holder import is_gone
from looseleaf.stores.database.chat.messages import MICRO, add_messages, clean_text
from looseleaf.stores.database.chat.turn_start import LEASE_SECONDS, begin, turn_of
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.chat.session import BegunTurn, Lease, Opening, Turn, TurnOutcome
    from looseleaf.models.model import Message
    from looseleaf.stores.database.database import Database

# Built once: building a statement takes longer than running it.
_SESSION: sa.BindParameter[str] = sa.bindparam("of_session")
_TOKEN: sa.BindParameter[str] = sa.bindparam("token")
_HAS_LEASE = (sessions.c.id == _SESSION) & (sessions.c.lease == _TOKEN)
_UPDATE_SESSION = (
    sessions.update()
    .where(_HAS_LEASE)
    .values(
        messages=sessions.c.messages + sa.bindparam("more"),
        answers=sessions.c.answers + sa.bindparam("more_answers"),
        updated=sa.case((sa.bindparam("more") > 0, sa.bindparam("now")), else_=sessions.c.updated),
        lease=sa.bindparam("new_lease"),
        lease_until=sa.bindparam("until"),
    )
    .returning(sessions.c.messages)
)
_END_COLUMNS = ("status", "finished", "usage", "error", "written")
_UPDATE_TURN = (
    turns.update()
    .where(turns.c.session == _SESSION, turns.c.number == sa.bindparam("turn"))
    .values({name: sa.bindparam(f"new_{name}") for name in _END_COLUMNS})
)
_SELECT_LEASE = sa.select(sessions.c.cancelled, sessions.c.lease_until).where(_HAS_LEASE)


class SqlTurns:
    """The turns of every session in one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def begin(self, opening: Opening) -> BegunTurn:
        """Save the message and take the lease in one step, or raise `SessionBusy`."""
        try:
            return self._begin_once(opening)
        except sa.exc.IntegrityError:
            return self._begin_once(opening)  # another process has just started the same request

    def _begin_once(self, opening: Opening) -> BegunTurn:
        with self._database.writing() as connection:
            return begin(connection, opening, self._now())

    def append(self, lease: Lease, messages: Sequence[Message]) -> int:
        """Save messages and keep the lease; return the number of the last message."""
        with self._database.writing() as connection:
            return _save_messages(connection, lease, messages, self._now(), lease.token)

    def end(self, lease: Lease, messages: Sequence[Message], outcome: TurnOutcome) -> int:
        """Save the end of a turn, and release the lease."""
        now = self._now()
        with self._database.writing() as connection:
            number = _save_messages(connection, lease, messages, now, "")
            connection.execute(
                _UPDATE_TURN,
                {
                    "of_session": lease.session,
                    "turn": lease.turn,
                    "new_status": outcome.status,
                    "new_finished": now,
                    "new_usage": json.dumps(as_dict(outcome.usage)),
                    "new_error": clean_text(outcome.error),
                    "new_written": json.dumps([as_dict(change) for change in outcome.written]),
                },
            )
        return number

    def renew(self, lease: Lease) -> bool:
        """Keep the lease; return whether someone wants the turn to stop."""
        now = self._now()
        parameters = {"of_session": lease.session, "token": lease.token}
        with self._database.reading() as connection:
            row = connection.execute(_SELECT_LEASE, parameters).first()
        if row is None:
            raise TurnLost(lease.session)
        if row.lease_until - now < LEASE_SECONDS * MICRO * 2 // 3:
            with self._database.writing(is_relaxed=True) as connection:
                _save_messages(connection, lease, (), now, lease.token)
        return bool(row.cancelled)

    def cancel(self, session: str) -> bool:
        """Request a running turn to stop; return whether there was one.

        A turn whose process has ended no longer runs, though its lease may last.
        """
        is_running = (sessions.c.id == session) & (sessions.c.lease_until > self._now())
        with self._database.writing(is_relaxed=True) as connection:
            lease = connection.execute(sa.select(sessions.c.lease).where(is_running)).scalar()
            if not lease or is_gone(lease):
                return False
            connection.execute(sessions.update().where(is_running).values(cancelled=1))
            return True

    def list(self, session: str) -> list[Turn]:
        """List the turns of a session."""
        with self._database.reading() as connection:
            return list_turns(connection, session)

    def _now(self) -> int:
        return round(self._clock() * MICRO)


def list_turns(connection: sa.Connection, session: str) -> list[Turn]:
    """List the turns of a session in a transaction."""
    query = sa.select(turns).where(turns.c.session == session).order_by(turns.c.number)
    return [turn_of(row) for row in connection.execute(query)]


def _save_messages(
    connection: sa.Connection, lease: Lease, messages: Sequence[Message], now: int, token: str
) -> int:
    """Save messages under a lease; raise `TurnLost` if another process has taken it."""
    changes = {
        "of_session": lease.session,
        "token": lease.token,
        "more": len(messages),
        "more_answers": sum(
            message.role == "assistant" and not message.calls for message in messages
        ),
        "now": now,
        "new_lease": token,
        "until": now + LEASE_SECONDS * MICRO if token else 0,
    }
    row = connection.execute(_UPDATE_SESSION, changes).first()
    if row is None:
        raise TurnLost(lease.session)
    number: int = row.messages
    if messages:
        add_messages(
            connection, (lease.session, lease.turn, number - len(messages) + 1), messages, now
        )
    return number
