"""A git repository, used through the program git: without a shell, and for a bounded time.

The owner's index, other files and branches stay as they are: a commit is built in a separate
index, and then only the entries of the committed files are brought up to date in the owner's.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import NamedTuple

from looseleaf.errors.features import RepositoryUnusable
from looseleaf.files import atomic
from looseleaf.memory.store import hash_content
from looseleaf.settings import build_git_environment
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from looseleaf.memory.history import Revision


SECONDS = 120.0  # for one call of git
_LONGEST_MESSAGE = 300  # characters of git's message about a failure
# Of the programs that a repository may configure, only filters run: they change bytes.
_OPTIONS = (
    *("--literal-pathspecs", "--no-optional-locks", "-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "core.quotePath=false"),
)
_IDENTITY = ("-c", "user.name=Looseleaf", "-c", "user.email=looseleaf@localhost")
# Files of the git directory that exist while work of the owner is not finished.
_UNFINISHED = ("MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_NOTHING = "0" * 6


class FileChange(NamedTuple):
    """A file that differs between two trees: its modes and blobs before and after."""

    path: bytes
    old: tuple[str, str]
    new: tuple[str, str]

    @property
    def kind(self) -> str:
        """The change in one word: added, deleted or changed."""
        if self.old[0] == _NOTHING:
            return "added"
        return "deleted" if self.new[0] == _NOTHING else "changed"


class Repository:
    """The repository that a folder lies in."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._index = ""
        try:
            lines = self._run("rev-parse", "--absolute-git-dir", "--show-prefix").decode()
        except GitFailed as error:
            reason = f"it is in no git repository that can be used ({error.message})"
            raise RepositoryUnusable(
                folder, f"{reason}; begin one with: git init {folder}"
            ) from None
        self.directory, self.prefix = lines.split("\n")[:2]

    def unfinished_work(self) -> str:
        """Name the work that the owner has not finished, such as a merge, or "" if none."""
        names = [
            name for name in _UNFINISHED if os.path.lexists(os.path.join(self.directory, name))
        ]
        return names[0].partition("_")[0].partition("-")[0].lower() if names else ""

    def head(self) -> str:
        """Return the commit that is checked out, or "" if there is none yet."""
        try:
            return self._run("rev-parse", "--quiet", "--verify", "HEAD^{commit}").decode().strip()
        except GitFailed:
            return ""

    def branch(self) -> str:
        """Return the branch that is checked out, or "" if none."""
        try:
            return self._run("symbolic-ref", "--quiet", "--short", "HEAD").decode().strip()
        except GitFailed:
            return ""

    @contextmanager
    def own_index(self, head: str) -> Iterator[None]:
        """Use a separate index, which begins with the files of a commit, and remove it."""
        name = f"looseleaf-index-{os.getpid()}"
        self._index = os.path.join(self.directory, name)
        try:
            self._run("read-tree", *((head,) if head else ("--empty",)))
            yield
        finally:
            self._index = ""
            folder = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                atomic.remove(folder, name)
                atomic.remove(folder, f"{name}.lock")
            finally:
                os.close(folder)

    def add(self, names: Sequence[str]) -> str:
        """Add all files below some folders to the index, and return its tree."""
        if names:
            self._run("add", "--all", "--", *names)
        return self._run("write-tree").decode().strip()

    def has_below(self, commit: str, name: str) -> bool:
        """Return whether a commit has files in a folder."""
        arguments = ("ls-tree", "-d", "--name-only", commit, "--", name)
        return bool(commit) and bool(self._run(*arguments).strip())

    def compare(self, commit: str, tree: str) -> list[FileChange]:
        """List the files that differ between a commit, or nothing, and a tree."""
        before = commit or self._run("hash-object", "-t", "tree", "--stdin").decode().strip()
        options = ("-r", "-z", "--raw", "--no-renames")
        raw = self._run("diff-tree", *options, before, tree)
        parts = raw.split(b"\0")[:-1]
        if parts and not parts[0].startswith(b":"):
            parts = parts[1:]  # the name of the commit
        changes = []
        for fields, path in zip(parts[::2], parts[1::2], strict=True):
            old_mode, new_mode, old_blob, new_blob, _status = fields[1:].decode().split(" ")
            changes.append(FileChange(path, (old_mode, old_blob), (new_mode, new_blob)))
        return changes

    def read_blob(self, blob: str, limit: int) -> bytes | None:
        """Read the bytes of a file as committed, or None if they are more than a limit."""
        if int(self._run("cat-file", "-s", blob)) > limit:
            return None
        return self._run("cat-file", "blob", blob)

    def commit(self, tree: str, head: str, message: str) -> str:
        """Write a commit, and move the branch that is checked out to it, if it is still at head."""
        parents = ("-p", head) if head else ()
        options = () if self._has_identity() else _IDENTITY
        commit = self._run(
            "commit-tree", tree, *parents, "-F", "-", options=options, text=message.encode()
        )
        name = commit.decode().strip()
        expected = head or "0" * len(name)
        reason = f"looseleaf: {message.partition(chr(10))[0]}"
        self._run("update-ref", "-m", reason, "HEAD", name, expected, options=options)
        return name

    def update_index(self, changes: Sequence[FileChange]) -> int:
        """Update the owner's index, except for files that the owner has staged.

        The result is the number of these files.
        """
        raw = self._run("ls-files", "--stage", "-z", "--full-name")
        index_entries = {}
        for line in raw.split(b"\0")[:-1]:
            fields, _, path = line.partition(b"\t")
            mode, blob, _stage = fields.decode().split(" ")
            index_entries[path] = (mode, blob)
        lines, kept_count = [], 0
        for change in changes:
            entry = index_entries.get(change.path)
            is_untouched = entry == change.old or (entry is None and change.kind == "added")
            if is_untouched:
                mode, blob = change.new
                lines.append(f"{int(mode, 8):o} {blob}\t".encode() + change.path)
            elif entry != change.new:
                kept_count += 1
        if lines:
            self._run("update-index", "-z", "--index-info", text=b"\0".join(lines) + b"\0")
        return kept_count

    def _has_identity(self) -> bool:
        try:
            self._run("var", "GIT_COMMITTER_IDENT", options=("-c", "user.useConfigOnly=true"))
        except GitFailed:
            return False
        return True

    def _run(
        self,
        *arguments: str,
        options: Sequence[str] = (),
        text: bytes = b"",
    ) -> bytes:
        command = ["git", "-C", self.folder, *_OPTIONS, *options, *arguments]
        variables = {"GIT_INDEX_FILE": self._index} if self._index else {}
        try:
            result = subprocess.run(
                command,
                input=text,
                capture_output=True,
                timeout=SECONDS,
                env=build_git_environment(variables),
                check=False,
            )
        except FileNotFoundError:
            reason = "the program is not installed; install it (Debian: apt install git)"
            raise RepositoryUnusable("git", reason) from None
        except subprocess.TimeoutExpired:
            raise RepositoryUnusable("git", f"it took more than {SECONDS:g} seconds") from None
        if result.returncode:
            raise GitFailed(arguments[0], result.stderr)
        return result.stdout


