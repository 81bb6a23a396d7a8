"""Nothing outside the root is read or written, whatever lies in the way of a page."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf.errors import Unavailable, Unsafe
from looseleaf.files import atomic
from looseleaf.memory.store import ABSENT, hash_content
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.stores.conformance import ADA, CHANGE, MEMORY, put, read
from tests.stores.mounts import mount_disk
from tests.stores.tree import read_tree

OUTSIDE = b"outside the root"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Create a folder outside the root with a page in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "MEMORY.md").write_bytes(OUTSIDE)
    return folder


def test_a_linked_page_is_refused(store: DiskStore, root: Path, outside: Path) -> None:
    """A symlink in place of a page is neither read nor written nor deleted."""
    (root / "agents/ada/MEMORY.md").symlink_to(outside / "MEMORY.md")
    refused(store)
    assert (outside / "MEMORY.md").read_bytes() == OUTSIDE


def test_a_dangling_link_is_refused(store: DiskStore, root: Path, outside: Path) -> None:
    """A symlink to nowhere is refused too, and nothing comes to be at its end."""
    (root / "agents/ada/MEMORY.md").symlink_to(outside / "new.md")
    with pytest.raises(Unsafe):
        put(store, MEMORY, b"x")
    with pytest.raises(Unsafe):
        store.write(MEMORY, b"x", if_match=ABSENT, change=CHANGE)
    assert not (outside / "new.md").exists()


@pytest.mark.parametrize("where", ["agents", "agents/ada"])
def test_a_linked_folder_is_refused(
    store: DiskStore, root: Path, outside: Path, where: str
) -> None:
    """A symlink in place of any folder on the way to a page is not followed."""
    shutil.rmtree(root / "agents")
    (outside / "ada").mkdir()
    (outside / "ada/MEMORY.md").write_bytes(OUTSIDE)
    (root / where).parent.mkdir(exist_ok=True)
    (root / where).symlink_to(outside / "ada" if where.endswith("ada") else outside)
    refused(store)
    with pytest.raises(Unsafe):
        store.list_layer(ADA)
    with pytest.raises(Unsafe):
        store.list_subtree(ADA, "")
    assert sorted(os.listdir(outside)) == ["MEMORY.md", "ada"]
    assert os.listdir(outside / "ada") == ["MEMORY.md"]


@pytest.mark.parametrize("where", [".looseleaf", ".looseleaf/history", ".looseleaf/staging"])
def test_a_linked_folder_of_ours_is_refused(
    store: DiskStore, root: Path, outside: Path, where: str
) -> None:
    """Our own folders are not followed out of the root either."""
    put(store, MEMORY, b"text")
    (root / where).rename(root / "moved")
    (root / where).symlink_to(outside)
    before = read_tree(outside)
    with pytest.raises(Unsafe):
        put(store, MEMORY, b"new")
    with pytest.raises(Unsafe):
        store.delete(MEMORY, change=CHANGE)
    assert read(store, MEMORY) == b"text"
    assert read_tree(outside) == before


@pytest.mark.parametrize("name", ["log", "1"])
def test_a_linked_history_is_refused(
    store: DiskStore, root: Path, outside: Path, name: str
) -> None:
    """A link in place of a page's log or of one of its versions is not followed."""
    put(store, MEMORY, b"one")
    put(store, MEMORY, b"two")
    inside = root / ".looseleaf/history/agent-1/MEMORY.md" / name
    inside.unlink()
    inside.symlink_to(outside / "MEMORY.md")
    with pytest.raises(Unsafe):
        DiskHistory(store).content(MEMORY, 1)
    if name == "log":
        with pytest.raises(Unsafe):
            put(store, MEMORY, b"three")
    assert (outside / "MEMORY.md").read_bytes() == OUTSIDE
    assert read(store, MEMORY) == b"two"


