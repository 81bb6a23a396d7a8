"""The ledger of imports: what each source brought last, so that a later import adds only the rest.

It keeps hashes and no text, so that purging a page leaves nothing of it behind.
"""

from __future__ import annotations

import hashlib
from contextlib import nullcontext

from looseleaf.bundles.importers.decision import ImportedPage
from looseleaf.values import as_dict, field_names, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    class Records(Protocol):
        """Records of a workspace, each a JSON object by name."""

        def names(self) -> list[str]:
            """List the names of the records."""

        def read(self, name: str) -> dict[str, Any] | None:
            """Read a record, or None if there is none of that name."""

        def write(self, name: str, record: Mapping[str, Any]) -> None:
            """Write a record durably."""

        def lock(self) -> AbstractContextManager[None]:
            """Keep every other process out, for as long as the block runs."""


_NAME_LENGTH = 32


class NoRecords:
    """Records that keep nothing: for a source without a path, which cannot be recognized again."""

    def names(self) -> list[str]:
        """Return no names."""
        return []

    def read(self, _name: str) -> None:
        """Find nothing."""

    def write(self, _name: str, _record: Mapping[str, Any]) -> None:
        """Keep nothing."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep nobody out."""
        return nullcontext()


@value
class ImportedPart:
    """A pipeline, flow or uploaded file at its last import.

    Fields:
        source: The hash of the part in the source.
        target: The hash of the part here after the import.
        agent: The slug of the agent that has it here.
        slug: Its slug here, or the name of the file.
        pipeline_slug: For a flow: the slug of its pipeline here.
    """

    source: str
    target: str
    agent: str
    slug: str
    pipeline_slug: str = ""


class ImportLedger:
    """The ledger of one source: its kind, and its path or address."""

    def __init__(self, records: Records, kind: str, location: str) -> None:
        self._records, self._kind, self._location = records, kind, location
        digest = hashlib.sha256(f"{kind}\n{location}".encode(errors="surrogateescape"))
        self._name = digest.hexdigest()[:_NAME_LENGTH]
        record = records.read(self._name) or {}
        self._pages: dict[str, Any] = dict(record.get("pages", {}))
        self._parts: dict[str, Any] = dict(record.get("parts", {}))
        self._is_changed = False

    def lock(self) -> AbstractContextManager[None]:
        """Keep other imports out, for as long as the block runs."""
        return self._records.lock()

    def find(self, key: str) -> ImportedPage | None:
        """Find the last import of a page by the key of its scope."""
        entry = self._pages.get(key)
        if not isinstance(entry, dict):
            return None
        lines = frozenset(entry.get("lines", ()))
        return ImportedPage(entry.get("source", ""), entry.get("page", ""), lines)

    def add(self, key: str, page: ImportedPage) -> None:
        """Record the import of a page; `save` writes it."""
        if self.find(key) == page:
            return
        self._pages[key] = {
            "source": page.source,
            "page": page.page,
            "lines": sorted(page.lines),
        }
        self._is_changed = True

    def find_part(self, key: str) -> ImportedPart | None:
        """Find the last import of a part by its key, such as pipeline:3."""
        return _read_part(self._parts.get(key))

    def add_part(self, key: str, part: ImportedPart) -> None:
        """Record the import of a part; `save` writes it."""
        if self.find_part(key) != part:
            self._parts[key] = as_dict(part)
            self._is_changed = True

    def save(self) -> None:
        """Write the ledger, if it has changed."""
        if self._is_changed:
            record = {"kind": self._kind, "location": self._location, "pages": self._pages}
            if self._parts:
                record["parts"] = self._parts
            self._records.write(self._name, record)
            self._is_changed = False


def find_parts(records: Records, kind: str, key: str) -> list[ImportedPart]:
    """Find a part in the ledgers of all sources of a kind, such as pipeline 3 of every site."""
    parts = []
    for name in records.names():
        record = records.read(name) or {}
        if record.get("kind") == kind:
            part = _read_part(record.get("parts", {}).get(key))
            parts += [part] if part is not None else []
    return parts


def _read_part(entry: object) -> ImportedPart | None:
    if not isinstance(entry, dict):
        return None
    fields = {name: str(entry.get(name, "")) for name in field_names(ImportedPart)}
    return ImportedPart(**fields)
