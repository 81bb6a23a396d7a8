"""Turns in the database: a lease that one process has at a time, and what it saves under it."""

from __future__ import annotations

import json
import secrets
import time
import uuid

import sqlalchemy as sa

from looseleaf.chat.session import BY_FIRST_WORDS, Begun, Lease, Turn, Written
from looseleaf.errors import SessionBusy, SessionMissing, TurnLost
from looseleaf.models.model import Usage
from looseleaf.stores.messages import MICRO, message_row, storable
from looseleaf.stores.sessions import session_of
from looseleaf.stores.tables import chat_messages as messages
from looseleaf.stores.tables import chat_sessions as sessions
from looseleaf.stores.tables import chat_turns as turns
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from looseleaf.chat.session import Opening, Outcome
    from looseleaf.models.model import Message
    from looseleaf.stores.database import Database

# A turn that does not stir for so long has died; a living one stirs every second.
LEASE_SECONDS = 120
_COUNTS = ("messages", "answers", "answers_read", "turns", "journaled", "summarized", "cancelled")
_NEW: dict[str, Any] = {
    **dict.fromkeys((*_COUNTS, "finished", "lease_until"), 0),
    **dict.fromkeys(("title", "titled", "summary", "lease"), ""),
}


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
        now = self._now()
        with self._database.writing() as connection:
            known = _known(connection, opening)
            identity = known.session if known is not None else opening.session
            row = _free(connection, identity, now)
            over = _over(connection, opening, row, known)
            if over is not None:
                return Begun(session_of(row, now), _turn_of(over), None, new=False)
            if row is None:
                row = _made(connection, opening, now)
            turn = _entered(connection, opening, row, known, now)
            token = secrets.token_hex(16)
            changes: dict[str, Any] = {
                "lease": token,
                "lease_until": now + LEASE_SECONDS * MICRO,
                "cancelled": 0,
                "turns": max(turn.number, row.turns),
            }
            if known is None and opening.message is not None:
                _said(connection, (row.id, turn.number, turn.first), (opening.message,), now)
                changes |= {"messages": turn.first, "updated": now, "finished": 0}
            taken = sessions.update().where(sessions.c.id == row.id).values(**changes)
            row = connection.execute(taken.returning(sessions)).one()
        return Begun(
            session_of(row, now), turn, Lease(row.id, turn.number, token), new=not identity
        )

    def append(self, lease: Lease, messages: Sequence[Message]) -> int:
        """Save what was said, and keep the lease; give the number of the last message."""
        now = self._now()
        with self._database.writing() as connection:
            until = now + LEASE_SECONDS * MICRO
            return _kept(connection, lease, messages, {"lease_until": until, "updated": now})

    def end(self, lease: Lease, messages: Sequence[Message], outcome: Outcome) -> int:
        """Save the end of a turn, and give the lease back."""
        now = self._now()
        with self._database.writing() as connection:
            number = _kept(
                connection, lease, messages, {"lease": "", "lease_until": 0, "updated": now}
            )
            connection.execute(
                turns.update()
                .where(turns.c.session == lease.session, turns.c.number == lease.turn)
                .values(
                    status=outcome.status,
                    finished=now,
                    usage=json.dumps(as_dict(outcome.usage)),
                    error=storable(outcome.error),
                    written=json.dumps([as_dict(one) for one in outcome.written]),
                )
            )
        return number

    def renew(self, lease: Lease) -> bool:
        """Keep the lease; say whether someone wants the turn to stop."""
        now = self._now()
        with self._database.reading() as connection:
            query = sa.select(sessions.c.cancelled, sessions.c.lease_until).where(_held(lease))
            row = connection.execute(query).first()
        if row is None:
            raise TurnLost(lease.session)
        if row.lease_until - now < LEASE_SECONDS * MICRO * 2 // 3:
            until = now + LEASE_SECONDS * MICRO
            with self._database.writing(relaxed=True) as connection:
                connection.execute(sessions.update().where(_held(lease)).values(lease_until=until))
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
            return [_turn_of(row) for row in connection.execute(query)]

    def _now(self) -> int:
        return round(self._clock() * MICRO)


def _known(connection: sa.Connection, opening: Opening) -> Any:  # noqa: ANN401 - a row or None
    """Find the turn that the same request has begun before."""
    if not opening.request:
        return None
    same = (turns.c.owner == opening.owner) & (turns.c.request == opening.request)
    return connection.execute(sa.select(turns).where(same)).first()


