"""Blame: the change that brought each line of a page, followed from version to version."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from looseleaf.errors.pages import PageDenied, RevisionMissing
from looseleaf.memory.differences import count_common_end, count_common_start, diff_ranges
from looseleaf.memory.pages import LIST_MARKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.memory.history import History, Revision
    from looseleaf.memory.scope import Scope

MOST_REMOVED = 4_096  # removed lines whose owners are remembered, for texts that are restored


class LineSource(NamedTuple):
    """The change that brought a line: the page that it was made to, and its revision.

    `moved_by` is the revision that moved the line here from that page; 0 if it was written here.
    """

    text: str
    file: str
    revision: Revision
    moved_by: int = 0


class LineOwners:
    """The lines of one version of a page, each with the number of the revision that brought it.

    A line that moves within the page, or gets another indent or bullet, keeps its owner. A line
    that was removed and is restored, by an undo or from a prior version, gets its owner back;
    anyone else who writes the same text owns the new line.
    """

    def __init__(
        self,
        revision: int = 0,
        content: bytes = b"",
        owners: Iterable[int] = (),
        removed: dict[str, int] | None = None,
    ) -> None:
        self.revision = revision
        self.content = content
        self.owners = list(owners)
        self.removed = {} if removed is None else removed

    def follow(self, revision: int, content: bytes, operation: str = "") -> None:
        """Go on to the next version of the page, which an operation of this name has made.

        The work grows with the lines that change, and not with the page.
        """
        old, self.content, self.revision = self.content, content, revision
        start = count_common_start(old, content)
        end = count_common_end(old[start:], content[start:])
        # Whole lines: from the one that the change begins in to the one that it ends in.
        start = old.rfind(b"\n", 0, start) + 1
        newline = old.find(b"\n", len(old) - end)
        end = len(old) - newline - 1 if newline >= 0 else 0
        old_part = split_lines(old[start : len(old) - end])
        new_part = split_lines(content[start : len(content) - end])
        first = old.count(b"\n", 0, start)
        last = first + len(old_part)
        is_restored = operation == "restore" or operation.startswith("undo")
        self.owners[first:last] = (
            self._match(
                old_part, self.owners[first:last], new_part, revision, is_restored=is_restored
            )
            if old_part or is_restored
            else [revision] * len(new_part)
        )

    def _match(
        self, old: list[str], owners: list[int], new: list[str], revision: int, *, is_restored: bool
    ) -> list[int]:
        """Return the owner of each new line that stands where the old lines stood."""
        new_owners = [revision] * len(new)
        moved: dict[str, list[int]] = {}
        inserted: list[int] = []
        old_place = new_place = 0
        for a, b, c, d in [*diff_ranges(old, new), (len(old), len(old), len(new), len(new))]:
            new_owners[new_place:c] = owners[old_place:a]
            for line, owner in zip(old[a:b], owners[a:b], strict=True):
                moved.setdefault(normalize_line(line), []).append(owner)
            inserted.extend(range(c, d))
            old_place, new_place = b, d
        moved.pop("", None)
        for place in inserted:
            text = normalize_line(new[place])
            if known := moved.get(text):
                new_owners[place] = known.pop(0)
            elif is_restored and text:
                new_owners[place] = self.removed.get(_digest(text), revision)
        self._note_removed(moved)
        return new_owners

    def _note_removed(self, moved: dict[str, list[int]]) -> None:
        for text, owners in moved.items():
            for owner in owners:
                key = _digest(text)
                self.removed.pop(key, None)  # the newest stand last
                self.removed[key] = owner
        while len(self.removed) > MOST_REMOVED:
            del self.removed[next(iter(self.removed))]


_MOST_MOVES = 4  # from page to page that are followed back


def blame_lines(history: History, scope: Scope, number: int | None = None) -> list[LineSource]:
    """List the lines of a page with their changes; lines of another page with those made there."""
    blame = history.blame(scope, number)
    moves = _Moves(history, scope)
    lines = []
    for text, revision in zip(split_lines(blame.content), blame.revisions, strict=True):
        file, source = moves.find(scope.filename, text, revision)
        lines.append(LineSource(text, file, source, 0 if source is revision else revision.number))
    return lines


class _Moves:
    """The lines of other pages that were moved to a page, looked up once for each move."""

    def __init__(self, history: History, scope: Scope) -> None:
        self.history, self.shelf = history, scope.shelf
        self._sources: dict[str, dict[str, Revision]] = {}

    def find(self, filename: str, text: str, revision: Revision) -> tuple[str, Revision]:
        """Return the page and the revision that a line was written by before it was moved."""
        for _ in range(_MOST_MOVES):
            if not revision.moved_from:
                break
            if revision.moved_from not in self._sources:
                self._sources[revision.moved_from] = self._read_source(revision.moved_from)
            source = self._sources[revision.moved_from].get(normalize_line(text))
            if source is None:
                break
            filename, revision = revision.moved_from.rpartition("@")[0], source
        return filename, revision

    def _read_source(self, version: str) -> dict[str, Revision]:
        """Read the lines of a version, unless it is gone or the reader may not know that page."""
        filename, _, digits = version.rpartition("@")
        scope = self.shelf.page(filename)
        try:
            revisions = self.history.revisions(scope)
            number = next((entry.number for entry in revisions if entry.hash.startswith(digits)), 0)
            if not number:
                return {}
            blame = self.history.blame(scope, number)
        except (PageDenied, RevisionMissing):
            return {}
        return dict(
            zip(map(normalize_line, split_lines(blame.content)), blame.revisions, strict=True)
        )


def split_lines(content: bytes) -> list[str]:
    """Return the lines of a page without their ends; a final newline begins no line."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def normalize_line(line: str) -> str:
    """Return a line without its indent, bullet and repeated spaces."""
    text = line.strip()
    if text.startswith(LIST_MARKS):
        text = text[2:]
    return " ".join(text.split())


def _digest(text: str) -> str:
    """Return a short hash, so that no text of a removed line is kept."""
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
