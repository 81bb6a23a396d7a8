"""The search index gives the answer of a plain scan, whatever happens to pages and index."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from looseleaf.files.folders import is_settled
from looseleaf.memory.scope import Shelf
from looseleaf.memory.search.ranking import rank_pages
from looseleaf.memory.search.results import SearchResults
from looseleaf.memory.search.substring import Query, search
from looseleaf.stores.disk.store import DiskStore
from looseleaf.stores.index import file_states, index_file
from looseleaf.stores.index.file_states import Tree, is_local
from looseleaf.stores.index.index_file import is_sealed
from looseleaf.stores.index.search_index import SearchIndex
from looseleaf.values import replace

ADA, BOB = Shelf("agent", agent_id=1), Shelf("agent", agent_id=2)
WATCHED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of changes")
Opener = Callable[..., SearchIndex]


@pytest.fixture
def opened(store: DiskStore, root: Path) -> Iterator[Opener]:
    """Open indexes of the store that serve even one page, each as another process would."""
    made: list[SearchIndex] = []

    def make(**options: object) -> SearchIndex:
        options = {"fewest_files": 1, **options}
        folder = str(root / ".looseleaf" / "index")
        made.append(SearchIndex(store, folder, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for index in made:
        index.close()


@pytest.fixture
def ada(root: Path) -> Path:
    """Fill ada's folder with a page and a few days."""
    folder = root / "agents" / "ada"
    put(folder / "MEMORY.md", "# Memory\n\n## Plans\nDeploy on Friday\n")
    for day in range(1, 9):
        put(folder / f"daily/2026/04/{day:02}.md", f"# Day {day}\n- deployed build {day}\n")
    return folder


