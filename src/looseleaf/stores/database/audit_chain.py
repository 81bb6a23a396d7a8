"""Adding an entry to the audit: a chain in which each entry holds the hash of the entry before.

The statements are plain SQL, so that both ways to the database share them: SQLAlchemy for
servers and accounts, and the driver alone if importing SQLAlchemy would take too long.
"""

from __future__ import annotations

import json

from looseleaf.access.audit import Event
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
