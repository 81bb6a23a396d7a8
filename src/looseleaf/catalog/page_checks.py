"""The checks of the doctor: their registry, and those of the workspace's folder and pages."""

from __future__ import annotations

import os
import secrets
import shlex
import sqlite3
import stat
import sys

from looseleaf.agents.record import list_readable_agents
from looseleaf.errors import InvalidName, LooseleafError
from looseleaf.errors.pages import NotText
from looseleaf.files import atomic
from looseleaf.files.mounts import file_system_of, format_size
from looseleaf.memory.hidden_characters import describe_hidden
from looseleaf.memory.pages import decode_text
from looseleaf.memory.registry import OWNER, NamedRegistry
from looseleaf.memory.scope import Shelf
from looseleaf.memory.section_merge import find_conflict_line, find_original_page
from looseleaf.memory.store import Missing, has_paths
from looseleaf.prompt.outputs import LeftOut
from looseleaf.prompt.reports import PageProblem
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from typing import Literal

    from looseleaf.agents.record import AgentList
    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope
    from looseleaf.prompt.assembly import Assembly

    Kind = Literal["unreadable", "not_text", "merge_conflict", "conflicting_copy"]


# The checks of the doctor, and their findings about pages, folders or the database.


@value
class Finding:
    """The check, its status and detail, and the advice to follow."""

    check: str
    status: Literal["ok", "warning", "fault"]
    detail: str
    advice: str = ""


@value
class CheckRun:
    """One run of the doctor, as each check is given it.

    Fields:
        context: The context of the operation: the parts of the workspace, settings and pages.
        verify: Whether every page and index is read and compared with its checksum.
    """

    context: Context
    verify: bool = False

    @property
    def root(self) -> str:
        """The folder of the workspace, without links."""
        return os.path.realpath(self.context.settings.root)


@value
class Check:
    """A check by its name; one with `verify_only` runs only if every page is verified."""

    name: str
    run: Callable[[CheckRun], Iterable[Finding]]
    priority: int = 50
    verify_only: bool = False
    owner: str = OWNER


class Checks(NamedRegistry):
    """The checks of one workspace's doctor, by name."""

    noun, hook = "check", "register_checks"

    def register(
        self,
        name: str,
        run: Callable[[CheckRun], Iterable[Finding]],
        *,
        priority: int = 50,
        verify_only: bool = False,
        owner: str = "",
    ) -> Check:
        """Add a check, or refuse one whose name is taken.

        Checks run by priority, then in the order of their registration.
        """
        self._refuse_if_frozen(name)
        if name in self._entries:
            raise InvalidName(name, f"{self._entries[name].owner} has a check of that name")
        check = Check(name, run, priority, verify_only, owner or OWNER)
        self._entries[name] = check
        return check

    def all(self) -> tuple[Check, ...]:
        """Return every check, by priority."""
        return tuple(sorted(self._entries.values(), key=lambda check: check.priority))


# Problems of pages themselves: not readable, not text, half merged, or duplicated.


_MOST_COPIES = 20


def find_prompt_problems(pages: MemoryPages, assembly: Assembly) -> tuple[PageProblem, ...]:
    """Find problems of the pages of a prompt, and copies that lie beside them."""
    problems: list[PageProblem] = []
    for piece in assembly.pieces:
        item = piece.item
        if isinstance(item, LeftOut) and item.rule in ("unreadable", "not_text"):
            problems.append(_build_unreadable(item.name, item.layer, item.rule, item.detail))
        elif piece.injected and piece.layer:
            problems += _find_merge_conflict(piece.name, piece.layer, piece.text, above=1)
    request = assembly.request
    for shelf in (Shelf("shared"), request.agent.shelf, Shelf("user", request.user)):
        problems += find_conflicting_copies(pages, shelf)
    return tuple(problems)


def find_page_problems(pages: MemoryPages, shelf: Shelf) -> Iterator[PageProblem]:
    """Find problems of the registered pages of a shelf, and copies beside them."""
    for file in pages.registry.by_layer(shelf.layer):
        yield from _problems_of(pages, shelf.page(file.filename))
    yield from find_conflicting_copies(pages, shelf)


def _find_lost_pages(pages: MemoryPages, history: History, shelf: Shelf) -> Iterator[PageProblem]:
    """Find core pages that have a history and no file: nobody can have deleted them by us."""
    for file in pages.registry.by_layer(shelf.layer):
        scope = shelf.page(file.filename)
        is_lost = file.protected and not pages.exists(scope)
        if is_lost and history.latest(scope) is not None:
            advice = "Restore it: looseleaf memory history, then looseleaf memory restore."
            detail = f"{file.filename} was here and its file is gone"
            yield PageProblem(file.filename, shelf.layer, "unreadable", detail, advice)


def _problems_of(pages: MemoryPages, scope: Scope) -> Iterator[PageProblem]:
    name, layer = scope.filename, scope.layer
    try:
        page = pages.read(scope)
        text = "" if isinstance(page, Missing) else decode_text(name, page.content)
    except NotText as error:
        yield _build_unreadable(name, layer, "not_text", str(error))
    except LooseleafError as error:
        yield _build_unreadable(name, layer, "unreadable", str(error))
    else:
        yield from _find_merge_conflict(name, layer, text)


def _build_unreadable(name: str, layer: str, kind: Kind, detail: str) -> PageProblem:
    advice = "Make it a UTF-8 text that this user may read, or restore it from its history."
    return PageProblem(name, layer, kind, detail, advice)


def _find_merge_conflict(
    name: str, layer: str, text: str, *, above: int = 0
) -> Iterator[PageProblem]:
    line = find_conflict_line(text)
    if line:
        detail = f"{name} has the markers of a merge, from line {line - above} on"
        advice = "Choose what is to stay, and take the markers out."
        yield PageProblem(name, layer, "merge_conflict", detail, advice)


