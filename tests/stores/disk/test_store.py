"""The disk store: the contract of every store, then names, links, listings and permissions."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.errors import Locked, Unavailable, Unsafe
from looseleaf.errors.pages import AgentMissing, NameTaken
from looseleaf.files import atomic
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import ABSENT, Conflict, Found, Missing, hash_content
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.agent_folders import AGENTS
from tests.conftest import Clock
from tests.stores.conformance import (
    ADA,
    BOB,
    CHANGE,
    MEMORY,
    SHARED,
    HistoryConformance,
    StoreConformance,
    append_line,
    put,
    read,
)
from tests.stores.tree import read_tree

OUTSIDE = b"outside the root"


def remove(root: Path) -> None:
    shutil.rmtree(root)


def put_a_file_there(root: Path) -> None:
    shutil.rmtree(root)
    root.write_bytes(OUTSIDE)


LOSSES = (remove, put_a_file_there)


@pytest.fixture(params=LOSSES, ids=lambda lose: lose.__name__)
def lost_store(request: pytest.FixtureRequest, store: DiskStore, root: Path) -> DiskStore:
    """Return a store whose root went away after a page was written and read."""
    put(store, MEMORY, b"text")
    assert store.exists(MEMORY)
    request.param(root)
    return store


@pytest.fixture
def lost_history(lost_store: DiskStore) -> DiskHistory:
    """Return the history of a store whose root went away."""
    return DiskHistory(lost_store)


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behave as on a file system that cannot swap two files in one step."""
    monkeypatch.setattr(atomic, "_swap", lambda *_names: False)


class TestDisk(StoreConformance, HistoryConformance):
    """The disk store and its history."""


@pytest.mark.usefixtures("no_exchange")
class TestDiskWithoutExchange(StoreConformance, HistoryConformance):
    """The same on a file system where two files cannot be swapped in one step."""


class TestNames:
    """One page, one name, on every system."""

    @pytest.mark.parametrize(
        ("first", "twin"),
        [
            ("MEMORY.md", "memory.md"),
            ("notes/a.md", "Notes/b.md"),
            ("notes/a.md", "notes/A.md"),
            ("café.md", "CAFÉ.md"),
            ("straße.md", "STRASSE.md"),
            ("Ωμέγα/x.md", "ωμέγα/x.md"),
            ("daily/2026/x.md", "DAILY/2026/x.md"),
            ("a.md", "a.MD"),
        ],
    )
    def test_twins_are_refused(self, store: DiskStore, first: str, twin: str) -> None:
        """A page or folder that differs from one there only by case or Unicode form is refused."""
        put(store, ADA.page(first), b"first")
        with pytest.raises(NameTaken):
            put(store, ADA.page(twin), b"twin")
        with pytest.raises(NameTaken):
            store.edit(ADA.page(twin), lambda _page: b"twin", change=CHANGE)
        assert store.read(ADA.page(twin)) == Missing()
        put(store, ADA.page(first), b"still writable")
        assert read(store, ADA.page(first)) == b"still writable"

    def test_a_twin_made_outside_is_refused_too(self, store: DiskStore, root: Path) -> None:
        """A file that an editor made takes its name as a page of ours does, and stays writable."""
        (root / "agents/ada/MEMORY.md").write_bytes(b"by hand")
        with pytest.raises(NameTaken, match=r"Use MEMORY\.md"):
            put(store, ADA.page("memory.md"), b"twin")
        assert put(store, MEMORY, b"ours").previous == hash_content(b"by hand")

    def test_a_decomposed_name_made_outside_is_taken(self, store: DiskStore, root: Path) -> None:
        """A name in another Unicode form, as macOS makes them, counts as the same name."""
        (root / "agents/ada/cafe\u0301.md").write_bytes(b"by hand")
        with pytest.raises(NameTaken):
            put(store, ADA.page("café.md"), b"twin")

    def test_a_name_may_return_in_another_case(self, store: DiskStore) -> None:
        """After a page was deleted, its name is free in any case, and its history stays."""
        put(store, ADA.page("notes.md"), b"one")
        store.delete(ADA.page("notes.md"), change=CHANGE)
        put(store, ADA.page("Notes.md"), b"two")
        assert read(store, ADA.page("Notes.md")) == b"two"
        assert DiskHistory(store).content(ADA.page("notes.md"), 1) == b"one"

    def test_the_longest_name_works(self, store: DiskStore) -> None:
        """A name of the greatest length and depth is written, replaced, listed and deleted."""
        deep = "/".join(["d" * 15] * 11) + "/" + "p" * 21 + ".md"
        for name in (deep, "w" * 197 + ".md", "é" * 98 + ".md"):
            page = Shelf("agent", 0, 1).page(name)
            put(store, page, b"one")
            put(store, page, b"two")
            assert [entry.filename for entry in store.list_subtree(ADA, "")] == [name]
            store.delete(page, change=CHANGE)


