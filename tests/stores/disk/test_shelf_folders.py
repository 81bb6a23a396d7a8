"""Folders that are held open for a moment: never another agent's, never outside, never for long."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf import Change, Found, Workspace
from looseleaf.errors import Unavailable, Unsafe
from looseleaf.errors.pages import AgentMissing
from looseleaf.memory.scope import Scope, Shelf
from looseleaf.memory.search.substring import Query, search
from looseleaf.memory.store import Missing
from looseleaf.stores.disk import shelf_folders
from looseleaf.stores.disk.store import DiskStore
from looseleaf.stores.index.search_index import SearchIndex
from tests.agent_folders import AGENTS
from tests.stores.conformance import ADA, BOB, MEMORY, SHARED, StoreConformance, put, read
from tests.stores.disk.test_cache import wait_until_settled
from tests.stores.mounts import mount_disk
from tests.stores.test_links import OUTSIDE, Flipping

LONG = 3600.0
PAGE = ADA.page("notes/page.md")


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a process that has read many pages, and in which a moment is long."""
    loaded = shelf_folders._load_openers()
    if loaded is None:
        pytest.skip("this system has no openat2")
    monkeypatch.setattr(shelf_folders, "_reads", shelf_folders._MANY_READS)
    monkeypatch.setattr(shelf_folders, "_openers", loaded)
    monkeypatch.setattr(shelf_folders, "MOMENT_SECONDS", LONG)


@pytest.fixture(params=[shutil.rmtree, lambda root: root.rename(root.with_name("away"))])
def lost_store(request: pytest.FixtureRequest, store: DiskStore, root: Path) -> DiskStore:
    """Return a store whose root went away while a folder below it was held, and let go of it."""
    put(store, MEMORY, b"text")
    assert held(store, MEMORY) == b"text"
    request.param(root)
    if root.with_name("away").exists():
        pass_time(store)
    return store


class TestHeld(StoreConformance):
    """The contract of every store, of one that holds the folders it reads from."""


def held(store: DiskStore, scope: Scope) -> bytes | None:
    """Read a page from its file, and see that its folder is held from then on."""
    store._cache.pages.clear()
    read(store, scope)
    store._cache.pages.clear()
    content = read(store, scope)
    assert store._shelves._shelves
    return content


def pass_time(store: DiskStore) -> None:
    """Let the moment pass for which folders are held."""
    for shelf in store._shelves._shelves.values():
        shelf.until = time.monotonic() - 0.001


def open_files() -> int:
    gc.collect()  # workspaces of other tests that nobody closed
    return count_open_files()


def count_open_files() -> int:
    return len(os.listdir("/dev/fd"))


def test_a_held_folder_is_read_from(store: DiskStore, root: Path) -> None:
    """Else this suite proves nothing. One that was moved away is read until the moment is over."""
    put(store, MEMORY, b"text")
    assert held(store, MEMORY) == b"text"
    (root / "agents/ada").rename(root / "away")
    assert held(store, MEMORY) == b"text"
    pass_time(store)
    assert store.read(MEMORY) == Missing()


def test_a_single_read_holds_nothing(store: DiskStore, root: Path) -> None:
    """Who reads a page now and then looks for its folder each time."""
    put(store, MEMORY, b"text")
    store._shelves._last_opened.clear()
    assert read(store, MEMORY) == b"text"
    assert not store._shelves._shelves
    (root / "agents/ada").rename(root / "away")
    assert store.read(MEMORY) == Missing()


def test_an_edit_is_seen_at_once(store: DiskStore, root: Path) -> None:
    """It is the folder that is held: each page is opened when it is read, inner folders too."""
    put(store, PAGE, b"one")
    assert held(store, PAGE) == b"one"
    (root / "agents/ada/notes/page.md").write_bytes(b"two")
    assert held(store, PAGE) == b"two"
    (root / "agents/ada/notes").rename(root / "agents/ada/old")
    assert read(store, PAGE) is None
    (root / "agents/ada/notes").mkdir()
    (root / "agents/ada/notes/page.md").write_bytes(b"three")
    assert held(store, PAGE) == b"three"


