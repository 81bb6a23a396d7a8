"""A search as of a moment gives the answer of a scan of the history, whatever happened since."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import PageMissing
from looseleaf.memory.history import PastPages, Revision
from looseleaf.memory.scope import Scope, Shelf
from looseleaf.memory.search.ranking import rank_pages
from looseleaf.memory.search.results import PageHit
from looseleaf.memory.search.substring import Query, VisiblePages, search
from looseleaf.memory.store import Change, Found, Retention
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from looseleaf.stores.index import past_versions
from looseleaf.stores.index.search_index import SearchIndex
from looseleaf.values import replace

ADA = Shelf("agent", agent_id=1)
BASE = 2_000_000_000.0  # later than the time of any file that a test writes
WATCHED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of changes")


class CountingHistory(DiskHistory):
    """A history that counts how often it is read."""

    reads = 0

    def revisions(self, scope: Scope) -> list[Revision]:
        type(self).reads += 1
        return super().revisions(scope)


class Shelves:
    """A store with a scripted clock, its history, and indexes as two processes have them."""

    def __init__(self, *, watching: bool = True) -> None:
        self.root = Path(tempfile.mkdtemp()).resolve()
        self.now = BASE
        self.unseen_names: set[str] = set()  # by the last search
        self.folder = self.root / "agents" / "ada"
        self.folder.mkdir(parents=True)
        self.store = DiskStore(
            str(self.root), agent_folder={1: "ada"}.__getitem__, clock=lambda: self.now
        )
        self.history = DiskHistory(self.store)
        self.indexes = [
            SearchIndex(
                self.store,
                str(self.root / ".looseleaf" / "index"),
                history=DiskHistory(self.store),
                may_watch=watching,
                fewest_files=1,
            )
            for _ in range(2)
        ]

    def write(self, name: str, text: str | bytes) -> None:
        content = text.encode() if isinstance(text, str) else text
        self.store.write(ADA.page(name), content, change=Change())

    def edit_outside(self, name: str, text: str, *, modified: float) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (modified, modified))

    def tick(self, seconds: float = 10.0) -> float:
        moment = self.now + seconds / 2
        self.now += seconds
        return moment

    def past(self, index: SearchIndex, moment: float) -> tuple[VisiblePages, object]:
        finder = index.at(ADA, moment)
        assert finder is not None
        return VisiblePages(self.store, self.history, moment, finder.read), finder

    def find(self, words: str, moment: float, which: int = 0) -> object:
        """Rank the pages of a moment by the index, and see that a scan gives the same."""
        past, finder = self.past(self.indexes[which], moment)
        plain = VisiblePages(self.store, self.history, moment)
        scanned = outcome(lambda: rank_pages(plain, ADA, words))
        assert outcome(lambda: rank_pages(past, ADA, words, index=finder)) == scanned  # type: ignore[arg-type]
        assert past.unseen_names == plain.unseen_names
        self.unseen_names = plain.unseen_names
        return scanned

    def search(self, text: str, moment: float, which: int = 0) -> object:
        """Search the pages of a moment by the index, and see that a scan gives the same."""
        past, finder = self.past(self.indexes[which], moment)
        query = Query(text=text, limit=1000)
        plain = VisiblePages(self.store, self.history, moment)
        scanned = outcome(lambda: search(plain, ADA, query))
        indexed = outcome(lambda: search(past, ADA, query, index=finder))  # type: ignore[arg-type]
        assert indexed == scanned
        assert past.unseen_names == plain.unseen_names
        return scanned

    def close(self) -> None:
        for index in self.indexes:
            index.close()
        shutil.rmtree(self.root)


def outcome(call: Callable[[], object]) -> object:
    """Return what a search gives, or the code of its error; how fresh it is does not count."""
    try:
        result = call()
    except LooseleafError as error:
        return error.code
    return replace(result, freshness="") if hasattr(result, "freshness") else result


@pytest.fixture(params=[True, False], ids=["watched", "checked"])
def shelves(request: pytest.FixtureRequest) -> Iterator[Shelves]:
    made = Shelves(watching=request.param)
    yield made
    made.close()


def names(hits: object) -> list[str]:
    assert isinstance(hits, list)
    return [hit.filename for hit in hits if isinstance(hit, PageHit)]


def test_a_moment_has_its_own_pages(shelves: Shelves) -> None:
    """Pages that came later are missing, replaced and deleted ones say what they said then."""
    shelves.write("same.md", "The invoice was paid.\n")
    shelves.write("replaced.md", "The invoice, invoice invoice invoice, is late.\n")
    shelves.write("gone.md", "An invoice of ours.\n")
    moment = shelves.tick()
    shelves.write("replaced.md", "Nothing of that kind.\n")
    shelves.write("later.md", "Another invoice.\n")
    shelves.store.delete(ADA.page("gone.md"), change=Change())
    later = shelves.tick()
    for _ in range(3):
        found = names(shelves.find("invoice", moment))
        assert sorted(found) == ["gone.md", "replaced.md", "same.md"]
        assert sorted(names(shelves.find("invoice", later))) == ["later.md", "same.md"]
        shelves.search("invoice", moment)
        shelves.search("in", later)
        assert shelves.find("invoice", BASE - 1) == []


def test_a_page_that_came_and_went_between_two_searches_is_found(shelves: Shelves) -> None:
    """A page written and deleted while no search looked is in the moments between."""
    shelves.write("a.md", "The first invoice.\n")
    shelves.find("invoice", BASE - 1)
    shelves.find("invoice", BASE - 1)
    shelves.tick()
    shelves.write("b.md", "A second invoice.\n")
    moment = shelves.tick()
    shelves.store.delete(ADA.page("b.md"), change=Change())
    shelves.tick()
    assert sorted(names(shelves.find("invoice", moment))) == ["a.md", "b.md"]
    shelves.write("b.md", "A third invoice.\n")
    moment = shelves.tick()
    shelves.store.delete(ADA.page("b.md"), change=Change())
    shelves.tick()
    assert "third" in str(shelves.find("third invoice", moment))


def test_a_purged_version_is_not_found_by_any_process(shelves: Shelves) -> None:
    """After a purge, a search that had read the version says that it is gone, as a scan does."""
    shelves.write("a.md", "The secret invoice.\n")
    moment = shelves.tick()
    shelves.write("a.md", "Nothing.\n")
    shelves.tick()
    for which in (0, 1):
        assert names(shelves.find("secret", moment, which)) == ["a.md"]
    shelves.history.purge(ADA.page("a.md"), 1, change=Change("purge"))
    for which in (0, 1):
        assert shelves.find("secret", moment, which) == []
        assert shelves.unseen_names == {"a.md"}
        assert "secret" not in str(shelves.search("secret", moment, which))


def test_a_pruned_history_is_noticed(shelves: Shelves) -> None:
    """After a prune, searches of moments whose versions went say so, and find the other pages."""
    shelves.write("b.md", "An invoice that stays.")
    for text in ("one invoice", "two invoices", "three invoices"):
        shelves.write("a.md", text)
        shelves.tick()
    assert sorted(names(shelves.find("invoice", BASE + 5))) == ["a.md", "b.md"]
    assert shelves.history.prune(ADA, Retention(days=0.0, versions=0, grace_days=0.0)) == 2
    assert names(shelves.find("invoice", BASE + 5)) == ["b.md"]
    assert shelves.unseen_names == {"a.md"}
    assert shelves.history.prune(ADA, Retention(days=0.0, versions=0, grace_days=0.0)) == 0


def test_an_old_copy_that_was_put_back_counts_from_its_own_time(shelves: Shelves) -> None:
    """A file with an old time of modification changes moments that were asked for before."""
    shelves.write("a.md", "The invoice.\n")
    moment = shelves.tick(100)
    shelves.find("invoice", moment)
    shelves.find("invoice", moment)
    shelves.edit_outside("a.md", "An invoice of old.\n", modified=BASE + 10)
    assert "of old" in str(shelves.find("invoice", moment))
    shelves.edit_outside("b.md", "An invoice from tomorrow.\n", modified=BASE + 10_000)
    (shelves.folder / "a.md").unlink()
    before = shelves.tick(100)
    assert names(shelves.find("invoice", before)) == names(shelves.find("invoice", moment))


def test_a_clock_that_was_set_back_changes_what_was_asked_before(shelves: Shelves) -> None:
    """The order of the log decides, as it does for a page that is read by itself."""
    shelves.tick(1000)
    shelves.write("a.md", "A first invoice.\n")
    shelves.now = BASE + 100
    shelves.write("a.md", "A second invoice.\n")
    shelves.now = BASE + 2000
    for moment in (BASE + 50, BASE + 100, BASE + 500, BASE + 1000, BASE + 1500):
        shelves.find("invoice", moment)
    assert "second" in str(shelves.find("invoice", BASE + 500))


def test_a_page_that_cannot_be_read_leaves_the_answer_to_the_scan(shelves: Shelves) -> None:
    """A damaged log makes the search fail as the scan does, and mending it ends that."""
    shelves.write("a.md", "The invoice.\n")
    moment = shelves.tick()
    log = next((shelves.root / ".looseleaf" / "history").rglob("log"))
    content = log.read_bytes()
    log.write_bytes(b"no line\n")
    assert shelves.find("invoice", moment) == "unavailable"
    log.write_bytes(content)
    assert names(shelves.find("invoice", moment)) == ["a.md"]


def test_too_many_prior_versions_are_scanned(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded: what does not fit is read from the history each time."""
    for name in ("a.md", "b.md"):
        shelves.write(name, f"The invoice of {name}.\n")
        shelves.tick()
    for name in ("a.md", "b.md"):
        shelves.write(name, "Nothing.\n")
        shelves.tick()
    for most in (60, 150, 10**6):
        monkeypatch.setattr(past_versions, "_MAX_TEXT_BYTES", most)
        for moment in (BASE + 5, BASE + 15, BASE + 25, BASE + 35, BASE + 5):
            shelves.find("invoice", moment)
    monkeypatch.setattr(past_versions, "_MAX_REVISIONS", 2)
    assert names(shelves.find("invoice", BASE + 5)) == ["a.md"]


