"""A bundle as a folder, read without following links and written whole; or as JSON."""

from __future__ import annotations

import os
import stat
import time

from looseleaf.errors import Invalid
from looseleaf.errors.features import InvalidArchive
from looseleaf.features.bundles.manifest import parse_json
from looseleaf.features.bundles.zip_archive import (
    MANIFEST,
    ArchiveNames,
    ZipLimits,
    check_archive_path,
)
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, open_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_PART = 1_048_576


def read_folder(path: str, limits: ZipLimits | None = None) -> dict[str, bytes]:
    """Read every file below a folder; hidden files are left out, links are refused."""
    bounds = limits or ZipLimits()
    names, files, total = ArchiveNames(), {}, 0
    with OsErrorContext(path):
        root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name, folder in _walk(root, "", bounds.depth):
                file_path = check_archive_path(name, depth=bounds.depth)
                names.add(file_path)
                files[file_path] = _read_file(folder, file_path, bounds.file_bytes)
                total += len(files[file_path])
                if total > bounds.total_bytes or len(files) > bounds.files:
                    reason = (
                        f"it has more than {bounds.files:,} files or {bounds.total_bytes:,} bytes"
                    )
                    raise InvalidArchive("the folder", reason)
        finally:
            os.close(root)
    if MANIFEST not in files:
        raise InvalidArchive(MANIFEST, "the folder has no such file, so that it is no bundle")
    return files


def _walk(folder: int, prefix: str, depth: int) -> Iterator[tuple[str, int]]:
    """Yield the files below an open folder by name, each with the folder it lies in."""
    if depth <= 0:
        raise InvalidArchive(prefix, "its folders are nested too deep")
    for name in sorted(os.listdir(folder)):
        if name.startswith("."):
            continue  # .git, .DS_Store and their kin
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            raise InvalidArchive(f"{prefix}{name}", "it is a link")
        if stat.S_ISDIR(kind):
            child = open_folder(folder, (name,))
            try:
                yield from _walk(child, f"{prefix}{name}/", depth - 1)
            finally:
                os.close(child)
        elif stat.S_ISREG(kind):
            yield f"{prefix}{name}", folder
        else:
            raise InvalidArchive(f"{prefix}{name}", "it is not an ordinary file")


def _read_file(folder: int, path: str, limit: int) -> bytes:
    file = os.open(path.rpartition("/")[2], READ, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise InvalidArchive(path, "it is not an ordinary file")
        parts, size = [], 0
        while part := os.read(file, _PART):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise InvalidArchive(path, f"it has more than {limit:,} bytes")
        return b"".join(parts)
    finally:
        os.close(file)


def write_folder(path: str, files: Mapping[str, bytes], *, replace: bool = False) -> None:
    """Write files as a folder by one rename; a folder that is there must be empty or a bundle."""
    full_path = os.path.abspath(path)
    parent_path, name = os.path.split(full_path)
    is_replacement = _require_free(full_path, replace=replace)
    with OsErrorContext(path):
        parent = os.open(parent_path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        staging = f".{name}.{os.getpid()}.{time.monotonic_ns()}"
        try:
            _write_files(parent, staging, files)
            if not is_replacement:
                atomic.move(parent, staging, parent, name)
            elif not atomic.exchange(parent, staging, parent, name):
                atomic.remove_tree(parent, name)
                atomic.move(parent, staging, parent, name)
            atomic.sync(parent)
            atomic.remove_tree(parent, staging)
        except BaseException:
            atomic.remove_tree(parent, staging)
            raise
        finally:
            os.close(parent)


def read_archive(path: str, limits: ZipLimits | None = None) -> bytes:
    """Read the bytes of an archive, up to the largest that is ever unpacked."""
    limit = (limits or ZipLimits()).archive_bytes
    try:
        with open(path, "rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error
    if len(content) > limit:
        raise InvalidArchive(path, f"it has more than {limit:,} bytes")
    return content


def write_archive(path: str, content: bytes, *, replace: bool = False) -> None:
    """Write an archive as one file, whole or not at all."""
    parent_path, name = os.path.split(os.path.abspath(path))
    with OsErrorContext(path):
        if os.path.lexists(path) and not replace:
            raise Invalid(f"{path} is there already. Replace it: --force")
        parent = os.open(parent_path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            atomic.replace(parent, name, content)
        finally:
            os.close(parent)


def _require_free(path: str, *, replace: bool) -> bool:
    """Return whether a bundle is replaced; refuse a folder that holds anything else."""
    if not os.path.lexists(path):
        return False
    if os.path.isdir(path) and not os.path.islink(path):
        names = os.listdir(path)
        if not names or (replace and MANIFEST in names):
            return True
    advice = (
        "Replace it: --force" if replace is False else "It is no bundle; choose another folder."
    )
    raise Invalid(f"{path} is there already, and is not empty. {advice}")


def _write_files(parent: int, staging: str, files: Mapping[str, bytes]) -> None:
    atomic.create_folder(parent, staging)
    root = open_folder(parent, (staging,))
    try:
        for path in sorted(files):
            *folders, name = check_archive_path(path).split("/")
            folder = open_folder(root, folders, create=0o700)
            try:
                atomic.create_durably(folder, name, files[path])
            finally:
                os.close(folder)
    finally:
        os.close(root)


# A bundle as one JSON document: its files by path, each as a text; it is read, never written.


_DOCUMENT = "the document"


def is_document(content: bytes) -> bool:
    """Return whether the bytes of a bundle are JSON, and no archive."""
    return content.lstrip()[:1] == b"{"


def parse_document(content: bytes, limits: ZipLimits | None = None) -> dict[str, bytes]:
    """Read the files of a bundle: `{"files": {"manifest.json": "…", …}}`."""
    bounds = limits or ZipLimits()
    if len(content) > bounds.archive_bytes:
        raise InvalidArchive(_DOCUMENT, f"it has more than {bounds.archive_bytes:,} bytes")
    # A file is a path, a text and a comma.
    document = parse_json(_DOCUMENT, content, most_parts=3 * bounds.files + 10)
    texts = document.get("files")
    if set(document) != {"files"} or not isinstance(texts, dict):
        raise InvalidArchive(_DOCUMENT, "it is not an object with the key files alone")
    if len(texts) > bounds.files:
        raise InvalidArchive(_DOCUMENT, f"it has more than {bounds.files:,} files")
    files = {}
    for path, text in texts.items():
        if not isinstance(text, str):
            raise InvalidArchive(path[:200], "it is no text")
        files[check_archive_path(path, depth=bounds.depth)] = _encode(path, text)
        if len(files[path]) > bounds.file_bytes:
            raise InvalidArchive(path, f"it has more than {bounds.file_bytes:,} bytes")
    return files


def _encode(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArchive(path[:200], "it is not UTF-8 text") from None
