"""What was said is still there after a power cut, as soon as anyone was told that it is."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.stores.database.database import Database
from looseleaf.stores.database.sqlite_file import FILE
from tests.conftest import FULL, Clock
from tests.features.chat.conftest import build_opening, lease_of
from tests.stores.test_power_cut import Disk, PlainDisk, hold_still

ROOT = Path(__file__).parents[3]
CUTS = 200 if FULL else 4

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounting takes Linux and root"
)


@pytest.fixture(params=[Disk, PlainDisk], ids=["journal", "no journal"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """Yield a disk with an empty workspace on it, and take it away afterwards."""
    made: Disk = request.param(tmp_path)
    made.begin()
    yield made
    subprocess.run(["umount", str(made.root)], check=False, capture_output=True)


def talked(disk: Disk, seconds: float, syncing: str) -> list[str]:
    """Have someone talk, cut the power, and return what they were told was kept."""
    (disk.root / ".looseleaf").mkdir(exist_ok=True)
    Database("", str(disk.root)).close()
    os.sync()
    command = [sys.executable, "-m", "tests.features.chat.talk_until_dark", str(disk.root), syncing]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as talker:
        assert talker.stdout
        first = talker.stdout.readline()
        time.sleep(seconds)
        hold_still(talker)
        disk.cut(talker)
        talker.kill()
        acknowledged = [first.strip(), *talker.stdout.read().splitlines()]
    disk.unmount()
    disk.repair()
    disk.mount()
    return [line for line in acknowledged if len(line.split()) == 3]


def kept(disk: Disk) -> tuple[str, set[str]]:
    """Return whether the database is whole, and everything that was said."""
    with sqlite3.connect(disk.root / FILE) as sql:
        verdict = str(sql.execute("PRAGMA integrity_check").fetchone()[0])
        rows = sql.execute("SELECT session || ' ' || text FROM chat_messages").fetchall()
    sql.close()
    return verdict, {str(row[0]) for row in rows}


def test_no_message_is_lost_in_a_power_cut(disk: Disk, seed: int, clock: Clock) -> None:
    """The database is whole, and the last session goes on."""
    chance = random.Random(seed)
    for _ in range(CUTS):
        acknowledged = talked(disk, chance.uniform(0.0, 0.3), "sync")
        verdict, found = kept(disk)
        assert verdict == "ok"
        assert not sorted(set(acknowledged) - found)
        database = Database("", str(disk.root))
        chats = SqlChats(database, clock=clock)  # years ahead: every lease is over
        begun = chats.turns.begin(build_opening("And now?", acknowledged[-1].split()[0]))
        assert lease_of(begun).turn > 1
        database.close()


def test_the_test_can_fail(disk: Disk, seed: int) -> None:
    """Without a sync, messages are lost that someone was told were kept."""
    chance = random.Random(seed)
    for _ in range(20):
        acknowledged = talked(disk, chance.uniform(0.1, 0.3), "nosync")
        try:
            verdict, found = kept(disk)
        except sqlite3.DatabaseError:
            return
        if verdict != "ok" or set(acknowledged) - found:
            return
    pytest.fail("twenty power cuts lost nothing, so this test shows nothing")
