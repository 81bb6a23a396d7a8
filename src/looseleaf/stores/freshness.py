"""What the pages below a folder are now, told from the disk without reading them."""

from __future__ import annotations

import os
import stat

from looseleaf import atomic
from looseleaf.errors import InvalidName
from looseleaf.memory.scope import MAX_DEPTH, check_filename
from looseleaf.memory.search import as_of
from looseleaf.stores.watch import CannotWatch, Watch, is_local

TYPE_CHECKING = False
if TYPE_CHECKING:
    Signature = tuple[int, int, int, int]


def identity(folder: str) -> tuple[int, int] | None:
    """Give what tells this folder from another in its place; None where a link leads there."""
    if os.path.realpath(folder) != folder:
        return None
    status = os.lstat(folder)
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def holds_at_least(folder: str, files: int) -> bool:
    """Say whether there are so many files below a folder, without counting further."""
    found, pending = 0, [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    found += 1
        if found >= files:
            return True
    return False


class Tree:
    """The pages below one folder and their signatures, kept up to date by checking or watching.

    The first look only checks every file; a process that looks again watches from then on.
    """

    def __init__(self, folder: str, *, watching: bool = True) -> None:
        self.folder = folder
        self.identity = identity(folder)
        self.pages: dict[str, Signature] = {}
        self._watch: Watch | None = None
        self._may_watch = watching and is_local(folder)
        self._seen = False

    @property
    def freshness(self) -> str:
        """How one knows that the pages are so."""
        if self._watch is not None:
            files = "1 file" if len(self.pages) == 1 else f"{len(self.pages)} files"
            return f"every change seen (watching {files})"
        return as_of(len(self.pages), "checked")

    def stands(self) -> bool:
        """Say whether the path still leads to the same folder."""
        try:
            return self.identity is not None and identity(self.folder) == self.identity
        except OSError:
            return False

    def refresh(self) -> set[str] | None:
        """Bring the signatures up to date; name the pages that may differ, or None for all."""
        changed = self._watch.changed() if self._watch is not None else None
        if changed is None:
            self._sweep()
            return None
        for name in changed:
            self.look(name)
        return changed

    def look(self, name: str) -> Signature | None:
        """Check one page now; None if there is none."""
        path = f"{self.folder}/{name}"
        try:
            if self._watch is not None and is_page(name):
                self._watch.page(path, name)
        except CannotWatch:
            self._unwatch(for_good=True)
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            status = None
        if status is None or not stat.S_ISREG(status.st_mode) or not is_page(name):
            self.pages.pop(name, None)
            if self._watch is not None:
                self._watch.drop(name)
            return None
        self.pages[name] = _signature(status)
        return self.pages[name]

    def close(self) -> None:
        """Stop watching."""
        self._unwatch()

    def _unwatch(self, *, for_good: bool = False) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None
        self._may_watch = self._may_watch and not for_good

    def _sweep(self) -> None:
        """Check every file; from the second time on, watch each before it is checked."""
        self._unwatch()
        if self._seen and self._may_watch:
            try:
                self._watch = Watch()
                self.pages = self._walked()
                return
            except CannotWatch:
                self._unwatch(for_good=True)
        self.pages = self._walked()
        self._seen = True

    def _walked(self) -> dict[str, Signature]:
        pages: dict[str, Signature] = {}
        self._visit(os.open(self.folder, atomic.FOLDER), "", pages)
        return pages

    def _visit(self, folder: int, prefix: str, pages: dict[str, Signature]) -> None:
        """Check the files of an open directory and of those in it, and close it."""
        try:
            if self._watch is not None:
                self._watch.folder(f"{self.folder}/{prefix}".rstrip("/"), prefix)
            inner = []
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = prefix + entry.name
                    if name in self.pages or is_page(name):
                        status = self._check(entry, folder, name)
                        if status is not None and stat.S_ISREG(status.st_mode):
                            pages[name] = _signature(status)
                            continue
                    if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                        inner.append(entry.name)
            for segment in inner if prefix.count("/") < MAX_DEPTH else ():
                self._enter(folder, segment, prefix, pages)
        finally:
            os.close(folder)

    def _enter(self, folder: int, segment: str, prefix: str, pages: dict[str, Signature]) -> None:
        try:
            opened = os.open(segment, atomic.FOLDER, dir_fd=folder)
        except FileNotFoundError:
            return
        self._visit(opened, f"{prefix}{segment}/", pages)

    def _check(self, entry: os.DirEntry[str], folder: int, name: str) -> os.stat_result | None:
        try:
            if self._watch is None:
                return entry.stat(follow_symlinks=False)
            self._watch.page(f"{self.folder}/{name}", name)
            # Not the entry's own, which may be older than the watch.
            return os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


def is_page(name: str) -> bool:
    """Say whether a file of this name can be a page."""
    try:
        check_filename(name)
    except InvalidName:
        return False
    return True


def _signature(status: os.stat_result) -> Signature:
    # SQLite's integers are signed, inode numbers are not.
    inode = status.st_ino & 0x7FFF_FFFF_FFFF_FFFF
    return inode, status.st_ctime_ns, status.st_mtime_ns, status.st_size
