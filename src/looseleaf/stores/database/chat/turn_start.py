"""The start of a turn in the database: session, lease, turn and message in one transaction."""

from __future__ import annotations

import json
import uuid
from types import SimpleNamespace

import sqlalchemy as sa

from looseleaf.chat.session import BY_FIRST_WORDS, BegunTurn, Lease, Turn, WrittenPage
from looseleaf.chat.tables import chat_sessions as sessions
from looseleaf.chat.tables import chat_turns as turns
from looseleaf.errors.chat import SessionBusy, SessionMissing
from looseleaf.models.model import Usage
from looseleaf.stores.database.chat.lease_holder import create_lease, is_gone
from looseleaf.stores.database.chat.messages import MICRO, add_messages, clean_text
from looseleaf.stores.database.chat.sessions import session_of
from looseleaf.stores.database.row_digests import count_rows, digest_of
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.chat.session import Opening

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
