"""Who brought each line of a page on disk: from the log, and from a note of what was pruned.

`.owners` lies beside the log. It is written before versions are pruned or purged, and says for the
newest version then, line by line, which change brought the line, with that change's line of the
log. So a line can still name its writer if the version that brought it is gone. Lines since then
are followed through the log. Without the note, every version that is kept is read.
"""

from __future__ import annotations

import json
import os
from itertools import groupby

from looseleaf.files.folders import READ, read_all
from looseleaf.memory.blame import LineOwners, normalize_line, split_lines
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.delta import apply_splice, is_whole
from looseleaf.stores.disk.history.log_line import CHECKSUM, encode_line, is_intact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.history.revisions import PageLog

OWNERS = ".owners"


def follow_log(log: PageLog, until: int | None = None) -> tuple[LineOwners, dict[int, Line]]:
    """Return the owners of the lines of a version, and the line of the log of each owner.

    `until` is the number of the version, the newest in the log if it is None.
    """
    note = _read_note(log)
    if note is not None and (until is None or until >= note["revision"]):
        owners = _open_note(log, note)
        if owners is not None:
            changes = _follow(log, owners, log.lines_from(note["revision"]), until)
            if changes is not None:
                return owners, {line["revision"]: line for line in note["lines"]} | changes
    lines = log.lines()
    owners = LineOwners()
    changes = _follow(log, owners, lines, until)
    if changes is None:
        owners = LineOwners()
        whole_lines = [{**line, "redo": None} for line in lines]
        changes = _follow(log, owners, whole_lines, until) or {}
    if note is not None and changes:
        changes |= _recall_pruned(log, owners, note, min(changes))
    return owners, changes


def note_owners(log: PageLog, *, mode: int, is_purge: bool = False) -> None:
    """Write the note for the newest version of a locked page.

    A purge removes a text for good, so that the hashes of removed lines are left out then.
    """
    owners, changes = follow_log(log)
    if owners.revision not in changes:
        return
    removed = {} if is_purge else owners.removed
    numbers = {*owners.owners, *removed.values()} & changes.keys()
    note = {
        "revision": owners.revision,
        "hash": changes[owners.revision]["hash"],
        "owners": [[owner, len(list(run))] for owner, run in groupby(owners.owners)],
        "removed": removed,
        "lines": [_leave_out_text(changes[number]) for number in sorted(numbers)],
    }
    log.replace_file(OWNERS, encode_line(note), mode=mode)


def _leave_out_text(line: Line) -> Line:
    return {name: part for name, part in line.items() if name not in ("redo", CHECKSUM)}


def _read_note(log: PageLog) -> Line | None:
    """Read the note, or None if there is none, or none that is intact."""
    try:
        fd = os.open(OWNERS, READ, dir_fd=log.folder)
    except FileNotFoundError:
        return None
    try:
        content = read_all(fd).removesuffix(b"\n")
    finally:
        os.close(fd)
    note: Line | None = json.loads(content) if content and is_intact(content) else None
    return note


def _open_note(log: PageLog, note: Line) -> LineOwners | None:
    """Return the owners that a note names, or None if its version can no longer be read."""
    content: bytes | None = b""
    if note["hash"]:
        line = log.find(note["revision"])
        content = log.version(line) if line is not None else None
    if content is None or (note["hash"] and hash_content(content) != note["hash"]):
        return None
    owners = [owner for owner, count in note["owners"] for _ in range(count)]
    return LineOwners(note["revision"], content, owners, note["removed"])


def _follow(
    log: PageLog, owners: LineOwners, lines: Iterable[Line], until: int | None
) -> dict[int, Line] | None:
    """Follow the changes of a log; return them by number, or None if they do not fit together.

    The lines of a version that cannot be read belong to the next one that can.
    """
    changes: dict[int, Line] = {}
    newest_hash, is_known = "", True
    for line in lines:
        number = line.get("revision", 0)
        if until is not None and number > until:
            break
        if number < max(owners.revision, 1):
            continue
        changes[number] = line
        if number == owners.revision:
            continue
        content = _build_version(log, line, owners.content if is_known else None)
        is_known = content is not None
        if content is not None:
            owners.follow(number, content, line["operation"])
            newest_hash = line["hash"]
    fits = not newest_hash or newest_hash == hash_content(owners.content)
    return changes if fits else None


def _build_version(log: PageLog, line: Line, before: bytes | None) -> bytes | None:
    """Build a version from the one before, if that is known, else read it; None if it is gone."""
    if not line["hash"]:
        return b""
    redo = line.get("redo")
    if redo:
        base = b"" if is_whole(redo, line["bytes"]) else before
        if base is not None:
            return apply_splice(base, redo)
    return log.version(line)


def _recall_pruned(log: PageLog, owners: LineOwners, note: Line, first: int) -> dict[int, Line]:
    """Name the owners of lines that the first kept version has from versions before it."""
    pruned = {line["revision"]: line for line in note["lines"] if line["revision"] < first}
    later = _open_note(log, note)
    if later is None or not pruned:
        return {}
    texts = map(normalize_line, split_lines(later.content))
    known = dict(zip(texts, later.owners, strict=True))
    for place, text in enumerate(split_lines(owners.content)):
        owner = known.get(normalize_line(text), 0) if owners.owners[place] == first else 0
        if owner in pruned:
            owners.owners[place] = owner
    return pruned
