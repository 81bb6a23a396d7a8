"""The condition of a workspace's folder: its file system, permissions, leftovers and databases."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import sys

from looseleaf.errors import LooseleafError
from looseleaf.files import atomic
from looseleaf.files.file_size import format_size
from looseleaf.files.mounts import file_system_of
from looseleaf.upkeep.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

HOME = ".looseleaf"
# File systems whose locks and syncs depend on another machine, or on another program.
NETWORKED = ("9p", "afs", "ceph", "cifs", "fuse", "glusterfs", "lustre", "nfs", "smb", "vboxsf")
_LOW_SPACE = 100_000_000
_MOST_NAMED = 5


def check_file_system(root: str) -> Iterator[Finding]:
    """Report the file system of the workspace, and try each step of a write on it."""
    kind = file_system_of(root)
    if kind.startswith(NETWORKED):
        advice = "Keep the workspace on a local disk, or run one machine at a time on it."
        detail = f"{kind}: locks and syncs may not hold between machines"
        yield Finding("file system", "warning", detail, advice)
    disk = os.statvfs(root)
    free_bytes = disk.f_bavail * disk.f_frsize
    if free_bytes < _LOW_SPACE:
        advice = "Make room: writes are refused when none is left."
        yield Finding("file system", "warning", f"{format_size(free_bytes)} are left", advice)
    yield from _try_writes(root, kind)


def _try_writes(root: str, kind: str) -> Iterator[Finding]:
    home = os.open(os.path.join(root, HOME), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    name = f"doctor-{secrets.token_hex(8)}"
    try:
        atomic.create_folder(home, name)
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=home)
        try:
            yield from _try_writes_in(folder, kind)
        finally:
            for trial_file in os.listdir(folder):
                atomic.remove(folder, trial_file)
            os.close(folder)
            atomic.remove_folder(home, name)
    except (OSError, LooseleafError) as error:
        advice = "Make sure that this user may write to the workspace and that its disk is sound."
        yield Finding("file system", "fault", f"a trial write failed: {error}", advice)
    finally:
        os.close(home)


def _try_writes_in(folder: int, kind: str) -> Iterator[Finding]:
    for name in ("a", "b"):
        atomic.create_durably(folder, name, name.encode())
    second_handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        atomic.lock(folder, "a trial folder")
        is_exclusive = _is_locked(second_handle)
        atomic.unlock(folder)
    finally:
        os.close(second_handle)
    atomic.link_file(folder, "a", folder, "c")
    swaps = atomic.exchange(folder, "a", folder, "b")
    abilities = f"{kind or 'this disk'} writes, syncs and links"
    if not is_exclusive:
        advice = "Do not let two processes write here at the same time."
        yield Finding("locks", "fault", "a lock does not keep another process out", advice)
    else:
        yield Finding("locks", "ok", "a lock keeps others out")
    if swaps:
        yield Finding("file system", "ok", f"{abilities}, and swaps two files in one step")
    else:
        advice = "Edit pages through Looseleaf while agents write, or use a disk that can."
        yield Finding("file system", "warning", f"{abilities}, but cannot swap two files", advice)


def _is_locked(fd: int) -> bool:
    try:
        atomic.lock(fd, "a trial folder", seconds=0)
    except LooseleafError:
        return True
    atomic.unlock(fd)
    return False


def check_agent_folders(root: str, slugs: Container[str]) -> Iterator[Finding]:
    """Find folders below `agents/` that belong to no agent."""
    try:
        with os.scandir(f"{root}/agents") as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return
    for name in names:
        if name not in slugs and not name.startswith("."):
            advice = (
                "Rename it (a slug has lower-case letters, digits, - and _), then: looseleaf init"
            )
            yield Finding("agents", "warning", f"agents/{name} is the folder of no agent", advice)


def check_permissions(root: str, *, group_writable: bool) -> Iterator[Finding]:
    """Find files that users other than the owner (or the group, if allowed) can read or write.

    For root, which can use every file, the expected owner is the owner of the workspace.
    """
    user = os.geteuid() or os.stat(root).st_uid
    permitted_bits = 0o770 if group_writable else 0o700
    open_to_others, foreign = [], []
    for path in _walk_paths(root):
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            continue
        if stat.S_IMODE(status.st_mode) & ~permitted_bits & 0o777:
            open_to_others.append(os.path.relpath(path, root))
        if status.st_uid != user and not group_writable:
            foreign.append(os.path.relpath(path, root))
    if open_to_others:
        advice = f"To close it to others: chmod -R {'o-rwx' if group_writable else 'go-rwx'} on it."
        yield Finding(
            "permissions", "warning", f"others may use {_join_names(open_to_others)}", advice
        )
    if foreign:
        owner = f"the owner of the workspace (user id {user})" if not os.geteuid() else "this user"
        advice = f"Run Looseleaf as the owner of these files, or give the files to {owner}."
        yield Finding("permissions", "warning", f"another user owns {_join_names(foreign)}", advice)
    if not open_to_others and not foreign:
        yield Finding("permissions", "ok", "nobody else can read the workspace")


def _walk_paths(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        yield folder
        yield from (os.path.join(folder, name) for name in files)
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]


def check_leftovers(root: str) -> Iterator[Finding]:
    """Find files that a crash left behind and the next write has not cleared yet."""
    folder = os.path.join(root, HOME, "staging")
    leftover_names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if leftover_names:
        advice = "Nothing is lost; the next write of each page clears it."
        yield Finding(
            "leftovers", "warning", f"unfinished writes: {_join_names(leftover_names)}", advice
        )
    else:
        yield Finding("leftovers", "ok", "no write was left unfinished")


def check_databases(root: str) -> Iterator[Finding]:
    """Have SQLite check each of its files."""
    home = os.path.join(root, HOME)
    for path in sorted(_walk_paths(home)):
        if path.endswith((".db", ".sqlite")):
            name = os.path.relpath(path, root)
            index = os.path.relpath(path, home).startswith("index")
            verdict = _check_integrity(path)
            if verdict == "ok":
                yield Finding("index" if index else "database", "ok", f"{name} is whole")
            elif index:
                advice = f"Delete {name}: it is made anew at the next search."
                yield Finding("index", "fault", f"{name}: {verdict}", advice)
            else:
                advice = "Stop the server and restore the file from a backup."
                yield Finding("database", "fault", f"{name}: {verdict}", advice)


def _check_integrity(path: str) -> str:
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        try:
            rows = connection.execute("PRAGMA integrity_check(3)").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        return str(error)
    return "; ".join(str(row[0]) for row in rows)


def check_python() -> Iterator[Finding]:
    """Report the versions of Python and SQLite."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", f"Python {version}, SQLite {sqlite3.sqlite_version}")


def _join_names(names: list[str]) -> str:
    suffix = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + suffix
