"""Files change whole or not at all: each way to change one, alone."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.errors import Locked
from looseleaf.files import atomic


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """Yield an open folder."""
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_gives_what_it_creates_to_the_owner_of_the_folder(folder: int, tmp_path: Path) -> None:
    """So that a service goes on after root ran a command on its workspace."""
    os.fchown(folder, 4711, 4712)
    os.close(atomic.create(folder, "file", b"x")[0])
    os.close(atomic.open_log(folder, "log"))
    atomic.add_line(folder, "lines", b"x\n")
    atomic.replace(folder, "replaced", b"x")
    atomic.overwrite(folder, "overwritten", b"x")
    atomic.create_folder(folder, "inner")
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in tmp_path.iterdir()}
    assert owners == dict.fromkeys(
        ("file", "log", "lines", "replaced", "overwritten", "inner"), (4711, 4712)
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_root_with_a_second_name_is_not_given_away(folder: int, tmp_path: Path) -> None:
    """The owner of the folder may have put the name there."""
    elsewhere = tmp_path.parent / f"{tmp_path.name}-of-root"
    elsewhere.write_bytes(b"")
    elsewhere.chmod(0o600)
    os.link(elsewhere, tmp_path / "lines")
    os.fchown(folder, 4711, 4712)
    atomic.add_line(folder, "lines", b"x\n")
    assert elsewhere.stat().st_uid == 0


def bad_sync(_fd: int) -> None:
    """Fail as a disk does."""
    raise OSError(errno.EIO, "the disk is bad")


def test_a_new_file_has_all_its_bytes_and_its_mode(folder: int, tmp_path: Path) -> None:
    """A file is created whole, for its owner alone unless told otherwise."""
    os.close(atomic.create(folder, "private", b"x" * 200_000)[0])
    os.close(atomic.create(folder, "open", b"", mode=0o644)[0])
    assert (tmp_path / "private").read_bytes() == b"x" * 200_000
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o644


def test_a_file_that_is_there_is_not_created_again(folder: int, tmp_path: Path) -> None:
    """Neither over a file nor through a link, even one that leads nowhere."""
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with pytest.raises(FileExistsError):
            atomic.create(folder, name, b"new")
        with pytest.raises(FileExistsError):
            atomic.create_durably(folder, name, b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert not (tmp_path / "nowhere").exists()


def test_what_a_crash_left_in_staging_gives_way(folder: int, tmp_path: Path) -> None:
    """Under a name that is the caller's alone, a file or link that is there is replaced."""
    (tmp_path / "elsewhere").write_bytes(b"kept")
    (tmp_path / "file").write_bytes(b"left by a crash, and longer")
    (tmp_path / "link").symlink_to("elsewhere")
    for name in ("file", "link", "new"):
        os.close(atomic.stage(folder, name, b"new")[0])
        assert (tmp_path / name).read_bytes() == b"new"
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"


def test_a_small_file_is_written_over_with_the_rights_of_its_folder(
    folder: int, tmp_path: Path
) -> None:
    """A new one is open to the group if its folder is; one that is there keeps its rights."""
    tmp_path.chmod(0o770)
    before = os.umask(0o077)
    try:
        atomic.overwrite(folder, "note", b"0001\n")
    finally:
        os.umask(before)
    assert (tmp_path / "note").stat().st_mode & 0o777 == 0o660
    (tmp_path / "note").chmod(0o600)
    atomic.overwrite(folder, "note", b"0002\n")
    assert (tmp_path / "note").read_bytes() == b"0002\n"
    assert (tmp_path / "note").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(OSError, match="link"):
        atomic.overwrite(folder, "link", b"0003\n")


def test_a_file_that_cannot_be_synced_is_not_there(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When its bytes may not have reached the disk, a new file is taken away again."""
    monkeypatch.setattr(os, "fsync", bad_sync)
    with pytest.raises(OSError, match="bad"):
        atomic.create_durably(folder, "file", b"new")
    with pytest.raises(OSError, match="bad"):
        atomic.replace(folder, "file", b"new")
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written_is_not_there(tmp_path: Path) -> None:
    """A write that runs into a limit after some bytes leaves no file with only those."""
    code = f"""
import os, resource
from looseleaf.files import atomic
folder = os.open({str(tmp_path)!r}, os.O_RDONLY)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for make in (atomic.create, atomic.replace):
    try:
        make(folder, "file", b"x" * 5000)
    except OSError as error:
        print(error.errno)
log = atomic.open_log(folder, "log")
atomic.append(log, b"x" * 900)
try:
    atomic.append(log, b"y" * 900)
except OSError as error:
    print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(errno.EFBIG)] * 3
    assert os.listdir(tmp_path) == ["log"]
    assert (tmp_path / "log").read_bytes() == b"x" * 900


