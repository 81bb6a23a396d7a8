"""The file of a search index: folded texts, their trigrams and their words, in SQLite.

The file is a cache: the pages are the truth, and the file may be deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
import unicodedata
from contextlib import suppress

from looseleaf.memory.search.calendar_words import MARK
from looseleaf.memory.search.ranking import count_words
from looseleaf.memory.search.words import stem_lines
from looseleaf.stores.index.index_checksum import SUFFIX, is_sealed, seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.stores.index.file_states import Signature

IN_MEMORY = ":memory:"
SUFFIXES = ("", "-wal", "-shm", SUFFIX)
_LAYOUT = 2
# Texts are folded by the rules of one Unicode version; a file of another version is rebuilt.
_VERSION = _LAYOUT * 100_000 + int(unicodedata.unidata_version.replace(".", ""))
_BUSY_SECONDS = 5.0
_LOG_BYTES = 4_000_000
_MAX_TRIGRAMS = 8

_TABLES = """
CREATE TABLE pages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    filename TEXT NOT NULL UNIQUE,
    inode INTEGER, changed INTEGER, modified INTEGER, size INTEGER,
    worded INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX wordless ON pages (id) WHERE worded = 0;
CREATE TABLE texts (id INTEGER PRIMARY KEY, folded BLOB NOT NULL);
CREATE TABLE state (change INTEGER NOT NULL);
INSERT INTO state VALUES (0);
CREATE VIRTUAL TABLE trigrams USING fts5 (
    folded, content='', detail=none, tokenize='trigram case_sensitive 1'
);
CREATE TABLE stems (id INTEGER PRIMARY KEY, stems TEXT NOT NULL, length INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (terms, content='', detail=none, tokenize='ascii');
"""


def supports_full_text() -> bool:
    """Return whether this SQLite has the full-text search that the index needs."""
    connection = sqlite3.connect(IN_MEMORY)
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (a, tokenize='trigram')")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True


def remove(path: str) -> None:
    """Delete an index file and what SQLite keeps beside it."""
    # The file itself is removed first: a process that has it open notices that and reopens it.
    for suffix in SUFFIXES:
        try:
            os.unlink(path + suffix)
        except (FileNotFoundError, NotADirectoryError):
            continue


class IndexFile:
    """One open index; `sqlite3.DatabaseError` if the file is damaged or foreign."""

    def __init__(self, path: str, *, modes: tuple[int, int] = (0o600, 0o700)) -> None:
        self.path = path
        self._mode = modes[0]
        self._is_sound = False  # whether the file matched its seal, or is new
        if path != IN_MEMORY:
            for folder in (os.path.dirname(os.path.dirname(path)), os.path.dirname(path)):
                _create_folder(folder, modes[1])
            is_as_sealed = is_sealed(path)
            if is_as_sealed is False:
                raise sqlite3.DatabaseError("the index is not what was written")
            self._is_sound = is_as_sealed is True
        self._sql = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            if path != IN_MEMORY and os.stat(path).st_size == 0:
                os.chmod(path, modes[0])
                self._is_sound = True
            self._prepare()
        except BaseException:
            self._sql.close()
            raise
        self._files = self._identify_files()

    def close(self) -> None:
        """Seal and close the file."""
        identities = self._identify_files()
        if identities[:1] == self._files[:1] and identities != self._files:
            # Its log was deleted: SQLite would still write the log's content into the file.
            remove(self.path)
        elif self._is_sound and self._sql.total_changes and identities == self._files:
            with suppress(OSError, sqlite3.Error):  # a file without a seal is rebuilt
                seal(self.path, self._sql)
        self._sql.close()

    def is_same(self) -> bool:
        """Return whether the file is still the one that was opened."""
        return self._files == self._identify_files()

    def begin(self, *, write: bool = False) -> None:
        """Begin a transaction: one state of the index, until `end`."""
        self._sql.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def end(self, *, keep: bool = False) -> None:
        """End the transaction; `keep` commits it."""
        self._sql.execute("COMMIT" if keep else "ROLLBACK")

    def change(self) -> int:
        """Return the change counter of the index, in the present transaction."""
        return int(self._sql.execute("SELECT change FROM state").fetchone()[0])

    def count_change(self) -> None:
        """Signal to other processes that pages have changed."""
        self._sql.execute("UPDATE state SET change = change + 1")

    def pages(self) -> Iterator[tuple[str, int, Signature | None]]:
        """Yield every page with its number and the signature of the file its text was read from."""
        for name, number, *signature in self._sql.execute(
            "SELECT filename, id, inode, changed, modified, size FROM pages"
        ):
            yield name, number, None if signature[0] is None else tuple(signature)

    def text(self, number: int) -> bytes:
        """Return the folded text of a page."""
        row = self._sql.execute("SELECT folded FROM texts WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("a page has no text")
        return bytes(row[0])

    def add(self, name: str, text: bytes, *, number: int | None = None) -> int:
        """Add a page and return its number, by default the next free one."""
        row = (number, name)
        number = self._sql.execute("INSERT INTO pages (id, filename) VALUES (?, ?)", row).lastrowid
        assert number is not None  # noqa: S101 - only a failed insert has no row
        self._sql.execute("INSERT INTO texts (id, folded) VALUES (?, ?)", (number, text))
        self._sql.execute(
            "INSERT INTO trigrams (rowid, folded) VALUES (?, ?)", (number, _prepare_text(text))
        )
        return number

    def delete(self, number: int) -> None:
        """Remove a page."""
        indexed_text = _prepare_text(self.text(number))
        name, has_words = self._sql.execute(
            "SELECT filename, worded FROM pages WHERE id = ?", (number,)
        ).fetchone()
        self._sql.execute(
            "INSERT INTO trigrams (trigrams, rowid, folded) VALUES ('delete', ?, ?)",
            (number, indexed_text),
        )
        if has_words:
            terms = _number_terms(count_words(name, self.stems(number)))
            self._sql.execute(
                "INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)", (number, terms)
            )
            self._sql.execute("DELETE FROM stems WHERE id = ?", (number,))
        self._sql.execute("DELETE FROM texts WHERE id = ?", (number,))
        self._sql.execute("DELETE FROM pages WHERE id = ?", (number,))

    def sign(self, number: int, signature: Signature | None) -> None:
        """Store the signature of a page's source file; None if it is not reliable yet."""
        self._sql.execute(
            "UPDATE pages SET inode = ?, changed = ?, modified = ?, size = ? WHERE id = ?",
            (*(signature or (None,) * 4), number),
        )

    def candidates(self, folded_text: str) -> list[int]:
        """Return the pages that hold trigrams of a text: all that hold the text, and some more."""
        text = _prepare_text(folded_text.encode())
        trigrams = list(dict.fromkeys(text[i : i + 3] for i in range(len(text) - 2)))
        # A few trigrams from all over the text select hardly more pages than all of them.
        sample = trigrams[:: -(-len(trigrams) // _MAX_TRIGRAMS)]
        rows = self._sql.execute(
            "SELECT rowid FROM trigrams WHERE trigrams MATCH ?",
            (_build_expression(sample, " AND "),),
        )
        return [row[0] for row in rows]

    def list_wordless(self, limit: int) -> list[tuple[int, str]]:
        """List pages whose words are not indexed yet; a substring search needs no words."""
        rows = self._sql.execute(
            "SELECT id, filename FROM pages WHERE worded = 0 LIMIT ?", (limit,)
        )
        return rows.fetchall()

    def add_words(self, number: int, name: str) -> tuple[dict[str, int], int]:
        """Index the words of a page; return the count of each word, and the total."""
        stems = stem_lines(self.text(number))
        counts, length = count_words(name, stems), len(stems.split())
        self._sql.execute("INSERT INTO stems VALUES (?, ?, ?)", (number, stems, length))
        self._sql.execute(
            "INSERT INTO words (rowid, terms) VALUES (?, ?)", (number, _number_terms(counts))
        )
        self._sql.execute("UPDATE pages SET worded = 1 WHERE id = ?", (number,))
        return counts, length

    def has_words(self, number: int) -> bool:
        """Return whether the words of a page are indexed."""
        row = self._sql.execute("SELECT worded FROM pages WHERE id = ?", (number,)).fetchone()
        return bool(row and row[0])

    def terms(self, table: str) -> Iterator[tuple[str, int]]:
        """Yield every term of a full-text table with each page that holds it, in order."""
        name = f"temp.{table}_terms"
        kind = f"fts5vocab(main, {table}, instance)"
        self._sql.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING {kind}")
        yield from self._sql.execute(f"SELECT term, doc FROM {name}")  # noqa: S608 - our name

    def lengths(self) -> list[tuple[int, int]]:
        """Return the number of words of each page, by its number."""
        return self._sql.execute("SELECT id, length FROM stems").fetchall()

    def stems(self, number: int) -> str:
        """Return the stems of a page, line by line."""
        row = self._sql.execute("SELECT stems FROM stems WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("a page has no stems")
        return str(row[0])

    def holders(self, term: str, count: int) -> list[int]:
        """Return the pages that hold a term at least this many times."""
        rows = self._sql.execute(
            "SELECT rowid FROM words WHERE words MATCH ?",
            (_build_expression([_number_term(term, count)], ""),),
        )
        return [row[0] for row in rows]

    def _prepare(self) -> None:
        """Configure the connection, and create the tables if they are missing."""
        for setting in (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "secure_delete = ON",  # a deleted page's text is not left in free space
            f"journal_size_limit = {_LOG_BYTES}",
        ):
            self._sql.execute(f"PRAGMA {setting}").fetchall()
        if self._read_version() == 0:
            self.begin(write=True)
            if self._read_version() == 0:  # no other process was faster
                for statement in _TABLES.split(";\n"):
                    self._sql.execute(statement)
                self._sql.execute(f"PRAGMA user_version = {_VERSION}")
            self.end(keep=True)
        if self._read_version() != _VERSION:
            raise sqlite3.DatabaseError("the index has another layout")
        self.change()

    def _read_version(self) -> int:
        return int(self._sql.execute("PRAGMA user_version").fetchone()[0])

    def _identify_files(self) -> tuple[tuple[int, int], ...]:
        """Identify the file and its log (WAL), which is a part of it while it is open."""
        if self.path == IN_MEMORY:
            return ()
        return tuple(_identify_file(self.path + suffix) for suffix in SUFFIXES[:2])


def _identify_file(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _prepare_text(folded_text: bytes) -> str:
    # SQLite's tokenizers stop at a NUL; candidates are compared with the true text anyway.
    return folded_text.decode().replace("\0", "\x01")


def _number_terms(counts: dict[str, int]) -> str:
    """Write a term once for each time that it occurs, each time as another term.

    So the index can count the occurrences of a term on a page without their positions.
    """
    terms = list(counts)
    for term, maximum in counts.items():
        if maximum > 1:
            terms += [_number_term(term, count) for count in range(2, maximum + 1)]
    return " ".join(terms)


def _number_term(term: str, count: int) -> str:
    return f"{term}{MARK}{count}" if count > 1 else term


def _build_expression(terms: list[str], joint: str) -> str:
    return joint.join('"' + term.replace('"', '""') + '"' for term in terms)


def _create_folder(path: str, mode: int) -> None:
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        return
    if mode & 0o070:
        os.chmod(path, mode)