def put(path: Path, content: str | bytes) -> None:
    """Write a file in place, as an editor may."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def replace_file(path: Path, content: str) -> None:
    """Write a file by renaming another over it, as other editors do."""
    other = path.with_name(f".{path.name}.new")
    put(other, content)
    other.rename(path)


def both(store: DiskStore, index: SearchIndex, text: str, shelf: Shelf = ADA) -> SearchResults:
    """Search with the index, and see that a scan finds the same."""
    asked = Query(text=text, limit=1000)
    indexed = search(store, shelf, asked, index=index)
    scanned = search(store, shelf, asked)
    assert replace(indexed, freshness="") == replace(scanned, freshness="")
    return indexed


def lines(results: SearchResults) -> list[str]:
    return [match.content for match in results.matches]


TEXTS = ("d", "de", "deploy", "DEPLOYED BUILD 3", "# day", "ß", "SS", "straße", "İ", "äö", "x\0y")


@pytest.mark.parametrize("watching", [True, False])
def test_an_indexed_search_finds_what_a_scan_finds(
    store: DiskStore, ada: Path, opened: Opener, *, watching: bool
) -> None:
    """Short, long, absent and non-ASCII texts, quotes and NULs, all give the same matches."""
    put(ada / "odd.md", 'Straße\nİstanbul "quoted" AND OR\nÄÖ x\0y\n🙂🙂🙂 smile\n')
    put(ada / "bytes.md", b"deploy \xff\xfe\nDEPLOY\n")
    index = opened(may_watch=watching)
    for _ in range(3):
        for text in (*TEXTS, '"quoted" AND', "🙂🙂🙂", "xylophone", "*", "'", "deploy*"):
            both(store, index, text)


def test_an_index_counts_what_is_not_shown(store: DiskStore, ada: Path, opened: Opener) -> None:
    """The total and the pages are true beyond the limit, below a folder and in a range."""
    index = opened()
    for query in (
        Query(text="deploy", limit=2),
        Query(text="deploy", limit=0),
        Query(text="deploy", prefix="daily", limit=3),
        Query(text="deploy", since="2026-04-02", until="2026-04-05", limit=1),
        Query(text="deploy", section="Plans"),
    ):
        expected = search(store, ADA, query)
        found = search(store, ADA, query, index=index)
        assert replace(found, freshness="") == replace(expected, freshness="")
    assert search(store, ADA, Query(text="deploy", prefix="daily"), index=index).total == 8
    assert ada.exists()


@WATCHED
def test_a_search_says_how_fresh_it_is(store: DiskStore, ada: Path, opened: Opener) -> None:
    """The first query has checked every file; later ones have seen every change."""
    index = opened()
    assert both(store, index, "deploy").freshness.startswith("9 files checked at 2")
    assert both(store, index, "deploy").freshness == "every change seen (watching 9 files)"
    put(ada / "new.md", "deploy")
    assert both(store, index, "deploy").freshness == "every change seen (watching 10 files)"


EDITS: dict[str, Callable[[Path], object]] = {
    "in place": lambda ada: put(ada / "MEMORY.md", "needle"),
    "in place, same size": lambda ada: put(
        ada / "daily/2026/04/01.md", "# Day 1\n- needled build 1\n"
    ),
    "replaced": lambda ada: replace_file(ada / "MEMORY.md", "needle"),
    "created": lambda ada: put(ada / "new.md", "needle"),
    "new folders": lambda ada: put(ada / "daily/2027/01/01.md", "needle"),
    "deleted": lambda ada: (ada / "MEMORY.md").unlink(),
    "moved": lambda ada: (ada / "MEMORY.md").rename(ada / "daily/MEMORY.md"),
    "moved out": lambda ada: (ada / "MEMORY.md").rename(ada / "MEMORY.bak"),
    "folder moved": lambda ada: (ada / "daily/2026").rename(ada / "daily/1999"),
    "folder moved out": lambda ada: (ada / "daily").rename(ada.parent / "bob/daily"),
    "folder deleted": lambda ada: shutil.rmtree(ada / "daily"),
    "everything deleted": shutil.rmtree,
    "link in place": lambda ada: relink(ada / "MEMORY.md", ada / "daily/2026/04/01.md"),
    "folder for a page": lambda ada: make_folder_of(ada / "MEMORY.md"),
    "a page's second name": lambda ada: (ada.parent / "twin").hardlink_to(ada / "MEMORY.md"),
    "mode": lambda ada: (ada / "MEMORY.md").chmod(0o640),
    "time": lambda ada: os.utime(ada / "MEMORY.md", (0, 0)),
    "cut": lambda ada: os.truncate(ada / "MEMORY.md", 3),
    "folder hidden": lambda ada: (ada / "daily").rename(ada / ".daily"),
}


def relink(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


def make_folder_of(path: Path) -> None:
    path.unlink()
    put(path / "x.md", "needle")


@pytest.mark.parametrize("watching", [True, False])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_outside_edit_is_seen_by_the_next_query(
    store: DiskStore,
    ada: Path,
    opened: Opener,
    edit: Callable[[Path], object],
    *,
    watching: bool,
) -> None:
    """Whatever an edit does, the very next query answers as the pages are."""
    index = opened(may_watch=watching)
    for _ in range(3):
        both(store, index, "deploy")
    edit(ada)
    for text in ("deploy", "needle", "e"):
        both(store, index, text)


@pytest.mark.parametrize("watching", [True, False])
def test_an_edit_through_another_name_is_seen(
    store: DiskStore, ada: Path, opened: Opener, *, watching: bool
) -> None:
    """A file outside the folder that is the same file as a page does not fool the index."""
    index = opened(may_watch=watching)
    both(store, index, "deploy")
    both(store, index, "deploy")
    twin = ada.parent / "twin"
    twin.hardlink_to(ada / "MEMORY.md")
    twin.write_text("needle")
    twin.unlink()
    assert lines(both(store, index, "needle")) == ["needle"]


@pytest.mark.parametrize("watching", [True, False])
def test_edits_faster_than_the_clock_are_seen(
    store: DiskStore, ada: Path, opened: Opener, *, watching: bool
) -> None:
    """In-place edits of one size, many within one step of the file system's clock, are all seen."""
    index = opened(may_watch=watching)
    with open(ada / "MEMORY.md", "r+b", buffering=0) as page:
        for number in range(300):
            page.seek(0)
            page.write(b"needle %08d\n" % number)
            assert search(store, ADA, Query(text=f"needle {number:08}"), index=index).total == 1


