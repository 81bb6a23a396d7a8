"""The audit in the database: a chain of entries, each holding the hash of the one before."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.access.accounts import ALL_ENTRIES, AuditEntry, AuditVerdict, Event
from looseleaf.stores.database import tables
from looseleaf.stores.database.audit_chain import (
    FIELDS,
    MICRO,
    NEWER_FIELDS,
    append_entry,
    entry_hash,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from looseleaf.access.accounts import AuditFilter
    from looseleaf.stores.database.database import Database

_PAGE = 1000


class SqlAudit:
    """The audit of one database."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self.clock = clock

    def add(self, event: Event) -> None:
        """Add an event that changed no account; the page it is about has a history of its own."""
        with self._database.writing(is_relaxed=True) as connection:
            self.append(connection, event)

    def append(self, connection: sa.Connection, event: Event) -> None:
        """Add an event to the transaction of the change that it describes."""
        is_sqlite = connection.dialect.name == "sqlite"

        def execute(statement: str, parameters: tuple[object, ...]) -> Sequence[Any]:
            sql = statement if is_sqlite else statement.replace("?", "%s")
            rows = connection.exec_driver_sql(sql, parameters)
            return rows.all() if rows.returns_rows else ()

        lock = "" if is_sqlite else " FOR UPDATE"
        self._database.note_audit(connection, append_entry(execute, event, self.clock(), lock=lock))

    def list(
        self, *, limit: int = 50, before: int = 0, only: AuditFilter = ALL_ENTRIES
    ) -> Sequence[AuditEntry]:
        """List entries, newest first: of lower numbers than `before`, and as the filter says."""
        query = sa.select(tables.audit).order_by(tables.audit.c.number.desc()).limit(limit)
        if before:
            query = query.where(tables.audit.c.number < before)
        query = query.where(*_conditions(only))
        with self._database.reading() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def verify(self) -> AuditVerdict:
        """Follow the chain from its beginning to its end."""
        number, previous = 0, ""
        noted_number, expected = self._database.anchor.read()
        with self._database.reading() as connection:
            while rows := connection.execute(_after(number)).all():
                for row in rows:
                    number += 1
                    fault = _fault(row, number, previous)
                    if fault:
                        return AuditVerdict(number - 1, fault)
                    previous = row.hash
                    if number == noted_number and previous != expected:
                        return AuditVerdict(number, f"entry {number} is not the one that was noted")
            end = connection.execute(
                sa.select(tables.state).where(tables.state.c.name == "audit")
            ).one_or_none()
        if end is None:
            return AuditVerdict(number, "nothing says how many entries there were")
        if (end.number, end.text) != (number, previous):
            return AuditVerdict(number, f"the last entries are gone: there were {end.number}")
        if noted_number > number:
            return AuditVerdict(
                number,
                f"the database is older than the workspace: {noted_number} entries were noted",
            )
        return AuditVerdict(number)


def _conditions(only: AuditFilter) -> Iterator[sa.ColumnElement[bool]]:
    columns = tables.audit.c
    if only.actor_kind:
        yield columns.actor_kind == only.actor_kind
    if only.actor:
        yield columns.actor == only.actor
    if only.action:
        yield columns.action.contains(only.action, autoescape=True)
    if only.since:
        yield columns.time >= round(only.since * MICRO)
    if only.until:
        yield columns.time <= round(only.until * MICRO)


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
    cells: dict[str, Any] = {name: getattr(row, name) for name in FIELDS}
    older = dict.fromkeys(NEWER_FIELDS, "") if cells["actor_kind"] is None else {}
    event = Event(**{**cells, **older})
    return AuditEntry(row.number, row.time / MICRO, event, row.previous, row.hash)
