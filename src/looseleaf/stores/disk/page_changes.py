"""Changing a locked page without losing anything: replace it, delete it, clear up after a crash.

The order of a write (docs/store.md has the reasons): log outside edits, create the new file, link
the old one into the history, sync both, begin the line of the log, check that the page is still the
file that was read, swap the two in one step, sync the folder, check the file that was swapped out,
end the line. A crash at any point leaves the old page or the new one; `clear_up` finds out which.
"""

from __future__ import annotations

import os

from looseleaf.errors import Unavailable, Unsafe
from looseleaf.files import atomic
from looseleaf.files.folders import NO_FILE, READ, inode_of, open_folder, read_all, refuse_twin
from looseleaf.memory.history import list_outlived_revisions
from looseleaf.memory.provenance import OUTSIDE
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Change, Deleted, Found, Written, hash_content
from looseleaf.stores.disk.history.delta import splice
from looseleaf.stores.disk.history.log_line import RECOVERED, SAVED_OUTSIDE
from looseleaf.stores.disk.history.revisions import PageLog
from looseleaf.stores.disk.listing import HISTORY, MAKING, STAGING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.locked_page import LockedPage
    from looseleaf.stores.disk.store_folder import StoreFolder


# Versions beyond retention are removed whenever a page has been written this many times.
_PRUNE_EVERY = 64
# Between prunings of a long log, so that who wrote each line is known without reading all of it.
_NOTE_OWNERS_EVERY = 512


class PageChangedMeanwhile(Exception):
    """The page was changed from outside while it was being replaced."""


def put(
    store: StoreFolder, page: LockedPage, current: Found | None, content: bytes, change: Change
) -> Written:
    """Return a page new content, and drop the versions whose time is over."""
    if current is not None and current.content == content:
        page.sync()  # another process may have written it a moment ago, without a sync
        return Written(current.hash, len(content), current.hash, changed=False)
    result = replace(page, current, content, change)
    if result.revision % _PRUNE_EVERY == 0:
        _prune(store, page, content, result.revision)
    return result


def _prune(store: StoreFolder, page: LockedPage, present: bytes, newest: int) -> None:
    from looseleaf.stores.disk.history.line_owners import note_owners
    from looseleaf.stores.disk.history.packing import prune_versions

    try:
        # The whole log is read and rewritten: the longer it is, the more rarely that is done.
        turns = (newest - page.log.first()) // _PRUNE_EVERY
        if newest // _PRUNE_EVERY % (1 << max(0, turns.bit_length() - 2)):
            if newest % _NOTE_OWNERS_EVERY == 0:
                note_owners(page.log, mode=store.modes[0])
            return
        now = store.clock()
        prune_versions(
            page.log,
            lambda revisions: list_outlived_revisions(revisions, store.retention, now),
            present=present,
            mode=store.modes[0],
        )
    except (OSError, Unavailable):
        return  # the write is done and durable; a later one prunes


def replace(page: LockedPage, current: Found | None, content: bytes, change: Change) -> Written:
    """Replace the bytes that were read by new ones, or raise `PageChangedMeanwhile`."""
    page.open_folder(create=True)
    if current is None:
        refuse_twin(page.folder, page.name)
    number = page.note(current)
    size = page.log.size()
    new_state = Found(content, 0.0)
    entry = page.entry(number + 1, change, new_state)
    entry["redo"] = splice(current.content if current else b"", content)
    new_file, new_inode = atomic.stage(
        page.staging, page.unfinished_name, content, mode=page.file_mode
    )
    try:
        try:
            if current is not None:
                _keep(page, number)
            atomic.sync(new_file)
        finally:
            os.close(new_file)
        if current is not None:
            page.log.sync_names(number)
        page.log.begin(entry)
        _install(page, current)
        _commit(page, current, number, entry)
    except BaseException:
        try:
            page.log.cut(size)
        except OSError:  # the log takes no line now: the next process to lock the page tidies
            _undo_install(page, current, number, new_inode)
            atomic.remove(page.staging, page.unfinished_name)
            raise
        try:
            _undo_install(page, current, number, new_inode)
        finally:
            tidy(page, new_inode, content)
        raise
    page.remember(entry, content)
    _clear(page, page.staged_name if current else page.unfinished_name)
    return Written(new_state.hash, len(content), current.hash if current else "", number + 1)


def delete(page: LockedPage, current: Found, change: Change) -> Deleted:
    """Delete the page; raise `PageChangedMeanwhile` if it has changed since it was read."""
    number = page.note(current)
    size = page.log.size()
    try:
        _keep(page, number)
        atomic.sync(page.log.folder)
        # A crash may have left this file, and nothing else removes it.
        atomic.remove(page.staging, page.unfinished_name)
        entry = page.entry(number + 1, change, None)
        page.log.begin(entry)
        try:
            atomic.move(page.folder, page.name, page.staging, page.staged_name)
        except FileNotFoundError:
            raise PageChangedMeanwhile from None
        _commit(page, current, number, entry)
    except BaseException:
        try:
            page.log.cut(size)
        finally:
            _give_back(page)
        tidy(page)
        raise
    _clear(page, page.staged_name)
    return Deleted(current.hash, number + 1)