@pytest.mark.parametrize("watching", [True, False])
def test_a_write_is_seen_before_its_file_is_closed(
    store: DiskStore, ada: Path, opened: Opener, *, watching: bool
) -> None:
    """A program that keeps a page open for long is heard at each write."""
    index = opened(may_watch=watching)
    with open(ada / "MEMORY.md", "r+b", buffering=0) as page:
        for number in range(5):
            time.sleep(0.07)  # long enough for the page to be trusted again
            both(store, index, "deploy")
            page.seek(0)
            page.write(b"needle %08d\n" % number)
            assert both(store, index, f"needle {number:08}").total == 1


def test_a_file_is_trusted_when_its_clock_has_moved_on() -> None:
    """A file just changed, or dated in whole seconds, is read again until time has passed."""
    step = 1_000_000_000
    assert not is_settled(5 * step + 7, 5 * step + 8)
    assert is_settled(5 * step + 7, 5 * step + 60_000_000)
    assert not is_settled(5 * step, 7 * step)
    assert is_settled(5 * step, 8 * step)


EDITOR = """
import os, random, shutil, sys
root, seed = sys.argv[1:]
dice = random.Random(int(seed))
os.chdir(root)
def put(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as page:
        page.write(text)
for number, _ in enumerate(sys.stdin):
    month = f"daily/20{dice.randrange(10, 13)}/{dice.randrange(1, 4):02}"
    path = f"{month}/{dice.randrange(1, 9):02}.md"
    text = f"edit {number} " + dice.choice(["red", "green", "blue", "red green"]) + chr(10)
    kind = dice.randrange(7)
    if kind < 3:
        put(path, text)
    elif kind == 3:
        put(".staged", text)
        os.makedirs(month, exist_ok=True)
        os.replace(".staged", path)
    elif kind == 4 and os.path.exists(path):
        os.unlink(path)
    elif kind == 5:
        shutil.rmtree(month, ignore_errors=True)
    elif os.path.exists(month):
        target = f"daily/20{dice.randrange(10, 13)}/{dice.randrange(4, 6):02}"
        if not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(month, target)
    print(number, flush=True)
"""


