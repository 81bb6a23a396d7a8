"""The audit in the database: a chain of entries, each with the hash of the entry before."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.access.audit import ALL_ENTRIES, AuditEntry, Event
from looseleaf.stores.database import tables
from looseleaf.stores.database.audit_chain import FIELDS, MICRO, NEWER_FIELDS, append_entry
from looseleaf.stores.database.audit_verification import REMOVAL, format_removal, verify_chain
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from looseleaf.access.audit import AuditFilter, AuditVerdict
    from looseleaf.stores.database.database import Database

MOST_REMOVED = 100_000  # entries in one transaction; the rest is removed the next time


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
        query = query.where(*_build_conditions(only))
        with self._database.reading() as connection:
            return [_build_entry(row) for row in connection.execute(query)]

    def verify(self) -> AuditVerdict:
        """Follow the chain from its beginning to its end."""
        return verify_chain(self._database)

    def prune(self, before: float, event: Event, *, dry_run: bool = False) -> int:
        """Remove the oldest entries, those made before a time; return how many.

        The entry that `event` becomes holds number and hash of the last removed entry, and so does
        a note outside the database, which is written first.
        """
        anchor = self._database.anchor
        with self._database.reading() as connection:
            end = _find_removable_end(connection, round(before * MICRO), anchor.read()[0])
        if end is None or dry_run:
            return 0 if end is None else end.count
        record = replace(
            event,
            action=REMOVAL,
            target=f"entries {end.first} to {end.number}",
            detail=format_removal(end.number, end.hash),
        )
        with self._database.writing() as connection:
            self.append(connection, record)
            removal = tables.audit.delete().where(tables.audit.c.number <= end.number)
            count = connection.execute(removal).rowcount
            anchor.note_removed(end.number, end.hash)
        return count


@value
class _RemovableEnd:
    """The newest entry that may be removed, and the oldest that there is."""

    number: int
    hash: str
    first: int

    @property
    def count(self) -> int:
        return self.number - self.first + 1


def _find_removable_end(
    connection: sa.Connection, before: int, noted_number: int
) -> _RemovableEnd | None:
    """Find the newest entry that may be removed with all before it, or None if none may.

    The entry that is noted outside stays, since the note is compared with it.
    """
    columns = tables.audit.c
    first = connection.execute(sa.select(sa.func.min(columns.number))).scalar()
    if first is None:
        return None
    later = sa.select(sa.func.min(columns.number)).where(columns.time >= before)
    last = connection.execute(sa.select(sa.func.max(columns.number))).scalar_one()
    first_kept = connection.execute(later).scalar() or last + 1
    if noted_number:
        first_kept = min(first_kept, noted_number)
    number = min(first_kept - 1, first + MOST_REMOVED - 1)
    if number < first:
        return None
    digest = connection.execute(sa.select(columns.hash).where(columns.number == number)).scalar()
    return None if digest is None else _RemovableEnd(number, digest, first)


def _build_conditions(only: AuditFilter) -> Iterator[sa.ColumnElement[bool]]:
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


def _build_entry(row: sa.Row[tuple[object, ...]]) -> AuditEntry:
    cells: dict[str, Any] = {name: getattr(row, name) for name in FIELDS}
    older = dict.fromkeys(NEWER_FIELDS, "") if cells["actor_kind"] is None else {}
    event = Event(**{**cells, **older})
    return AuditEntry(row.number, row.time / MICRO, event, row.previous, row.hash)
