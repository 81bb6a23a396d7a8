"""Whatever stops a write, nothing acknowledged is lost, nothing is torn, nothing is left behind."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from looseleaf.errors import DiskFull
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Change, Found
from looseleaf.stores.disk import page_changes
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.history.revisions import PageLog
from looseleaf.stores.disk.store import DiskStore
from tests.agent_folders import AGENTS
from tests.conftest import sample
from tests.stores.conformance import CHANGE, MEMORY, append_line
from tests.stores.load import Load
from tests.stores.mounts import mount_disk
from tests.stores.scenes import (
    ACTED,
    DAMAGING,
    SCENES,
    history_folder_of,
    open_store,
    page_file_of,
    perform,
    save_in_place,
    staged_file_of,
)
from tests.stores.state import State, check_sound, list_leftovers, state_of
from tests.stores.tracing import (
    CHANGING,
    Call,
    Ending,
    Tracer,
    copy_of,
    prepare_root,
)

EVERY_FAULT = ("EIO", "ENOSPC", "EDQUOT", "EROFS")
# What a process can do without: closing, and taking away a name that is no longer needed.
DISPENSABLE = ("unlinkat", "openat")
COMMON = ("create", "replace", "append", "delete", "purge")
SELDOM = 8  # of the other scenes, one call of so many is tried
OFTEN = 2  # of the common ones, one call of so many fails


@pytest.fixture(scope="module")
def tracer() -> Iterator[Tracer]:
    """Yield a process that acts out scenes under strace."""
    with Tracer() as one:
        yield one


class Expected(NamedTuple):
    """What a scene makes of its root when nothing stops it, and may make of it otherwise."""

    calls: list[Call]
    before: State
    after: State
    allowed: set[bytes | None]
    needed: set[bytes]


def expected(tracer: Tracer, name: str, root: Path, folder: Path) -> Expected:
    """Act out a scene whole, on a copy, and tell what it goes through."""
    page = SCENES[name].page
    before = state_of(open_store(root), page)
    whole = copy_of(root, folder / "whole")
    calls = tracer.calls(name, whole, folder / "trace")
    after = state_of(open_store(whole), page)
    allowed = {before.page, after.page}
    if "overtaken" in name:
        # Killed between swapping and swapping back, ours stays; what was saved is in the history.
        # And the one who saves in place can be stopped as well, with the page emptied.
        allowed |= {DAMAGING, b"%sfour\n" % before.page, b""}
    return Expected(calls, before, after, allowed, set(before.versions & after.versions))


def page_of(root: Path, page: Scope) -> bytes | None:
    """Read a page as a process that only reads finds it."""
    found = open_store(root).read(page)
    return found.content if isinstance(found, Found) else None


def check_own(root: Path, page: Scope, *, is_done: bool) -> None:
    """Check that a change that was done is never taken for an edit outside, before the last one."""
    if not is_done:
        return
    *_, acted, _ = DiskHistory(open_store(root)).revisions(page)
    assert (acted.operation, acted.provenance) == (ACTED.operation, ACTED.provenance)


def saved_meanwhile(root: Path) -> set[bytes]:
    """Return what someone saved during the act, if it came to that."""
    return {DAMAGING} if (root.parent / "saved").exists() else set()


@pytest.mark.parametrize("name", SCENES)
def test_a_kill_at_any_call_loses_nothing(
    tracer: Tracer, name: str, tmp_path: Path, seed: int
) -> None:
    """Killed before any of its system calls, a change is done or not done, and is cleared up."""
    root = prepare_root(name, tmp_path)
    whole = expected(tracer, name, root, tmp_path)
    killed = 0
    calls = sample(whole.calls, seed, every=1 if name in COMMON else SELDOM)
    for call in calls:
        there = copy_of(root, tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, there, f"{call.name}:signal=KILL:when={call.number}")
        killed += ending.killed
        # A page read a moment ago is not opened again, so that the last few may not be reached.
        assert ending.killed or call.name in ("openat", "close")
        with telling(f"killed before {call}"):
            needed = whole.needed | saved_meanwhile(there)
            page = SCENES[name].page
            is_done = page_of(there, page) == whole.after.page != whole.before.page
            check_sound(there, page, whole.allowed, needed)
            check_own(there, page, is_done=is_done and "overtaken" not in name)
        shutil.rmtree(there.parent)
    assert killed > len(calls) - 5
    print(f"{killed} kill points")  # noqa: T201 - a figure that -rP shows


def die_at(owner: object, name: str, root: Path, scene: str) -> None:
    """Act out a scene in a process of its own, which dies when it calls a function."""
    child = os.fork()
    if not child:
        setattr(owner, name, lambda *_, **__: os._exit(9))
        perform(scene, root)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def changes_of(root: Path) -> list[tuple[str, str, bool]]:
    """Return kind, actor and mark of every change of the page since the first three."""
    store = open_store(root)
    store.recover()
    store.edit(MEMORY, lambda page: (page or b"") + b"on\n", change=CHANGE)
    *made, _ = DiskHistory(store).revisions(MEMORY)[3:]
    return [(change.operation, change.actor, change.recovered) for change in made]


@pytest.mark.parametrize("name", ["replace", "append", "delete", "replace without exchange"])
def test_a_change_that_was_not_logged_keeps_its_author(name: str, tmp_path: Path) -> None:
    """A process that dies between the swap and the log has made its change, and no one else did."""
    root = prepare_root(name, tmp_path)
    die_at(PageLog, "add", root, name)
    assert changes_of(root) == [("act", "ada", True)]
    assert not list_leftovers(root)


def test_a_change_that_was_not_made_is_nobodys(tmp_path: Path) -> None:
    """A process that dies before the swap has changed nothing, whatever is saved afterwards."""
    root = prepare_root("replace", tmp_path)
    die_at(page_changes, "_install", root, "replace")
    assert changes_of(copy_of(root, tmp_path / "untouched")) == []
    save_in_place(root, b"one\nnew\n")  # the very text that was not installed
    assert changes_of(root) == [("outside", "", False)]


def test_a_save_that_was_swapped_out_comes_before_the_change(tmp_path: Path) -> None:
    """If the process dies when it has swapped out a fresh save, both are kept, and told apart."""
    root = prepare_root("replace", tmp_path)
    die_at(PageLog, "add", root, "replace")
    staged_file_of(root).unlink()
    staged_file_of(root).write_bytes(b"by hand\n")
    assert changes_of(root) == [("outside", "", False), ("act", "ada", True)]
    assert DiskHistory(open_store(root)).content(MEMORY, 4) == b"by hand\n"
    assert DiskHistory(open_store(root)).content(MEMORY, 5) == b"one\nnew\n"


@pytest.mark.parametrize("kept", [0.2, 0.9])
def test_a_damaged_end_of_the_log_names_nobody(kept: float, tmp_path: Path) -> None:
    """A line that a power cut left in parts is no evidence: the change counts as made outside."""
    root = prepare_root("replace", tmp_path)
    log = history_folder_of(root) / "log"
    before = log.stat().st_size
    die_at(PageLog, "add", root, "replace")
    os.truncate(log, before + int((log.stat().st_size - before) * kept))
    assert changes_of(root) == [("outside", "", False)]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(
            name,
            fault,
            marks=()
            if fault == "EIO" or (name in COMMON and fault == "ENOSPC")
            else pytest.mark.slow,
        )
        for name in SCENES
        for fault in EVERY_FAULT
    ],
)
def test_a_call_that_fails_is_no_success(
    tracer: Tracer, name: str, fault: str, tmp_path: Path, seed: int
) -> None:
    """When any of its calls fails once, a change says so clearly and the page stays as it was."""
    root = prepare_root(name, tmp_path)
    whole = expected(tracer, name, root, tmp_path)
    tried = [call for call in whole.calls if call.name in (*CHANGING, "openat")]
    tried = sample(tried, seed, every=OFTEN if name in COMMON else SELDOM)
    for call in tried:
        there = copy_of(root, tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, there, f"{call.name}:error={fault}:when={call.number}")
        with telling(f"{fault} from {call}: {ending}"):
            check_reported(name, fault, call, ending)
            found = state_of(open_store(there), SCENES[name].page)
            if not ending.error and "recover" not in name:
                assert found.page == whole.after.page
            elif ending.error:
                assert found.page in whole.allowed - {whole.after.page} | {whole.before.page}
                assert call.name in DISPENSABLE or not list_leftovers(there)
            needed = whole.needed | saved_meanwhile(there)
            check_sound(there, SCENES[name].page, whole.allowed, needed)
        shutil.rmtree(there.parent)
    print(f"{len(tried)} calls failed with {fault}")  # noqa: T201 - a figure that -rP shows


def check_reported(name: str, fault: str, call: Call, ending: Ending) -> None:
    """Check that a fault is told as what it is, unless it made no difference."""
    assert not ending.killed
    if ending.error:
        expected = "DiskFull" if fault in ("ENOSPC", "EDQUOT") else "Unavailable"
        # A root that cannot be opened is told as what it is, whatever the reason.
        assert ending.error in (expected, "WorkspaceUnavailable")
    elif "recover" not in name and "prune" not in name:
        assert call.name in DISPENSABLE


@pytest.mark.parametrize("name", ["create", "replace", "append", "purge"])
def test_an_interrupted_or_short_write_is_taken_up_again(
    tracer: Tracer, name: str, tmp_path: Path
) -> None:
    """A call that a signal interrupts, or a write that writes nothing, is simply repeated."""
    root = prepare_root(name, tmp_path)
    whole = expected(tracer, name, root, tmp_path)
    repeated = ("write", "fsync", "fdatasync", "openat", "flock")
    for call in [call for call in whole.calls if call.name in repeated]:
        for fault in ("error=EINTR", *(["retval=0"] if call.name == "write" else [])):
            there = copy_of(root, tmp_path / f"{call.name}-{call.number}-{fault}")
            ending = tracer.act(name, there, f"{call.name}:{fault}:when={call.number}")
            with telling(f"{fault} from {call}"):
                assert ending == Ending(killed=False, error="", message="")
                assert state_of(open_store(there), SCENES[name].page) == whole.after


@pytest.mark.parametrize("room", range(0, 400, 40))
def test_a_write_cut_short_changes_nothing(tracer: Tracer, room: int, tmp_path: Path) -> None:
    """If only part of the bytes can be written, to the page or its log, nothing changes."""
    root = prepare_root("replace", tmp_path)
    before = state_of(open_store(root), MEMORY)
    ending = tracer.act("replace", root, largest_file=room)
    after = state_of(open_store(root), MEMORY)
    assert ending.error == "Unavailable"
    assert after == before
    assert not list_leftovers(root)


def telling(what: str) -> Telling:
    """Add to a failure what was being tried."""
    return Telling(what)


class Telling:
    """A `with` block whose failures say what was being tried."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            error.add_note(self.what)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 2 MB, with a root on it."""
    with mount_disk(tmp_path / "disk") as disk:
        (disk / "root/agents/ada").mkdir(parents=True)
        yield disk


