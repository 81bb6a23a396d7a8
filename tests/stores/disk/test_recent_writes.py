"""What a process remembers of its own writes spares work and is never believed when it is old."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.stores.disk import store_folder
from looseleaf.stores.disk.history import revisions
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.agent_folders import AGENTS
from tests.stores.conformance import ADA, CHANGE, MEMORY, put


def operations(store: DiskStore) -> list[tuple[int, str]]:
    """Return the number and kind of every change of the page."""
    return [
        (revision.number, revision.operation) for revision in DiskHistory(store).revisions(MEMORY)
    ]


def test_the_log_is_not_read_again_after_a_write_of_ours(
    store: DiskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second write of the same process knows how the log ends."""
    put(store, MEMORY, b"one\n")
    monkeypatch.setattr(revisions.PageLog, "parse", None)
    put(store, MEMORY, b"two\n")
    monkeypatch.undo()
    assert operations(store) == [(1, "write"), (2, "write")]


def test_what_another_process_wrote_is_seen(store: DiskStore, root: Path) -> None:
    """Writes, a purge and a prune of others come between ours, and every number is given once."""
    other = DiskStore(str(root), agent_folder=AGENTS.__getitem__)
    put(store, MEMORY, b"one\n")
    put(other, MEMORY, b"two\n")
    put(store, MEMORY, b"three\n")
    DiskHistory(other).purge(MEMORY, 2, change=CHANGE)
    put(store, MEMORY, b"four\n")
    other.delete(MEMORY, change=CHANGE)
    put(store, MEMORY, b"five\n")
    assert operations(store) == [(number, "write") for number in (1, 2, 3, 4, 5, 6)]
    assert DiskHistory(store).content(MEMORY, 4) == b"four\n"


@pytest.mark.parametrize("text", [b"ONE\n", b"one, by hand\n"])
def test_an_outside_edit_is_noticed(store: DiskStore, root: Path, text: bytes) -> None:
    """What someone saved since our last write, of the same length or not, is a version."""
    put(store, MEMORY, b"one\n")
    (root / "agents/ada/MEMORY.md").write_bytes(text)
    put(store, MEMORY, b"two\n")
    assert operations(store) == [(1, "write"), (2, "outside"), (3, "write")]
    assert DiskHistory(store).content(MEMORY, 2) == text


def test_few_writes_are_remembered_and_no_large_ones(
    store: DiskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory stays small whatever is written, and the next write is right all the same."""
    monkeypatch.setattr(store_folder, "_PAGES", 3)
    monkeypatch.setattr(store_folder, "_MOST_RECENT_BYTES", 10)
    pages = [ADA.page(f"{number}.md") for number in range(5)]
    for content in (b"small\n", b"too large to be kept\n", b"large as well, too\n"):
        for page in pages:
            put(store, page, content)
            assert len(store.recent_writes._writes) <= 3
    assert not store.recent_writes._writes
    assert len(DiskHistory(store).revisions(pages[0])) == 3
