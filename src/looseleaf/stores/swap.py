"""Changing a held page without losing anything: replace it, delete it, clear up after a crash.

The order of a write (docs/store.md tells why): log what happened outside, make the new file, link
the old one into the history, sync both, look whether the page is still what was read, swap the two
in one step, sync the folder, look at what was swapped out, log. A crash at any point leaves the old
page or the new one, and `tidy` clears up.
"""

from __future__ import annotations

import os

from looseleaf import atomic
from looseleaf.errors import Unsafe
from looseleaf.folders import NO_FILE, inode_of, refuse_twin
from looseleaf.memory.store import Change, Deleted, Found, Written, content_hash
from looseleaf.stores.splice import splice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.stores.page import HeldPage
    from looseleaf.stores.revisions import Line


class Retry(Exception):
    """The page was changed from outside while it was being replaced."""


def replace(page: HeldPage, current: Found | None, content: bytes, change: Change) -> Written:
    """Put new bytes in the place of what was read; `Retry` if it is no longer there."""
    page.open_folder(create=True)
    if current is None:
        refuse_twin(page.folder, page.name)
    number = page.note(current)
    size = page.log.size()
    written = Found(content, 0.0)
    entry = page.entry(number + 1, change, written)
    entry["redo"] = splice(current.content if current else b"", content)
    making = atomic.stage(page.staging, page.making, content, mode=page.file_mode)
    ours = NO_FILE
    try:
        try:
            ours = os.fstat(making).st_ino
            if current is not None:
                _keep(page, number)
            atomic.sync(making)
        finally:
            os.close(making)
        if current is not None:
            page.log.sync_names(number)
        _put(page, current)
        _commit(page, current, number, entry)
    except BaseException:
        page.log.cut(size)
        try:
            _put_back(page, current, number, ours)
        finally:
            tidy(page, ours, content)
        raise
    page.remember(entry, content)
    _clear(page, page.staged if current else page.making)
    return Written(written.hash, len(content), current.hash if current else "", number + 1)


def delete(page: HeldPage, current: Found, change: Change) -> Deleted:
    """Take the page away; `Retry` if it is no longer what was read."""
    number = page.note(current)
    size = page.log.size()
    try:
        _keep(page, number)
        atomic.sync(page.log.folder)
        atomic.remove(page.staging, page.making)  # a crash may have left it, and nothing else will
        try:
            atomic.move(page.folder, page.name, page.staging, page.staged)
        except FileNotFoundError:
            raise Retry from None
        _commit(page, current, number, page.entry(number + 1, change, None))
    except BaseException:
        page.log.cut(size)
        _give_back(page)
        tidy(page)
        raise
    _clear(page, page.staged)
    return Deleted(current.hash, number + 1)


def _keep(page: HeldPage, number: int) -> None:
    """Link the page's present file into the history, under its number."""
    try:
        page.log.keep(page.folder, page.name, number)
    except FileNotFoundError:
        raise Retry from None


def _put(page: HeldPage, current: Found | None) -> None:
    """Give the new file the page's name; `Retry` where someone took or removed it."""
    try:
        if current is None:
            atomic.link(page.staging, page.making, page.folder, page.name)
            return
        # Most outside edits are noticed here, before anyone has seen our bytes.
        if not page.is_still():
            _compare(page, current, page.read(page.folder, page.name))
        atomic.move(page.staging, page.making, page.staging, page.staged)
        if not atomic.exchange(page.staging, page.staged, page.folder, page.name):
            atomic.move(page.staging, page.staged, page.folder, page.name)
    except (FileExistsError, FileNotFoundError):
        raise Retry from None


def _commit(page: HeldPage, current: Found | None, number: int, entry: Line) -> None:
    """Make the change durable and log it, unless what came out is not what was read.

    The folder is synced first: where the system cannot tell that an editor is about to save in
    place, it has most likely done so by then.
    """
    atomic.sync(page.folder)
    if current is not None and not page.came_out(current):
        try:
            out = page.read(page.staging, page.staged)
            out = out or page.read(page.log.folder, str(number))
        except Unsafe:
            raise Retry from None
        _compare(page, current, out)
    page.log.add(entry)


