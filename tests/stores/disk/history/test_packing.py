"""Packing changes where versions lie and nothing that anyone reads, whoever else is at work."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from looseleaf.errors import Unavailable
from looseleaf.errors.pages import RevisionMissing
from looseleaf.memory.history import PackedVersions, PageVerdict
from looseleaf.memory.store import Found, Retention
from looseleaf.stores.disk.history import packing
from looseleaf.stores.disk.history.packing import prune_versions
from looseleaf.stores.disk.history.packs import MOST_VERSIONS, PackFile, encode_groups, open_pack
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.locked_page import LockedPage
from looseleaf.stores.disk.store import DiskStore
from tests.agent_folders import AGENTS
from tests.conftest import Clock
from tests.stores.conformance import ADA, CHANGE, MEMORY, put
from tests.stores.scenes import history_folder_of, open_store
from tests.stores.tree import read_tree

COUNT = 40
SETTLED = COUNT - 1 - packing.NEWEST_UNPACKED
SECRET = b"hunter2-correct-horse"


def text(number: int) -> bytes:
    """Return what the page said at a revision."""
    return b"# Memory\n\n" + b"".join(b"- fact %d\n" % fact for fact in range(number))


@pytest.fixture
def written(store: DiskStore) -> DiskStore:
    """Return a store whose page was written forty times."""
    for number in range(1, COUNT + 1):
        put(store, MEMORY, text(number))
    return store


@pytest.fixture
def folder(root: Path) -> Path:
    """Return the folder of the page's history."""
    return history_folder_of(root)


def files(folder: Path) -> list[int]:
    """Return the numbers of the versions that have files."""
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


