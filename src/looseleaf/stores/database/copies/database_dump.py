"""A dump of a whole database into the files of a folder, as of one moment."""

from __future__ import annotations

from contextlib import closing

from looseleaf.files.output_file import OutputFile
from looseleaf.stores.database.copies.table_dump import dump_tables
from looseleaf.stores.database.database import Database
from looseleaf.stores.database.settings_and_audit import HEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def dump_database(url: str, root: str, folder: int) -> list[str]:
    """Write the tables of a database into new files of an open folder; return their names."""
    names: list[str] = []

    def write_file(name: str, lines: Iterator[bytes]) -> None:
        with closing(OutputFile(folder, name)) as file:
            for line in lines:
                file.write(line)
            file.flush()
        names.append(name)

    with closing(Database(url, root)) as database, database.snapshot() as connection:
        dump_tables(connection, HEAD, write_file)
    return names
