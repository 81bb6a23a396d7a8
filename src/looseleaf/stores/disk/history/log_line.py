"""A line of a page's log: JSON that ends with a checksum of all that stands before it."""

from __future__ import annotations

from looseleaf.memory.history import Revision
from looseleaf.memory.provenance import OUTSIDE, Provenance
from looseleaf.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Line = dict[str, Any]

CHECKSUM = "sum"
RECOVERED = "recovered"
_DISK = "disk"  # the surface of edits that another program makes
CHANGED_OUTSIDE = Provenance("", OUTSIDE, _DISK, reason="changed outside Looseleaf")
SAVED_OUTSIDE = Provenance("", OUTSIDE, _DISK, reason="saved while it was being replaced")
_ACTOR_KIND, _ORIGIN, _ACTIVITY, _ACTIVITY_ID = "actor_kind", "origin", "activity", "activity_id"
_SEPARATOR = b',"sum":"'


def encode_line(entry: Line) -> bytes:
    """Write an entry as a line."""
    global _encode, _crc32  # noqa: PLW0603 - loaded by the first write, so that no read pays for it
    if _encode is None or _crc32 is None:
        import json
        from binascii import crc32

        _encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        _crc32 = crc32
    content = _encode(entry).encode()[:-1]
    return b'%b%b%08x"}\n' % (content, _SEPARATOR, _crc32(content))


_encode: Callable[[Line], str] | None = None
_crc32: Callable[[bytes], int] | None = None


def encode_provenance(provenance: Provenance) -> dict[str, str]:
    """Return the fields of a line for a provenance; of the newer fields, those that are not empty.

    Lines of older versions, without kinds, origins and activities, have only the first three.
    """
    fields = {
        "actor": provenance.actor,
        "surface": provenance.surface,
        "reason": provenance.reason,
    }
    if provenance.actor_kind:
        fields[_ACTOR_KIND] = provenance.actor_kind
    if provenance.origin:
        fields[_ORIGIN] = provenance.origin
    activity = provenance.activity
    if activity.kind:
        fields[_ACTIVITY] = activity.kind
        fields[_ACTIVITY_ID] = activity.id
    return fields


def read_provenance(line: dict[str, Any]) -> tuple[str, str, str, str]:
    """Read kind of actor, origin, activity and its id from a line, or "" for a missing field."""
    kind = line.get(_ACTOR_KIND) or (OUTSIDE if line.get("operation") == OUTSIDE else "")
    return kind, line.get(_ORIGIN, ""), line.get(_ACTIVITY, ""), line.get(_ACTIVITY_ID, "")


def revision_of(line: Line, *, is_kept: bool, purge_note: str = "") -> Revision:
    """Build a revision from a line of the log."""
    actor_kind, origin, activity, activity_id = read_provenance(line)
    return Revision(
        number=line["revision"],
        time=parse_time(line["time"]),
        operation=line["operation"],
        actor=line["actor"],
        surface=line["surface"],
        reason=line["reason"],
        hash=line["hash"],
        bytes=line["bytes"],
        kept=is_kept,
        purged=purge_note,
        actor_kind=actor_kind,
        origin=origin,
        activity=activity,
        activity_id=activity_id,
        moved_from=line.get("moved_from", ""),
        recovered=line.get(RECOVERED, False),
    )


def is_unlogged(line: bytes) -> bool:
    """Return whether a line is whole and only its end is missing: its write was cut off."""
    return _SEPARATOR in line and is_intact(line)


def is_intact(line: bytes) -> bool:
    """Return whether a line is what was written; older lines without a checksum count as intact."""
    content, separator, end = line.rpartition(_SEPARATOR)
    if not separator:
        return not _ends_with_checksum(line)
    return end == _compute_checksum(content) + b'"}'


def _compute_checksum(content: bytes) -> bytes:
    from binascii import crc32

    return b"%08x" % crc32(content)


def _ends_with_checksum(line: bytes) -> bool:
    """Find a checksum whose name is damaged."""
    digits = line[-10:-2]
    return line.endswith(b'"}') and len(digits) == 8 and not digits.strip(b"0123456789abcdef")