def test_replacing_gives_a_new_file(folder: int, tmp_path: Path) -> None:
    """Who has the old file open keeps the old bytes; the name has the new ones."""
    (tmp_path / "file").write_bytes(b"old")
    with (tmp_path / "file").open("rb") as old:
        assert atomic.replace(folder, "file", b"new")
        assert old.read() == b"old"
    assert (tmp_path / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_replacing_can_be_made_ready_elsewhere(folder: int, tmp_path: Path) -> None:
    """The new bytes can be staged in another folder under a name of the caller's."""
    (tmp_path / "staging").mkdir()
    staging = os.open(tmp_path / "staging", os.O_RDONLY)
    try:
        assert atomic.replace(folder, "file", b"new", staging=(staging, "spare"))
        with pytest.raises(OSError, match="Directory not empty"):
            atomic.replace(folder, "staging", b"new", staging=(staging, "spare"))
    finally:
        os.close(staging)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path / "staging") == []


def test_replacing_can_be_called_off(folder: int, tmp_path: Path) -> None:
    """When the last question is answered with no, or fails, everything stays as it was."""
    (tmp_path / "file").write_bytes(b"old")

    def fail() -> bool:
        raise KeyError

    assert not atomic.replace(folder, "file", b"new", condition=lambda: False)
    with pytest.raises(KeyError):
        atomic.replace(folder, "file", b"new", condition=fail)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_log_grows_or_stays(folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that may not have reached the disk is taken back."""
    for line in (b"one\n", b"two\n"):
        fd = atomic.open_log(folder, "log")
        atomic.append(fd, line)
        os.close(fd)
    fd = atomic.open_log(folder, "log")
    monkeypatch.setattr(os, "fdatasync", bad_sync)
    with pytest.raises(OSError, match="bad"):
        atomic.append(fd, b"three\n")
    atomic.truncate(fd, 4)
    os.close(fd)
    assert (tmp_path / "log").read_bytes() == b"one\n"


def test_a_log_whose_folder_cannot_be_synced_is_not_opened(
    folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new log whose name may not have reached the disk is an error, and leaves nothing open."""
    before = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, "fsync", bad_sync)
    with pytest.raises(OSError, match="bad"):
        atomic.open_log(folder, "log")
    assert len(os.listdir("/dev/fd")) == before


def test_links_are_not_followed_by_a_log(folder: int, tmp_path: Path) -> None:
    """A link in place of a log is refused."""
    (tmp_path / "elsewhere").write_bytes(b"")
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        atomic.open_log(folder, "log")


def test_folders_are_made_once(folder: int, tmp_path: Path) -> None:
    """A folder that is there stays as it is."""
    atomic.create_folder(folder, "made", mode=0o770)
    atomic.create_folder(folder, "made", mode=0o700)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o770
    atomic.remove_folder(folder, "made")
    assert not (tmp_path / "made").exists()


def test_names_are_given_moved_and_taken(folder: int, tmp_path: Path) -> None:
    """A file can have a second name, be renamed over another, and lose a name it does not have."""
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    with pytest.raises(FileExistsError):
        atomic.link_file(folder, "a", folder, "b")
    atomic.link_file(folder, "a", folder, "c")
    assert (tmp_path / "a").stat().st_nlink == 2
    atomic.move(folder, "a", folder, "b")
    assert (tmp_path / "b").read_bytes() == b"a"
    for _ in range(2):
        atomic.remove(folder, "c")
    assert os.listdir(tmp_path) == ["b"]


def test_two_files_are_exchanged_in_one_step(folder: int, tmp_path: Path) -> None:
    """Both names stay; what they stand for changes places."""
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    if not atomic.exchange(folder, "a", folder, "b"):
        pytest.skip("this file system cannot exchange files")
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()) == (b"b", b"a")
    with pytest.raises(FileNotFoundError):
        atomic.exchange(folder, "a", folder, "c")


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_a_system_that_cannot_exchange_says_so(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """If the call is missing or refused, nothing has happened and the answer is no."""
    import ctypes

    class Library:
        """A system library with a call that always fails."""

        @staticmethod
        def renameat2(*_arguments: object) -> int:
            """Fail."""
            ctypes.set_errno(code)
            return -1

    (tmp_path / "a").write_bytes(b"a")
    for library in (Library(), object()):
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, library=library, **__: library)
        monkeypatch.setattr(atomic, "_swap", None)
        assert not atomic.exchange(folder, "a", folder, "b")


def test_a_lock_waits_and_gives_up(tmp_path: Path) -> None:
    """A lock that is held is waited for, for as long as one is told."""
    fds = [os.open(tmp_path, os.O_RDONLY) for _ in range(2)]
    atomic.lock(fds[0], "the folder")
    with pytest.raises(Locked, match=r"0\.01 seconds"):
        atomic.lock(fds[1], "the folder", seconds=0.01)
    timer = threading.Timer(0.05, atomic.unlock, fds[:1])
    timer.start()
    atomic.lock(fds[1], "the folder")
    timer.join()
    for fd in fds:
        os.close(fd)
