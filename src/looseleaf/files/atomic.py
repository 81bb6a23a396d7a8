"""The only module that changes files: create, append, exchange, link, remove; and their lock.

All functions work on open directories, so that no link planted in a path can redirect a write.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from looseleaf.errors import Locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Swap = Callable[[int, str, int, str], bool]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LOCK_SECONDS = 30.0
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOG = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_EXCHANGE = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
# On macOS fsync leaves the bytes in the drive's cache; this fcntl does not.
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


def sync(fd: int) -> None:
    """Return once all bytes written through this descriptor survive a power cut."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(fd, _FULL_SYNC)
    else:
        os.fsync(fd)


def sync_data(fd: int) -> None:
    """Sync a file's bytes and length, without its times."""
    sync(fd) if _FULL_SYNC is not None else os.fdatasync(fd)


def lock(fd: int, label: str, *, seconds: float = LOCK_SECONDS) -> None:
    """Acquire the exclusive lock of an open file or directory; closing the descriptor ends it."""
    deadline = time.monotonic() + seconds
    pause = 0.0
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Locked(label, seconds) from None
            time.sleep(pause)
            pause = min(pause + 0.0002, 0.005)
        else:
            return


def unlock(fd: int) -> None:
    """Release a lock at once, even if a process forked meanwhile has the descriptor too."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def create(
    folder: int, name: str, content: bytes | Iterable[bytes], *, mode: int = 0o600
) -> tuple[int, int]:
    """Create a file with all its bytes, not yet synced; return its descriptor and inode number.

    The bytes of a large file may come in parts, so that they are never in memory together.
    """
    fd = os.open(name, _NEW, mode, dir_fd=folder)
    try:
        status = os.fstat(fd)
        if stat.S_IMODE(status.st_mode) != mode:  # whatever the umask
            os.fchmod(fd, mode)
        _give_to_owner(fd, folder)
        for part in (content,) if isinstance(content, bytes) else content:
            write_all(fd, part)
    except BaseException:
        os.close(fd)
        os.unlink(name, dir_fd=folder)
        raise
    return fd, status.st_ino


def stage(
    folder: int, name: str, content: bytes | Iterable[bytes], *, mode: int = 0o600
) -> tuple[int, int]:
    """Create a file under a name that only the caller uses, in place of one that a crash left."""
    try:
        return create(folder, name, content, mode=mode)
    except FileExistsError:
        remove(folder, name)
        return create(folder, name, content, mode=mode)


def create_durably(folder: int, name: str, content: bytes, *, mode: int = 0o600) -> None:
    """Create a file that is not there yet; its bytes and its name are on disk on return."""
    fd, _ = create(folder, name, content, mode=mode)
    try:
        sync(fd)
        sync(folder)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(fd)


def replace(
    folder: int,
    name: str,
    content: bytes | Iterable[bytes],
    *,
    mode: int = 0o600,
    staging: tuple[int, str] | None = None,
    condition: Callable[[], bool] = lambda: True,
) -> bool:
    """Replace or create a file whole; a reader sees the old bytes or the new ones.

    The new bytes are first written beside the file, or at `staging`: a folder, and a name in it
    that only the caller uses. Once they are on disk, `condition` is called; if it returns False,
    nothing is replaced.
    """
    staging_folder, staging_name = staging or (
        folder,
        f".{name}.{os.getpid()}.{time.monotonic_ns()}",
    )
    fd, _ = stage(staging_folder, staging_name, content, mode=mode)
    try:
        sync(fd)
        if not condition():
            os.unlink(staging_name, dir_fd=staging_folder)
            return False
        os.rename(staging_name, name, src_dir_fd=staging_folder, dst_dir_fd=folder)
    except BaseException:
        remove(staging_folder, staging_name)
        raise
    finally:
        os.close(fd)
    sync(folder)
    return True


def open_log(folder: int, name: str, *, mode: int = 0o600) -> int:
    """Open a file that only grows, creating it if need be."""
    try:
        return os.open(name, _LOG & ~os.O_CREAT, dir_fd=folder)
    except FileNotFoundError:
        fd = os.open(name, _LOG, mode, dir_fd=folder)
    try:
        os.fchmod(fd, mode)  # whatever the umask
        _give_to_owner(fd, folder)
        sync(folder)
    except BaseException:
        os.close(fd)
        raise
    return fd


def append(fd: int, content: bytes, size: int | None = None) -> None:
    """Add bytes to the end of a file of a `size`, if known; a failure leaves it as it was."""
    if size is None:
        size = os.fstat(fd).st_size
    try:
        write_all(fd, content)
        sync_data(fd)
    except BaseException:
        os.ftruncate(fd, size)
        raise


def add_line(folder: int, name: str, line: bytes, *, mode: int = 0o600) -> None:
    """Add a line to a file in one step, creating it if need be; nothing is synced."""
    fd = os.open(name, _LOG, mode, dir_fd=folder)
    try:
        if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
            os.fchmod(fd, mode)  # whatever the umask
        _give_to_owner(fd, folder)
        os.write(fd, line)
    finally:
        os.close(fd)


def overwrite(folder: int, name: str, content: bytes) -> None:
    """Write over a small file that always has the same length; nothing is synced.

    A file that is not there yet gets the permissions of its folder.
    """
    try:
        fd = os.open(name, _NEW & ~(os.O_CREAT | os.O_EXCL), dir_fd=folder)
    except FileNotFoundError:
        fd, _ = stage(folder, name, b"", mode=derive_file_mode(folder))
    try:
        os.pwrite(fd, content, 0)
    finally:
        os.close(fd)


def derive_file_mode(folder: int) -> int:
    """Return the mode of a file that has the permissions of its folder."""
    return stat.S_IMODE(os.fstat(folder).st_mode) & 0o660


def _give_to_owner(fd: int, folder: int) -> None:
    """Transfer a file that root creates to the owner of the folder, whose programs use it.

    A file of root that has a second name elsewhere stays root's: it may have been planted here.
    """
    if os.geteuid() != 0:
        return
    status, owner = os.fstat(fd), os.fstat(folder)
    is_ours = status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1)
    if owner.st_uid != 0 and is_ours:
        os.fchown(fd, owner.st_uid, owner.st_gid)


def truncate(fd: int, size: int) -> None:
    """Cut a file to a length."""
    os.ftruncate(fd, size)


def create_folder(
    parent: int, name: str, *, mode: int = 0o700, is_synced_later: bool = False
) -> None:
    """Create a directory durably, unless it is there; with `is_synced_later`, the caller syncs."""
    try:
        os.mkdir(name, mode, dir_fd=parent)
    except FileExistsError:
        return
    fd = os.open(name, FOLDER, dir_fd=parent)
    try:
        os.fchmod(fd, mode)  # whatever the umask; by name, a link put there would be followed
        _give_to_owner(fd, parent)
    finally:
        os.close(fd)
    if not is_synced_later:
        sync(parent)


def link_file(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
    """Link a file under a second name; raise FileExistsError if that name is taken."""
    os.link(name, new_name, src_dir_fd=from_folder, dst_dir_fd=to_folder, follow_symlinks=False)


def move(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
    """Rename a file, replacing what has the new name."""
    os.rename(name, new_name, src_dir_fd=from_folder, dst_dir_fd=to_folder)


def remove(folder: int, name: str) -> None:
    """Remove a file, if it is there."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return