@pytest.mark.parametrize("gone", ["agents/ada", "agents"])
def test_a_folder_made_anew_is_read_at_once(store: DiskStore, root: Path, gone: str) -> None:
    """Nothing is found in a folder that was deleted, so it is looked for again."""
    put(store, MEMORY, b"old")
    assert held(store, MEMORY) == b"old"
    shutil.rmtree(root / gone)
    (root / "agents/ada").mkdir(parents=True)
    assert store.read(MEMORY) == Missing()
    (root / "agents/ada/MEMORY.md").write_bytes(b"new")
    assert read(store, MEMORY) == b"new"


@pytest.mark.parametrize("where", ["agents", "agents/ada", "agents/ada/notes", PAGE.filename])
def test_a_link_in_the_way_is_never_followed(
    store: DiskStore, root: Path, tmp_path: Path, where: str
) -> None:
    """Held or not, what a link leads to is refused, and what was held is not the link's end."""
    put(store, PAGE, b"inside")
    outside = outside_of(tmp_path)
    assert held(store, PAGE) == b"inside"
    swapped = root / (where if where.startswith("agents") else f"agents/ada/{where}")
    swapped.rename(root / "away")
    swapped.symlink_to(outside / "page.md" if where == PAGE.filename else outside)
    if where.startswith("agents/ada/") or where == PAGE.filename:
        with pytest.raises(Unsafe):
            held(store, PAGE)
    else:
        assert held(store, PAGE) == b"inside"
    pass_time(store)
    with pytest.raises(Unsafe):
        store.read(PAGE)


@pytest.mark.parametrize("moment", [LONG, 0.0002, -1.0], ids=["long", "short", "never"])
@pytest.mark.parametrize("where", ["", "ada", "ada/notes", "ada/notes/page.md"])
def test_a_link_swapped_in_during_a_read_leads_nowhere(
    store: DiskStore,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    moment: float,
) -> None:
    """While a folder or the page keeps turning into a link, no byte outside is read."""
    monkeypatch.setattr(shelf_folders, "MOMENT_SECONDS", moment)
    put(store, PAGE, b"inside")
    outside = outside_of(tmp_path)
    target = outside / "page.md" if where.endswith(".md") else outside
    answers = set()
    with Flipping(root / "agents" / where, target):
        for _ in range(4_000):
            store._cache.pages.clear()
            try:
                answers.add(read(store, PAGE))
            except (Unsafe, Unavailable):
                answers.add(b"refused")
    # None: between two looks at a folder that is being swapped, it may have been neither.
    assert b"inside" in answers
    assert answers <= {b"inside", b"refused", None}