def _keep(page: LockedPage, number: int) -> None:
    """Link the page's present file into the history, under its number."""
    try:
        page.log.keep(page.folder, page.name, number)
    except FileNotFoundError:
        raise PageChangedMeanwhile from None


def _install(page: LockedPage, current: Found | None) -> None:
    """Rename the new file to the page; raise `PageChangedMeanwhile` if that name has changed."""
    try:
        if current is None:
            atomic.link_file(page.staging, page.unfinished_name, page.folder, page.name)
            return
        # Most outside edits are noticed here, before anyone has seen our bytes.
        if not page.is_unchanged():
            _compare(page, current, page.read(page.folder, page.name))
        atomic.move(page.staging, page.unfinished_name, page.staging, page.staged_name)
        if not atomic.exchange(page.staging, page.staged_name, page.folder, page.name):
            atomic.move(page.staging, page.staged_name, page.folder, page.name)
    except (FileExistsError, FileNotFoundError):
        raise PageChangedMeanwhile from None


def _commit(page: LockedPage, current: Found | None, number: int, entry: Line) -> None:
    """Make the change durable and log it, unless another file was swapped out.

    The folder is synced first: an editor that is saving in place has most likely finished by then,
    even if the system cannot tell who has a file open.
    """
    atomic.sync(page.folder)
    if current is not None and not page.was_swapped_out(current):
        try:
            out = page.read(page.staging, page.staged_name)
            out = out or page.read(page.log.folder, str(number))
        except Unsafe:
            raise PageChangedMeanwhile from None
        _compare(page, current, out)
    page.log.add(entry)


def _compare(page: LockedPage, current: Found, now: Found | None) -> None:
    """Raise `PageChangedMeanwhile` if a file has other bytes than were read; keep its new state."""
    if now is None or now.content != current.content:
        page.states += [now] if now else []
        raise PageChangedMeanwhile


def _clear(page: LockedPage, name: str) -> None:
    """Remove the second name of the file that was replaced, or created."""
    try:
        atomic.remove(page.staging, name)
    except OSError:
        return  # the change is done and durable; the next write clears up


def _undo_install(page: LockedPage, current: Found | None, number: int, new_inode: int) -> None:
    """Undo `_install`, if it was done: give the page's name back to the file that had it."""
    if new_inode < 0 or inode_of(page.folder, page.name) != new_inode:
        return
    try:
        if current is None:
            atomic.move(page.folder, page.name, page.staging, page.staged_name)
        elif inode_of(page.staging, page.staged_name) >= 0:
            atomic.exchange(page.staging, page.staged_name, page.folder, page.name)
            # Someone saved just now: that file is newer.
            if inode_of(page.staging, page.staged_name) != new_inode:
                atomic.exchange(page.staging, page.staged_name, page.folder, page.name)
        else:
            atomic.link_file(page.log.folder, str(number), page.staging, page.staged_name)
            atomic.move(page.staging, page.staged_name, page.folder, page.name)
    except FileNotFoundError:
        return  # someone deleted the page meanwhile; `tidy` keeps its version


def _give_back(page: LockedPage) -> None:
    """Undo a delete, if it was done: give the page its name again."""
    try:
        atomic.link_file(page.staging, page.staged_name, page.folder, page.name)
    except (FileNotFoundError, FileExistsError):
        return  # not moved yet, or someone saved another page: `tidy` handles both


def clear_up(page: LockedPage) -> None:
    """Clear up after a process that died, and log the change that it made and could not log."""
    entry, page.log.unlogged = page.log.unlogged, None
    is_made = entry is not None and _was_made(page, entry)
    tidy(page)
    if entry is None or not is_made:
        return
    last = page.log.last()
    if last is not None and last["revision"] >= entry["revision"]:  # the stray edit came before
        entry["revision"] = last["revision"] + 1
        entry["time"] = max(entry["time"], last["time"])
        entry.pop("redo", None)
    entry[RECOVERED] = True
    page.log.add(entry)


def _was_made(page: LockedPage, entry: Line) -> bool:
    """Return whether a change reached the page before its process died.

    If not, its new file is still in staging, or the file it was to delete is not there. A page that
    only has the same text was saved outside.
    """
    try:
        now = page.read(page.folder, page.name) if page.folder >= 0 else None
        if (now.hash if now else "") != entry["hash"]:
            return False
        staged = page.read(page.staging, page.staged_name)
        if now is None:
            last = page.log.last()
            return staged is not None and last is not None and staged.hash == last["hash"]
        page_inode = inode_of(page.folder, page.name)
        for name, file in (
            (page.staged_name, staged),
            (page.unfinished_name, page.read(page.staging, page.unfinished_name)),
        ):
            is_page = inode_of(page.staging, name) == page_inode
            if file is not None and file.hash == entry["hash"] and not is_page:
                return False
    except Unsafe:
        return False
    return True