@WATCHED
def test_a_warm_search_reads_no_history() -> None:
    """Once a moment is known, neither the search nor its snippets read a log again."""
    shelves = Shelves()
    try:
        for name in ("a.md", "b.md", "c.md"):
            shelves.write(name, f"The invoice of {name}.\n")
        moment = shelves.tick()
        shelves.write("a.md", "Replaced.\n")
        shelves.tick()
        history = CountingHistory(shelves.store)
        folder = str(shelves.root / ".looseleaf" / "other")
        index = SearchIndex(shelves.store, folder, history=history, fewest_files=1)
        reads, deadline = -1, time.monotonic() + 60
        # A file that has just changed is looked at until its time cannot hide another change.
        while reads and time.monotonic() < deadline:
            CountingHistory.reads = 0
            finder = index.at(ADA, moment)
            assert finder is not None
            past = PastPages(shelves.store, history, moment, finder.read)
            assert len(rank_pages(past, ADA, "invoice", index=finder)) == 3
            assert search(past, ADA, Query(text="invoice"), index=finder).total == 3
            reads = CountingHistory.reads
        assert reads == 0
        index.close()
    finally:
        shelves.close()


def test_a_known_page_is_what_the_history_gives(shelves: Shelves) -> None:
    """A page read after a search has the bytes, time and hash of a page read from the history."""
    shelves.write("a.md", "The invoice.\n")
    shelves.write("b.md", "An invoice.\n")
    moment = shelves.tick()
    shelves.write("b.md", "Nothing.\n")
    shelves.tick()
    past, finder = shelves.past(shelves.indexes[0], moment)
    rank_pages(past, ADA, "invoice", index=finder)  # type: ignore[arg-type]
    plain = PastPages(shelves.store, shelves.history, moment)
    for name in ("a.md", "b.md"):
        page, expected = past.read(ADA.page(name)), plain.read(ADA.page(name))
        assert isinstance(page, Found)
        assert isinstance(expected, Found)
        assert (page.content, page.updated, page.hash) == (
            expected.content,
            expected.updated,
            expected.hash,
        )
    with pytest.raises(PageMissing):
        search(past, ADA, Query(text="x", filename="c.md"), index=finder)  # type: ignore[arg-type]


