"""Verifying pages against their histories: every version is read once, in the order of the log."""

from __future__ import annotations

import os

from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import AgentMissing
from looseleaf.files.folders import OsErrorContext, open_folder, open_page_at, read_all
from looseleaf.memory.history import PageVerdict
from looseleaf.memory.pages import decode_text
from looseleaf.memory.store import Found, Missing, hash_content
from looseleaf.stores.disk.agent_records import DELETED_FOLDER, RECORD
from looseleaf.stores.disk.history.delta import apply_splice, is_whole
from looseleaf.stores.disk.history.log_line import is_intact
from looseleaf.stores.disk.history.revisions import (
    HEAD,
    is_head_damaged,
    read_head,
    read_known_pages,
)
from looseleaf.stores.disk.listing import LOG
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.history.revisions import PageLog
    from looseleaf.stores.disk.store import DiskStore
    from looseleaf.stores.disk.store_folder import StoreFolder


# The pages of deleted agents, which can be restored, in the folder of the deletion.


def read_deleted_page(store: StoreFolder, scope: Scope) -> tuple[Found | Missing, bool]:
    """Read a page of an agent that is not in use, and return whether its folder was found."""
    folder = _find_folder(store, scope.agent_id)
    if not folder:
        return Missing(), False
    try:
        fd = open_page_at(store.root, f"{folder}/{scope.filename}")
    except (FileNotFoundError, NotADirectoryError):
        return Missing(), True
    try:
        return Found(read_all(fd), os.fstat(fd).st_mtime), True
    finally:
        os.close(fd)


def _find_folder(store: StoreFolder, agent_id: int) -> str:
    """Return the folder of a deleted agent's pages, or "" if it has none any more."""
    deleted = store.open_own(*DELETED_FOLDER.split("/"))
    if deleted is None:
        return ""
    try:
        for name in os.listdir(deleted):
            number, _, slug = name.partition("-")
            if number != str(agent_id):
                continue
            names = _list_names(deleted, name)
            if names != [RECORD]:
                return f"{DELETED_FOLDER}/{name}"
            # Only the record was moved; another agent may use the folder since.
            path = f"agents/{slug}"
            is_free = not os.path.lexists(f"{store.root}/{path}/{RECORD}")
            return path if is_free and os.path.isdir(f"{store.root}/{path}") else ""
    finally:
        os.close(deleted)
    return ""


def _list_names(parent: int, name: str) -> list[str]:
    folder = open_folder(parent, (name,))
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


_MOST_NAMED = 5


def list_missing_histories(store: DiskStore, shelf: Shelf, names: set[str]) -> list[str]:
    """List the pages of a shelf that had a history and have none now."""
    return sorted(read_known_pages(store, shelf) - names)


def verify_page(store: DiskStore, scope: Scope, *, is_core: bool) -> PageVerdict:
    """Compare a page and each of its versions with the hashes that were written."""
    is_known = True
    try:
        try:
            page = store.read(scope)
        except AgentMissing:
            page, is_known = read_deleted_page(store, scope)
        present = page if isinstance(page, Found) else None
        if present is not None:
            decode_text(scope.filename, present.content)
        log = store.log(scope)
    except LooseleafError as error:
        return PageVerdict(0, (str(error),))
    if log is None:
        return PageVerdict(0, ("it has no history",) if is_core and present else ())
    try:
        with OsErrorContext(f"The history of {scope.filename}"):
            raw_lines = log.raw_lines()
            damaged_numbers = [
                number for number, line in enumerate(raw_lines, 1) if not is_intact(line)
            ]
            if damaged_numbers:
                numbers = ", ".join(map(str, damaged_numbers[:_MOST_NAMED]))
                return PageVerdict(0, (f"its {LOG} is damaged, line {numbers}",))
            lines = [log.parse(line) for line in raw_lines]
            file_numbers = {int(name) for name in os.listdir(log.folder) if name.isdigit()}
            pack = log.pack()
            pack_numbers, pack_faults = pack.inspect() if pack is not None else (set(), [])
            verdict = _verify_lines(
                log, lines, file_numbers | pack_numbers, present, is_core=is_core and is_known
            )
            if not is_known:
                verdict = replace(verdict, edited_outside=False)
            return replace(verdict, faults=(*pack_faults, *verdict.faults))
    except LooseleafError as error:
        return PageVerdict(0, (str(error),))
    finally:
        os.close(log.folder)