def pack_of(folder: Path) -> PackFile:
    """Open the pack of a page."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        pack = open_pack(fd)
    finally:
        os.close(fd)
    assert pack is not None
    return pack


def drop_redos(store: DiskStore) -> None:
    """Let a prune take the inserted texts out of the log, as it does every so many writes."""

    def attempt(page: LockedPage, current: Found | None) -> int:
        assert current is not None
        return prune_versions(page.log, lambda _: [], present=current.content, mode=0o600)

    assert store.run_locked(MEMORY, attempt) == 0


class TestPack:
    """The ordinary way."""

    def test_every_version_stays_readable(
        self, written: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """With the same numbers, times and hashes, from much less room."""
        before = history.revisions(MEMORY)
        result = history.pack(MEMORY)
        sizes = sum(len(text(number)) for number in range(1, SETTLED + 1))
        assert result == PackedVersions(SETTLED, sizes, (folder / "pack").stat().st_size)
        assert files(folder) == list(range(SETTLED + 1, COUNT))
        assert history.revisions(MEMORY) == before
        assert [history.content(MEMORY, number) for number in range(1, COUNT + 1)] == [
            text(number) for number in range(1, COUNT + 1)
        ]
        assert history.verify(MEMORY) == PageVerdict(COUNT)
        assert (folder / "pack").stat().st_mode & 0o777 == 0o600
        assert written.recover() == 0

    def test_few_versions_are_left_as_they_are(
        self, store: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """A pack of a handful saves nothing."""
        for number in range(1, packing.NEWEST_UNPACKED + packing.LEAST_VERSIONS + 1):
            put(store, MEMORY, text(number))
        assert history.pack(MEMORY) == PackedVersions()
        assert not (folder / "pack").exists()
        assert history.pack(ADA.page("none.md")) == PackedVersions()

    def test_a_dry_run_writes_nothing(
        self, written: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """And says exactly what packing gives."""
        before = read_tree(root)
        expected = history.pack(MEMORY, dry_run=True)
        assert read_tree(root) == before
        assert history.pack(MEMORY) == expected
        assert written.recover() == 0

    def test_later_versions_join_the_last_group(
        self, written: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """So that a page packed every night does not end up with many small groups."""
        for number in range(COUNT + 1, 4 * COUNT + 1):
            put(written, MEMORY, text(number))
            if number % COUNT == 0:
                assert history.pack(MEMORY).versions
        assert [head.count for head in pack_of(folder).heads] == [
            MOST_VERSIONS,
            4 * COUNT - 1 - packing.NEWEST_UNPACKED - MOST_VERSIONS,
        ]
        assert history.verify(MEMORY) == PageVerdict(4 * COUNT)
        assert history.pack(MEMORY) == PackedVersions()

    def test_batches_give_the_same(
        self,
        written: DiskStore,
        history: DiskHistory,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A long history is packed in parts, with the lock free in between."""
        monkeypatch.setattr(packing, "_BATCH_BYTES", 500)
        assert history.pack(MEMORY).versions == SETTLED
        assert written.recover() == 0
        assert history.verify(MEMORY) == PageVerdict(COUNT)
        assert len(pack_of(folder).heads) == 1

    def test_memory_is_bounded(
        self, store: DiskStore, history: DiskHistory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However long the history is: no more than a group, a batch of groups and two versions."""
        monkeypatch.setattr(packing, "_BATCH_BYTES", 4_000_000)
        page = b"".join(b"- a line of a long page, number %d\n" % line for line in range(2_500))
        for number in range(200):
            put(store, MEMORY, page + b"- %d\n" % number)
        tracemalloc.start()
        try:
            result = history.pack(MEMORY)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert result.file_bytes > 15_000_000
        assert peak < 12_000_000  # most of it the compressor's


class TestOtherPrograms:
    """Whatever others did to the files."""

    def test_a_deleted_page_and_one_without_an_agent(
        self, written: DiskStore, root: Path, clock: Clock
    ) -> None:
        """Their histories are packed, too, and can be read."""
        written.delete(MEMORY, change=CHANGE)

        def nobody(_agent: int) -> str:
            raise Unavailable("The agent", "it was deleted")

        gone = DiskStore(str(root), agent_folder=nobody, clock=clock)
        assert DiskHistory(gone).pack(MEMORY).versions == SETTLED + 1
        history = DiskHistory(open_store(root))
        assert history.content(MEMORY, 3) == text(3)
        assert history.verify(MEMORY) == PageVerdict(COUNT)
        put(open_store(root), MEMORY, history.content(MEMORY, 3) or b"")

    def test_a_version_that_someone_wrote_to_keeps_its_file(
        self, written: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """A program that had the page open may have saved into it: these bytes are nowhere else."""
        (folder / "5").write_bytes(b"saved too late\n")
        with (folder / "9").open("r+b"):
            assert history.pack(MEMORY).versions == SETTLED - 2
        assert files(folder)[:2] == [5, 9]
        assert (folder / "5").read_bytes() == b"saved too late\n"
        assert history.content(MEMORY, 5) == text(5)  # from the log
        assert history.content(MEMORY, 9) == text(9)
        assert written.recover() == 0

    def test_a_version_that_lost_its_file_is_rebuilt(
        self, written: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """A power cut may take a name that was not synced; the log has the text."""
        (folder / "7").unlink()
        (folder / "8").unlink()
        assert history.pack(MEMORY).versions == SETTLED
        drop_redos(written)
        assert history.verify(MEMORY) == PageVerdict(COUNT)

    def test_files_of_packed_versions_go_the_next_time(
        self, written: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """If a run was cut short; a file with another text stays."""
        history.pack(MEMORY)
        for number in (2, 3, 4):
            (folder / str(number)).write_bytes(text(number))
        (folder / "4").write_bytes(b"not what was written\n")
        assert history.verify(MEMORY).versions == COUNT - 1
        assert history.content(MEMORY, 4) == text(4)
        assert history.pack(MEMORY) == PackedVersions(2, len(text(2)) + len(text(3)), 0)
        assert files(folder)[0] == 4
        assert written.recover() == 0

    def test_a_purge_in_between_is_noticed(
        self,
        written: DiskStore,
        history: DiskHistory,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Else packing would bring back what was removed for good."""
        encode: Callable[..., Iterator[bytes]] = encode_groups
        purges = iter([6])

        def encode_slowly(versions: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
            groups = list(encode(versions))
            for number in purges:
                DiskHistory(written).purge(MEMORY, number, change=CHANGE)
            return iter(groups)

        monkeypatch.setattr(packing, "encode_groups", encode_slowly)
        assert history.pack(MEMORY).versions == SETTLED - 1
        assert 6 not in pack_of(folder).hashes()
        with pytest.raises(RevisionMissing, match="purged"):
            history.content(MEMORY, 6)

    def test_two_at_once_pack_once(
        self, written: DiskStore, history: DiskHistory, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The slower one sees the other's pack and has nothing left to do."""
        encode: Callable[..., Iterator[bytes]] = encode_groups
        others = iter([DiskHistory(open_store(root))])

        def encode_slowly(versions: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
            groups = list(encode(versions))
            for other in others:
                assert other.pack(MEMORY).versions == SETTLED
            return iter(groups)

        monkeypatch.setattr(packing, "encode_groups", encode_slowly)
        assert history.pack(MEMORY) == PackedVersions()
        assert history.verify(MEMORY) == PageVerdict(COUNT)
        assert written.recover() == 0


class TestRemoval:
    """Purge and prune reach into packs."""

    def test_no_byte_of_a_purged_version_is_left(
        self, store: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """The group is made anew without it, and the others stay."""
        for number in range(1, COUNT + 1):
            put(store, MEMORY, text(number) + (SECRET if number == 9 else b""))
        history.pack(MEMORY)
        history.purge(MEMORY, 9, change=CHANGE)
        pack = pack_of(folder)
        groups = [pack.open_group(head) for head in pack.heads]
        assert groups
        assert all(SECRET not in group._raw for group in groups)
        assert SECRET not in (folder / "log").read_bytes()
        assert [item.number for item in history.revisions(MEMORY) if not item.kept] == [9]
        assert history.content(MEMORY, 10) == text(10)
        assert history.verify(MEMORY) == PageVerdict(COUNT - 1)

    def test_retention_drops_packed_versions(
        self, store: DiskStore, history: DiskHistory, folder: Path, clock: Clock
    ) -> None:
        """Some of a group, then all of it: an empty pack is removed."""
        for number in range(1, COUNT + 1):
            put(store, MEMORY, text(number))
            clock.advance(days=1)
        history.pack(MEMORY)
        assert history.prune(ADA, Retention(days=30)) == COUNT - 30 - 1
        assert sorted(pack_of(folder).hashes()) == list(range(COUNT - 30, SETTLED + 1))
        assert history.verify(MEMORY) == PageVerdict(31)
        assert history.content(MEMORY, 12) == text(12)
        assert history.prune(ADA, Retention(days=0)) == 30
        assert not (folder / "pack").exists()
        assert history.verify(MEMORY) == PageVerdict(1)

    def test_pruning_by_writes_does_not_unpack(
        self, written: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """It drops texts from the log that lie in the pack anyway."""
        history.pack(MEMORY)
        drop_redos(written)
        assert files(folder)[0] == SETTLED + 1
        assert history.verify(MEMORY) == PageVerdict(COUNT)


class TestDamage:
    """A pack that is not what was written."""

    @pytest.fixture
    def damaged(self, written: DiskStore, history: DiskHistory, folder: Path) -> DiskStore:
        """Return a store whose pack has a damaged group."""
        history.pack(MEMORY)
        with (folder / "pack").open("r+b") as pack:
            pack.seek(-3, os.SEEK_END)
            pack.write(b"\0\0\0")
        return written

    def test_is_found_and_made_up_for_by_the_log(
        self, damaged: DiskStore, history: DiskHistory
    ) -> None:
        """As long as the log has the texts; the next run packs them again."""
        assert (
            history.verify(MEMORY).faults[0] == f"its pack is damaged in revisions 1 to {SETTLED}"
        )
        assert history.content(MEMORY, 3) == text(3)
        drop_redos(damaged)
        assert history.content(MEMORY, 3) == text(3)
        with pytest.raises(Unavailable, match="its pack is damaged"):
            history.purge(MEMORY, 3, change=CHANGE)

    def test_without_the_texts_a_version_is_gone_and_said_to_be(
        self, written: DiskStore, history: DiskHistory, folder: Path
    ) -> None:
        """And nothing of the damaged pack is thrown away."""
        drop_redos(written)
        history.pack(MEMORY)
        with (folder / "pack").open("r+b") as pack:
            pack.seek(-3, os.SEEK_END)
            pack.write(b"\0\0\0")
        size = (folder / "pack").stat().st_size
        with pytest.raises(RevisionMissing):
            history.content(MEMORY, 3)
        assert len(history.verify(MEMORY).faults) == SETTLED + 1
        for number in range(COUNT + 1, 2 * COUNT + 1):
            put(written, MEMORY, text(number))
        assert history.pack(MEMORY).versions == COUNT
        assert (folder / "pack").stat().st_size > size
        assert history.content(MEMORY, COUNT) == text(COUNT)
        assert (
            history.verify(MEMORY).faults[0] == f"its pack is damaged in revisions 1 to {SETTLED}"
        )


def add_lines(root: Path, name: int, count: int) -> None:
    """Add lines to the page."""
    store = DiskStore(str(root), agent_folder=AGENTS.__getitem__)
    for number in range(count):
        line = b"- %d %d\n" % (name, number)
        store.edit(MEMORY, lambda page, line=line: (page or b"") + line, change=CHANGE)  # type: ignore[misc]


def read_all_versions(root: Path) -> None:
    """Read every version there is; each has as many lines as its number says."""
    history = DiskHistory(open_store(root))
    for revision in history.revisions(MEMORY):
        content = history.content(MEMORY, revision.number)
        assert content is not None
        assert content.count(b"\n") == revision.number


def test_writers_and_readers_go_on_meanwhile(root: Path) -> None:
    """Two writers, a reader and a packer at once: every version is readable all the time."""
    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(add_lines, root, name, 60) for name in range(2)]

        def repeat(work: Callable[[], object]) -> None:
            while not all(writer.done() for writer in writers):
                work()

        reader = pool.submit(repeat, lambda: read_all_versions(root))
        packer = pool.submit(repeat, lambda: DiskHistory(open_store(root)).pack(MEMORY))
        for work in (*writers, reader, packer):
            work.result()
    history = DiskHistory(open_store(root))
    history.pack(MEMORY)
    assert history.verify(MEMORY) == PageVerdict(120)
    # Whenever the packer came: fewer than this are left to be packed.
    assert len(files(history_folder_of(root))) < packing.NEWEST_UNPACKED + packing.LEAST_VERSIONS
