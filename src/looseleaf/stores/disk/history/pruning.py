"""Removing versions for good: those that a retention no longer keeps, and one that is purged."""

from __future__ import annotations

from itertools import chain

from looseleaf.errors import Unavailable
from looseleaf.files import atomic
from looseleaf.files.folders import NO_FILE, inode_of
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.log_line import revision_of
from looseleaf.stores.disk.history.pack_group import PackDamage, encode_groups
from looseleaf.stores.disk.history_names import PACK
from looseleaf.stores.disk.splice import splice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.memory.history import Revision
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.history.pack_file import PackFile
    from looseleaf.stores.disk.history.revisions import PageLog

    Choice = Callable[[list[Revision]], list[Revision]]


def prune_versions(log: PageLog, choose: Choice, *, present: bytes, mode: int) -> int:
    """Remove the versions that are chosen, and return how many; `present` is the page as it is now.

    Texts in the log of older versions that also have files are removed, too.
    """
    lines = log.lines()
    changes = [revision_of(line, is_kept=True) for line in lines if "revision" in line]
    pruned_numbers = {revision.number for revision in choose(changes)}
    newest = changes[-1].number if changes else 0
    for line in lines:
        if "redo" in line and line["revision"] != newest:
            if inode_of(log.folder, str(line["revision"])) == NO_FILE:
                log.rescue(line, mode=mode)
            del line["redo"]
    if newest - 1 in pruned_numbers:
        make_self_contained(lines, present)
    # The lines are removed last: until then, an interrupted prune is done again.
    remove_versions(log, pruned_numbers, mode=mode)
    remaining_lines = [
        line for line in lines if line.get("revision", line.get("purged")) not in pruned_numbers
    ]
    log.rewrite(remaining_lines, mode=mode)
    return len(pruned_numbers)


def make_self_contained(lines: list[Line], present: bytes) -> None:
    """Store all bytes of the newest change, since the version before it is removed."""
    newest = [line for line in lines if "revision" in line][-1]
    if "redo" in newest and hash_content(present) == newest["hash"]:
        newest["redo"] = splice(b"", present)


def remove_versions(log: PageLog, numbers: set[int], *, mode: int) -> None:
    """Remove versions, whether they lie as files or in the pack; the page is locked."""
    pack = log.pack()
    if pack is not None and not numbers.isdisjoint(pack.hashes()):
        chunks = _filter_pack(pack, numbers)
        first_chunk = next(chunks, None)
        if first_chunk is None:
            atomic.remove(log.folder, PACK)
        else:
            log.replace_pack(chain((first_chunk,), chunks), mode=mode)
    for number in numbers:
        atomic.remove(log.folder, str(number))


def require_removable(log: PageLog, number: int) -> None:
    """Raise if the pack is damaged at a version, so that its text could not be removed."""
    pack = log.pack()
    if pack is None:
        return
    for head in pack.heads:
        if head.first <= number <= head.last:
            try:
                pack.open_group(head)
            except PackDamage as error:
                reason = f"its {PACK} is damaged ({error}); restore it from a backup first"
                raise Unavailable(f"The history of {log.filename}", reason) from error


def _filter_pack(pack: PackFile, numbers: set[int]) -> Iterator[bytes]:
    """Yield a pack without some versions; a group that holds one of them is built anew.

    A damaged part stays as it is, since someone may still repair it.
    """
    for start, end, head in pack.segments():
        group_numbers = set(pack.table(head)) if head is not None else set()
        if head is None or numbers.isdisjoint(group_numbers):
            yield from pack.chunks(start, end)
        elif not group_numbers <= numbers:
            try:
                group = pack.open_group(head)
            except PackDamage:
                yield from pack.chunks(start, end)
            else:
                yield from encode_groups(
                    (number, content)
                    for number, content in group.versions()
                    if number not in numbers
                )