def remove_folder(folder: int, name: str) -> None:
    """Remove an empty directory."""
    os.rmdir(name, dir_fd=folder)


def remove_tree(folder: int, name: str) -> None:
    """Remove a directory with everything in it, if it is there; a link in it is not followed."""
    try:
        inner = os.open(name, FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return
    try:
        with os.scandir(inner) as entries:
            contents = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for entry_name, is_folder in contents:
            (remove_tree if is_folder else remove)(inner, entry_name)
    finally:
        os.close(inner)
    remove_folder(folder, name)


def exchange(folder: int, name: str, other_folder: int, other_name: str) -> bool:
    """Swap two files in one step; return False if the system or file system cannot."""
    global _swap  # noqa: PLW0603 - loaded by the first write, so that no read pays for ctypes
    if _swap is None:
        _swap = _load_swap()
    return _swap(folder, name, other_folder, other_name)


_swap: Swap | None = None


def _load_swap() -> Swap:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    if function is None:
        return lambda *_names: False

    def swap(folder: int, name: str, other_folder: int, other_name: str) -> bool:
        names = os.fsencode(name), os.fsencode(other_name)
        if function(folder, names[0], other_folder, names[1], _EXCHANGE) == 0:
            return True
        code = ctypes.get_errno()
        if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            return False
        raise OSError(code, os.strerror(code), other_name)

    return swap


def write_all(fd: int, content: bytes | bytearray) -> None:
    """Write all bytes at the position of an open file; nothing is synced."""
    written_count = os.write(fd, content) if content else 0
    while written_count < len(content):
        written_count += os.write(fd, memoryview(content)[written_count:])
