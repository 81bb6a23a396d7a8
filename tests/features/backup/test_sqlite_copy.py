"""A copy of a database is its state at one moment, and no writer waits for it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from looseleaf.errors import Unavailable, Unsafe
from looseleaf.features.backup.source import copy_database


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a folder."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def make(file: Path) -> None:
    """Make a database with a write-ahead log."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE pairs (number INTEGER, text TEXT)")
        connection.commit()


def test_a_copy_has_whole_transactions(tmp_path: Path) -> None:
    """Beside a writer whose every transaction adds two rows, each copy has an even number."""
    file = tmp_path / "source.db"
    make(file)
    progress = threading.Condition()
    written = 0
    is_over = False

    def write() -> None:
        nonlocal written
        with closing(sqlite3.connect(file, timeout=60)) as connection:
            while not is_over:
                with connection:
                    row = (written, "x" * 2_000)
                    connection.execute("INSERT INTO pairs VALUES (?, ?)", row)
                    connection.execute("INSERT INTO pairs VALUES (?, ?)", row)
                with progress:
                    written += 1
                    progress.notify_all()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            with progress:
                expected = written + 3
                assert progress.wait_for(lambda limit=expected: written >= limit, timeout=120)  # type: ignore[misc]
                before = written
            with opened(tmp_path) as folder:
                name = f"copy-{number}.db"
                assert copy_database(str(file), folder, name, str(tmp_path / name)) == ""
            with closing(sqlite3.connect(tmp_path / name)) as copy:
                rows = copy.execute("SELECT count(*) FROM pairs").fetchone()[0]
                mode = copy.execute("PRAGMA journal_mode").fetchone()[0]
            assert rows % 2 == 0
            assert rows >= 2 * before
            assert mode == "delete"
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    finally:
        is_over = True
        thread.join()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """As everywhere where SQLite is used."""
    make(tmp_path / "source.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "source.db")
    with opened(tmp_path) as folder, pytest.raises(Unsafe):
        copy_database(str(tmp_path / "link.db"), folder, "copy.db", str(tmp_path / "copy.db"))


def test_what_is_no_database_is_unavailable(tmp_path: Path) -> None:
    """With what SQLite says of it."""
    (tmp_path / "text.db").write_text("text " * 1_000)
    with opened(tmp_path) as folder, pytest.raises(Unavailable, match="not a database"):
        copy_database(str(tmp_path / "text.db"), folder, "copy.db", str(tmp_path / "copy.db"))
