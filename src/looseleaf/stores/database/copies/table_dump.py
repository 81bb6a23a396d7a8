"""The tables of a database as files that can be read without a database: one line for each row.

`schema.json` names the newest migration, and of each table its columns, the number of its rows, the
hash of its file and the last id that was given. `<table>.jsonl` has a JSON array for each row, in
the order of the primary key. The same rows give the same bytes in every database.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import NamedTuple

import sqlalchemy as sa

from looseleaf.errors.bundles import InvalidBackup
from looseleaf.stores.database import tables
from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    WriteFile = Callable[[str, Iterator[bytes]], None]

SCHEMA_FILE = "schema.json"
MOST_SCHEMA_BYTES = 1 << 20
_ROWS_AT_ONCE = 100  # a row may have a megabyte
_POSTGRESQL = "postgresql"
RESTORE_MARK = "restoring"  # a row of `state`, which belongs to no dump


@value
class DumpedTable:
    """The description of one table in a dump.

    Fields:
        name: The name of the table.
        columns: The names of its columns, in the order of the cells of a row.
        rows: The number of its rows.
        sha256: The hash of its file.
        last_id: The last id that the database has given to a row, or 0 if it gives none.
    """

    name: str
    columns: tuple[str, ...]
    rows: int
    sha256: str
    last_id: int


class Dump(NamedTuple):
    """The content of `schema.json`: the newest migration, and the tables in order to fill them."""

    revision: str
    tables: tuple[DumpedTable, ...]


def dump_tables(connection: sa.Connection, revision: str, write_file: WriteFile) -> Dump:
    """Write all our tables as one state of the database has them, a few rows at a time."""
    dumped_tables = []
    for table in tables.load_metadata().sorted_tables:
        columns = tuple(column.name for column in table.columns)
        summary = RowSummary()
        write_file(f"{table.name}.jsonl", summary.watch(read_lines(connection, table, columns)))
        last_id = _read_last_id(connection, table)
        dumped_tables.append(
            DumpedTable(table.name, columns, summary.rows, summary.hexdigest(), last_id)
        )
    dump = Dump(revision, tuple(dumped_tables))
    write_file(SCHEMA_FILE, iter((_encode_schema(dump),)))
    return dump


class RowSummary:
    """The number and the hash of lines that pass by."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = sha256()

    def watch(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Pass the lines on, and count them."""
        for line in lines:
            self.rows += 1
            self._digest.update(line)
            yield line

    def hexdigest(self) -> str:
        """Return the hash of all lines so far."""
        return self._digest.hexdigest()


def read_lines(
    connection: sa.Connection, table: sa.Table, columns: Iterable[str]
) -> Iterator[bytes]:
    """Read the rows of a table as lines, in the order of the bytes of the primary key."""
    is_postgresql = connection.dialect.name == _POSTGRESQL
    order = [
        sa.collate(key, "C") if is_postgresql and isinstance(key.type, sa.String) else key
        for key in table.primary_key
    ]
    query = sa.select(*(table.c[name] for name in columns)).order_by(*order)
    if table.name == tables.state.name:
        query = query.where(table.c.name != RESTORE_MARK)
    result = connection.execute(query, execution_options={"yield_per": _ROWS_AT_ONCE})
    for row in result:
        yield json.dumps(list(row), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def parse_schema(content: bytes) -> Dump:
    """Parse the description of a dump, or raise `InvalidBackup`."""
    try:
        document: Any = json.loads(content)
        dumped_tables = tuple(_parse_table(fields) for fields in document["tables"])
        return Dump(str(document["revision"]), dumped_tables)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidBackup("the description of its database is damaged") from None


def find_sequence(connection: sa.Connection, table: sa.Table) -> str:
    """Return the name of the sequence that PostgreSQL takes the ids of a table from, or ""."""
    (key, *other_keys) = list(table.primary_key)
    if other_keys or connection.dialect.name != _POSTGRESQL:
        return ""
    query = sa.select(sa.func.pg_get_serial_sequence(table.name, key.name))
    return connection.execute(query).scalar() or ""


def _read_last_id(connection: sa.Connection, table: sa.Table) -> int:
    """Return the last id that was given, even if its row is deleted by now."""
    if table.autoincrement_column is None:
        return 0
    highest = connection.execute(sa.select(sa.func.max(table.autoincrement_column))).scalar() or 0
    last = 0
    if sequence := find_sequence(connection, table):
        # The name is PostgreSQL's own, quoted if that is needed.
        query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"  # noqa: S608
        last = connection.exec_driver_sql(query).scalar_one()
    elif table.dialect_options["sqlite"]["autoincrement"]:
        query = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?"
        last = connection.exec_driver_sql(query, (table.name,)).scalar() or 0
    return max(int(highest), int(last))


def _encode_schema(dump: Dump) -> bytes:
    document = {"revision": dump.revision, "tables": [as_dict(table) for table in dump.tables]}
    return json.dumps(document, indent=1).encode() + b"\n"


def _parse_table(fields: dict[str, Any]) -> DumpedTable:
    texts = (fields["name"], fields["sha256"], *fields["columns"])
    numbers = (fields["rows"], fields["last_id"])
    are_numbers = all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)
    if not are_numbers or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return DumpedTable(**{**fields, "columns": tuple(fields["columns"])})
