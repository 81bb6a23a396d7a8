"""Conversations in the database: found, listed, searched, read and deleted."""

from __future__ import annotations

import re
import time

import sqlalchemy as sa

from looseleaf.chat.session import Hit, Session
from looseleaf.errors import SessionBusy
from looseleaf.stores.lease_holder import is_gone
from looseleaf.stores.messages import MICRO, entry_of, storable
from looseleaf.stores.row_digests import count_rows, seal_rows
from looseleaf.stores.tables import chat_messages as messages
from looseleaf.stores.tables import chat_sessions as sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from looseleaf.chat.session import Entry
    from looseleaf.stores.database import Database

_SHOWN = ("number", "turn", "time", "role", "text", "more", "native")
_ENTRY = [messages.c[name] for name in _SHOWN]
# Made once: to build a statement takes longer than to run it.
_OF = (messages.c.session == sa.bindparam("session")) & (messages.c.number > sa.bindparam("after"))
_ALL = sa.select(*_ENTRY).where(_OF).order_by(messages.c.number)
_LAST = _ALL.order_by(None).order_by(messages.c.number.desc()).limit(sa.bindparam("last"))
_COPIED: list[str] = [name for name in Session.__match_args__ if name != "running"]
_TIMES = ("created", "updated", "finished")
_ESCAPE = "\\"
_PREFIX = re.compile(r"[0-9a-f-]+")  # of an id


class SqlSessions:
    """The conversations of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def find(self, session: str) -> Session | None:
        """Find a session."""
        if not session.isprintable():
            return None
        query = sa.select(sessions).where(sessions.c.id == session)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return session_of(row, self._now()) if row is not None else None

    def find_by_prefix(
        self, prefix: str, *, owner: int = 0, agents: Sequence[int] | None = None
    ) -> Sequence[Session]:
        """Find up to two sessions whose id begins so, among those of an owner and of agents."""
        if not _PREFIX.fullmatch(prefix.lower()):
            return []
        begins = sessions.c.id.startswith(prefix.lower())
        query = sa.select(sessions).where(begins, *_wanted(owner, agents, "")).limit(2)
        with self._database.reading() as connection:
            return [session_of(row, self._now()) for row in connection.execute(query)]

    def list(
        self,
        *,
        owner: int = 0,
        agents: Sequence[int] | None = None,
        mode: str = "",
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[list[Session], int]:
        """List sessions, what was last said first, and count how many there are in all."""
        wanted = _wanted(owner, agents, mode)
        newest = (sessions.c.updated.desc(), sessions.c.id)
        query = sa.select(sessions).where(*wanted).order_by(*newest).limit(limit).offset(offset)
        count = sa.select(sa.func.count()).select_from(sessions).where(*wanted)
        with self._database.reading() as connection:
            found = [session_of(row, self._now()) for row in connection.execute(query)]
            return found, connection.execute(count).scalar_one()

    def search(
        self, query: str, *, owner: int = 0, agents: Sequence[int] | None = None, limit: int = 50
    ) -> Sequence[Hit]:
        """Find a text in what was said, newest first; titles are the first words or found so."""
        sought = storable(query).casefold()
        for sign in (_ESCAPE, "%", "_"):
            sought = sought.replace(sign, _ESCAPE + sign)
        like = f"%{sought}%"
        plain = messages.c.folded.is_(None) & sa.func.lower(messages.c.text).like(
            like, escape=_ESCAPE
        )
        found = plain | messages.c.folded.like(like, escape=_ESCAPE)
        newest = (messages.c.time.desc(), messages.c.number.desc())
        # What is sorted is short; the messages themselves are fetched for those that are given.
        best = (
            sa.select(messages.c.session, messages.c.number)
            .join(sessions, sessions.c.id == messages.c.session)
            .where(found, messages.c.role != "tool", *_wanted(owner, agents, ""))
            .order_by(*newest)
            .limit(limit)
            .subquery()
        )
        is_best = (messages.c.session == best.c.session) & (messages.c.number == best.c.number)
        chosen = (
            sa.select(*_ENTRY, sessions)
            .join(best, is_best)
            .join(sessions, sessions.c.id == messages.c.session)
            .order_by(*newest)
        )
        with self._database.reading() as connection:
            rows = connection.execute(chosen).all()
        now = self._now()
        return [Hit(session_of(row, now), entry_of(row[: len(_SHOWN)])) for row in rows]

    def messages(self, session: str, *, last: int = 0, after: int = 0) -> Sequence[Entry]:
        """Give messages in order: the last so many, those after a number, or all."""
        chosen = {"session": session, "after": after}
        query = _ALL
        if last:
            query, chosen = _LAST, {**chosen, "last": last}
        with self._database.reading() as connection:
            rows = connection.execute(query, chosen).all()
        found = [entry_of(row) for row in rows]
        return found[::-1] if last else found

    def change(self, session: str, **fields: str | float) -> None:
        """Change what is known of a session, and not when it was last used."""
        told: dict[str, Any] = {
            name: storable(one) if isinstance(one, str) else one for name, one in fields.items()
        }
        for name in told.keys() & set(_TIMES):
            told[name] = round(told[name] * MICRO)
        with self._database.writing() as connection:
            this = sessions.c.id == session
            connection.execute(sessions.update().where(this).values(**told))
            seal_rows(connection, sessions, this)

    def delete(self, session: str) -> bool:
        """Delete a session with all that was said; `SessionBusy` while a turn runs."""
        gone = sessions.delete().where(sessions.c.id == session, self._idle())
        with self._database.writing() as connection:
            if connection.execute(gone).rowcount:
                count_rows(connection, sessions, -1)
                return True
            this = sessions.c.id == session
            row = connection.execute(sa.select(sessions.c.lease).where(this)).first()
            if row is None:
                return False
            if not is_gone(row.lease):
                raise SessionBusy(session)
            taken = sessions.delete().where(this, sessions.c.lease == row.lease)
            count_rows(connection, sessions, -connection.execute(taken).rowcount)
            return True

    def prune(self, *, said_before: float, empty_before: float) -> int:
        """Delete sessions in which nothing was said for long; give how many."""
        old = sessions.c.updated < round(said_before * MICRO)
        empty = (sessions.c.messages == 0) & (sessions.c.created < round(empty_before * MICRO))
        with self._database.writing() as connection:
            done = connection.execute(sessions.delete().where(old | empty, self._idle()))
            count_rows(connection, sessions, -done.rowcount)
            return done.rowcount

    def _idle(self) -> sa.ColumnElement[bool]:
        return (sessions.c.lease == "") | (sessions.c.lease_until <= self._now())

    def _now(self) -> int:
        return round(self._clock() * MICRO)


def _wanted(owner: int, agents: Sequence[int] | None, mode: str) -> list[sa.ColumnElement[bool]]:
    told = {"owner": owner, "mode": mode}
    wanted = [sessions.c[name] == one for name, one in told.items() if one]
    return wanted if agents is None else [*wanted, sessions.c.agent.in_(agents)]


def session_of(row: Any, now: int) -> Session:  # noqa: ANN401 - a row of the table
    """Read what is known of a session."""
    fields: dict[str, Any] = {name: getattr(row, name) for name in _COPIED}
    for name in _TIMES:
        fields[name] /= MICRO
    is_held = bool(row.lease) and row.lease_until > now
    return Session(**fields, running=is_held and not is_gone(row.lease))
