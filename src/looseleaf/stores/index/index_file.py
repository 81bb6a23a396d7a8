"""The file of a search index: folded texts, their trigrams and their words, in SQLite.

The file is a cache: the pages are the truth, and the file may be deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
import time
import unicodedata
from binascii import crc32
from contextlib import suppress
from io import FileIO

from looseleaf.files import atomic
from looseleaf.files.folders import is_settled
from looseleaf.memory.search.ranking import MOST_COUNTED, count_words, sum_counts
from looseleaf.memory.search.words import MARK, stem_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.search.ranking import TermCounts
    from looseleaf.stores.index.file_states import Signature


# The seal of an index file: a checksum of its bytes, which shows damage when the file is
# opened.
# SQLite does not notice most flipped bits in its file, and a search would then miss pages. A
# file that does not match its seal is rebuilt. While SQLite has a log (WAL) beside the file, a
# process has the file open or died with it, and nothing can be compared.
# After a comparison the seal also stores the status of the file and the id of the boot: until
# the next boot, a file that nobody has written is not read again. A bit that a disk loses
# meanwhile is found after the next boot, or by the doctor.


SUFFIX = "-sum"
_CHUNK = 1 << 18  # fits into a cache of the processor
_BOOT = "/proc/sys/kernel/random/boot_id"
_STATUS_BYTES = 120  # space for the status of a file, so that every seal has the same length


def is_sealed(path: str) -> bool | None:
    """Return whether a file matches its seal, or None if nothing can be compared."""
    if os.path.exists(f"{path}-wal"):
        return None
    try:
        status = os.stat(path)
        with open(path + SUFFIX, "rb") as file:
            seal_bytes = file.read(_CHUNK)
    except FileNotFoundError:
        return False if os.path.exists(path) and os.stat(path).st_size else None
    if not status.st_size:
        return None
    checksum, _, known_status = seal_bytes.partition(b"\n")
    checked_at = time.time_ns()
    if known_status.strip() and known_status == _format_status(status, checked_at):
        return True
    if checksum != _compute_checksum(path):
        return False
    _write(path, checksum + b"\n" + _format_status(os.stat(path), checked_at))
    return True


def is_abandoned(path: str) -> bool:
    """Return whether a file has no seal, so that the next search rebuilds it."""
    return not os.path.exists(f"{path}-wal") and not os.path.exists(path + SUFFIX)


def seal(path: str, sql: sqlite3.Connection) -> None:
    """Move SQLite's log into the file, and store the checksum of the whole file."""
    is_busy, log_frames, moved_frames = sql.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if is_busy or log_frames != moved_frames:
        return  # another process has the file open, and seals it
    _write(path, _compute_checksum(path) + b"\n" + b" " * _STATUS_BYTES)


def _write(path: str, seal_bytes: bytes) -> None:
    folder = os.open(os.path.dirname(path), atomic.FOLDER)
    try:
        atomic.overwrite(folder, os.path.basename(path) + SUFFIX, seal_bytes)
    finally:
        os.close(folder)


def _format_status(status: os.stat_result, checked_at: int) -> bytes:
    """Format the parts of a status that every write changes; blanks if they are not reliable.

    A file that has just changed may change again without a new time.
    """
    try:
        with open(_BOOT, "rb") as file:
            boot = file.read().strip()
    except OSError:
        boot = b""  # not Linux
    if not boot or not is_settled(status.st_ctime_ns, checked_at):
        return b" " * _STATUS_BYTES
    numbers = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return (b"%d %d %d %d " % numbers + boot).ljust(_STATUS_BYTES)


def _compute_checksum(path: str) -> bytes:
    total, size = 0, 0
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    # A workspace may be closed at the end of Python, when `open` is gone.
    with FileIO(path) as file:
        while count := file.readinto(buffer):
            total, size = crc32(view[:count], total), size + count
    return b"%08x %020d" % (total, size)


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


# The words of a shelf's pages from its index, kept in memory for the next search.


_MAX_TERMS = 1024  # whose counts are kept; a byte for each page and term
_MAX_STEM_CHARACTERS = 8_000_000  # characters of pages' stems that are kept


class IndexedWords:
    """The words of pages, as `PageWords` in `memory/search/ranking.py` describes them.

    `forget` empties the lists.
    """

    def __init__(self, file: IndexFile) -> None:
        self._file = file
        self.generation = 0  # changes with the list of pages
        self.forget()

    def forget(self) -> None:
        """Drop everything: another process has changed the index."""
        self._is_loaded = False
        self.generation += 1
        self.names: list[str] = []
        self.lengths: list[int] = []
        self.pages = self.total = 0
        self._numbers: list[int] = []
        self._positions: dict[int, int] = {}
        self._counts: dict[str, bytearray] = {}
        self._sums: dict[str, TermCounts] = {}  # of the counts as they are now
        self._stems: dict[int, str] = {}
        self._stems_size = 0

    def load(self, names: dict[int, str]) -> None:
        """Load the list of pages in the present transaction, unless it is loaded."""
        if self._is_loaded:
            return
        self.forget()
        lengths = self._file.lengths()
        if len(lengths) != len(names) or any(number not in names for number, _ in lengths):
            raise sqlite3.DatabaseError("the index has words of pages that it does not list")
        for number, length in lengths:
            self._append(number, names[number], length)
        self._is_loaded = True

    def add(self, number: int, name: str, counts: dict[str, int], length: int) -> None:
        """Add a page whose words were just indexed."""
        if not self._is_loaded:
            return
        self._append(number, name, length)
        self._sums.clear()
        for term, vector in self._counts.items():
            vector.append(counts.get(term, 0))

    def remove(self, number: int) -> None:
        """Remove a page; its position stays empty."""
        position = self._positions.pop(number, None)
        if position is None:
            return
        self.pages -= 1
        self.generation += 1
        self.total -= self.lengths[position]
        self.names[position], self.lengths[position] = "", 0
        self._stems_size -= len(self._stems.pop(position, ""))
        self._sums.clear()
        for vector in self._counts.values():
            vector[position] = 0

    def counts(self, term: str) -> TermCounts:
        """Return how often each page holds a term."""
        sums = self._sums.get(term)
        if sums is None:
            vector = self._counts.get(term)
            if vector is None:
                vector = self._read_counts(term)
                if len(self._counts) >= _MAX_TERMS:
                    self._counts.clear()
                    self._sums.clear()
                self._counts[term] = vector
            self._sums[term] = sums = sum_counts(vector)
        return sums

    def stems(self, position: int) -> str:
        """Return the stems of a page."""
        stems = self._stems.get(position)
        if stems is None:
            stems = self._file.stems(self._numbers[position])
            if self._stems_size + len(stems) > _MAX_STEM_CHARACTERS:
                self._stems.clear()
                self._stems_size = 0
            self._stems[position] = stems
            self._stems_size += len(stems)
        return stems

    def _append(self, number: int, name: str, length: int) -> None:
        self._positions[number] = len(self.names)
        self._numbers.append(number)
        self.names.append(name)
        self.lengths.append(length)
        self.pages += 1
        self.total += length
        self.generation += 1

    def _read_counts(self, term: str) -> bytearray:
        vector = bytearray(len(self.names))
        positions = self._positions
        for count in range(1, MOST_COUNTED + 1):
            numbers = self._file.holders(term, count)
            for number in numbers:
                if number not in positions:
                    raise sqlite3.DatabaseError(
                        "the index has words of pages that it does not list"
                    )
                vector[positions[number]] = count
            if not numbers:
                break
        return vector