def outside_of(tmp_path: Path) -> Path:
    """Create a folder outside the root that has the page, whatever part of its path leads there."""
    outside = tmp_path / "outside"
    for folder in ("", "notes", "ada/notes"):
        (outside / folder).mkdir(parents=True, exist_ok=True)
        (outside / folder / "page.md").write_bytes(OUTSIDE)
    return outside


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_page_is_refused(
    store: DiskStore, root: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """A pipe, a folder or a hard link below a held folder is refused as anywhere else."""
    put(store, MEMORY, b"text")
    assert held(store, MEMORY) == b"text"
    make(root / "agents/ada/odd.md")
    os.link(outside_of(tmp_path) / "page.md", root / "agents/ada/linked.md")
    for name in ("odd.md", "linked.md"):
        with pytest.raises(Unsafe):
            store.read(ADA.page(name))
    assert store._shelves._shelves


def test_another_file_system_is_refused(store: DiskStore, root: Path) -> None:
    """A disk mounted below a held folder is not read; one mounted over it is, at most, not seen."""
    put(store, PAGE, b"text")
    assert held(store, PAGE) == b"text"
    with mount_disk(root / "agents/ada/notes"):
        (root / "agents/ada/notes/page.md").write_bytes(OUTSIDE)
        with pytest.raises(Unsafe, match="another file system"):
            held(store, PAGE)
    with mount_disk(root / "agents/ada"):
        (root / "agents/ada/notes").mkdir()
        (root / "agents/ada/notes/page.md").write_bytes(OUTSIDE)
        try:
            assert held(store, PAGE) == b"text"
            pass_time(store)
            with pytest.raises(Unsafe, match="another file system"):
                store.read(PAGE)
        finally:
            store.release()  # or the disk could not be unmounted
    assert held(store, PAGE) == b"text"


def page(workspace: Workspace, shelf: Shelf, text: str = "") -> bytes | None:
    """Write a page of an agent if there is something to write, and read it from its file."""
    scope = shelf.page("MEMORY.md")
    if text:
        workspace.pages.write(scope, text, change=Change())
    workspace.store._cache.pages.clear()
    return read(workspace.store, scope)


def test_agents_that_change_places_are_never_mixed(workspace: Workspace) -> None:
    """Another process renames one and makes another in its place: each has its own pages."""
    other = Workspace.open(workspace.root)
    ada = workspace.agents.resolve("ada").shelf
    page(workspace, ada, "of ada")
    assert page(workspace, ada) == b"of ada"
    assert workspace.store._shelves._shelves
    other.agents.rename("ada", "eve")
    new = other.agents.create("ada").shelf
    page(other, new, "of the new one")
    wait_until_settled(Path(workspace.root, "agents/ada/MEMORY.md"))
    assert page(workspace, new) == b"of the new one"
    # Now a page lies at the path where ada's was, and is remembered as the new one's.
    assert read(workspace.store, ada.page("MEMORY.md")) == b"of ada"
    assert read(workspace.store, new.page("MEMORY.md")) == b"of the new one"
    for _ in range(2):
        assert page(workspace, ada) == b"of ada"
        assert page(workspace, new) == b"of the new one"
        pass_time(workspace.store)


def test_agents_that_change_places_just_then_are_not_held(workspace: Workspace) -> None:
    """A folder that became another agent's before it was opened is not taken for the first's."""
    other = Workspace.open(workspace.root)
    ada, new = workspace.agents.resolve("ada").shelf, other.agents.create("new").shelf
    page(workspace, ada, "of ada")
    page(other, new, "of the new one")
    workspace.store.release()
    looked_up = workspace.store._agent_folder

    def and_then_renamed(agent_id: int) -> str:
        slug = looked_up(agent_id)
        other.agents.rename("ada", "eve")
        other.agents.rename("new", "ada")
        workspace.store._agent_folder = looked_up
        return slug

    workspace.store._agent_folder = and_then_renamed
    page(workspace, ada)
    assert not workspace.store._shelves._shelves
    assert page(workspace, ada) == b"of ada"


def test_an_agent_removed_elsewhere_is_gone_when_time_has_passed(workspace: Workspace) -> None:
    """Until then what is left of its folder is read, and nobody else's."""
    other = Workspace.open(workspace.root)
    ada = workspace.agents.resolve("ada").shelf
    page(workspace, ada, "of ada")
    assert page(workspace, ada) == b"of ada"
    other.agents.remove("ada")
    assert page(workspace, ada) == b"of ada"
    pass_time(workspace.store)
    with pytest.raises(AgentMissing):
        page(workspace, ada)


def test_what_this_process_does_to_an_agent_holds_at_once(workspace: Workspace) -> None:
    """A rename and a removal let go of what is held."""
    ada = workspace.agents.resolve("ada").shelf
    page(workspace, ada, "of ada")
    assert page(workspace, ada) == b"of ada"
    workspace.agents.rename("ada", "eve")
    assert not workspace.store._shelves._shelves
    assert page(workspace, ada) == b"of ada"
    workspace.agents.remove("eve")
    with pytest.raises(AgentMissing):
        page(workspace, ada)


def test_a_write_is_read_where_it_went(workspace: Workspace) -> None:
    """A copy put in the place of an agent's folder gets the write, and the next read."""
    ada = workspace.agents.resolve("ada").shelf
    page(workspace, ada, "first")
    assert page(workspace, ada) == b"first"
    folder = Path(workspace.root, "agents/ada")
    shutil.copytree(folder, folder.with_name("copy"))
    folder.rename(Path(workspace.root, "old"))
    folder.with_name("copy").rename(folder)
    assert page(workspace, ada, "second") == b"second"
    assert Path(workspace.root, "old/MEMORY.md").read_bytes() == b"first"
    assert (folder / "MEMORY.md").read_bytes() == b"second"


def test_a_list_and_what_is_read_after_it_agree(store: DiskStore, root: Path) -> None:
    """Another folder in the place of an agent's is listed, and then read, too."""
    put(store, MEMORY, b"old")
    assert held(store, MEMORY) == b"old"
    (root / "agents/ada").rename(root / "away")
    (root / "agents/ada").mkdir()
    (root / "agents/ada/MEMORY.md").write_bytes(b"other")
    assert [entry.bytes for entry in store.list_layer(ADA)] == [5]
    assert held(store, MEMORY) == b"other"


def test_an_index_never_keeps_a_text_of_a_folder_that_was_moved(
    store: DiskStore, root: Path
) -> None:
    """A page is read again after its file was looked at: else the old text would stay for good."""
    put(store, MEMORY, b"old text")
    put(store, BOB.page("MEMORY.md"), b"new text")
    agents = root / "agents"

    index = SearchIndex(store, str(root / ".looseleaf/index"), fewest_files=1)
    wait_until_settled(agents / "bob/MEMORY.md")
    folder = store.folder

    def swapped(shelf: Shelf) -> str:
        path = folder(shelf)
        assert held(store, MEMORY) == b"old text"  # another thread, just then
        (agents / "ada").rename(root / "away")
        (agents / "bob").rename(agents / "ada")
        store.folder = folder  # type: ignore[method-assign]
        return path

    store.folder = swapped  # type: ignore[method-assign]
    search(store, ADA, Query(text="text"), index=index)
    for text, wanted in (("old", 0), ("new", 1)):
        assert search(store, ADA, Query(text=text), index=index).total == wanted
    index.close()


def test_a_folder_that_is_not_the_agents_is_not_held(root: Path) -> None:
    """Whoever says which folder is whose is asked about the open folder itself."""
    asked: list[tuple[bool, int]] = []

    def is_folder_of(folder: int, agent: int) -> bool:
        asked.append((os.path.sameopenfile(folder, own), agent))
        return False

    store = DiskStore(str(root), agent_folder=AGENTS.__getitem__, is_folder_of=is_folder_of)
    put(store, MEMORY, b"text")
    own = os.open(root / "agents/ada", os.O_RDONLY)
    before = open_files()
    for _ in range(2):
        store._cache.pages.clear()
        assert read(store, MEMORY) == b"text"
    assert not store._shelves._shelves
    assert asked == [(True, 1)]
    assert open_files() == before
    os.close(own)


def test_what_is_let_go_of_while_it_is_taken_stays_so(root: Path) -> None:
    """A hold that was looked at before a removal does not come back after it."""

    asked: list[int] = []

    def is_folder_of(_folder: int, agent: int) -> bool:
        asked.append(agent)
        store.release()
        return True

    store = DiskStore(str(root), agent_folder=AGENTS.__getitem__, is_folder_of=is_folder_of)
    put(store, MEMORY, b"text")
    before = open_files()
    for _ in range(2):
        store._cache.pages.clear()
        assert read(store, MEMORY) == b"text"
    assert asked == [1]
    assert not store._shelves._shelves
    assert open_files() == before


def test_few_folders_are_held_and_none_after_a_release(store: DiskStore, root: Path) -> None:
    """However many shelves are read, and none is left open."""
    before = open_files()
    for number in range(1, 201):
        (root / f"users/{number}").mkdir(parents=True)
        (root / f"users/{number}/USER.md").write_bytes(b"%d" % number)
    for number in range(1, 201):
        scope = Shelf("user", number).page("USER.md")
        assert held(store, scope) == b"%d" % number
        assert count_open_files() <= before + shelf_folders._MOST_HELD
    assert read(store, SHARED.page("SITE.md")) is None
    assert open_files() > before
    store.release()
    assert open_files() == before


def test_a_store_that_is_dropped_lets_go(root: Path) -> None:
    """Nobody has to close it."""
    before = open_files()
    store = DiskStore(str(root), agent_folder=AGENTS.__getitem__)
    put(store, MEMORY, b"text")
    assert held(store, MEMORY) == b"text"
    assert open_files() == before + 1
    del store
    assert open_files() == before


def test_a_reader_keeps_what_another_thread_lets_go_of(store: DiskStore) -> None:
    """A folder is closed only when nobody is just opening a page in it."""
    names = [f"{letter}.md" for letter in "abcd"]
    for name in names:
        put(store, ADA.page(name), name.encode())
    done, wrong = threading.Event(), []

    def reading(name: str) -> None:
        while not done.is_set():
            store._cache.pages.clear()
            if read(store, ADA.page(name)) != name.encode():
                wrong.append(name)

    threads = [threading.Thread(target=reading, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for _ in range(3_000):
        store.release()
        os.close(os.open("/", os.O_RDONLY))  # takes the numbers that become free
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_process_has_its_own(store: DiskStore) -> None:
    """What the child lets go of, its parent still has."""
    put(store, MEMORY, b"text")
    assert held(store, MEMORY) == b"text"
    child = os.fork()
    if child == 0:
        right = held(store, MEMORY) == b"text"
        store.release()
        os._exit(0 if right and read(store, MEMORY) == b"text" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert held(store, MEMORY) == b"text"


def test_a_process_that_reads_little_holds_nothing(root: Path) -> None:
    """Neither is ctypes loaded for a few pages nor a folder left open."""
    (root / "agents/ada/MEMORY.md").write_bytes(b"text")
    script = (
        "import os, sys; from looseleaf.stores.disk.store import DiskStore; "
        "from looseleaf.memory.scope import Shelf; "
        "store = DiskStore(sys.argv[1], agent_folder=lambda _: 'ada')\n"
        "def read(times):\n"
        "    for _ in range(times):\n"
        "        store._cache.pages.clear(); store.read(Shelf('agent', 0, 1).page('MEMORY.md'))\n"
        "    print(len(os.listdir('/dev/fd')), 'ctypes' in sys.modules)\n"
        "read(0); read(20); read(100)"
    )
    command = [sys.executable, "-c", script, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    none, few, many = (line.split() for line in done.stdout.splitlines())
    assert few == none == [none[0], "False"]
    assert many == [str(int(none[0]) + 1), "True"]


@pytest.mark.parametrize("missing", ["machine", "platform", "kernel"])
def test_where_the_system_cannot_nothing_is_held(
    store: DiskStore,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
) -> None:
    """It is found out once; pages are read the long way."""
    if missing == "machine":
        monkeypatch.setattr(shelf_folders, "_MACHINES", frozenset())
    elif missing == "platform":
        monkeypatch.setattr(sys, "platform", "darwin")
    else:
        library = type("Library", (), {"syscall": lambda *_: -1})()
        monkeypatch.setattr(ctypes, "CDLL", lambda *_: library)
    loaded = shelf_folders._load_openers()
    monkeypatch.undo()
    assert loaded is None
    monkeypatch.setattr(shelf_folders, "_reads", shelf_folders._MANY_READS)
    monkeypatch.setattr(shelf_folders, "_openers", None)
    put(store, MEMORY, b"text")
    assert read(store, MEMORY) == b"text"
    assert not store._shelves._shelves
    assert read(store, PAGE) is None
    (root / "agents/ada/notes").symlink_to(outside_of(tmp_path))
    with pytest.raises(Unsafe):
        store.read(PAGE)


def test_a_name_that_is_not_ascii_is_the_same_name(store: DiskStore) -> None:
    """Names go to the system in its own encoding, on every way."""
    scope = ADA.page("notes/день 日.md")
    put(store, scope, b"text")
    assert held(store, scope) == b"text"
    assert isinstance(store.read(scope), Found)