def _free(connection: sa.Connection, identity: str, now: int) -> Any:  # noqa: ANN401 - a row or None
    """Find the session, kept from others until the transaction ends; nobody may be at it."""
    if not identity:
        return None
    query = sa.select(sessions).where(sessions.c.id == identity).with_for_update()
    row = connection.execute(query).first()
    if row is None:
        raise SessionMissing(identity)
    if row.lease and row.lease_until > now:
        raise SessionBusy(identity)
    return row


def _over(connection: sa.Connection, opening: Opening, row: Any, known: Any) -> Any:  # noqa: ANN401
    """Give the turn that has answered already, where one has."""
    if known is not None:
        return known if known.status == "completed" else None
    if opening.message is not None or row is None:
        return None
    last = sa.select(turns).where(turns.c.session == row.id).order_by(turns.c.number.desc())
    turn = connection.execute(last.limit(1)).first()
    return turn if turn is not None and turn.status == "completed" else None


def _made(connection: sa.Connection, opening: Opening, now: int) -> Any:  # noqa: ANN401 - a row
    title = storable(opening.title)
    fields = {
        **_NEW,
        "id": str(uuid.uuid4()),
        "owner": opening.owner,
        "agent": opening.agent,
        "mode": opening.mode,
        "source": opening.source,
        "title": title,
        "titled": BY_FIRST_WORDS if title else "",
        "created": now,
        "updated": now,
    }
    return connection.execute(sessions.insert().values(**fields).returning(sessions)).one()


def _entered(
    connection: sa.Connection,
    opening: Opening,
    row: Any,  # noqa: ANN401 - of a session
    known: Any,  # noqa: ANN401 - of a turn, or None
    now: int,
) -> Turn:
    """Enter the turn, or the one that was begun before and did not end well, again."""
    stuck = (turns.c.session == row.id) & (turns.c.status == "running")
    connection.execute(turns.update().where(stuck).values(status="lost", finished=now))
    if known is not None:
        this = (turns.c.session == row.id) & (turns.c.number == known.number)
        again = turns.update().where(this).values(status="running", model=opening.model, error="")
        return _turn_of(connection.execute(again.returning(turns)).one())
    fields = {
        "session": row.id,
        "number": row.turns + 1,
        "owner": opening.owner,
        "request": opening.request or None,
        "status": "running",
        "started": now,
        "finished": 0,
        "model": opening.model,
        "first": row.messages + (opening.message is not None),
        "usage": "{}",
        "error": "",
        "written": "[]",
    }
    connection.execute(turns.insert().values(**fields))
    return Turn(
        fields["number"], "running", now / MICRO, 0.0, opening.request, opening.model,
        fields["first"],
    )  # fmt: skip


def _kept(
    connection: sa.Connection, lease: Lease, said: Sequence[Message], changes: dict[str, Any]
) -> int:
    """Save messages under a lease, which is the proof that nobody else has; else `TurnLost`."""
    if said:
        answers = sum(one.role == "assistant" and not one.calls for one in said)
        changes["messages"] = sessions.c.messages + len(said)
        changes["answers"] = sessions.c.answers + answers
    held = sessions.update().where(_held(lease)).values(**changes)
    row = connection.execute(held.returning(sessions.c.messages)).first()
    if row is None:
        raise TurnLost(lease.session)
    number: int = row.messages
    if said:
        _said(
            connection,
            (lease.session, lease.turn, number - len(said) + 1),
            said,
            changes["updated"],
        )
    return number


def _said(
    connection: sa.Connection, place: tuple[str, int, int], said: Sequence[Message], now: int
) -> None:
    session, turn, first = place
    rows = [
        {"session": session, "turn": turn, "number": first + at, "time": now, **message_row(one)}
        for at, one in enumerate(said)
    ]
    connection.execute(messages.insert(), rows)


def _held(lease: Lease) -> sa.ColumnElement[bool]:
    return (sessions.c.id == lease.session) & (sessions.c.lease == lease.token)


def _turn_of(row: Any) -> Turn:  # noqa: ANN401 - a row of the table
    return Turn(
        row.number,
        row.status,
        row.started / MICRO,
        row.finished / MICRO,
        row.request or "",
        row.model,
        row.first,
        Usage(**json.loads(row.usage)),
        row.error,
        tuple(Written(**one) for one in json.loads(row.written)),
    )
