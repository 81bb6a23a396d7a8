"""The pages below a folder and their file signatures, found without reading the pages."""

from __future__ import annotations

import os
import stat

from looseleaf.errors import InvalidName
from looseleaf.files import atomic
from looseleaf.memory.scope import MAX_DEPTH, check_filename
from looseleaf.memory.search.substring import describe_freshness
from looseleaf.stores.index.file_watch import CannotWatch, Watch, is_local

TYPE_CHECKING = False
if TYPE_CHECKING:
    Signature = tuple[int, int, int, int]


def identify_folder(folder: str) -> tuple[int, int] | None:
    """Return device and inode of a folder, or None if a link leads there."""
    if os.path.realpath(folder) != folder:
        return None
    status = os.lstat(folder)
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def holds_at_least(folder: str, minimum: int) -> bool:
    """Return whether a folder has at least this number of files below it."""
    file_count, folders = 0, [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    file_count += 1
        if file_count >= minimum:
            return True
    return False


class Tree:
    """The pages below one folder and their signatures, kept up to date by checking or watching.

    The first refresh only checks every file; from the second refresh on, the process watches them.
    """

    def __init__(self, folder: str, *, may_watch: bool = True) -> None:
        self.folder = folder
        self.identity = identify_folder(folder)
        self.pages: dict[str, Signature] = {}
        self._watch: Watch | None = None
        self._may_watch = may_watch and is_local(folder)
        self._was_swept = False

    @property
    def freshness(self) -> str:
        """A text that says how fresh the signatures are."""
        if self._watch is not None:
            files = "1 file" if len(self.pages) == 1 else f"{len(self.pages)} files"
            return f"every change seen (watching {files})"
        return describe_freshness(len(self.pages), "checked")

    def is_same(self) -> bool:
        """Return whether the path still leads to the same folder."""
        try:
            return self.identity is not None and identify_folder(self.folder) == self.identity
        except OSError:
            return False

    def refresh(self) -> set[str] | None:
        """Update the signatures; name the pages that may differ, or None for all."""
        names = self._watch.poll_changes() if self._watch is not None else None
        if names is None:
            self._sweep()
            return None
        for name in names:
            self.check_page(name)
        return names

    def check_page(self, name: str) -> Signature | None:
        """Check one page now; return None if it does not exist."""
        path = f"{self.folder}/{name}"
        try:
            if self._watch is not None and is_page(name):
                self._watch.watch_page(path, name)
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
        self.pages[name] = _signature_of(status)
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
        """Check every file; from the second time on, watch each file before the check."""
        self._unwatch()
        if self._was_swept and self._may_watch:
            try:
                self._watch = Watch()
                self.pages = self._walk()
                return
            except CannotWatch:
                self._unwatch(for_good=True)
        self.pages = self._walk()
        self._was_swept = True

    def _walk(self) -> dict[str, Signature]:
        pages: dict[str, Signature] = {}
        self._visit(os.open(self.folder, atomic.FOLDER), "", pages)
        return pages

    def _visit(self, folder: int, prefix: str, pages: dict[str, Signature]) -> None:
        """Check the files of an open directory and of those in it, and close it."""
        try:
            if self._watch is not None:
                self._watch.watch_folder(f"{self.folder}/{prefix}".rstrip("/"), prefix)
            subfolders = []
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = prefix + entry.name
                    if name in self.pages or is_page(name):
                        status = self._status_of(entry, folder, name)
                        if status is not None and stat.S_ISREG(status.st_mode):
                            pages[name] = _signature_of(status)
                            continue
                    if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                        subfolders.append(entry.name)
            for segment in subfolders if prefix.count("/") < MAX_DEPTH else ():
                self._visit_subfolder(folder, segment, prefix, pages)
        finally:
            os.close(folder)

    def _visit_subfolder(
        self, folder: int, segment: str, prefix: str, pages: dict[str, Signature]
    ) -> None:
        try:
            subfolder = os.open(segment, atomic.FOLDER, dir_fd=folder)
        except FileNotFoundError:
            return
        self._visit(subfolder, f"{prefix}{segment}/", pages)

    def _status_of(self, entry: os.DirEntry[str], folder: int, name: str) -> os.stat_result | None:
        try:
            if self._watch is None:
                return entry.stat(follow_symlinks=False)
            self._watch.watch_page(f"{self.folder}/{name}", name)
            # The status of the entry may be older than the watch.
            return os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


def is_page(name: str) -> bool:
    """Return whether a file of this name can be a page."""
    try:
        check_filename(name)
    except InvalidName:
        return False
    return True


def _signature_of(status: os.stat_result) -> Signature:
    # SQLite's integers are signed, inode numbers are not.
    inode = status.st_ino & 0x7FFF_FFFF_FFFF_FFFF
    return inode, status.st_ctime_ns, status.st_mtime_ns, status.st_size
