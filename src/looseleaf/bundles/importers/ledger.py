"""The ledger of imports: what each source brought last, so that a later import brings the rest.

It keeps hashes and no text, so that purging a page leaves nothing of it behind.
"""

from __future__ import annotations

import hashlib

from looseleaf.bundles.importers.decision import ImportedPage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    class Records(Protocol):
        """Records of a workspace, each a JSON object by name."""

        def read(self, name: str) -> dict[str, Any] | None:
            """Read a record; None where there is none of that name."""

        def write(self, name: str, record: Mapping[str, Any]) -> None:
            """Write a record durably."""

        def lock(self) -> AbstractContextManager[None]:
            """Keep every other process out, for as long as the block runs."""


_NAME_LENGTH = 32


class Ledger:
    """The ledger of one source: its kind, and its path or address."""

    def __init__(self, records: Records, kind: str, location: str) -> None:
        self._records, self._kind, self._location = records, kind, location
        digest = hashlib.sha256(f"{kind}\n{location}".encode(errors="surrogateescape"))
        self._name = digest.hexdigest()[:_NAME_LENGTH]
        record = records.read(self._name) or {}
        self._pages: dict[str, Any] = dict(record.get("pages", {}))
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
        """Note the import of a page; `save` writes it."""
        if self.find(key) == page:
            return
        self._pages[key] = {
            "source": page.source,
            "page": page.page,
            "lines": sorted(page.lines),
        }
        self._is_changed = True

    def save(self) -> None:
        """Write the ledger, if it has changed."""
        if self._is_changed:
            record = {"kind": self._kind, "location": self._location, "pages": self._pages}
            self._records.write(self._name, record)
            self._is_changed = False
