"""Verifying an index finds what its pages do not say."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.memory.store import Change
from looseleaf.stores.index import index_file
from looseleaf.stores.index.index_file import is_sealed
from looseleaf.stores.index.search_index import SearchIndex
from tests.stores.disk.test_cache import wait_until_settled

WORDS = ("harbor", "violin", "lantern", "orchard", "granite")


@pytest.fixture
def index(workspace: Workspace) -> SearchIndex:
    """Return an index of some days, with their words."""
    ada = workspace.agents.resolve("ada").shelf
    for day in range(1, 29):
        text = f"- day {day}: {WORDS[day % 5]} and {WORDS[day % 3]}\n"
        workspace.pages.write(ada.page(f"daily/2026/04/{day:02}.md"), text, change=Change())
    index = SearchIndex(workspace.store, f"{workspace.root}/.looseleaf/index", fewest_files=1)
    deadline = time.time() + 30
    while time.time() < deadline:  # files that were just written are not trusted yet
        index.matching(ada, "", "harbor")
        with closing(sqlite3.connect(file_of(workspace))) as connection:
            query = "SELECT count(*) FROM pages WHERE inode IS NULL"
            if connection.execute(query).fetchone() == (0,):
                break
        time.sleep(0.02)
    workspace.context.index()
    index.rank_pages(ada, ("harbor",), 5)
    index.close()
    return index


def file_of(workspace: Workspace) -> Path:
    """Return the file of ada's index."""
    return Path(workspace.root, ".looseleaf/index/agent-1.sqlite")


def test_what_is_sound_has_no_fault(workspace: Workspace, index: SearchIndex) -> None:
    """Also after a page has changed, which the index will see at the next search."""
    ada = workspace.agents.resolve("ada").shelf
    assert file_of(workspace).exists()
    assert index.verify(ada) == []
    workspace.pages.write(ada.page("daily/2026/04/01.md"), "- another day\n", change=Change())
    assert index.verify(ada) == []


@pytest.mark.parametrize("table", ["texts", "trigrams_data", "words_data", "stems"])
def test_a_flipped_bit_is_found(workspace: Workspace, index: SearchIndex, table: str) -> None:
    """In a text, or in what the full-text search has made of it."""
    ada = workspace.agents.resolve("ada").shelf
    column = {"texts": "folded", "stems": "stems"}.get(table, "block")
    with closing(sqlite3.connect(file_of(workspace))) as connection:
        query = f"SELECT id, {column} FROM {table} WHERE length({column}) > 20 ORDER BY id DESC"
        number, block = connection.execute(query).fetchone()
        flipped = bytearray(block.encode() if isinstance(block, str) else block)
        flipped[len(flipped) // 2] ^= 0x01
        changed = flipped.decode() if isinstance(block, str) else bytes(flipped)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (changed, number))
        connection.commit()
    assert len(index.verify(ada)) == 1


def test_a_damaged_index_gives_no_wrong_answer(workspace: Workspace, index: SearchIndex) -> None:
    """Wherever the bit is; SQLite itself does not notice most of them."""
    ada = workspace.agents.resolve("ada").shelf
    path = file_of(workspace)

    def ask() -> list[object]:
        found: list[object] = [
            sorted((index.matching(ada, "", word) or ([],))[0]) for word in WORDS
        ]
        found += [index.rank_pages(ada, (word,), 50) for word in WORDS]
        index.close()
        return found

    expected, whole = ask(), path.read_bytes()
    identity = path.stat().st_ino
    assert ask() == expected
    assert path.stat().st_ino == identity  # what is sound is not made anew
    places = [place for place, byte in enumerate(whole) if byte]
    for place in places[:: len(places) // 40]:
        flipped = bytearray(path.read_bytes())
        flipped[min(place, len(flipped) - 1)] ^= 0x04
        path.write_bytes(flipped)
        assert ask() == expected, place


def test_an_index_without_a_seal_is_made_anew(workspace: Workspace, index: SearchIndex) -> None:
    """Nothing says that it is what was written; the doctor has nothing against it."""
    ada = workspace.agents.resolve("ada").shelf
    path = file_of(workspace)
    seal = Path(f"{path}-sum")
    seal.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM texts")
        connection.commit()
    assert index.verify(ada) == []
    answer = index.matching(ada, "", "harbor")
    assert answer is not None
    assert answer[0]
    index.close()
    assert seal.exists()


def test_a_sealed_file_is_read_once_until_someone_writes_it(
    workspace: Workspace, index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its status says that nobody has; a writer who sets the time back is noticed, too."""
    assert index is not None
    file, compared = file_of(workspace), 0
    really = index_file._compute_checksum

    def counting(path: str) -> bytes:
        nonlocal compared
        compared += 1
        return really(path)

    monkeypatch.setattr(index_file, "_compute_checksum", counting)
    wait_until_settled(file)
    assert [is_sealed(str(file)) for _ in range(3)] == [True, True, True]
    assert compared == (1 if Path(index_file._BOOT).exists() else 3)
    status, content = file.stat(), bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert is_sealed(str(file)) is False


def test_a_seal_of_another_boot_is_compared(
    workspace: Workspace, index: SearchIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A disk may have lost something meanwhile."""
    assert index is not None
    file, boot = file_of(workspace), tmp_path / "boot"
    monkeypatch.setattr(index_file, "_BOOT", str(boot))
    boot.write_text("first\n")
    wait_until_settled(file)
    assert is_sealed(str(file)) is True
    boot.write_text("second\n")
    monkeypatch.setattr(index_file, "_compute_checksum", lambda _path: b"another")
    assert is_sealed(str(file)) is False
