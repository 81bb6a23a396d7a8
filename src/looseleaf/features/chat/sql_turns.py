"""Conversations in the database: turns under the lease of one process, and what it saves."""

from __future__ import annotations

import json
import time
import uuid
from types import SimpleNamespace

import sqlalchemy as sa

from looseleaf.errors.operations import SessionBusy, SessionMissing, TurnLost
from looseleaf.features.chat.session import (
    BY_FIRST_WORDS,
    BegunTurn,
    Conversation,
    Lease,
    Turn,
    WrittenPage,
)
from looseleaf.features.chat.sql_sessions import (
    MICRO,
    SqlSessions,
    abandon_lease,
    add_messages,
    clean_text,
    create_lease,
    find_session,
    is_gone,
    read_entries,
    session_of,
)
from looseleaf.features.chat.tables import chat_sessions as sessions
from looseleaf.features.chat.tables import chat_turns as turns
from looseleaf.models.model import Usage
from looseleaf.stores.database.row_digests import count_rows, digest_of
from looseleaf.values import as_dict, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from looseleaf.features.chat.session import Opening, TurnOutcome
    from looseleaf.models.model import Message
    from looseleaf.stores.database.database import Database


# The start of a turn in the database: session, lease, turn and message in one transaction.


# A turn that does not renew its lease for this time has died; a running turn checks every second.
LEASE_SECONDS = 120
_COUNTS = ("messages", "answers", "answers_read", "turns", "journaled", "summarized", "cancelled")
_NEW: dict[str, Any] = {
    **dict.fromkeys((*_COUNTS, "finished", "lease_until"), 0),
    **dict.fromkeys(("title", "titled", "summary", "lease"), ""),
}

# Built once: building a statement takes longer than running it.
_SESSION: sa.BindParameter[str] = sa.bindparam("of_session")
_SELECT_LOCKED = sa.select(sessions).where(sessions.c.id == _SESSION).with_for_update()
_SELECT_EARLIER = sa.select(turns).where(
    turns.c.owner == sa.bindparam("who"), turns.c.request == sa.bindparam("wanted")
)
_LEASE_COLUMNS = ("lease", "lease_until", "cancelled", "turns", "messages", "updated", "finished")
_UPDATE_LEASE = (
    sessions.update()
    .where(sessions.c.id == _SESSION)
    .values({name: sa.bindparam(f"new_{name}") for name in _LEASE_COLUMNS})
)
_ADD_SESSION, _ADD_TURN = sessions.insert(), turns.insert()


def begin(connection: sa.Connection, opening: Opening, now: int) -> BegunTurn:
    """Find or create the session, take its lease, insert the turn and save the message."""
    earlier_turn = _find_earlier_turn(connection, opening)
    identity = earlier_turn.session if earlier_turn is not None else opening.session
    row = _lock_session(connection, identity, now)
    completed_turn = _find_completed_turn(connection, opening, row, earlier_turn)
    if completed_turn is not None:
        return BegunTurn(session_of(row, now), turn_of(completed_turn), None, new=False)
    fields = dict(row._mapping) if row is not None else _build_session_row(opening, now)  # noqa: SLF001
    has_stale_lease = fields["lease"] != ""
    has_message = earlier_turn is None and opening.message is not None
    fields |= {
        "lease": create_lease(),
        "lease_until": now + LEASE_SECONDS * MICRO,
        "cancelled": 0,
        "turns": earlier_turn.number if earlier_turn is not None else fields["turns"] + 1,
    }
    if has_message:
        counts = {"messages": fields["messages"] + 1, "updated": now, "finished": 0}
        fields |= counts
    _write_lease(connection, fields, new=row is None)
    turn = _insert_turn(connection, opening, fields, earlier_turn, has_stale_lease=has_stale_lease)
    message = None
    if has_message and opening.message is not None:
        position = (fields["id"], turn.number, turn.first)
        message = replace(opening.message, text=clean_text(opening.message.text))
        add_messages(connection, position, (message,), now)
    lease = Lease(fields["id"], turn.number, fields["lease"])
    session = session_of(SimpleNamespace(**fields), now)
    first_message = None if identity else message
    return BegunTurn(session, turn, lease, new=not identity, first_message=first_message)


