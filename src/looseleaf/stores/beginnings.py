"""How a turn begins in the database: session found or made, lease taken, turn entered."""

from __future__ import annotations

import json
import uuid
from types import SimpleNamespace

import sqlalchemy as sa

from looseleaf.chat.session import BY_FIRST_WORDS, Begun, Lease, Turn, Written
from looseleaf.errors import SessionBusy, SessionMissing
from looseleaf.models.model import Usage
from looseleaf.stores.lease_holder import is_gone, new_lease
from looseleaf.stores.messages import MICRO, add_messages, storable
from looseleaf.stores.row_digests import count_rows, digest_of
from looseleaf.stores.sessions import session_of
from looseleaf.stores.tables import chat_sessions as sessions
from looseleaf.stores.tables import chat_turns as turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.chat.session import Opening

# A turn that does not stir for so long has died; a living one stirs every second.
LEASE_SECONDS = 120
_COUNTS = ("messages", "answers", "answers_read", "turns", "journaled", "summarized", "cancelled")
_NEW: dict[str, Any] = {
    **dict.fromkeys((*_COUNTS, "finished", "lease_until"), 0),
    **dict.fromkeys(("title", "titled", "summary", "lease"), ""),
}

# Made once: to build a statement takes longer than to run it.
_SESSION: sa.BindParameter[str] = sa.bindparam("of_session")
_FREE = sa.select(sessions).where(sessions.c.id == _SESSION).with_for_update()
_KNOWN = sa.select(turns).where(
    turns.c.owner == sa.bindparam("who"), turns.c.request == sa.bindparam("wanted")
)
_CHANGED = ("lease", "lease_until", "cancelled", "turns", "messages", "updated", "finished")
_TAKE = (
    sessions.update()
    .where(sessions.c.id == _SESSION)
    .values({name: sa.bindparam(f"new_{name}") for name in _CHANGED})
)
_ADD_SESSION, _ADD_TURN = sessions.insert(), turns.insert()


def begin(connection: sa.Connection, opening: Opening, now: int) -> Begun:
    """Find or make the session, take its lease, enter the turn and save the message."""
    known = _known(connection, opening)
    identity = known.session if known is not None else opening.session
    row = _free(connection, identity, now)
    over = _over(connection, opening, row, known)
    if over is not None:
        return Begun(session_of(row, now), turn_of(over), None, new=False)
    fields = dict(row._mapping) if row is not None else _made(opening, now)  # noqa: SLF001
    stuck = fields["lease"] != ""
    speaks = known is None and opening.message is not None
    fields |= {
        "lease": new_lease(),
        "lease_until": now + LEASE_SECONDS * MICRO,
        "cancelled": 0,
        "turns": known.number if known is not None else fields["turns"] + 1,
    }
    if speaks:
        said = {"messages": fields["messages"] + 1, "updated": now, "finished": 0}
        fields |= said
    _taken(connection, fields, new=row is None)
    turn = _entered(connection, opening, fields, known, stuck=stuck)
    if speaks and opening.message is not None:
        place = (fields["id"], turn.number, turn.first)
        add_messages(connection, place, (opening.message,), now)
    lease = Lease(fields["id"], turn.number, fields["lease"])
    session = session_of(SimpleNamespace(**fields), now)
    return Begun(session, turn, lease, new=not identity)


def _known(connection: sa.Connection, opening: Opening) -> Any:  # noqa: ANN401 - a row or None
    """Find the turn that the same request has begun before."""
    if not opening.request:
        return None
    return connection.execute(_KNOWN, {"who": opening.owner, "wanted": opening.request}).first()


def _free(connection: sa.Connection, identity: str, now: int) -> Any:  # noqa: ANN401 - a row or None
    """Find the session, kept from others until the transaction ends; nobody may be at it."""
    if not identity:
        return None
    row = connection.execute(_FREE, {"of_session": identity}).first()
    if row is None:
        raise SessionMissing(identity)
    if row.lease and row.lease_until > now and not is_gone(row.lease):
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


def _made(opening: Opening, now: int) -> dict[str, Any]:
    """Lay out a session that is not there yet."""
    title = storable(opening.title)
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


def _taken(connection: sa.Connection, fields: dict[str, Any], *, new: bool) -> None:
    """Write the lease of a turn into the row of its session."""
    if new:
        connection.execute(_ADD_SESSION, {**fields, "digest": digest_of(sessions, fields)})
        count_rows(connection, sessions, 1)
    else:
        changes = {f"new_{name}": fields[name] for name in _CHANGED}
        connection.execute(_TAKE, {"of_session": fields["id"], **changes})


def _entered(
    connection: sa.Connection,
    opening: Opening,
    session: dict[str, Any],
    known: Any,  # noqa: ANN401 - the row of a turn, or None
    *,
    stuck: bool,
) -> Turn:
    """Enter the turn, or the one that was begun before and did not end well, again."""
    now = session["lease_until"] - LEASE_SECONDS * MICRO
    if stuck:
        running = (turns.c.session == session["id"]) & (turns.c.status == "running")
        connection.execute(turns.update().where(running).values(status="lost", finished=now))
    if known is not None:
        this = (turns.c.session == session["id"]) & (turns.c.number == known.number)
        again = turns.update().where(this).values(status="running", model=opening.model, error="")
        return turn_of(connection.execute(again.returning(turns)).one())
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
    """Read a turn."""
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
