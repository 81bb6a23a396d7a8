"""Digests of rows and counts of tables, by which a changed or deleted row is found.

A digest covers the columns that hold what people and agents said and may do; times of last use,
leases and counters change too often, and are left out. Rows that an older Looseleaf wrote have
none. The counts stand in the table `state`, one row for each table.
"""

from __future__ import annotations

import hashlib
import json

import sqlalchemy as sa

from looseleaf.stores import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.stores.database import Database

_LEFT_OUT = {
    "credentials": ("last_used",),
    "chat_messages": ("version", "folded"),
}
_SESSION_COLUMNS = ("id", "owner", "agent", "mode", "source", "title", "titled", "created")
_DIGESTED = (
    tables.users,
    tables.grants,
    tables.credentials,
    tables.settings,
    tables.chat_sessions,
    tables.chat_messages,
)
COUNTED = (tables.users, tables.grants, tables.credentials, tables.settings, tables.chat_sessions)
_COLUMNS = {
    table.name: [
        column.name
        for column in table.columns
        if column.name != "digest" and column.name not in _LEFT_OUT.get(table.name, ())
    ]
    for table in _DIGESTED
} | {"chat_sessions": [*_SESSION_COLUMNS, "summary"]}
_AT_ONCE = 1000
_MOST_NAMED = 5


def digest_of(table: sa.Table, row: Mapping[str, Any] | sa.RowMapping) -> str:
    """Give the digest of a row, by the columns of its table that count."""
    cells = [row[name] for name in _COLUMNS[table.name]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def seal_rows(connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool]) -> None:
    """Bring the digests of rows that were just added or changed up to date."""
    keys = list(table.primary_key)
    for row in connection.execute(sa.select(table).where(where)).mappings().all():
        this = sa.and_(*(key == row[key.name] for key in keys))
        connection.execute(table.update().where(this).values(digest=digest_of(table, row)))


def count_rows(connection: sa.Connection, table: sa.Table, change: int) -> None:
    """Note that a table has so many rows more, or less."""
    number = tables.state.c.number + change
    this = tables.state.c.name == table.name
    connection.execute(tables.state.update().where(this).values(number=number))


def verify_rows(database: Database) -> Iterator[str]:
    """Say of each table which rows are not what was written, and how many are missing."""
    with database.reading() as connection:
        for table in _DIGESTED:
            yield from _verify_digests(connection, table)
        for table in COUNTED:
            yield from _verify_count(connection, table)
        yield from _verify_sessions(connection)


def _verify_digests(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    keys = [column.name for column in table.primary_key]
    query = sa.select(table).where(table.c.digest.is_not(None))
    rows = connection.execution_options(yield_per=_AT_ONCE).execute(query).mappings()
    wrong = [
        " ".join(str(row[key]) for key in keys)
        for row in rows
        if row["digest"] != digest_of(table, row)
    ]
    if wrong:
        more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
        named = ", ".join(wrong[:_MOST_NAMED])
        yield f"rows of {table.name} are not what was written: {named}{more}"


def _verify_count(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    expected = sa.select(tables.state.c.number).where(tables.state.c.name == table.name)
    noted = connection.execute(expected).scalar()
    found = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
    if noted is None:
        yield f"nothing says how many rows {table.name} had"
    elif noted != found:
        yield f"{table.name} has {found} rows, and had {noted}"


def _verify_sessions(connection: sa.Connection) -> Iterator[str]:
    """Compare the numbers of messages and turns that each session says it has."""
    sessions = tables.chat_sessions
    for part, noun in ((tables.chat_messages, "messages"), (tables.chat_turns, "turns")):
        counts = (
            sa.select(part.c.session, sa.func.count().label("found"))
            .group_by(part.c.session)
            .subquery()
        )
        found = sa.func.coalesce(counts.c.found, 0)
        query = (
            sa.select(sessions.c.id, sessions.c[noun], found)
            .join_from(sessions, counts, sessions.c.id == counts.c.session, isouter=True)
            .where(sessions.c[noun] != found)
            .limit(_MOST_NAMED)
        )
        for identity, noted, present in connection.execute(query):
            yield f"the chat session {identity} has {present} {noun}, and had {noted}"