def _find_earlier_turn(connection: sa.Connection, opening: Opening) -> Any:  # noqa: ANN401 - a row or None
    """Find the turn that the same request started before."""
    if not opening.request:
        return None
    return connection.execute(
        _SELECT_EARLIER, {"who": opening.owner, "wanted": opening.request}
    ).first()


def _lock_session(connection: sa.Connection, identity: str, now: int) -> Any:  # noqa: ANN401 - a row or None
    """Find the session and lock its row; `SessionBusy` while another process has its lease."""
    if not identity:
        return None
    row = connection.execute(_SELECT_LOCKED, {"of_session": identity}).first()
    if row is None:
        raise SessionMissing(identity)
    if row.lease and row.lease_until > now and not is_gone(row.lease):
        raise SessionBusy(identity)
    return row


def _find_completed_turn(
    connection: sa.Connection,
    opening: Opening,
    row: Any,  # noqa: ANN401 - a row or None
    earlier_turn: Any,  # noqa: ANN401 - a row or None
) -> Any:  # noqa: ANN401 - a row or None
    """Return the turn that has already answered, if there is one."""
    if earlier_turn is not None:
        return earlier_turn if earlier_turn.status == "completed" else None
    if opening.message is not None or row is None:
        return None
    newest = sa.select(turns).where(turns.c.session == row.id).order_by(turns.c.number.desc())
    turn = connection.execute(newest.limit(1)).first()
    return turn if turn is not None and turn.status == "completed" else None


def _build_session_row(opening: Opening, now: int) -> dict[str, Any]:
    """Build the row of a new session."""
    title = clean_text(opening.title)
    return {
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


def _write_lease(connection: sa.Connection, fields: dict[str, Any], *, new: bool) -> None:
    """Write the lease of a turn into the row of its session."""
    if new:
        connection.execute(_ADD_SESSION, {**fields, "digest": digest_of(sessions, fields)})
        count_rows(connection, sessions, 1)
    else:
        changes = {f"new_{name}": fields[name] for name in _LEASE_COLUMNS}
        connection.execute(_UPDATE_LEASE, {"of_session": fields["id"], **changes})


def _insert_turn(
    connection: sa.Connection,
    opening: Opening,
    session: dict[str, Any],
    earlier_turn: Any,  # noqa: ANN401 - the row of a turn, or None
    *,
    has_stale_lease: bool,
) -> Turn:
    """Insert the turn, or start the unfinished turn of the same request again."""
    now = session["lease_until"] - LEASE_SECONDS * MICRO
    if has_stale_lease:
        is_running = (turns.c.session == session["id"]) & (turns.c.status == "running")
        connection.execute(turns.update().where(is_running).values(status="lost", finished=now))
    if earlier_turn is not None:
        is_turn = (turns.c.session == session["id"]) & (turns.c.number == earlier_turn.number)
        restart = (
            turns.update().where(is_turn).values(status="running", model=opening.model, error="")
        )
        return turn_of(connection.execute(restart.returning(turns)).one())
    fields = {
        "session": session["id"],
        "number": session["turns"],
        "owner": opening.owner,
        "request": opening.request or None,
        "status": "running",
        "started": now,
        "finished": 0,
        "model": opening.model,
        "first": session["messages"],
        "usage": "{}",
        "error": "",
        "written": "[]",
    }
    connection.execute(_ADD_TURN, fields)
    return turn_of(SimpleNamespace(**fields))


def turn_of(row: Any) -> Turn:  # noqa: ANN401 - a row of the table
    """Build a turn from a row."""
    return Turn(
        number=row.number,
        status=row.status,
        started=row.started / MICRO,
        finished=row.finished / MICRO,
        request=row.request or "",
        model=row.model,
        first=row.first,
        usage=Usage(**json.loads(row.usage)),
        error=row.error,
        written=tuple(WrittenPage(**change) for change in json.loads(row.written)),
    )


# Built once: building a statement takes longer than running it.
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
        """Save the end of a turn, and release the lease, even if the database cannot be written."""
        try:
            return self._save_end(lease, messages, outcome)
        except BaseException:
            abandon_lease(lease.token)
            raise

    def _save_end(self, lease: Lease, messages: Sequence[Message], outcome: TurnOutcome) -> int:
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


# Conversations in the database: sessions and their turns.


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