class Histories(RuleBasedStateMachine):
    """Random changes, by Looseleaf and outside, between random searches of the past."""

    names = st.sampled_from(
        ["A.md", "b/c.md", "ab ab.md", "daily/2026/04/01.md", "daily/2026/05/02.md", "ü.md"]
    )
    texts = st.text("ab ß\nÄİ漢字", max_size=14)

    @initialize(watching=st.booleans())
    def begin(self, *, watching: bool) -> None:
        self.shelves = Shelves(watching=watching)
        self.moments = [BASE - 1]

    def note(self) -> None:
        self.moments.append(self.shelves.now)

    @rule(name=names, text=texts)
    def write(self, name: str, text: str) -> None:
        self.shelves.write(name, text)
        self.note()

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.shelves.store.delete(ADA.page(name), change=Change())
        self.note()

    @rule(name=names, text=texts, age=st.integers(-30, 30))
    def edit_outside(self, name: str, text: str, age: int) -> None:
        self.shelves.edit_outside(name, text, modified=self.shelves.now - age)
        self.note()

    @rule(name=names)
    def delete_outside(self, name: str) -> None:
        (self.shelves.folder / name).unlink(missing_ok=True)
        self.note()

    @rule(seconds=st.sampled_from([0.5, 5.0, 5.0, 20.0, -8.0]))
    def tick(self, seconds: float) -> None:
        self.shelves.now += seconds

    @rule(name=names, number=st.integers(1, 4))
    def purge(self, name: str, number: int) -> None:
        outcome(lambda: self.shelves.history.purge(ADA.page(name), number, change=Change("purge")))

    @rule(versions=st.integers(0, 2))
    def prune(self, versions: int) -> None:
        self.shelves.history.prune(ADA, Retention(days=1.0, versions=versions, grace_days=0.0))

    @rule()
    def reopen(self) -> None:
        self.shelves.indexes[1].close()

    @rule(
        back=st.integers(0, 5),
        shift=st.sampled_from([0.0, 0.25, -0.25, 3.0]),
        words=st.sampled_from(["ab", "a b", "ß ab", "漢字", "april 2026", "zz"]),
        which=st.integers(0, 1),
    )
    def check(self, back: int, shift: float, words: str, which: int) -> None:
        moment = min(self.moments[-1 - back % len(self.moments)] + shift, self.shelves.now - 0.01)
        self.shelves.find(words, moment, which)
        self.shelves.search(words, moment, which)
        self.shelves.search("b", moment, which)

    @invariant()
    def an_earlier_moment_is_found_right(self) -> None:
        if hasattr(self, "shelves"):
            moment = min(self.moments[len(self.moments) // 2], self.shelves.now - 0.01)
            self.shelves.find("ab a", moment)

    def teardown(self) -> None:
        if hasattr(self, "shelves"):
            self.shelves.close()


Histories.TestCase.settings = settings(
    max_examples=settings().max_examples // 3, stateful_step_count=25
)
TestHistories = Histories.TestCase