class TestReading:
    """Reading leaves no trace and is never out of date."""

    def test_reading_creates_nothing(self, store: DiskStore, root: Path) -> None:
        """Questions about what is not there, and refused writes, leave the tree as it was."""
        put(store, MEMORY, b"text")
        before = read_tree(root)
        for scope in (MEMORY, ADA.page("daily/2026/x.md"), Shelf("user", 5).page("USER.md")):
            store.read(scope)
            store.exists(scope)
            store.write(scope, b"x", if_match="0" * 64, change=CHANGE)
            store.delete(scope, if_match="0" * 64, change=CHANGE)
            DiskHistory(store).revisions(scope)
        store.list_layer(Shelf("user", 5))
        store.list_subtree(ADA, "daily")
        assert store.delete(ADA.page("daily/x.md"), change=CHANGE) == Missing()
        DiskHistory(store).pages(BOB)
        store.recover()
        assert read_tree(root) == before

    def test_an_untouched_root_stays_untouched(self, store: DiskStore, root: Path) -> None:
        """Reading and listing a folder that Looseleaf never wrote to puts nothing there."""
        (root / "agents/ada/MEMORY.md").write_bytes(b"by hand")
        before = read_tree(root)
        assert read(store, MEMORY) == b"by hand"
        store.list_subtree(ADA, "")
        assert len(DiskHistory(store).revisions(MEMORY)) == 1
        store.recover()
        assert read_tree(root) == before

    def test_a_page_is_whole_while_it_is_being_replaced(self, store: DiskStore) -> None:
        """Readers beside writers see one version or another, whole, and never an error."""
        versions = {number: str(number).encode() * 50_000 for number in range(10)}
        done = threading.Event()
        put(store, MEMORY, versions[0])
        seen: set[bytes] = set()

        def watch() -> None:
            while not done.is_set():
                page = store.read(MEMORY)
                seen.add(page.content if isinstance(page, Found) else b"missing")

        reader = threading.Thread(target=watch)
        reader.start()
        for number in range(100):
            put(store, MEMORY, versions[number % 10])
        done.set()
        reader.join()
        assert seen <= set(versions.values())

    def test_a_page_can_be_read_while_it_is_being_made(self, store: DiskStore) -> None:
        """Readers of a page that comes and goes find it whole or missing, and never an error."""
        done = threading.Event()
        faults: list[str] = []

        def watch() -> None:
            while not done.is_set():
                try:
                    if read(store, MEMORY) not in (None, b"here"):
                        faults.append("torn")
                except Exception as error:  # noqa: BLE001 - whatever it is, the test reports it
                    faults.append(repr(error))

        readers = [threading.Thread(target=watch) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(60):
            put(store, MEMORY, b"here")
            store.delete(MEMORY, change=CHANGE)
        done.set()
        for reader in readers:
            reader.join()
        assert not faults


class TestPermissions:
    """Files are for their owner alone, or for the group if that is asked for."""

    @pytest.fixture(params=[0o000, 0o022, 0o077, 0o377], ids=oct)
    def umask(self, request: pytest.FixtureRequest) -> Iterator[None]:
        """Run under another umask."""
        before = os.umask(request.param)
        yield
        os.umask(before)

    @pytest.mark.usefixtures("umask")
    @pytest.mark.parametrize(
        ("group_writable", "modes"), [(False, (0o600, 0o700)), (True, (0o660, 0o2770))]
    )
    def test_the_umask_makes_no_difference(
        self, root: Path, clock: Clock, *, group_writable: bool, modes: tuple[int, int]
    ) -> None:
        """Every file and folder the store makes has its mode, whatever the umask."""
        store = DiskStore(
            str(root), agent_folder=AGENTS.__getitem__, group_writable=group_writable, clock=clock
        )
        given = set(root.rglob("*"))
        for content in (b"one", b"two", b"three"):
            put(store, ADA.page("daily/2026/04/17.md"), content)
            put(store, SHARED.page("SITE.md"), content)
        (root / "shared/SITE.md").write_bytes(b"outside, in place")
        put(store, SHARED.page("SITE.md"), b"four")
        store.delete(SHARED.page("SITE.md"), change=CHANGE)
        history = DiskHistory(store)
        history.purge(SHARED.page("SITE.md"), 1, change=CHANGE)
        made = [path for path in root.rglob("*") if path not in given]
        wrong = [
            f"{path}: {path.stat().st_mode & 0o7777:o}"
            for path in made
            if path.stat().st_mode & 0o7777 != modes[path.is_dir()]
        ]
        assert len(made) > 12
        assert not wrong


class TestLocks:
    """A page has one writer at a time."""

    def test_a_page_held_too_long_is_reported(self, store: DiskStore, root: Path) -> None:
        """A writer who cannot get the page gives up with a clear error, and nothing changes."""
        put(store, MEMORY, b"one")
        folder = os.open(root / ".looseleaf/history/agent-1/MEMORY.md", os.O_RDONLY)
        try:
            atomic.lock(folder, "MEMORY.md")
            with pytest.raises(Locked):
                store.run_locked(MEMORY, lambda _page, _current: None, patience=0.01)
            assert read(store, MEMORY) == b"one"
            put(store, ADA.page("other.md"), b"free")
        finally:
            os.close(folder)
        put(store, MEMORY, b"two")

    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_fork_during_a_write_does_not_keep_the_lock(self, store: DiskStore) -> None:
        """A process that was forked in the middle of a write does not hold the page after it."""
        children: list[int] = []
        ended, end = os.pipe()

        def fork(page: bytes | None) -> bytes:
            child = os.fork()
            if child == 0:
                os.close(end)
                os.read(ended, 1)
                os._exit(0)
            children.append(child)
            return (page or b"") + b"line\n"

        store.edit(MEMORY, fork, change=CHANGE)
        put(store, MEMORY, b"written while the other process lives")
        os.close(end)
        os.close(ended)
        assert os.waitpid(children[0], 0)[1] == 0

    def test_no_descriptor_is_left_open(self, store: DiskStore, root: Path) -> None:
        """Nothing stays open after success, conflict, refusal or error."""
        before = len(os.listdir("/dev/fd"))
        put(store, MEMORY, b"one")
        append_line(b"two", store, MEMORY)
        store.write(MEMORY, b"x", if_match=ABSENT, change=CHANGE)
        store.list_subtree(ADA, "")
        DiskHistory(store).revisions(MEMORY)
        DiskHistory(store).content(MEMORY, 1)
        (root / "agents/ada/MEMORY.md").unlink()
        (root / "agents/ada/MEMORY.md").symlink_to("/etc/passwd")
        for operation in (store.read, store.exists):
            with pytest.raises(Unsafe):
                operation(MEMORY)
        with pytest.raises(Unsafe):
            put(store, MEMORY, b"x")
        with pytest.raises(NameTaken):
            put(store, ADA.page("memory.md"), b"x")
        store.recover()
        shutil.rmtree(root)
        for action in (lambda: put(store, MEMORY, b"x"), lambda: store.list_layer(ADA)):
            with pytest.raises(Unavailable):
                action()
        assert len(os.listdir("/dev/fd")) == before


def test_recovery_passes_over_what_it_does_not_know(root: Path) -> None:
    """Strange names in staging, and pages of agents that are gone, do not stop recovery."""

    def folder(agent: int) -> str:
        if agent not in AGENTS:
            raise AgentMissing(agent, ())
        return AGENTS[agent]

    store = DiskStore(str(root), agent_folder=folder)
    put(store, MEMORY, b"text")
    staging = root / ".looseleaf/staging"
    strange = ["agent-1:a.exe", "agent-9:gone.md", "agent-x:a.md", "who knows"]
    for name in strange:
        (staging / name).write_bytes(b"x")
    for name in ("agent-1:MEMORY.md", "agent-1:MEMORY.md:making", "shared:SITE.md"):
        (staging / name).write_bytes(b"left by a crash")
    assert store.recover() == 3
    assert sorted(os.listdir(staging)) == strange
    assert read(store, MEMORY) == b"text"


def test_an_outside_program_that_never_stops_is_reported(store: DiskStore, root: Path) -> None:
    """A page that changes on every attempt ends in a clear error, and the outsider's bytes stay."""
    page = root / "agents/ada/MEMORY.md"
    put(store, MEMORY, b"one")
    saves = 0

    def disturb(_page: bytes | None) -> bytes:
        nonlocal saves
        saves += 1
        (root / "new").write_bytes(f"save {saves}".encode())
        (root / "new").rename(page)
        return b"ours"

    with pytest.raises(Unavailable, match="keeps changing"):
        store.edit(MEMORY, disturb, change=CHANGE)
    assert page.read_bytes() == f"save {saves}".encode()
    assert put(store, MEMORY, b"two").changed


def test_a_stale_writer_conflicts_with_an_outside_edit(store: DiskStore, root: Path) -> None:
    """An edit made in an editor counts as a version: who has not read it cannot overwrite it."""
    read_before = put(store, MEMORY, b"one")
    (root / "agents/ada/MEMORY.md").write_bytes(b"by hand")
    by_hand = hash_content(b"by hand")
    outcome = store.write(MEMORY, b"two", if_match=read_before.hash, change=CHANGE)
    assert outcome == Conflict(read_before.hash, by_hand)
    assert isinstance(store.delete(MEMORY, if_match=read_before.hash, change=CHANGE), Conflict)
    assert read(store, MEMORY) == b"by hand"
