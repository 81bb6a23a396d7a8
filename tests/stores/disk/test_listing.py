"""Listings have pages and nothing else."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

from looseleaf.memory.store import Found
from looseleaf.stores.disk.store import DiskStore
from tests.stores.conformance import ADA, MEMORY, put


def test_only_pages_are_listed(store: DiskStore, root: Path) -> None:
    """Other files, hidden ones, links, pipes and folders are left out."""
    shelf = root / "agents/ada"
    put(store, MEMORY, b"text")
    put(store, ADA.page("notes/inner.md"), b"text")
    for name in ("agent.json", ".hidden.md", "page.md~", "notes/.git", "a:b.md", "no-suffix"):
        (shelf / name).write_bytes(b"x")
    (shelf / ".folder").mkdir()
    (shelf / ".folder/page.md").write_bytes(b"x")
    (shelf / "folder.md").mkdir()
    os.mkfifo(shelf / "pipe.md")
    (shelf / "link.md").symlink_to(shelf / "MEMORY.md")
    (shelf / "linked").symlink_to(shelf / "notes")
    (shelf / os.fsdecode(b"bad\xff.md")).write_bytes(b"x")
    assert [entry.filename for entry in store.list_layer(ADA)] == ["MEMORY.md"]
    listed = [entry.filename for entry in store.list_subtree(ADA, "")]
    assert listed == ["MEMORY.md", "notes/inner.md"]


def test_an_entry_tells_size_and_time(store: DiskStore, root: Path) -> None:
    """A listing gives each page's length and when it last changed."""
    put(store, MEMORY, b"text")
    os.utime(root / "agents/ada/MEMORY.md", (1.5e9, 1.25e9))
    (entry,) = store.list_layer(ADA)
    assert (entry.bytes, entry.updated) == (4, 1.25e9)
    page = store.read(MEMORY)
    assert isinstance(page, Found)
    assert page.updated == 1.25e9


def test_folders_deeper_than_a_page_can_be_are_left_alone(store: DiskStore, root: Path) -> None:
    """A tree deeper than any page can stand is not walked to its end."""
    deep = root / "agents/ada" / "/".join("d" * 400)
    deep.mkdir(parents=True)
    put(store, MEMORY, b"text")
    assert [entry.filename for entry in store.list_subtree(ADA, "")] == ["MEMORY.md"]


def test_listing_goes_on_while_pages_come_and_go(store: DiskStore, root: Path) -> None:
    """A folder or page that vanishes during a listing is just not listed."""
    shelf = root / "agents/ada"
    put(store, MEMORY, b"text")
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            (shelf / "folder").mkdir()
            (shelf / "folder/page.md").write_bytes(b"x")
            shutil.rmtree(shelf / "folder")

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        for _ in range(2_000):
            assert "MEMORY.md" in [entry.filename for entry in store.list_subtree(ADA, "")]
    finally:
        done.set()
        other.join()