class GitFailed(RepositoryUnusable):
    """Git refused a call; the message is its own."""

    def __init__(self, command: str, output: bytes) -> None:
        lines = output.decode("utf-8", "replace").strip().splitlines()
        self.message = (lines[0] if lines else "it gave no reason")[:_LONGEST_MESSAGE]
        super().__init__(f"git {command}", self.message)


# The message of a commit of pages: the changes since the last commit, and who made them.


MOST_PAGES = 100  # that a message lists, one by one
_MOST_REASONS = _MOST_NAMES = 3
_SUBJECT_LENGTH, _REASON_LENGTH = 72, 160


@value
class PageChange:
    """A page of a commit: its path, how it changed, and the revisions since the last commit."""

    path: str
    kind: str  # added, deleted or changed
    revisions: tuple[Revision, ...] = ()


def select_revisions(
    revisions: Sequence[Revision], committed_bytes: bytes | None
) -> tuple[Revision, ...]:
    """Select the revisions after the committed one; only the newest if that one is unknown."""
    if committed_bytes is None:
        return tuple(revisions)
    digest = hash_content(committed_bytes)
    for place in range(len(revisions) - 1, -1, -1):
        if revisions[place].hash == digest:
            return tuple(revisions[place + 1 :])
    return tuple(revisions[-1:])


def write_message(changes: Sequence[PageChange], count: int) -> str:
    """Write the message: a subject, a line for each page, and the reasons that were given."""
    lines = [_write_subject(changes, count), ""]
    for change in changes:
        lines.append(f"{change.path}: {_describe(change)}")
        reasons = dict.fromkeys(
            _shorten_line(revision.reason, _REASON_LENGTH)
            for revision in change.revisions
            if revision.reason
        )
        lines += [f"  {reason}" for reason in list(reasons)[-_MOST_REASONS:]]
    if count > len(changes):
        lines.append(f"and {count - len(changes)} more")
    return "\n".join(lines) + "\n"


def _write_subject(changes: Sequence[PageChange], count: int) -> str:
    actors = dict.fromkeys(
        revision.actor or revision.actor_kind
        for change in changes
        for revision in change.revisions
        if revision.actor or revision.actor_kind
    )
    by = f" by {_list_names(actors)}" if actors else ""
    kinds = {change.kind for change in changes}
    kind = kinds.pop() if len(kinds) == 1 and count == len(changes) else ""
    verb = {"added": "Add", "deleted": "Delete"}.get(kind, "Update")
    if count == 1:
        subject = f"{verb} {changes[0].path}{by}"
    else:
        owners = dict.fromkeys(_owner_of(change.path) for change in changes)
        subject = f"{verb} {count} pages of {_list_names(owners)}{by}"
    return _shorten_line(subject, _SUBJECT_LENGTH)


def _list_names(names: Iterable[str]) -> str:
    """Name the first few; a subject has one short line."""
    first, rest = list(names)[:_MOST_NAMES], list(names)[_MOST_NAMES:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")


def _owner_of(path: str) -> str:
    """Name the owner of a page: an agent, a user, or the folder of what belongs to all."""
    layer, _, rest = path.partition("/")
    owner, slash, _ = rest.partition("/")
    owners = {"agents": owner, "users": f"user {owner}"} if slash else {}
    return owners.get(layer, layer)


def _describe(change: PageChange) -> str:
    if not change.revisions:
        return change.kind
    actors = dict.fromkeys(_describe_actor(revision) for revision in change.revisions)
    count = len(change.revisions)
    operations = dict.fromkeys(revision.operation for revision in change.revisions)
    changes = "1 change" if count == 1 else f"{count} changes"
    return _shorten_line(f"{changes} ({', '.join(operations)}) by {', '.join(actors)}", 400)


def _describe_actor(revision: Revision) -> str:
    details = ", ".join(filter(None, (revision.actor_kind, revision.surface)))
    name = revision.actor or "someone"
    return f"{name} ({details})" if details else name


def _shorten_line(text: str, length: int) -> str:
    """Write a text in one line: names and reasons that agents choose must not break a message."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
