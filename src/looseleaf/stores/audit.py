"""The audit in the database: a chain of entries, each holding the hash of the one before."""

from __future__ import annotations

import hashlib
import json

import sqlalchemy as sa

from looseleaf.agents.accounts import AuditEntry, Event, Verified
from looseleaf.stores import tables
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.stores.database import Database

MICRO = 1_000_000
_MOST_CHARACTERS = 1000
_FIELDS: tuple[str, ...] = Event.__match_args__
_PAGE = 1000


# Made once: building a statement takes longer than running it, and every write of a page does.
_ONLY = tables.state.c.name == "audit"
_END = sa.select(tables.state.c.number, tables.state.c.text).where(_ONLY).with_for_update()
_ADD = tables.audit.insert()
_MOVE = (
    tables.state.update().where(_ONLY).values(number=sa.bindparam("to"), text=sa.bindparam("with"))
)


class SqlAudit:
    """The audit of one database."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self.clock = clock

    def add(self, event: Event) -> None:
        """Add an event that changed no account; the page it is about has a history of its own."""
        with self._database.writing(relaxed=True) as connection:
            self.append(connection, event)

    def append(self, connection: sa.Connection, event: Event) -> None:
        """Add an event to the transaction that does what it tells."""
        last = connection.execute(_END).one()
        fields = {name: _clean(one) for name, one in as_dict(event).items()}
        number, time = last.number + 1, round(self.clock() * MICRO)
        made = _hash(last.text, number, time, fields)
        entry = {"number": number, "time": time, "previous": last.text, "hash": made, **fields}
        connection.execute(_ADD, entry)
        connection.execute(_MOVE, {"to": number, "with": made})

    def list(self, *, limit: int = 50, before: int = 0) -> Sequence[AuditEntry]:
        """List entries, newest first; with `before`, those of lower numbers."""
        query = sa.select(tables.audit).order_by(tables.audit.c.number.desc()).limit(limit)
        if before:
            query = query.where(tables.audit.c.number < before)
        with self._database.reading() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def verify(self) -> Verified:
        """Follow the chain from its beginning to its end."""
        number, previous = 0, ""
        with self._database.reading() as connection:
            while rows := connection.execute(_after(number)).all():
                for row in rows:
                    number += 1
                    fault = _fault(row, number, previous)
                    if fault:
                        return Verified(number - 1, fault)
                    previous = row.hash
            end = connection.execute(
                sa.select(tables.state).where(tables.state.c.name == "audit")
            ).one()
        if (end.number, end.text) != (number, previous):
            return Verified(number, f"the last entries are gone: there were {end.number}")
        return Verified(number)


def _after(number: int) -> sa.Select[tuple[object, ...]]:
    return (
        sa.select(tables.audit)
        .where(tables.audit.c.number > number)
        .order_by(tables.audit.c.number)
        .limit(_PAGE)
    )


def _fault(row: sa.Row[tuple[object, ...]], number: int, previous: str) -> str:
    if row.number != number:
        return f"entry {number} is missing"
    fields = {name: getattr(row, name) for name in _FIELDS}
    if row.previous != previous or row.hash != _hash(previous, number, row.time, fields):
        return f"entry {number} is not what was written"
    return ""


def _entry(row: sa.Row[tuple[object, ...]]) -> AuditEntry:
    event = Event(*(getattr(row, name) for name in _FIELDS))
    return AuditEntry(row.number, row.time / MICRO, event, row.previous, row.hash)


def _hash(previous: str, number: int, time: int, fields: dict[str, object]) -> str:
    told = [previous, number, time, *(fields[name] for name in _FIELDS)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _clean(told: object) -> object:
    """Give text that every database can keep."""
    if not isinstance(told, str):
        return told
    kept = told[:_MOST_CHARACTERS].encode("utf-8", "backslashreplace").decode()
    return kept.replace("\0", "\\0")
