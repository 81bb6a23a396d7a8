"""Following the chain of the audit: every entry holds the hash of the entry before.

Retention may have removed the oldest entries. Then an entry of the chain records the removal, and
a note outside the database says the same.
"""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.access.audit import AuditVerdict
from looseleaf.stores.database import tables
from looseleaf.stores.database.audit_chain import FIELDS, hash_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from looseleaf.stores.database.database import Database

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
