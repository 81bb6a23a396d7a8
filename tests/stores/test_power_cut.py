"""Acknowledged is durable: the power goes, and everything that was answered is still there.

A small ext4 file system in a file is cut off from its journal by EXT4_IOC_SHUTDOWN, as a power cut
does it, and mounted again; one without a journal is copied as it is on disk, and repaired. That
takes Linux and root, as CI has them.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.memory.store import Found
from looseleaf.stores.disk.history.page_history import DiskHistory
from tests.conftest import FULL
from tests.stores.conformance import ADA, CHANGE
from tests.stores.drivers.until_dark import build_text
from tests.stores.scenes import open_store, pack_now

DRIVER = Path(__file__).parent / "drivers" / "until_dark.py"
SHUTDOWN, WITHOUT_FLUSHING_THE_LOG = 0x8004587D, 2
CUTS = 300 if FULL else 4
PACKED = ADA.page("packed.md")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounting takes Linux and root"
)


class Disk:
    """An ext4 file system in a file, which can lose its power."""

    options: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.image = folder / "image"
        self.root = folder / "mount"
        self.root.mkdir()
        with self.image.open("wb") as file:
            file.truncate(64_000_000)

    def begin(self) -> None:
        """Make it empty, switch it on and make the folder of an agent."""
        command = ["mkfs.ext4", "-q", "-F", *self.options, str(self.image)]
        subprocess.run(command, check=True)
        self.mount()
        (self.root / "agents" / "ada").mkdir(parents=True)
        os.sync()

    def mount(self) -> None:
        """Switch it on."""
        subprocess.run(["mount", "-o", "loop", str(self.image), str(self.root)], check=True)

    def cut(self, client: subprocess.Popen[str]) -> None:  # noqa: ARG002 - the other kind stops it
        """Take the power away: what has not reached the disk never will."""
        fd = os.open(self.root, os.O_RDONLY)
        fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", WITHOUT_FLUSHING_THE_LOG))
        os.close(fd)

    def repair(self) -> None:
        """Do what a system does before it mounts a disk that lost its power."""

    def unmount(self) -> None:
        """Take it out; a process that has just died may still hold it for a moment."""
        for _ in range(50):
            done = subprocess.run(["umount", str(self.root)], check=False, capture_output=True)
            if done.returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError(f"{self.root} stays in use")


class PlainDisk(Disk):
    """One without a journal: a name is on disk if its folder was synced, whatever came later."""

    options = ("-O", "^has_journal")

    def cut(self, client: subprocess.Popen[str]) -> None:
        """Keep what has reached the disk; the file of a file system is written through."""
        hold_still(client)
        shutil.copyfile(self.image, self.image.with_suffix(".cut"))

    def repair(self) -> None:
        """Go on with what was kept, made consistent."""
        self.image.with_suffix(".cut").rename(self.image)
        done = subprocess.run(
            ["e2fsck", "-fy", str(self.image)], check=False, capture_output=True, text=True
        )
        assert done.returncode < 4, done.stdout


def hold_still(client: subprocess.Popen[str]) -> None:
    """Stop a process, so that it is told nothing between the last look at the disk and the cut."""
    client.send_signal(signal.SIGSTOP)
    about = Path(f"/proc/{client.pid}/stat")
    while about.read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.001)


@pytest.fixture(params=[Disk, PlainDisk], ids=["journal", "no journal"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """Yield a disk with the folder of an agent on it, and take it away afterwards."""
    made: Disk = request.param(tmp_path)
    made.begin()
    yield made
    subprocess.run(["umount", str(made.root)], check=False, capture_output=True)


def write_until_dark(
    disk: Disk, seconds: float, syncing: str, first_kind: str = ""
) -> list[list[str]]:
    """Have a client write, cut the power, and return what it was answered before that.

    The seconds begin at the first answer of a kind that is not 0.
    """
    command = [sys.executable, str(DRIVER), str(disk.root), syncing]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as client:
        assert client.stdout
        first = [client.stdout.readline()]
        while not first[-1].startswith(first_kind) or first[-1].endswith(" 0\n"):
            first.append(client.stdout.readline())
            assert first[-1], "the client has ended"
        time.sleep(seconds)
        disk.cut(client)
        client.kill()
        acknowledged = [*first, *client.stdout.read().splitlines()]
    disk.unmount()
    disk.repair()
    disk.mount()
    return [line.split() for line in acknowledged]


def lost(root: Path, acknowledged: list[list[str]]) -> list[str]:
    """Name what was acknowledged and is neither on its page nor in the history."""
    store = open_store(root)
    store.recover()
    history = DiskHistory(store)
    page = store.read(ADA.page("lines.md"))
    lines = set(page.content.split()) if isinstance(page, Found) else set()
    wholes = history.revisions(ADA.page("whole.md"))
    missing = []
    for kind, what in acknowledged:
        if kind == "line":
            found = what.encode() in lines
        elif kind == "whole":
            found = len(wholes) >= int(what)
        else:
            found = store.exists(ADA.page(what))
        if not found:
            missing.append(f"{kind} {what}")
    return missing


def torn(root: Path) -> list[str]:
    """Name what is neither an old state nor a new one."""
    store = open_store(root)
    faults = []
    whole = store.read(ADA.page("whole.md"))
    if isinstance(whole, Found) and (len(set(whole.content.split())) != 1 or not whole.content):
        faults.append("whole.md is mixed")
    lines = store.read(ADA.page("lines.md"))
    if isinstance(lines, Found):
        numbers = lines.content.split()
        if numbers != [b"%d" % (item + 1) for item in range(len(numbers))]:
            faults.append("lines.md has gaps")
    for scope in (ADA.page("whole.md"), ADA.page("lines.md")):
        history = DiskHistory(store)
        faults += [
            f"revision {revision.number} of {scope.filename} is empty"
            for revision in history.revisions(scope)
            if revision.hash and not history.content(scope, revision.number)
        ]
    return faults


def test_nothing_acknowledged_is_lost_when_the_power_goes(disk: Disk, seed: int) -> None:
    """Pages are whole, the history is readable, and the next write works."""
    chance = random.Random(seed)
    answers = 0
    for _ in range(CUTS):
        acknowledged = write_until_dark(disk, chance.uniform(0.005, 0.1), "sync")
        answers += len(acknowledged)
        assert lost(disk.root, acknowledged) == []
        assert torn(disk.root) == []
        assert os.listdir(disk.root / ".looseleaf" / "staging") == []
        open_store(disk.root).write(ADA.page("after.md"), b"on", change=CHANGE)
        disk.unmount()
        disk.begin()
    print(f"{CUTS} cuts, {answers} answers, none lost")  # noqa: T201 - shown by -s and on failure
    assert answers > CUTS


def test_packing_loses_no_version_when_the_power_goes(disk: Disk, seed: int) -> None:
    """Every acknowledged version is in its file, in the pack, or in both, and packing goes on."""
    chance = random.Random(seed)
    versions = packed = 0
    for _ in range(CUTS):
        acknowledged = write_until_dark(disk, chance.uniform(0.0, 0.1), "pack", "packed")
        numbers = [int(number) for kind, number in acknowledged if kind == "version"]
        versions += len(numbers)
        packed += sum(int(number) for kind, number in acknowledged if kind == "packed")
        check_versions(disk.root, numbers)
        store = open_store(disk.root)
        store.write(PACKED, b"after the cut", change=CHANGE)
        pack_now(store, PACKED)
        check_versions(disk.root, numbers)
        disk.unmount()
        disk.begin()
    print(f"{CUTS} cuts, {versions} versions, {packed} packed, none lost")  # noqa: T201 - shown by -s
    assert packed > CUTS


def check_versions(root: Path, numbers: list[int]) -> None:
    """Read every version that was acknowledged, and let the history be verified."""
    store = open_store(root)
    store.recover()
    history = DiskHistory(store)
    assert [
        number for number in numbers if history.content(PACKED, number) != build_text(number)
    ] == []
    # The link that keeps a version is not synced: its line of the log has the text, and that is.
    faults = history.verify(PACKED).faults
    assert [fault for fault in faults if not fault.endswith("can be rebuilt from the log")] == []


def test_the_rig_sees_what_is_not_synced(disk: Disk) -> None:
    """A store that does not sync loses what it acknowledged, so the test above can fail."""
    acknowledged = write_until_dark(disk, 0.1, "nosync")
    assert lost(disk.root, acknowledged)