def tidy(page: LockedPage, new_inode: int = NO_FILE, content: bytes = b"") -> None:
    """Remove the files that a write left in staging; a possible outside edit is kept.

    `new_inode` and `content` are those of our own new file; after a crash they are not known.
    """
    atomic.remove(page.staging, page.unfinished_name)
    staged_inode = inode_of(page.staging, page.staged_name)
    if staged_inode < 0 and new_inode < 0:
        return
    last = page.log.last()
    page_inode = inode_of(page.folder, page.name) if page.folder >= 0 else NO_FILE
    history_inode = inode_of(page.log.folder, str(last["revision"])) if last else NO_FILE
    was_swapped = (
        history_inode != page_inode if history_inode >= 0 else _differs_from_log(page, last)
    )
    # The page is still the file that was linked into the history.
    if last and history_inode >= 0 and not was_swapped:
        atomic.remove(page.log.folder, str(last["revision"]))
    if staged_inode not in {NO_FILE, page_inode} and (new_inode >= 0 or was_swapped):
        _keep_stray(
            page, last, known_hash=hash_content(content) if staged_inode == new_inode else ""
        )
    atomic.remove(page.staging, page.staged_name)


def _differs_from_log(page: LockedPage, last: Line | None) -> bool:
    """Return whether the page differs from the log, if its name in the history is lost."""
    try:
        now = page.read(page.folder, page.name) if page.folder >= 0 else None
    except Unsafe:
        return True
    return (now.hash if now else "") != (last["hash"] if last else "")


def _keep_stray(page: LockedPage, last: Line | None, *, known_hash: str) -> None:
    """Keep an outside edit that ended up in staging as a version of its own.

    A file whose bytes are known is no edit: our own new bytes, or the version before them.
    """
    try:
        stray = page.read(page.staging, page.staged_name)
    except Unsafe:
        return  # a link or a device holds no text of anyone's
    if stray is None or stray.hash == known_hash or (last and stray.hash == last["hash"]):
        return
    number = last["revision"] + 1 if last else 1
    outside = Change(OUTSIDE, SAVED_OUTSIDE)
    page.log.keep(page.staging, page.staged_name, number)
    page.log.add(page.entry(number, outside, stray))
    if last is not None:  # an edit that was saved in place has overwritten this version
        page.log.rescue(last, mode=page.file_mode)


# Removing the files of an agent that was never finished.


def discard_agent(store: StoreFolder, agent_id: int, slug: str) -> None:
    """Remove the history of an id that no agent has, and the first pages that it had.

    `slug` names the folder that was to be taken over. A page in it is removed only if it still has
    its first text: a text that anyone wrote there before or since stays.
    """
    shelf = Shelf("agent", 0, agent_id)
    folder = store.open_own("agents", slug) if slug else None
    staging = store.open_own(*STAGING.split("/"))
    history = store.open_own(*HISTORY.split("/"))
    try:
        if staging is not None:
            _remove_staged(staging, folder, shelf)
        if history is not None:
            if folder is not None:
                _remove_started(history, folder, shelf)
            atomic.remove_tree(history, shelf.name)
    finally:
        for fd in (folder, staging, history):
            if fd is not None:
                os.close(fd)


def _remove_staged(staging: int, folder: int | None, shelf: Shelf) -> None:
    """Remove the staged files of interrupted writes, and the pages that are the same files."""
    for name in os.listdir(staging):
        shelf_name, _, page = name.removesuffix(MAKING).partition(":")
        if shelf_name == shelf.name:
            if folder is not None and inode_of(folder, page) == inode_of(staging, name):
                atomic.remove(folder, page)
            atomic.remove(staging, name)


def _remove_started(history: int, folder: int, shelf: Shelf) -> None:
    try:
        pages = open_folder(history, (shelf.name,))
    except FileNotFoundError:
        return
    try:
        for name in os.listdir(pages):
            is_core = ":" not in name and not name.startswith(".")  # a page, and not in a folder
            if is_core and _is_as_started(pages, folder, name):
                atomic.remove(folder, name)
    finally:
        os.close(pages)


def _is_as_started(pages: int, folder: int, name: str) -> bool:
    """Return whether a page has one version, written for this agent, and still has its text."""
    inner = open_folder(pages, (name,))
    try:
        lines = PageLog(inner, name).lines()
    finally:
        os.close(inner)
    if len(lines) != 1 or inode_of(folder, name) == NO_FILE:
        return False
    fd = os.open(name, READ, dir_fd=folder)
    try:
        return bool(hash_content(read_all(fd)) == lines[0]["hash"])
    finally:
        os.close(fd)