def _compare(page: HeldPage, current: Found, now: Found | None) -> None:
    """Raise `Retry` where a file no longer has the bytes that were read; remember what it has."""
    if now is None or now.content != current.content:
        page.seen += [now] if now else []
        raise Retry


def _clear(page: HeldPage, name: str) -> None:
    """Take away the second name of the file that was replaced, or made."""
    try:
        atomic.remove(page.staging, name)
    except OSError:
        return  # the change is done and durable; the next write clears up


def _put_back(page: HeldPage, current: Found | None, number: int, ours: int) -> None:
    """Undo `_put`, if it was done: give the page's name back to the file that had it."""
    if ours < 0 or inode_of(page.folder, page.name) != ours:
        return
    try:
        if current is None:
            atomic.move(page.folder, page.name, page.staging, page.staged)
        elif inode_of(page.staging, page.staged) >= 0:
            atomic.exchange(page.staging, page.staged, page.folder, page.name)
            if inode_of(page.staging, page.staged) != ours:  # someone saved just now: it is newer
                atomic.exchange(page.staging, page.staged, page.folder, page.name)
        else:
            atomic.link(page.log.folder, str(number), page.staging, page.staged)
            atomic.move(page.staging, page.staged, page.folder, page.name)
    except FileNotFoundError:
        return  # removed by someone meanwhile: then it stays so, and `tidy` keeps what there was


def _give_back(page: HeldPage) -> None:
    """Undo a delete, if it was done: give the page its name again."""
    try:
        atomic.link(page.staging, page.staged, page.folder, page.name)
    except (FileNotFoundError, FileExistsError):
        return  # it was not taken away yet, or someone saved another one: `tidy` sees to it


def tidy(page: HeldPage, ours: int = NO_FILE, content: bytes = b"") -> None:
    """Clear up what a write left in staging; whatever may be someone's edit is kept.

    Who knows which file is our own new one says so, and what it should contain; after a crash
    nobody does.
    """
    atomic.remove(page.staging, page.making)
    left = inode_of(page.staging, page.staged)
    if left < 0 and ours < 0:
        return
    last = page.log.last()
    here = inode_of(page.folder, page.name) if page.folder >= 0 else NO_FILE
    kept = inode_of(page.log.folder, str(last["revision"])) if last else NO_FILE
    swapped = kept != here if kept >= 0 else _says_otherwise(page, last)
    if last and kept >= 0 and not swapped:  # the page is still the file that was linked
        atomic.remove(page.log.folder, str(last["revision"]))
    if left not in {NO_FILE, here} and (ours >= 0 or swapped):
        _keep_stray(page, last, known=content_hash(content) if left == ours else "")
    atomic.remove(page.staging, page.staged)


def _says_otherwise(page: HeldPage, last: Line | None) -> bool:
    """Say whether the page is not what the log says: that its name in the history is gone, too,
    only a power cut can have done."""
    try:
        now = page.read(page.folder, page.name) if page.folder >= 0 else None
    except Unsafe:
        return True
    return (now.hash if now else "") != (last["hash"] if last else "")


def _keep_stray(page: HeldPage, last: Line | None, *, known: str) -> None:
    """Make a version of its own of an outside edit that ended up in staging.

    It is none if it says what we know: our own new bytes, or the version before them.
    """
    try:
        stray = page.read(page.staging, page.staged)
    except Unsafe:
        return  # a link or a device holds no text of anyone's
    if stray is None or stray.hash == known or (last and stray.hash == last["hash"]):
        return
    number = last["revision"] + 1 if last else 1
    outside = Change("outside", surface="disk", reason="saved while it was being replaced")
    page.log.keep(page.staging, page.staged, number)
    page.log.add(page.entry(number, outside, stray))
    if last is not None:  # if it was saved in place, the version it overwrote is made again
        page.log.rescue(last, mode=page.file_mode)
