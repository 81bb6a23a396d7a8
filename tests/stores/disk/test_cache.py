"""What is remembered of pages is never out of date."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from looseleaf.errors import Unsafe
from looseleaf.memory.store import Missing
from looseleaf.stores.disk.store import DiskStore
from tests.agent_folders import AGENTS
from tests.stores.conformance import ADA, BOB, MEMORY, put, read


@pytest.mark.parametrize("replace", [True, False], ids=["moved there", "in place"])
def test_an_outside_edit_is_seen_at_once(store: DiskStore, root: Path, *, replace: bool) -> None:
    """The next read sees what an editor saved, even of the same length, however often."""
    page = root / "agents/ada/MEMORY.md"
    put(store, MEMORY, b"0000")
    for number in range(1, 200):
        wanted = f"{number:04}".encode()
        if replace:
            (root / "new").write_bytes(wanted)
            (root / "new").rename(page)
        else:
            page.write_bytes(wanted)
        assert read(store, MEMORY) == wanted
        assert read(store, MEMORY) == wanted


def test_a_settled_page_is_remembered_until_it_changes(store: DiskStore, root: Path) -> None:
    """A page that has not changed is given from memory; one edited, linked or gone is not."""
    page = root / "agents/ada/MEMORY.md"
    put(store, MEMORY, b"text")
    wait_until_settled(page)
    first = store.read(MEMORY)
    assert store.read(MEMORY) is first
    page.write_bytes(b"TEXT")
    assert read(store, MEMORY) == b"TEXT"
    wait_until_settled(page)
    assert store.read(MEMORY) is store.read(MEMORY)
    os.link(page, root / "elsewhere")
    with pytest.raises(Unsafe):
        store.read(MEMORY)
    page.unlink()
    assert store.read(MEMORY) == Missing()


def test_memory_for_pages_is_bounded(store: DiskStore, root: Path) -> None:
    """Reading many large pages again and again keeps all of them right."""
    names = [f"page {number}.md" for number in range(12)]
    for name in names:
        (root / "agents/ada" / name).write_bytes(name.encode() * 200_000)
    (root / "agents/ada/huge.md").write_bytes(b"x" * 3_000_000)
    wait_until_settled(root / "agents/ada/huge.md")
    for _ in range(2):
        for name in names:
            assert read(store, ADA.page(name)) == name.encode() * 200_000
        assert read(store, ADA.page("huge.md")) == b"x" * 3_000_000
    assert sum(len(item.page.content) for item in store._cache.pages.values()) < 20_000_000


def test_an_agent_that_moves_takes_its_pages_along(root: Path) -> None:
    """A page is looked for in the folder its agent has now, never in one it once had."""
    folders = dict(AGENTS)
    store = DiskStore(str(root), agent_folder=lambda agent: folders[agent])
    put(store, MEMORY, b"of the first")
    wait_until_settled(root / "agents/ada/MEMORY.md")
    assert read(store, MEMORY) == b"of the first"
    (root / "agents/ada").rename(root / "agents/eve")
    folders.update({1: "eve", 2: "ada"})
    put(store, BOB.page("MEMORY.md"), b"of the second")
    wait_until_settled(root / "agents/ada/MEMORY.md")
    assert read(store, BOB.page("MEMORY.md")) == b"of the second"
    assert read(store, MEMORY) == b"of the first"


def wait_until_settled(path: Path) -> None:
    """Wait until a file has been left alone for long enough to be remembered."""
    while time.time_ns() - path.stat().st_ctime_ns < 60_000_000:
        time.sleep(0.01)