def test_a_hard_link_is_refused(store: DiskStore, root: Path, outside: Path) -> None:
    """A page that is also a file elsewhere is neither read nor replaced nor deleted."""
    os.link(outside / "MEMORY.md", root / "agents/ada/MEMORY.md")
    refused(store)
    assert (outside / "MEMORY.md").read_bytes() == OUTSIDE
    assert (outside / "MEMORY.md").stat().st_nlink == 2


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_refused(
    store: DiskStore, root: Path, make: Callable[[Path], None]
) -> None:
    """A pipe or a folder in place of a page is refused at once, without waiting for anyone."""
    make(root / "agents/ada/MEMORY.md")
    refused(store)


def test_a_page_in_place_of_a_folder_is_refused(store: DiskStore) -> None:
    """A page has no pages below it."""
    put(store, ADA.page("a.md"), b"text")
    with pytest.raises(Unsafe):
        store.read(ADA.page("a.md/b.md"))
    with pytest.raises(Unsafe):
        put(store, ADA.page("a.md/b.md"), b"text")
    assert read(store, ADA.page("a.md")) == b"text"


def test_another_file_system_is_refused(store: DiskStore, root: Path) -> None:
    """A disk mounted on the way to a page is neither read nor written."""
    put(store, ADA.page("notes/page.md"), b"text")
    with mount_disk(root / "agents/ada/notes"):
        with pytest.raises(Unsafe, match="another file system"):
            put(store, ADA.page("notes/new.md"), b"text")
        (root / "agents/ada/notes/page.md").write_bytes(OUTSIDE)
        with pytest.raises(Unsafe, match="another file system"):
            store.read(ADA.page("notes/page.md"))
        with pytest.raises(Unsafe, match="another file system"):
            put(store, ADA.page("notes/page.md"), b"new")
        assert os.listdir(root / "agents/ada/notes") == ["page.md"]
    assert read(store, ADA.page("notes/page.md")) == b"text"


def refused(store: DiskStore) -> None:
    """Check that no operation touches the page."""
    with pytest.raises(Unsafe):
        store.read(MEMORY)
    with pytest.raises(Unsafe):
        store.exists(MEMORY)
    for if_match in (None, ABSENT, hash_content(OUTSIDE)):
        with pytest.raises(Unsafe):
            store.write(MEMORY, b"x", if_match=if_match, change=CHANGE)
    with pytest.raises(Unsafe):
        store.edit(MEMORY, lambda _page: b"x", change=CHANGE)
    with pytest.raises(Unsafe):
        store.delete(MEMORY, change=CHANGE)


@pytest.mark.parametrize("rounds", [1_500, pytest.param(30_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", ["ada", "ada/notes", "ada/notes/page.md"])
def test_a_link_swapped_in_during_a_call_leads_nowhere(
    store: DiskStore, root: Path, outside: Path, where: str, rounds: int
) -> None:
    """While a folder or page keeps turning into a link, no byte outside is read or written."""
    page = ADA.page("notes/page.md")
    put(store, page, b"inside 0")
    (outside / "notes").mkdir()
    for name in ("page.md", "notes/page.md"):
        (outside / name).write_bytes(OUTSIDE)
    before = read_tree(outside)
    flipped = root / "agents" / where
    target = outside / "page.md" if where.endswith(".md") else outside
    refused = 0
    with Flipping(flipped, target):
        for number in range(rounds):
            try:
                if number % 4 == 3:
                    put(store, page, f"inside {number}".encode())
                elif number % 40 == 2:
                    store.list_subtree(ADA, "")
                else:
                    assert (read(store, page) or b"inside").startswith(b"inside")
            except (Unsafe, Unavailable):
                refused += 1
    assert read_tree(outside) == before
    assert 0 < refused < rounds


class Flipping:
    """A thread that flips a path between what it is and a link, in a `with` block."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path, self.link = path, path.with_name("link-to-flip")
        self.link.symlink_to(target)
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._flip)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_outcome: object) -> None:
        self.done.set()
        self.thread.join()

    def _flip(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            while not self.done.is_set():
                atomic.exchange(folder, self.path.name, folder, self.link.name)
        finally:
            os.close(folder)