def fill(disk: Path, *, leave: int) -> Path:
    """Fill a disk up to some bytes."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    free = os.statvfs(disk)
    with filler.open("wb") as file:
        file.write(bytes(max(0, free.f_bavail * free.f_bsize - leave)))
    return filler


@pytest.mark.parametrize("change", ["write", "append", "delete", "after an outside edit"])
def test_a_full_disk_changes_nothing_and_is_left_behind(small_disk: Path, change: str) -> None:
    """On a disk with too little room the page stays; with room again, all goes on."""
    root = small_disk / "root"
    store = DiskStore(str(root), agent_folder=AGENTS.__getitem__)
    store.write(MEMORY, b"first\n" * 2_000, change=CHANGE)
    full = 0
    long = Change("x" * 4_000)
    for leave in range(0, 160_000, 16_384):
        store.write(MEMORY, b"text %d\n" % leave * 2_000, change=CHANGE)
        if change == "after an outside edit":
            page_file_of(root).write_bytes(b"by hand\n" * 2_000)
        before = state_of(store, MEMORY)
        filler = fill(small_disk, leave=leave)
        try:
            if change == "delete":
                store.delete(MEMORY, change=long)
            elif change == "append":
                store.edit(MEMORY, lambda page: (page or b"") + b"line\n" * 500, change=long)
            else:
                store.write(MEMORY, b"new %d\n" % leave * 3_000, change=long)
        except DiskFull:
            full += 1
            after = state_of(store, MEMORY)
            assert after.page == before.page
            assert after.versions == before.versions
            assert not list_leftovers(root)
        filler.unlink()
    assert 0 < full < 10
    store.write(MEMORY, b"there is room again\n", change=CHANGE)
    assert state_of(store, MEMORY).page == b"there is room again\n"


@pytest.mark.parametrize("percent", range(0, 101, 5))
def test_a_disk_filling_up_is_reported(small_disk: Path, percent: int) -> None:
    """However full the disk is at first, a growing page ends in a clear error and is whole."""
    root = small_disk / "root"
    store = DiskStore(str(root), agent_folder=AGENTS.__getitem__)
    store.write(MEMORY, b"begin\n", change=CHANGE)
    filler = fill(small_disk, leave=2_000_000 * (100 - percent) // 100)
    acknowledged = [b"begin\n"]

    def grow() -> None:
        while True:
            lines = b"%05d\n" % len(acknowledged) * 3_000
            append_line(lines, store, MEMORY)
            acknowledged.append(lines)

    with pytest.raises(DiskFull):
        grow()
    found = state_of(store, MEMORY)
    assert found.page == b"".join(acknowledged)
    assert len(found.versions) == len(acknowledged)
    filler.unlink()
    if percent > 10:
        append_line(b"end\n", store, MEMORY)
        assert state_of(store, MEMORY).page == b"".join([*acknowledged, b"end\n"])


@pytest.mark.parametrize("kills", [15, pytest.param(1_000, marks=pytest.mark.slow)])
def test_kills_under_load_lose_nothing_acknowledged(kills: int, tmp_path: Path, seed: int) -> None:
    """Four writers killed at random again and again lose no acknowledged write and tear none."""
    chance = random.Random(seed)
    acknowledged = 0
    with Load() as load:
        for number in range(kills):
            if number % 5 == 0:
                load.begin(tmp_path / f"root {number}")
            load.run(number, seed=chance.getrandbits(32), seconds=chance.uniform(0.02, 0.07))
            acknowledged += load.check()
    assert acknowledged
    print(f"{acknowledged} writes acknowledged in {kills} kills, 0 lost")  # noqa: T201 - a figure
