"""The audit in the database: a chain of entries, each holding the hash of the one before."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.agents.accounts import AuditEntry, Event, Verified
from looseleaf.stores import tables
from looseleaf.stores.audit_chain import FIELDS, MICRO, append_entry, entry_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from looseleaf.stores.database import Database

_PAGE = 1000


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
        is_sqlite = connection.dialect.name == "sqlite"

        def execute(statement: str, parameters: tuple[object, ...]) -> Sequence[Any]:
            written = statement if is_sqlite else statement.replace("?", "%s")
            rows = connection.exec_driver_sql(written, parameters)
            return rows.all() if rows.returns_rows else ()

        lock = "" if is_sqlite else " FOR UPDATE"
        self._database.note_audit(connection, append_entry(execute, event, self.clock(), lock=lock))

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
        anchored, expected = self._database.anchor.read()
        with self._database.reading() as connection:
            while rows := connection.execute(_after(number)).all():
                for row in rows:
                    number += 1
                    fault = _fault(row, number, previous)
                    if fault:
                        return Verified(number - 1, fault)
                    previous = row.hash
                    if number == anchored and previous != expected:
                        return Verified(number, f"entry {number} is not the one that was noted")
            end = connection.execute(
                sa.select(tables.state).where(tables.state.c.name == "audit")
            ).one_or_none()
        if end is None:
            return Verified(number, "nothing says how many entries there were")
        if (end.number, end.text) != (number, previous):
            return Verified(number, f"the last entries are gone: there were {end.number}")
        if anchored > number:
            return Verified(
                number, f"the database is older than the workspace: {anchored} entries were noted"
            )
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
    fields = {name: getattr(row, name) for name in FIELDS}
    if row.previous != previous or row.hash != entry_hash(previous, number, row.time, fields):
        return f"entry {number} is not what was written"
    return ""


def _entry(row: sa.Row[tuple[object, ...]]) -> AuditEntry:
    event = Event(*(getattr(row, name) for name in FIELDS))
    return AuditEntry(row.number, row.time / MICRO, event, row.previous, row.hash)