def find_conflicting_copies(pages: MemoryPages, shelf: Shelf) -> Iterator[PageProblem]:
    """Find second versions of pages that a program for syncing or merging left on a shelf."""
    count = 0
    for folder, names in _walk_folders(pages, shelf):
        for name in sorted(names):
            page = find_original_page(name, names)
            if page and count < _MOST_COPIES:
                count += 1
                path = f"{folder}/{name}" if folder else name
                detail = f"{path!r} looks like a second version of {page}, which nobody reads"
                advice = f"Put what it has into {page}, then delete it."
                yield PageProblem(path, shelf.layer, "conflicting_copy", detail, advice)


def _walk_folders(pages: MemoryPages, shelf: Shelf) -> Iterator[tuple[str, list[str]]]:
    """Walk the folder of a shelf, if it lies on this disk."""
    store = pages.store_for(shelf)
    if not has_paths(store):
        return
    try:
        root = os.path.dirname(store.path(shelf.page("MEMORY.md")))
    except LooseleafError:
        return  # an agent without a folder, which another check reports
    for folder, _folders, names in os.walk(root):
        path = os.path.relpath(folder, root)
        yield "" if path == "." else path, names


# The check of core pages: each can be read, and none is half merged or duplicated.


_FAULTS = ("unreadable", "not_text")


def check_core_pages(
    pages: MemoryPages, history: History, agents: AgentList, default_user: int
) -> Iterator[Finding]:
    """Check that every core page can be read, and that none is lost, half merged or duplicated."""
    count = 0
    for shelf in list_shelves(agents, default_user):
        owner = _format_owner(agents, shelf)
        problems = (*find_page_problems(pages, shelf), *_find_lost_pages(pages, history, shelf))
        for problem in problems:
            count += 1
            status = "fault" if problem.kind in _FAULTS else "warning"
            detail = f"{owner}: {problem.detail}"
            yield Finding("core pages", status, detail, problem.advice)  # type: ignore[arg-type]
    if not count:
        yield Finding("core pages", "ok", "every core page can be read")


def list_shelves(agents: AgentList, default_user: int) -> Iterator[Shelf]:
    """List the shared shelves, and those of readable agents and of their owners."""
    records = list(list_readable_agents(agents))
    yield from (Shelf("shared"), Shelf("network"))
    users = {default_user, *(record.owner for record in records)}
    yield from (Shelf("user", user) for user in sorted(users))
    yield from (record.shelf for record in records)


def _format_owner(agents: AgentList, shelf: Shelf) -> str:
    if shelf.layer == "agent":
        return f"agents/{agents.slug_of(shelf.agent_id)}"
    if shelf.layer == "principal":
        return f"agents/{agents.slug_of(shelf.agent_id)}/users/{shelf.user_id}"
    return f"users/{shelf.user_id}" if shelf.layer == "user" else shelf.layer


# The doctor's look for hidden text: characters in pages that people do not see and models read.


_MOST = 20
_ADVICE = "Look at the line in an editor that shows such characters, and take them out."


def check_hidden_text(
    pages: MemoryPages, shelves: Iterable[Shelf], *, every_page: bool
) -> Iterator[Finding]:
    """Report hidden characters on core pages, or on every page."""
    count = 0
    for scope in _list_scopes(pages, shelves, every_page=every_page):
        description = _describe_page(pages, scope)
        if description:
            count += 1
            if count <= _MOST:
                yield Finding("hidden text", "warning", f"{scope.key}: {description}", _ADVICE)
    if count > _MOST:
        yield Finding("hidden text", "warning", f"{count - _MOST} more pages", _ADVICE)


def _list_scopes(
    pages: MemoryPages, shelves: Iterable[Shelf], *, every_page: bool
) -> Iterator[Scope]:
    for shelf in shelves:
        if every_page:
            yield from (shelf.page(entry.filename) for entry in pages.list(shelf))
        else:
            files = pages.registry.by_layer(shelf.layer)
            yield from (shelf.page(file.filename) for file in files)


def _describe_page(pages: MemoryPages, scope: Scope) -> str:
    try:
        page = pages.read(scope)
    except LooseleafError:
        return ""  # another check reports this page
    return (
        "" if isinstance(page, Missing) else describe_hidden(page.content.decode(errors="ignore"))
    )


# The condition of a workspace's folder: its file system, permissions, leftovers and databases.


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
    needed_bits = 0o060 if group_writable else 0
    open_to_others, foreign, closed = [], [], []
    for path in _walk_paths(root):
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            continue
        if stat.S_IMODE(status.st_mode) & ~permitted_bits & 0o777:
            open_to_others.append(os.path.relpath(path, root))
        if status.st_mode & needed_bits != needed_bits:
            closed.append(os.path.relpath(path, root))
        if status.st_uid != user and not group_writable:
            foreign.append(os.path.relpath(path, root))
    if open_to_others:
        mode = "o-rwx" if group_writable else "go-rwx"
        advice = f"To close it to others: chmod -R {mode} {shlex.quote(root)}"
        yield Finding(
            "permissions", "warning", f"others may use {_join_names(open_to_others)}", advice
        )
    if closed:
        advice = "Each owner of such files: looseleaf init on this folder opens one's own."
        detail = f"the group cannot use {_join_names(closed)}, though group_writable is set"
        yield Finding("permissions", "warning", detail, advice)
    if foreign:
        owner = f"the owner of the workspace (user id {user})" if not os.geteuid() else "this user"
        advice = f"Run Looseleaf as the owner of these files, or give the files to {owner}."
        yield Finding("permissions", "warning", f"another user owns {_join_names(foreign)}", advice)
    if not open_to_others and not foreign and not closed:
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
