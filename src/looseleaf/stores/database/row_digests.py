"""Digests of rows and counts of tables, by which a changed or deleted row is found.

A digest covers the columns with messages, accounts and permissions; times of last use, leases and
counters change too often, and are left out. Rows written by an older Looseleaf have no digest. The
counts are in the table `state`, one row for each table.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache

import sqlalchemy as sa

from looseleaf.stores.database import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.stores.database.database import Database

_UPDATE_COUNT = (
    tables.state.update()
    .where(tables.state.c.name == sa.bindparam("of_table"))
    .values(number=tables.state.c.number + sa.bindparam("more"))
)
_BATCH_ROWS = 1000
_MOST_NAMED = 5


@cache
def _digest_columns(table: sa.Table) -> tuple[str, ...]:
    skipped = ("digest", *table.info.get(tables.UNDIGESTED, ()))
    return tuple(column.name for column in table.columns if column.name not in skipped)


def digest_of(table: sa.Table, row: Mapping[str, Any] | sa.RowMapping) -> str:
    """Return the digest of a row, over the digest columns of its table."""
    cells = [row[name] for name in _digest_columns(table)]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def seal_rows(
    connection: sa.Connection, table: sa.Table, condition: sa.ColumnElement[bool]
) -> None:
    """Update the digests of rows that were just added or changed."""
    keys = list(table.primary_key)
    for row in connection.execute(sa.select(table).where(condition)).mappings().all():
        is_row = sa.and_(*(key == row[key.name] for key in keys))
        connection.execute(table.update().where(is_row).values(digest=digest_of(table, row)))


def count_rows(connection: sa.Connection, table: sa.Table, change: int) -> None:
    """Change the stored number of rows of a table."""
    connection.execute(_UPDATE_COUNT, {"of_table": table.name, "more": change})


def verify_rows(database: Database) -> Iterator[str]:
    """Report the rows of each table that were changed outside, and the number of missing rows."""
    with database.reading() as connection:
        for table in tables.list_digest_tables():
            yield from _verify_digests(connection, table)
        for table in tables.list_counted_tables():
            yield from _verify_count(connection, table)
        for table in tables.list_tables():
            for column in table.columns:
                if tables.COUNTS in column.info:
                    yield from _verify_parts(connection, table, column)


def _verify_digests(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    keys = [column.name for column in table.primary_key]
    query = sa.select(table).where(table.c.digest.is_not(None))
    rows = connection.execution_options(yield_per=_BATCH_ROWS).execute(query).mappings()
    changed_rows = [
        " ".join(str(row[key]) for key in keys)
        for row in rows
        if row["digest"] != digest_of(table, row)
    ]
    if changed_rows:
        suffix = (
            f" and {len(changed_rows) - _MOST_NAMED} more"
            if len(changed_rows) > _MOST_NAMED
            else ""
        )
        names = ", ".join(changed_rows[:_MOST_NAMED])
        yield f"rows of {table.name} are not what was written: {names}{suffix}"


def _verify_count(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    query = sa.select(tables.state.c.number).where(tables.state.c.name == table.name)
    stored_count = connection.execute(query).scalar()
    row_count = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
    if stored_count is None:
        yield f"nothing says how many rows {table.name} had"
    elif stored_count != row_count:
        yield f"{table.name} has {row_count} rows, and had {stored_count}"


def _verify_parts(
    connection: sa.Connection, table: sa.Table, column: sa.Column[int]
) -> Iterator[str]:
    """Compare the numbers of rows in another table that each row has stored in a column."""
    parts = tables.metadata.tables[column.info[tables.COUNTS]]
    (reference,) = (key for key in parts.foreign_keys if key.column.table is table)
    counts = (
        sa.select(reference.parent.label("whole"), sa.func.count().label("found"))
        .group_by(reference.parent)
        .subquery()
    )
    row_count = sa.func.coalesce(counts.c.found, 0)
    query = (
        sa.select(reference.column, column, row_count)
        .join_from(table, counts, reference.column == counts.c.whole, isouter=True)
        .where(column != row_count)
        .limit(_MOST_NAMED)
    )
    for identity, stored_count, found_count in connection.execute(query):
        subject = f"the {table.info[tables.NOUN]} {identity}"
        yield f"{subject} has {found_count} {column.name}, and had {stored_count}"
