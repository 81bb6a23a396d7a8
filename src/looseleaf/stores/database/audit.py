"""The audit in the database: a chain of entries, each with the hash of the entry before."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.access.audit import ALL_ENTRIES, AuditEntry, AuditVerdict, Event
from looseleaf.stores.database import tables
from looseleaf.stores.database.audit_chain import (
    FIELDS,
    MICRO,
    NEWER_FIELDS,
    append_entry,
    hash_entry,
)
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from looseleaf.access.audit import AuditFilter
    from looseleaf.stores.database.database import Database


# Following the chain of the audit: every entry holds the hash of the entry before.
# Retention may have removed the oldest entries. Then an entry of the chain records the removal,
# and a note outside the database says the same.


REMOVAL = "looseleaf/prune-audit"  # the action of the entry that records a removal
_PAGE = 1000


def format_removal(number: int, digest: str) -> str:
    """Name the last removed entry, as the entry that records the removal does."""
    return f"{number} {digest}"


def verify_chain(database: Database) -> AuditVerdict:
    """Follow the chain from its beginning to its end."""
    anchor = database.anchor
    with database.reading() as connection:
        walk = _Walk(connection, anchor.read(), anchor.read_removed())
        fault = walk.follow() or walk.check_beginning() or walk.check_end()
    return AuditVerdict(walk.number - walk.start, fault, walk.start)


class _Walk:
    """One walk along the chain, with the state that is needed on the way."""

    def __init__(
        self, connection: sa.Connection, end_note: tuple[int, str], start_note: tuple[int, str]
    ) -> None:
        self._connection = connection
        self._end_note, self._start_note = end_note, start_note
        self._records: set[str] = set()
        self.start, self.number, self.hash = 0, 0, ""
        self._start_hash = ""

    def follow(self) -> str:
        """Check each entry; return the first fault."""
        for row in _list_rows(self._connection):
            if not self.number and row.number > 1:
                self.start = self.number = row.number - 1
                self.hash = self._start_hash = row.previous
            self.number += 1
            fault = _find_fault(row, self.number, self.hash)
            if fault:
                self.number -= 1
                return fault
            self.hash = row.hash
            if row.action == REMOVAL:
                self._records.add(row.detail)
            for number, expected in (self._end_note, self._start_note):
                if number == self.number and expected != self.hash:
                    return f"entry {number} is not the one that was noted"
        return ""

    def check_beginning(self) -> str:
        """Check that the entries which are missing at the beginning were removed by retention."""
        if not self.start:
            return ""
        number, digest = self._start_note
        has_notes = bool(self._end_note[0])
        if has_notes and number < self.start:
            return f"entry {number + 1} is missing"
        if number == self.start and digest != self._start_hash:
            return f"entry {number} is not the one that was noted"
        if format_removal(self.start, self._start_hash) not in self._records:
            return f"no entry records that those up to {self.start} were removed"
        if has_notes and self._end_note[0] <= self.start:
            return f"entry {self._end_note[0]}, which was noted, is missing"
        return ""

    def check_end(self) -> str:
        """Check that no entry is missing at the end."""
        query = sa.select(tables.state).where(tables.state.c.name == "audit")
        end = self._connection.execute(query).one_or_none()
        if end is None:
            return "nothing says how many entries there were"
        if (end.number, end.text) != (self.number, self.hash):
            return f"the last entries are gone: there were {end.number}"
        noted_number = self._end_note[0]
        if noted_number > self.number:
            return f"the database is older than the workspace: {noted_number} entries were noted"
        return ""


def _list_rows(connection: sa.Connection) -> Iterator[sa.Row[Any]]:
    number = -1
    while rows := connection.execute(_select_after(number)).all():
        yield from rows
        number = rows[-1].number


def _select_after(number: int) -> sa.Select[tuple[object, ...]]:
    return (
        sa.select(tables.audit)
        .where(tables.audit.c.number > number)
        .order_by(tables.audit.c.number)
        .limit(_PAGE)
    )


def _find_fault(row: sa.Row[Any], number: int, previous: str) -> str:
    if row.number != number:
        return f"entry {number} is missing"
    fields = {name: getattr(row, name) for name in FIELDS}
    if row.previous != previous or row.hash != hash_entry(previous, number, row.time, fields):
        return f"entry {number} is not what was written"
    return ""


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