@pytest.mark.parametrize("watching", [True, False])
def test_another_process_edits_and_the_next_query_knows(
    store: DiskStore, ada: Path, opened: Opener, seed: int, *, watching: bool
) -> None:
    """Hundreds of edits by another process, each followed at once by a query, are all seen."""
    indexes = [opened(may_watch=watching), opened(may_watch=watching)]
    command = [sys.executable, "-c", EDITOR, str(ada), str(seed)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as editor:
        assert editor.stdin is not None
        assert editor.stdout is not None
        for number in range(300):
            editor.stdin.write("go\n")
            assert editor.stdout.readline() == f"{number}\n"
            both(store, indexes[number % 2], ("green", "edit", "re")[number % 3])
        editor.stdin.close()


class Edits(RuleBasedStateMachine):
    """Random edits of two agents' pages and of the index, between random searches."""

    names = st.sampled_from(
        ["A.md", "b/c.md", "b/d.md", "daily/2026/04/01.md", "daily/2026/05/02.md", "ü.md", "x.json"]
    )
    contents = st.one_of(
        st.text("abß\n ÄäİK\0\"'", max_size=12).map(str.encode), st.binary(max_size=6)
    )
    agents = st.sampled_from(["ada", "bob"])

    @initialize(watching=st.booleans(), memory=st.sampled_from([0, 30, 10**6]))
    def begin(self, *, watching: bool, memory: int) -> None:
        self.root = Path(tempfile.mkdtemp()).resolve()
        for agent in ("ada", "bob"):
            (self.root / "agents" / agent).mkdir(parents=True)
        self.folders = {1: "ada", 2: "bob"}
        self.store = DiskStore(str(self.root), agent_folder=self.folders.__getitem__)
        self.indexes = [
            SearchIndex(
                self.store,
                str(self.root / ".looseleaf" / "index"),
                may_watch=watching,
                fewest_files=1,
                memory_bytes=memory,
            )
            for _ in range(2)
        ]

    def path(self, agent: str, name: str) -> Path:
        path = self.root / "agents" / agent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @rule(agent=agents, name=names, content=contents)
    def write(self, agent: str, name: str, content: bytes) -> None:
        self.path(agent, name).write_bytes(content)

    @rule(agent=agents, name=names, content=contents)
    def swap(self, agent: str, name: str, content: bytes) -> None:
        staged = self.root / "staged"
        staged.write_bytes(content)
        staged.rename(self.path(agent, name))

    @rule(agent=agents, name=names)
    def delete(self, agent: str, name: str) -> None:
        self.path(agent, name).unlink(missing_ok=True)

    @rule(agent=agents)
    def delete_folder(self, agent: str) -> None:
        shutil.rmtree(self.root / "agents" / agent / "daily", ignore_errors=True)

    @rule()
    def exchange_agents(self) -> None:
        self.folders[1], self.folders[2] = self.folders[2], self.folders[1]

    @rule()
    def exchange_folders(self) -> None:
        agents = self.root / "agents"
        (agents / "ada").rename(agents / "swap")
        (agents / "bob").rename(agents / "ada")
        (agents / "swap").rename(agents / "bob")

    @rule(which=st.sampled_from([".sqlite", ".sqlite-wal", ".sqlite-shm", "*"]))
    def delete_index(self, which: str) -> None:
        for path in (self.root / ".looseleaf" / "index").glob(f"agent-1{which}"):
            path.unlink()

    @rule()
    def reopen(self) -> None:
        for index in self.indexes:
            index.close()

    @rule(
        text=st.one_of(st.text("abß ÄäİK\0\"'", min_size=1, max_size=4), st.just("\ufffd")),
        agent=st.sampled_from([ADA, BOB]),
        which=st.integers(0, 1),
    )
    def check_page(self, text: str, agent: Shelf, which: int) -> None:
        both(self.store, self.indexes[which], text, agent)

    @invariant()
    def the_commonest_letter_is_found_right(self) -> None:
        if hasattr(self, "indexes"):
            both(self.store, self.indexes[0], "a")

    def teardown(self) -> None:
        if hasattr(self, "indexes"):
            for index in self.indexes:
                index.close()
            shutil.rmtree(self.root)


Edits.TestCase.settings = settings(
    max_examples=settings().max_examples // 3, stateful_step_count=25
)
TestEdits = Edits.TestCase


def test_agents_never_see_each_other(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """Each agent has an index of its own, and a search reads no other."""
    put(root / "agents/bob/MEMORY.md", "bob's secret deploy")
    index = opened()
    for _ in range(3):
        assert "bob's secret deploy" not in lines(both(store, index, "deploy", ADA))
        assert lines(both(store, index, "deploy", BOB)) == ["bob's secret deploy"]
    assert sorted(path.name for path in (root / ".looseleaf/index").glob("*.sqlite")) == [
        "agent-1.sqlite",
        "agent-2.sqlite",
    ]
    assert ada.exists()


def test_a_folder_that_changes_its_agent_changes_the_answer(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """When another folder takes the place of an agent's, its pages are searched from then on."""
    put(root / "agents/bob/MEMORY.md", "bob's secret")
    index = opened()
    for _ in range(3):
        both(store, index, "secret", ADA)
    ada.rename(root / "away")
    (root / "agents/bob").rename(ada)
    assert lines(both(store, index, "secret", ADA)) == ["bob's secret"]
    ada.rename(root / "agents/bob")
    ada.symlink_to(root / "away", target_is_directory=True)
    assert index.matching(ADA, "", "secret") is None


@pytest.mark.parametrize("watching", [True, False])
def test_a_folder_above_that_is_exchanged_changes_the_answer(
    store: DiskStore, root: Path, ada: Path, opened: Opener, *, watching: bool
) -> None:
    """No event tells a folder that one above it has gone; its path does."""
    index = opened(may_watch=watching)
    for _ in range(3):
        both(store, index, "deploy")
    (root / "agents").rename(root / "away")
    assert both(store, index, "deploy").total == 0
    put(ada / "MEMORY.md", "deploy here")
    assert lines(both(store, index, "deploy")) == ["deploy here"]


def test_processes_that_disagree_about_a_folder_are_both_right(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """A process that has not heard of an agent's new folder cannot spoil another's answers."""
    put(root / "agents/bob/MEMORY.md", "bob's deploy")
    index = opened()
    late = DiskStore(str(root), agent_folder=lambda _: "bob")
    with closing(SearchIndex(late, index.folder, fewest_files=1)) as other:
        for _ in range(4):
            time.sleep(0.06)  # a page that is not trusted yet would be read again
            assert both(store, index, "deployed").total == 8
            assert lines(both(late, other, "bob's")) == ["bob's deploy"]
    assert ada.exists()


def damage(path: Path, how: str) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    if how == "garbage":
        path.write_bytes(random.Random(1).randbytes(50_000))
    elif how == "text":
        path.write_text("not a database\n" * 1000)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif how == "holes":
        content = bytearray(path.read_bytes())
        content[4096:] = bytes(len(content) - 4096)
        path.write_bytes(content)
    else:
        path.unlink()
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE pages (id)")
            other.execute(f"PRAGMA user_version = {how.removeprefix('version ')}")


@pytest.mark.parametrize(
    "how", ["garbage", "text", "empty", "cut", "holes", "version 0", "version 7"]
)
def test_a_damaged_or_foreign_index_is_made_anew(
    store: DiskStore, root: Path, ada: Path, opened: Opener, how: str
) -> None:
    """Nothing that lies where the index should be changes an answer, and the index comes back."""
    with closing(opened()) as first:
        both(store, first, "deploy")
    path = root / ".looseleaf/index/agent-1.sqlite"
    damage(path, how)
    index = opened()
    assert both(store, index, "deploy").total == 9
    assert both(store, index, "deploy").freshness.startswith(("every", "9 files checked"))
    with closing(sqlite3.connect(path)) as made:
        assert made.execute("SELECT count(*) FROM texts").fetchone() == (9,)
    assert ada.exists()


@pytest.mark.parametrize("which", ["*", "*.sqlite", "*-wal", "*-shm"])
def test_an_index_deleted_while_open_is_made_anew(
    store: DiskStore, root: Path, ada: Path, opened: Opener, which: str
) -> None:
    """Deleting the index, or a part of it, is noticed by every process that has it open."""
    indexes = [opened(), opened()]
    for index in indexes * 3:
        both(store, index, "deploy")
    for path in (root / ".looseleaf/index").glob(which):
        path.unlink()
    put(ada / "new.md", "deploy anew")
    for index in indexes * 3:
        assert both(store, index, "deploy").total == 10
    shutil.rmtree(root / ".looseleaf/index")
    for index in indexes:
        assert both(store, index, "deploy").total == 10
    assert (root / ".looseleaf/index/agent-1.sqlite").exists()


def test_without_a_place_for_it_there_is_no_index(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """If the index cannot be written or SQLite lacks what it needs, pages are scanned."""
    put(root / ".looseleaf/index", "a file")
    index = opened()
    assert both(store, index, "deploy").freshness.startswith("9 files read at")
    assert names(store, index, "friday")[0] == "MEMORY.md"
    lacking = opened()
    lacking._is_supported = False
    assert both(store, lacking, "deploy").freshness.startswith("9 files read at")
    assert index_file.supports_full_text()
    assert ada.exists()


def test_a_locked_index_is_not_waited_for_forever(
    store: DiskStore, root: Path, ada: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another program holds the index, searches scan and answer right."""
    monkeypatch.setattr(index_file, "_BUSY_SECONDS", 0.1)
    with closing(opened()) as first:
        both(store, first, "deploy")
    with closing(sqlite3.connect(root / ".looseleaf/index/agent-1.sqlite")) as holder:
        holder.execute("BEGIN IMMEDIATE")
        put(ada / "new.md", "deploy anew")
        assert both(store, opened(), "deploy").total == 10


def test_few_pages_need_no_index(store: DiskStore, root: Path, ada: Path, opened: Opener) -> None:
    """Below the threshold nothing is left on the disk, and ranking works all the same."""
    index = opened(fewest_files=200)
    assert both(store, index, "deploy").freshness.startswith("9 files read at")
    hits = rank_pages(store, ADA, "plans for friday", index=index)
    assert hits[0].filename == "MEMORY.md"
    assert both(store, index, "deploy").total == 9
    assert not (root / ".looseleaf").exists()
    for number in range(200):
        put(ada / f"notes/{number}.md", "friday" if number == 7 else "other")
    for _ in range(2):
        assert set(names(store, index, "friday")[:2]) == {"MEMORY.md", "notes/7.md"}
    assert (root / ".looseleaf/index/agent-1.sqlite").exists()
    shutil.rmtree(ada / "notes")
    index.close()
    assert both(store, index, "deploy").total == 9
    assert list((root / ".looseleaf/index").iterdir()) == []


def test_only_the_owner_can_read_the_index(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """The index is as private as the pages, or as shared as its modes say."""
    index = opened()
    both(store, index, "deploy")
    folder = root / ".looseleaf/index"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    index.close()
    shutil.rmtree(root / ".looseleaf")
    both(store, opened(modes=(0o660, 0o770)), "deploy")
    assert folder.stat().st_mode & 0o777 == 0o770
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o660}
    assert ada.exists()


def test_a_forgotten_index_leaves_nothing(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """Forgetting a shelf deletes its file; the next search makes it anew."""
    index = opened()
    both(store, index, "deploy")
    index.forget(ADA)
    assert list((root / ".looseleaf/index").iterdir()) == []
    index.forget(ADA)
    assert both(store, index, "deploy").total == 9
    assert ada.exists()


def test_an_index_nobody_closed_lets_go(store: DiskStore, root: Path, ada: Path) -> None:
    """An index that is simply dropped leaves no file and no watch open."""
    before = len(os.listdir("/dev/fd"))
    index = SearchIndex(store, str(root / ".looseleaf/index"), fewest_files=1)
    for _ in range(2):
        both(store, index, "deploy")
    del index
    store.release()
    assert len(os.listdir("/dev/fd")) == before
    assert ada.exists()


def test_a_fork_starts_anew(store: DiskStore, ada: Path, opened: Opener) -> None:
    """A child process shares neither the connection nor the watches of its parent."""
    index = opened()
    for _ in range(3):
        both(store, index, "deploy")
    own = index._open["agent-1"]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            put(ada / "child.md", "deploy child")
            for _ in range(3):
                found = both(store, index, "deploy").total
            code = 0 if found == 10 and index._open["agent-1"] is not own else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    put(ada / "parent.md", "deploy parent")
    assert both(store, index, "deploy").total == 11


SEARCHER = """
import sys
from looseleaf.memory.scope import Shelf
from looseleaf.memory.search.substring import Query, search
from looseleaf.stores.disk.store import DiskStore
from looseleaf.stores.index.search_index import SearchIndex
root, rounds = sys.argv[1], int(sys.argv[2])
store = DiskStore(root, agent_folder=lambda _: "ada")
index = SearchIndex(store, root + "/.looseleaf/index", fewest_files=1)
query = Query(text="deploy")
for _ in range(rounds):
    print(search(store, Shelf("agent", agent_id=1), query, index=index).total, flush=True)
index.close()
"""


def searcher(root: Path, rounds: int) -> subprocess.Popen[str]:
    """Start a process that searches."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", SEARCHER, str(root), str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_an_index_is_sealed_when_python_ends(root: Path, ada: Path) -> None:
    """A program that never closes its index leaves one that the next process can use at once."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = SEARCHER.replace("index.close()", "")
    ended = subprocess.run(
        [sys.executable, "-c", script, str(root), "1"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert ended.stdout.strip()
    assert not ended.stderr
    assert is_sealed(str(root / ".looseleaf/index/agent-1.sqlite"))
    assert ada.exists()


def test_processes_share_one_index(store: DiskStore, root: Path, ada: Path, opened: Opener) -> None:
    """Several processes that search while pages come see no page less than there were."""
    for number in range(300):
        put(ada / f"notes/{number}.md", "deploy\n")
    others = [searcher(root, 120) for _ in range(3)]
    index = opened()
    for number in range(300, 400):
        put(ada / f"notes/{number}.md", "deploy\n")
        assert search(store, ADA, Query(text="deploy"), index=index).total == 9 + number + 1
    for other in others:
        totals = [int(line) for line in other.communicate()[0].split()]
        assert other.returncode == 0
        assert len(totals) == 120
        assert totals == sorted(totals)
        assert totals[0] >= 309
        assert totals[-1] <= 409
    assert both(store, opened(), "deploy").total == 409


def test_threads_share_one_index(store: DiskStore, ada: Path, opened: Opener) -> None:
    """Threads that search at once, while the index is closed and deleted, get right answers."""
    index = opened()
    wrong: list[object] = []

    def work() -> None:
        for _ in range(60):
            for shelf, total in ((ADA, 9), (BOB, 0)):
                found = search(store, shelf, Query(text="deploy"), index=index).total
                if found != total:
                    wrong.append((shelf, found))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        index.forget(ADA)
        time.sleep(0.02)
    assert not wrong
    assert ada.exists()


def test_a_build_that_is_killed_does_no_harm(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """Killed at any moment, a build leaves a sound part that the next one completes."""
    for number in range(1500):
        put(ada / f"notes/{number}.md", f"deploy {number} {'filler ' * 60}\n")
    for wait in (0.15, 0.3, 0.45):
        with searcher(root, 1) as builder:
            time.sleep(wait)
            builder.send_signal(signal.SIGKILL)
    index = opened()
    assert both(store, index, "deploy").total == 1509
    assert both(store, index, "deploy 777").total == 1


def test_shelves_take_turns(root: Path) -> None:
    """However many agents are searched, only a few indexes are open, and memory stays bounded."""
    store = DiskStore(str(root), agent_folder=lambda number: f"agent{number}")
    for number in range(1, 13):
        put(root / f"agents/agent{number}/A.md", f"deploy {number}\n" * 10)
    index = SearchIndex(store, str(root / ".looseleaf/index"), fewest_files=1, memory_bytes=300)
    with closing(index):
        for _ in range(2):
            for number in range(1, 13):
                assert both(store, index, "deploy", Shelf("agent", agent_id=number)).total == 10
        assert len(index._open) == 8
        assert 0 <= index._memory.free_bytes <= 300
        index.close()
        assert index._memory.free_bytes == 300
        assert os.listdir(root / ".looseleaf/index")


@WATCHED
def test_more_changes_than_can_be_told_are_all_seen(
    store: DiskStore, ada: Path, opened: Opener
) -> None:
    """When the kernel's queue of changes overflows, every file is checked again."""
    index = opened()
    for _ in range(3):
        both(store, index, "deploy")
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as most:
        rounds = int(most.read()) // 16
    pages = [open(ada / f"daily/2026/04/{day:02}.md", "ab", buffering=0) for day in range(1, 9)]  # noqa: SIM115
    for _ in range(rounds):
        for page in pages:
            page.write(b"deploy\n")
            os.fchmod(page.fileno(), 0o600)
    put(ada / "last.md", "deploy last")
    assert both(store, index, "deploy last").total == 1
    assert both(store, index, "deploy").total == 10 + 8 * rounds
    for page in pages:
        page.close()


@WATCHED
def test_without_watches_every_file_is_checked(
    store: DiskStore, ada: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the system lets nothing be watched, or too little, files are checked instead."""
    monkeypatch.setattr(file_states, "_SHARE", 10**12)
    index = opened()
    for _ in range(3):
        assert both(store, index, "deploy").freshness.startswith("9 files checked at")
    monkeypatch.undo()
    tree = Tree(str(ada))
    with closing(tree):
        tree.refresh()
        tree.refresh()
        assert tree.freshness.startswith("every change seen")
        assert tree._watch is not None
        tree._watch._free_watches = 0
        put(ada / "new.md", "deploy")
        tree.refresh()
        assert tree.freshness.startswith("10 files checked")


@WATCHED
def test_only_local_file_systems_are_trusted(tmp_path: Path) -> None:
    """What lies on the kernel's own pseudo file systems, or on the network, is not."""
    assert is_local(str(tmp_path.resolve()))
    assert not is_local("/proc/self")


def test_ranking_finds_words_in_other_forms(store: DiskStore, ada: Path, opened: Opener) -> None:
    """Endings, case and accents do not matter; the names of pages count; changes are seen."""
    index = opened()
    put(ada / "brand-guidelines.md", "colors and fonts")
    put(ada / "b.md", "Überprüfung der Rechnung\nthe invoices were paid")
    assert names(store, index, "paying invoice") == ["b.md"]
    assert names(store, index, "uberprufung") == ["b.md"]
    assert names(store, index, "guideline") == ["brand-guidelines.md"]
    assert names(store, index, '"quoted" NEAR(') == []
    assert len(names(store, index, "deploy")) == 9
    put(ada / "b.md", "nothing")
    assert names(store, index, "invoice") == []
    put(ada / "c.md", "今日は会議がありました")
    assert names(store, index, "会議") == ["c.md"]
    (ada / "brand-guidelines.md").unlink()
    assert names(store, index, "guideline") == []


QUESTIONS = (
    "When did we deploy on Friday?",
    "what was deployed in April 2026",
    "wann war die Überprüfung der Rechnungen?",
    "会議はいつですか",
    "notes guideline",
    "the of and",
)


def test_ranking_is_the_same_with_and_without_the_index(
    store: DiskStore, ada: Path, opened: Opener
) -> None:
    """Names, scores and lines, also while pages come, change and go, and in a second process."""
    index, other = opened(), opened()
    for turn in range(4):
        put(
            ada / f"daily/2026/05/{turn + 1:02}.md",
            f"- deployed {'again ' * turn}\n- 会議 {turn}\n",
        )
        put(ada / "guidelines.md", f"Überprüfung der Rechnung {turn}\n\n" + "the cache\n" * turn)
        for question in QUESTIONS:
            scanned = rank_pages(store, ADA, question)
            assert rank_pages(store, ADA, question, index=index) == scanned, question
            assert rank_pages(store, ADA, question, index=other) == scanned, question
        for path in (ada / "daily/2026/04").glob("0*.md") if turn == 2 else ():
            path.unlink()


def test_more_pages_than_candidates_are_ranked_alike(
    store: DiskStore, ada: Path, opened: Opener
) -> None:
    """If the coarse round must choose among many pages that are nearly the same."""
    index = opened()
    for number in range(150):
        words = "server cache " * (number % 7) + "invoice " * (number % 3)
        put(ada / f"notes/{number}.md", f"{words}\nline {number}\n" + "more text\n" * (number % 5))
    for question in ("server invoice", "cache", "line 77", "server cache invoice line"):
        scanned = rank_pages(store, ADA, question, limit=30)
        assert rank_pages(store, ADA, question, index=index, limit=30) == scanned, question
        assert len(scanned) == 30 or question == "line 77"
    assert rank_pages(store, ADA, "line 77", index=index)[0].filename == "notes/77.md"


def test_an_index_of_an_older_layout_is_made_anew(
    store: DiskStore, root: Path, ada: Path, opened: Opener
) -> None:
    """The file of an older version is no damage, and gives no answer either."""
    with closing(opened()) as index:
        assert names(store, index, "deploy")
    path = root / ".looseleaf/index/agent-1.sqlite"
    with closing(sqlite3.connect(path)) as file:
        version = file.execute("PRAGMA user_version").fetchone()[0]
        file.execute("DELETE FROM stems")
        file.execute(f"PRAGMA user_version = {version - 100_000}")
        file.commit()
    assert names(store, opened(), "deploy") == [
        h.filename for h in rank_pages(store, ADA, "deploy")
    ]
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone()[0] == version
    assert ada.exists()


@pytest.mark.parametrize(
    "fault",
    [
        "DELETE FROM stems WHERE id = 3",
        "UPDATE stems SET id = 777 WHERE id = 3",
        "INSERT INTO words (rowid, terms) VALUES (888, 'deplo frida')",
    ],
)
def test_an_index_with_other_words_than_pages_is_made_anew(
    store: DiskStore, root: Path, ada: Path, opened: Opener, fault: str
) -> None:
    """A part of it that does not fit the rest is damage, and never an answer."""
    with closing(opened()) as index:
        assert names(store, index, "deploy")
    with closing(sqlite3.connect(root / ".looseleaf/index/agent-1.sqlite")) as file:
        file.execute(fault)
        file.commit()
    found = rank_pages(store, ADA, "deploy on Friday", index=opened())
    assert found == rank_pages(store, ADA, "deploy on Friday")
    assert ada.exists()


def names(store: DiskStore, index: SearchIndex, words: str) -> list[str]:
    return [hit.filename for hit in rank_pages(store, ADA, words, index=index)]
