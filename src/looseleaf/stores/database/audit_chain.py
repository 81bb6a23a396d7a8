"""Adding an entry to the audit: a chain in which each entry holds the hash of the entry before.

The statements are plain SQL, so that both ways to the database share them: SQLAlchemy for
servers and accounts, and the driver alone if importing SQLAlchemy would take too long.
"""

from __future__ import annotations

import json
import math
import os
import time

from looseleaf.access.audit import Event
from looseleaf.errors import Unavailable
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, read_all
from looseleaf.values import as_dict, field_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    # Runs one statement, with ? for each parameter, and gives its rows.
    Execute = Callable[[str, tuple[object, ...]], Sequence[Any]]


MICRO = 1_000_000
FIELDS: tuple[str, ...] = field_names(Event)
# Null in entries from before migration 0004; their hashes do not cover these fields.
NEWER_FIELDS = ("actor_kind", "origin", "activity", "activity_id")
_OLDER_FIELDS = tuple(name for name in FIELDS if name not in NEWER_FIELDS)
_MOST_CHARACTERS = 1000
_COLUMNS = ("number", "time", "previous", "hash", *FIELDS)
_END = "SELECT number, text FROM state WHERE name = 'audit'"
_PLACES = ", ".join("?" for _ in _COLUMNS)
_ADD = f"INSERT INTO audit ({', '.join(_COLUMNS)}) VALUES ({_PLACES})"  # noqa: S608 - our names
_MOVE = "UPDATE state SET number = ?, text = ? WHERE name = 'audit'"


def append_entry(execute: Execute, event: Event, now: float, *, lock: str = "") -> tuple[int, str]:
    """Add an event to the transaction that `execute` belongs to; return its number and hash.

    `lock` is an end of the first SELECT that makes other writers wait.
    """
    ((last, previous),) = execute(_END + lock, ())
    fields = {name: _clean(field) for name, field in as_dict(event).items()}
    number, time = last + 1, round(now * MICRO)
    digest = hash_entry(previous, number, time, fields)
    execute(_ADD, (number, time, previous, digest, *(fields[name] for name in FIELDS)))
    execute(_MOVE, (number, digest))
    return number, digest


def hash_entry(previous: str, number: int, time: int, fields: dict[str, object]) -> str:
    """Compute the hash of an entry, which covers the hash of the entry before.

    An entry without the newer fields is an old one. Removing these fields from a newer entry, or
    adding them to an old one, changes the hash.
    """
    import hashlib

    is_old = all(fields[name] is None for name in NEWER_FIELDS)
    parts = [previous, number, time, *(fields[name] for name in _OLDER_FIELDS)]
    parts += () if is_old else [fields[name] for name in NEWER_FIELDS]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _clean(text: object) -> object:
    """Shorten a text, and replace the characters that not every database can store."""
    if not isinstance(text, str):
        return text
    storable = text[:_MOST_CHARACTERS].encode("utf-8", "backslashreplace").decode()
    return storable.replace("\0", "\\0")


# Notes of both ends of the audit, outside the database, by which lost entries are noticed.
# Only a durable entry of the database is noted as its end, so that the note is not ahead of the
# database after a power cut. Most entries are not synced one by one; each minute one entry is
# synced and noted here. The beginning is noted before retention removes the oldest entries.


HOME = ".looseleaf"
NAME = "audit-end"
BEGINNING = "audit-begin"
SECONDS = 60.0
_WIDTH = 20  # digits of a number, so that the file always has the same length


class AuditAnchor:
    """The newest durable entry of the audit, in a file beside the database."""

    def __init__(self, root: str) -> None:
        self._folder = os.path.join(os.path.realpath(root), HOME)
        self._next = -math.inf
        self._is_trusted: bool | None = None  # whether the database has the entry that was noted

    def is_due(self) -> bool:
        """Return whether to sync and note an entry that would not be synced otherwise."""
        return time.monotonic() >= self._next

    def note(
        self,
        number: int,
        digest: str,
        find_hash: Callable[[int], str],
        find_removed: Callable[[], tuple[int, str]],
    ) -> None:
        """Record a durable entry, unless the database no longer has the one that was noted before.

        `find_hash` returns the hash of an entry, "" if there is none. So the note never goes back,
        and does not hide that the database went back. `find_removed` returns number and hash of the
        last removed entry, which is noted if the operator has deleted all notes.
        """
        self._next = time.monotonic() + SECONDS
        try:
            noted_number, expected = self.read()
        except Unavailable:
            return  # the doctor reports it, and the damaged note stays
        if self._is_trusted is None:
            self._is_trusted = not noted_number or find_hash(noted_number) == expected
        if noted_number >= number or not self._is_trusted:
            return
        if not noted_number:
            self.note_removed(*find_removed())
        line = _format_line(number, digest)
        self._change_folder(lambda folder: atomic.overwrite(folder, NAME, line))

    def note_removed(self, number: int, digest: str) -> None:
        """Record the last entry that retention removes, durably; the note never goes back."""
        if number <= self.read_removed()[0]:
            return
        line = _format_line(number, digest)

        def replace_note(folder: int) -> None:
            atomic.replace(folder, BEGINNING, line, mode=atomic.derive_file_mode(folder))

        self._change_folder(replace_note)

    def read(self) -> tuple[int, str]:
        """Return number and hash of the entry that was noted, or 0 if none was."""
        return self._read(NAME, "The end of the audit")

    def read_removed(self) -> tuple[int, str]:
        """Return number and hash of the last entry that retention removed, or 0 if none was."""
        return self._read(BEGINNING, "The beginning of the audit")

    def _change_folder(self, change: Callable[[int], object]) -> None:
        # No context manager: contextlib alone would slow down every start of an MCP server.
        with OsErrorContext("The note of the audit"):
            folder = os.open(self._folder, atomic.FOLDER)
            try:
                change(folder)
            finally:
                os.close(folder)

    def _read(self, name: str, subject: str) -> tuple[int, str]:
        try:
            fd = os.open(os.path.join(self._folder, name), READ)
        except FileNotFoundError:
            return 0, ""
        try:
            number, _, digest = read_all(fd).decode("ascii", "replace").strip().partition(" ")
        finally:
            os.close(fd)
        if number and not number.isdigit():
            raise Unavailable(subject, f".looseleaf/{name} is damaged")
        return (int(number), digest) if number else (0, "")


def _format_line(number: int, digest: str) -> bytes:
    return f"{number:0{_WIDTH}d} {digest}\n".encode()