def _verify_lines(
    log: PageLog, lines: list[Line], numbers: set[int], present: Found | None, *, is_core: bool
) -> PageVerdict:
    changes = [line for line in lines if "revision" in line]
    if not changes:
        is_lost = numbers or read_head(log.folder) or (is_core and present)
        return PageVerdict(0, (f"its {LOG} is empty",) if is_lost else ())
    purged_numbers = {line["purged"] for line in lines if "purged" in line}
    newest = changes[-1]
    faults = list(_find_missing_lines(log, changes, numbers))
    faults += [f"its {HEAD} is damaged"] if is_head_damaged(log.folder) else []
    versions = 0
    for line, fault in _verify_versions(log, changes[:-1]):
        is_gone = not line["hash"] or line["revision"] in purged_numbers
        versions += not fault and not is_gone
        if fault and not is_gone:
            faults.append(f"revision {line['revision']}: {fault}")
    fault, edited_outside = _compare_present(log, newest, present, is_core=is_core)
    faults += [fault] if fault else []
    return PageVerdict(versions + (present is not None), tuple(faults), edited_outside)


def _find_missing_lines(log: PageLog, changes: list[Line], numbers: set[int]) -> Iterator[str]:
    """Find gaps between the lines, versions without a line, and a lost end of the log."""
    listed_numbers = {line["revision"] for line in changes}
    first, last = min(listed_numbers), max(listed_numbers)
    expected_numbers = {*range(first, last), *numbers}
    head = read_head(log.folder)
    expected_numbers |= {head} if head > last else set()
    for number in sorted(expected_numbers - listed_numbers):
        yield f"the log has no line for revision {number}"


def _verify_versions(log: PageLog, changes: list[Line]) -> Iterator[tuple[Line, str]]:
    """Yield each prior change with the fault of its file, oldest first."""
    before: bytes | None = None
    for line in changes:
        content = log.prior(line["revision"])
        is_whole_file = content is not None and hash_content(content) == line["hash"]
        if is_whole_file or not line["hash"]:
            before = content
            yield line, ""
            continue
        before = _redo_change(line, before)
        problem = "its file is missing" if content is None else "its file is damaged"
        remedy = "; its text can be rebuilt from the log" if before is not None else ""
        yield line, problem + remedy


def _redo_change(line: Line, before: bytes | None) -> bytes | None:
    """Rebuild a version from the one before and the change in the log."""
    if "redo" not in line:
        return None
    base = b"" if is_whole(line["redo"], line["bytes"]) else before
    content = None if base is None else apply_splice(base, line["redo"])
    return content if content is not None and hash_content(content) == line["hash"] else None


def _compare_present(
    log: PageLog, newest: Line, present: Found | None, *, is_core: bool
) -> tuple[str, bool]:
    """Compare the page with what was last written; return the fault, and whether it was edited."""
    if present is None:
        if not newest["hash"]:
            return "", False
        return ("the page is missing", False) if is_core else ("", True)
    if present.hash == newest["hash"]:
        return "", False
    last_content = log.version(newest)
    if last_content is not None and _differs_in_one_bit(last_content, present.content):
        return "one bit of it is not what was last written", False
    return "", True


def _differs_in_one_bit(first: bytes, second: bytes) -> bool:
    if len(first) != len(second):
        return False
    difference = int.from_bytes(first, "big") ^ int.from_bytes(second, "big")
    return difference.bit_count() == 1
