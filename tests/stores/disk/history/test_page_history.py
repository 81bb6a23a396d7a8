"""The history on disk: what is kept of it, what is gone for good, and how it bears damage."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import Unavailable
from looseleaf.errors.pages import RevisionMissing
from looseleaf.files import atomic
from looseleaf.memory.history import Revision, list_outlived_revisions, pick_revision
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.store import Change, Retention, hash_content
from looseleaf.stores.disk import page_changes
from looseleaf.stores.disk.history import revisions
from looseleaf.stores.disk.history.delta import apply_splice, splice
from looseleaf.stores.disk.history.packing import prune_versions
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from looseleaf.times import format_microseconds
from tests.agent_folders import AGENTS
from tests.conftest import Clock
from tests.stores.conformance import ADA, CHANGE, MEMORY, advance_days, put, read
from tests.stores.scenes import history_folder_of, open_store, page_file_of, save_in_place
from tests.stores.state import state_of
from tests.stores.tree import list_files_with

SECRET = b"hunter2-correct-horse"


@pytest.fixture
def log(root: Path) -> Path:
    """Return the file of the page's log."""
    return history_folder_of(root) / "log"


def written(path: Path) -> tuple[int, ...]:
    """Return what only writing to a file changes; reading may change the rest of its status."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


STEPS = ("write", "edit outside", "delete", "remove outside", "purge", "tear the log")


@given(steps=st.lists(st.sampled_from(STEPS), max_size=7))
def test_the_latest_revision_is_the_last_of_all(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """Whatever was done to a page, here or outside, and even if the log ends in half a line."""
    root = tmp_path_factory.mktemp("latest")
    now = time.time()  # the time of a removal that nobody logged is that of the look at it
    store = DiskStore(str(root), agent_folder=AGENTS.__getitem__, clock=lambda: now)
    history = DiskHistory(store)
    page, log = page_file_of(root), history_folder_of(root) / "log"
    for number, step in enumerate(steps):
        if step == "write":
            put(store, MEMORY, f"version {number}\n".encode())
        elif step == "delete":
            store.delete(MEMORY, change=CHANGE)
        elif step == "edit outside":
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_bytes(f"outside {number}\n".encode())
        elif step == "remove outside":
            page.unlink(missing_ok=True)
        elif step == "purge" and len(history.revisions(MEMORY)) > 1:
            history.purge(MEMORY, 1, change=CHANGE)
        elif step == "tear the log" and log.exists():
            log.write_bytes(log.read_bytes() + b'{"revision": 9')
        revisions = history.revisions(MEMORY)
        latest = history.latest(MEMORY)
        assert latest == (revisions[-1] if revisions else None), (steps, number)


class TestPurge:
    """A secret that got into a page can be removed for good."""

    def test_no_byte_of_a_purged_version_is_left(
        self, store: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """After the page is changed and its version purged, the secret is nowhere on disk."""
        put(store, MEMORY, b"# Notes\n\nbefore\n")
        put(store, MEMORY, b"# Notes\n\npassword: " + SECRET + b"\n")
        put(store, MEMORY, b"# Notes\n\nafter\n")
        assert list_files_with(root, SECRET)
        history.purge(MEMORY, 2, change=CHANGE)
        assert list_files_with(root, SECRET) == []

    def test_every_version_that_has_the_secret_must_go(
        self, store: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """A secret that several versions carry is gone when the last of them is purged."""
        put(store, MEMORY, b"a\n" + SECRET + b"\n")
        put(store, MEMORY, b"a\n" + SECRET + b"\nmore\n")
        put(store, MEMORY, b"b\n" + SECRET + b"\nmore\n")
        put(store, MEMORY, b"clean\n")
        for number in (1, 2, 3):
            assert list_files_with(root, SECRET)
            history.purge(MEMORY, number, change=CHANGE)
        assert list_files_with(root, SECRET) == []
        assert history.content(MEMORY, 4) == b"clean\n"
        assert [revision.kept for revision in history.revisions(MEMORY)] == [
            False,
            False,
            False,
            True,
        ]

    def test_a_secret_of_an_outside_edit_can_be_purged(
        self, store: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """What a person saved is purged like anything else, even if we never came upon it."""
        put(store, MEMORY, b"one\n")
        put(store, MEMORY, SECRET)
        save_in_place(root, b"clean\n")
        assert [revision.number for revision in history.revisions(MEMORY)] == [1, 2, 3]
        history.purge(MEMORY, 2, change=CHANGE)
        assert list_files_with(root, SECRET) == []
        assert [revision.operation for revision in history.revisions(MEMORY)] == [
            "write",
            "write",
            "outside",
        ]

    def test_purging_the_version_before_leaves_the_present_one_safe(
        self, store: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """The present version can still be made again, though what it was made from is gone."""
        put(store, MEMORY, SECRET + b"\n")
        put(store, MEMORY, b"clean\n")
        history.purge(MEMORY, 1, change=CHANGE)
        save_in_place(root, b"by hand\n")
        put(store, MEMORY, b"ours\n")
        assert history.content(MEMORY, 2) == b"clean\n"
        assert list_files_with(root, SECRET) == []

    def test_a_purge_is_recorded_and_can_be_repeated(
        self, store: DiskStore, history: DiskHistory, clock: Clock
    ) -> None:
        """The history says when it happened; purging again changes nothing but the record."""
        for content in (b"one\n", b"two\n"):
            put(store, MEMORY, content)
        history.purge(MEMORY, 1, change=Change("purge", Provenance(surface="cli", reason="first")))
        clock.advance(days=1)
        history.purge(MEMORY, 1, change=Change("purge", Provenance("user:1", reason="second")))
        first, _ = history.revisions(MEMORY)
        assert first.purged == f"purged by user:1 at {format_microseconds(clock.now)}: second"
        assert put(store, MEMORY, b"three\n").revision == 3

    def test_a_page_that_was_deleted_can_be_purged(
        self, store: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """What a deleted page said can be removed as well."""
        put(store, MEMORY, SECRET)
        store.delete(MEMORY, change=CHANGE)
        history.purge(MEMORY, 1, change=CHANGE)
        assert list_files_with(root, SECRET) == []
        with pytest.raises(RevisionMissing, match="purged by ada"):
            history.content(MEMORY, 1)


class TestPrune:
    """Old versions go, and nothing else."""

    def test_pruned_versions_are_gone_from_the_disk(
        self, store: DiskStore, history: DiskHistory, root: Path, clock: Clock
    ) -> None:
        """No byte of a version that was pruned is left, in a file or in the log."""
        put(store, MEMORY, SECRET)
        put(store, MEMORY, b"one\n")
        put(store, MEMORY, b"two\n")
        advance_days(store, clock, days=95)
        assert history.prune(ADA, Retention()) == 2
        assert list_files_with(root, SECRET) == []
        assert sorted(os.listdir(history_folder_of(root))) == [".head", ".owners", "log"]

    def test_pages_that_have_nothing_to_prune_are_left_alone(
        self, store: DiskStore, history: DiskHistory, log: Path
    ) -> None:
        """Pruning does not touch the history of a page that has outlived nothing."""
        put(store, MEMORY, b"one\n")
        put(store, MEMORY, b"two\n")
        before = written(log)
        assert history.prune(ADA, Retention()) == 0
        assert written(log) == before

    def test_writing_prunes_by_itself(
        self, store: DiskStore, history: DiskHistory, root: Path, clock: Clock
    ) -> None:
        """Every so many writes, versions that are past their retention go."""
        put(store, MEMORY, SECRET)
        put(store, MEMORY, b"clean\n")
        for number in range(page_changes._PRUNE_EVERY - 3):
            clock.advance(days=1.5)
            put(store, MEMORY, b"%d\n" % number)
        assert list_files_with(root, SECRET)
        put(store, MEMORY, b"the round number\n")
        assert list_files_with(root, SECRET) == []
        assert history.revisions(MEMORY)[0].number == 3 - 1
        assert history.content(MEMORY, 3) == b"0\n"

    def test_a_failed_prune_does_not_fail_the_write(
        self, store: DiskStore, history: DiskHistory, root: Path, log: Path, clock: Clock
    ) -> None:
        """If the history is damaged, pages are still written, and the damage is still told."""
        for number in range(1, page_changes._PRUNE_EVERY):
            put(store, MEMORY, b"%d\n" % number)
        clock.advance(days=91)
        log.write_bytes(b"damage\n" + log.read_bytes())
        put(store, MEMORY, b"the round number\n")
        assert page_file_of(root).read_bytes() == b"the round number\n"
        with pytest.raises(Unavailable, match="damaged"):
            history.revisions(MEMORY)

    def test_pruning_forgets_the_purges_of_what_is_gone(
        self, store: DiskStore, history: DiskHistory, log: Path, clock: Clock
    ) -> None:
        """The note of a purge goes with the version it was about."""
        for content in (b"one\n", b"two\n", b"three\n"):
            put(store, MEMORY, content)
        history.purge(MEMORY, 1, change=CHANGE)
        history.purge(MEMORY, 2, change=CHANGE)
        advance_days(store, clock, days=95)
        assert history.prune(ADA, Retention()) == 2
        assert log.read_bytes().count(b"\n") == 1
        assert put(store, MEMORY, b"four\n").revision == 4

    def test_an_outside_edit_is_noted_before_pruning(
        self, store: DiskStore, history: DiskHistory, root: Path, clock: Clock
    ) -> None:
        """Our version that someone saved over is kept when what it was made from goes."""
        put(store, MEMORY, b"one\n")
        put(store, MEMORY, b"one\ntwo\n")
        advance_days(store, clock, days=50)
        put(store, MEMORY, b"one\ntwo\nthree\n")
        advance_days(store, clock, days=50)
        save_in_place(root, b"by hand\n")
        assert history.prune(ADA, Retention()) == 1
        assert [revision.number for revision in history.revisions(MEMORY)] == [2, 3, 4]
        assert history.content(MEMORY, 3) == b"one\ntwo\nthree\n"
        assert history.content(MEMORY, 4) == b"by hand\n"

    def test_an_old_copy_put_back_replaces_from_now_on(self, root: Path) -> None:
        """What counts is when someone put a file there, not the time the file says."""
        now = time.time()
        clock = Clock(now - 300 * 86_400)
        old = DiskStore(str(root), agent_folder=AGENTS.__getitem__, clock=clock)
        for days in (300, 200):
            put(old, MEMORY, b"%d days ago\n" % days)
            advance_days(old, clock, days=100)
        copy = root / "copy"
        copy.write_bytes(b"an old copy\n")
        os.utime(copy, (1e9, 1e9))
        copy.rename(page_file_of(root))
        store = open_store(root)
        put(store, MEMORY, b"new\n")
        assert DiskHistory(store).prune(ADA, Retention()) == 1
        assert state_of(store, MEMORY).versions == {b"200 days ago\n", b"an old copy\n", b"new\n"}


class TestDamage:
    """A log that a crash or a person damaged is mended or reported, never passed over."""

    def test_an_unfinished_line_is_ignored_and_cut_off(
        self, store: DiskStore, history: DiskHistory, log: Path
    ) -> None:
        """The line that a crash left unfinished is not told, and gone after the next write."""
        put(store, MEMORY, b"one\n")
        whole = log.read_bytes()
        put(store, MEMORY, b"two\n")
        line = log.read_bytes()[len(whole) :]
        for torn in (line[:1], line[: len(line) // 2], line[:-1], b"\0" * 100):
            log.write_bytes(whole + torn)
            revisions = history.revisions(MEMORY)
            assert [revision.hash for revision in revisions] == [
                hash_content(b"one\n"),
                hash_content(b"two\n"),
            ]
            assert revisions[-1].operation == "outside"
        put(store, MEMORY, b"three\n")
        assert [history.content(MEMORY, number) for number in (1, 2, 3)] == [
            *(b"one\n", b"two\n", b"three\n")
        ]
        assert b"\0" not in log.read_bytes()

    def test_a_log_that_holds_only_a_torn_line_begins_anew(
        self, store: DiskStore, history: DiskHistory, log: Path
    ) -> None:
        """A first line that was never finished leaves a page with no history but its present."""
        put(store, MEMORY, b"one\n")
        log.write_bytes(log.read_bytes()[:40])
        assert [revision.operation for revision in history.revisions(MEMORY)] == ["outside"]
        assert put(store, MEMORY, b"two\n").revision == 2

    @pytest.mark.parametrize(
        "damage", [b"not JSON", b"[]", b"3", b"{}", b'{"revision": 1}', b'{"revision":1,"hash":""}']
    )
    def test_a_damaged_line_is_an_error(
        self, store: DiskStore, history: DiskHistory, log: Path, damage: bytes
    ) -> None:
        """A line that tells of no change is reported by whoever needs it; the page is intact."""
        put(store, MEMORY, b"one\n")
        put(store, MEMORY, b"two\n")
        first, second = log.read_bytes().splitlines()
        log.write_bytes(damage + b"\n" + second + b"\n")
        with pytest.raises(Unavailable, match="damaged"):
            history.revisions(MEMORY)
        with pytest.raises(Unavailable, match="damaged"):
            history.content(MEMORY, 1)
        log.write_bytes(first + b"\n" + damage + b"\n")
        with pytest.raises(Unavailable, match="damaged"):
            put(store, MEMORY, b"three\n")
        assert read(store, MEMORY) == b"two\n"
        log.write_bytes(first + b"\n" + second + b"\n")
        put(store, MEMORY, b"three\n")

    def test_a_log_that_is_gone_takes_the_page_for_a_new_one(
        self, store: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """If someone removed our folder, pages stay and are written as ever."""
        put(store, MEMORY, b"one\n")
        os.rename(root / ".looseleaf", root / "elsewhere")
        assert [revision.operation for revision in history.revisions(MEMORY)] == ["outside"]
        assert history.content(MEMORY, 1) == b"one\n"
        assert history.pages(ADA) == []
        assert put(store, MEMORY, b"two\n").revision == 2
        assert state_of(store, MEMORY).versions == {b"one\n", b"two\n"}

    def test_a_long_line_is_read_whole(self, store: DiskStore, history: DiskHistory) -> None:
        """A change that put in more than fits the first look at the log is found all the same."""
        put(store, MEMORY, b"begin\n")
        for size in (8_000, 9_000, 70_000, 600_000):
            put(store, MEMORY, b"x" * size)
            assert history.revisions(MEMORY)[-1].bytes == size
        assert put(store, MEMORY, b"end\n").revision == 6

    def test_strangers_in_the_history_are_passed_over(
        self, store: DiskStore, history: DiskHistory, root: Path
    ) -> None:
        """Files and folders that are not ours are no pages with a history."""
        put(store, MEMORY, b"one\n")
        shelf = root / ".looseleaf/history/agent-1"
        (shelf / "file").write_bytes(b"x")
        (shelf / "empty.md").mkdir()
        (shelf / "..odd:name").mkdir()
        (shelf / "..odd:name/log").write_bytes(b"{}\n")
        assert history.pages(ADA) == ["MEMORY.md"]
        assert put(store, MEMORY, b"two\n").revision == 2


class TestMoments:
    """A version is chosen by its number or by a moment."""

    REVISIONS = tuple(
        Revision(
            number=n,
            time=n * 10.0,
            operation="write",
            actor="",
            surface="",
            reason="",
            hash="h",
            bytes=1,
        )
        for n in (1, 2, 3)
    )

    def test_a_number_chooses_exactly(self) -> None:
        """A whole number names one version, or none."""
        assert pick_revision("a.md", list(self.REVISIONS), 2) is self.REVISIONS[1]
        with pytest.raises(RevisionMissing, match="not in the history"):
            pick_revision("a.md", list(self.REVISIONS), 4)

    def test_a_moment_chooses_what_was_there_then(self) -> None:
        """A moment names the last version up to it; before the first there was no page."""
        assert pick_revision("a.md", list(self.REVISIONS), 25.0) is self.REVISIONS[1]
        assert pick_revision("a.md", list(self.REVISIONS), 30.0) is self.REVISIONS[2]
        assert pick_revision("a.md", list(self.REVISIONS), 9.0) is None
        assert pick_revision("a.md", [], 9.0) is None

    def test_a_moment_before_what_is_kept_is_not_known(self) -> None:
        """If older versions were pruned, nobody can say what the page was."""
        with pytest.raises(RevisionMissing, match="no longer kept"):
            pick_revision("a.md", list(self.REVISIONS[1:]), 9.0)

    @given(
        st.lists(st.floats(0, 1e9), max_size=30).map(sorted),
        st.floats(0, 200),
        st.integers(0, 20),
        st.floats(0, 10),
    )
    def test_the_newest_never_goes(
        self, times: list[float], days: float, versions: int, grace: float
    ) -> None:
        """Whatever the retention, the newest stays, and nothing newer goes than what stays."""
        revisions = [
            Revision(
                number=number,
                time=time,
                operation="write",
                actor="",
                surface="",
                reason="",
                hash="h",
                bytes=1,
            )
            for number, time in enumerate(times, 1)
        ]
        gone = list_outlived_revisions(revisions, Retention(days, versions, grace), 1e9)
        assert gone == revisions[: len(gone)]
        assert not revisions or len(gone) < len(revisions)


class TestLostNames:
    """The name of a prior version is synced now and then; what a power cut takes is made again."""

    TEXTS = (b"one\n", b"one\ntwo\n", b"", b"\xff\xfe", b"zero\none\n", b"zero\n", b"none\n")

    @pytest.mark.parametrize(
        "lost", [[1], [7], [5, 6], [2, 3, 4, 5, 6, 7], [9], [9, 10], [*range(12)]]
    )
    def test_lost_versions_are_made_again(
        self, store: DiskStore, history: DiskHistory, log: Path, lost: list[int]
    ) -> None:
        """Text or not, after a delete and after outside edits; and they are kept from then on."""
        for text in self.TEXTS:
            put(store, MEMORY, text)
        store.delete(MEMORY, change=CHANGE)
        put(store, MEMORY, b"again\n")
        save_in_place(log.parents[4], b"again, by hand\n")
        put(store, MEMORY, b"newest\n")
        versions = [history.content(MEMORY, number) for number in range(1, 12)]
        for number in lost:
            (log.parent / str(number)).unlink(missing_ok=True)
        assert [history.content(MEMORY, number) for number in range(1, 12)] == versions
        assert all(revision.kept for revision in history.revisions(MEMORY))
        store.run_locked(
            MEMORY,
            lambda page, _: prune_versions(page.log, lambda _: [], present=b"newest\n", mode=0o600),
        )
        assert log.read_bytes().count(b'"redo"') == 1
        assert [history.content(MEMORY, number) for number in range(1, 12)] == versions

    def test_nothing_is_made_up(self, store: DiskStore, history: DiskHistory, root: Path) -> None:
        """A version that was purged cannot be made again, nor what was made of it alone."""
        for number in range(1, 6):
            put(store, MEMORY, b"line\n" * number)
        history.purge(MEMORY, 2, change=CHANGE)
        for number in (2, 3):
            (history_folder_of(root) / str(number)).unlink(missing_ok=True)
            with pytest.raises(RevisionMissing):
                history.content(MEMORY, number)
        kept = [revision.number for revision in history.revisions(MEMORY) if revision.kept]
        assert kept == [1, 4, 5]

    def test_names_are_synced_in_turn(
        self, store: DiskStore, root: Path, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With every so many versions, and wherever the log could not make up for one."""
        put(store, MEMORY, b"0\n")
        folder = history_folder_of(root).stat().st_ino
        synced: list[int] = []
        sync = atomic.sync

        def watched(fd: int) -> None:
            synced.append(os.fstat(fd).st_ino)
            sync(fd)

        monkeypatch.setattr(atomic, "sync", watched)
        turns = []
        for number in range(1, 2 * revisions._NAMES_EVERY + 2):
            synced.clear()
            put(store, MEMORY, b"%d\n" % number)
            turns += [number] if folder in synced else []
        assert turns == [revisions._NAMES_EVERY, 2 * revisions._NAMES_EVERY]
        log.write_bytes(log.read_bytes().replace(b'"redo"', b'"undo"'))
        synced.clear()
        put(open_store(root), MEMORY, b"now\n")
        assert folder in synced


pieces = st.binary(max_size=12) | st.text(max_size=12).map(str.encode)


class TestRedo:
    """What a change put in makes the new version of the old one."""

    @given(pieces, pieces, pieces, pieces)
    def test_a_splice_makes_the_new_of_the_old(
        self, start: bytes, old: bytes, new: bytes, end: bytes
    ) -> None:
        """For any bytes, in any place."""
        before, after = start + old + end, start + new + end
        assert apply_splice(before, splice(before, after)) == after
        assert apply_splice(b"", splice(b"", after)) == after

    @given(st.text(), st.text(), st.text(), st.text())
    def test_text_is_put_in_by_whole_characters(
        self, start: str, old: str, new: str, end: str
    ) -> None:
        """A change of text costs what it changes, in every script, not a copy of the page."""
        before, after = (start + old + end).encode(), (start + new + end).encode()
        redo = splice(before, after)
        assert len(redo) == 3
        put_in = redo[2]
        assert isinstance(put_in, str)
        assert len(put_in.encode()) <= len(new.encode()) + 6
        assert apply_splice(before, redo) == after
