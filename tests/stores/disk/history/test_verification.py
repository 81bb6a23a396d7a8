"""Verifying finds each single fault of a page, its log and its versions, and no fault elsewhere."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf.memory.history import PageVerdict
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Change
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore

ADA = Shelf("agent", agent_id=1)
PAGE = ADA.page("MEMORY.md")
TEXTS = [f"# Memory\n\n- fact {number}\n".encode() * (number + 1) for number in range(6)]


@pytest.fixture
def store(tmp_path: Path) -> DiskStore:
    """Return a store with one page in six versions."""
    (tmp_path / "agents" / "ada").mkdir(parents=True)
    store = DiskStore(str(tmp_path), agent_folder=lambda _: "ada")
    for text in TEXTS:
        store.write(PAGE, text, change=Change())
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the page's history."""
    return tmp_path / ".looseleaf/history/agent-1/MEMORY.md"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return the page's file."""
    return tmp_path / "agents/ada/MEMORY.md"


def verify(store: DiskStore, *, is_core: bool = True) -> PageVerdict:
    """Verify the page."""
    return DiskHistory(store).verify(PAGE, is_core=is_core)


def flip(path: Path, place: int = -3) -> None:
    """Flip one bit of a file, as a failing disk does: its times stay."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_what_is_sound_has_no_fault(store: DiskStore) -> None:
    """Every version is read."""
    assert verify(store) == PageVerdict(len(TEXTS))
    assert DiskHistory(store).missing(ADA) == []


def test_a_flipped_bit_in_the_page_is_found(store: DiskStore, page: Path) -> None:
    """Even if the file looks as if someone had saved it."""
    flip(page)
    assert verify(store).faults == ("one bit of it is not what was last written",)


def test_an_edit_outside_is_no_fault(store: DiskStore, page: Path) -> None:
    """It is said all the same."""
    page.write_text("someone wrote this\n")
    assert verify(store) == PageVerdict(len(TEXTS), edited_outside=True)
    page.unlink()
    assert verify(store, is_core=False) == PageVerdict(len(TEXTS) - 1, edited_outside=True)


def test_a_core_page_that_is_gone_is_missed(store: DiskStore, page: Path) -> None:
    """No one deletes a core page."""
    page.unlink()
    assert verify(store).faults == ("the page is missing",)


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_flipped_bit_in_a_version_is_found(store: DiskStore, folder: Path, number: int) -> None:
    """Even if the log can make it again, which then is said."""
    flip(folder / str(number))
    (fault,) = verify(store).faults
    assert fault.startswith(f"revision {number}: its file is damaged; its text can be rebuilt")


def test_every_flipped_bit_of_a_log_is_found(store: DiskStore, folder: Path) -> None:
    """Wherever it is: who changed a page, when, why, and what the change put in."""
    log = folder / "log"
    whole = log.read_bytes()
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        log.write_bytes(flipped)
        assert verify(store).faults, (place, bytes(flipped[max(0, place - 20) : place + 20]))


def test_a_log_of_before_there_were_checksums_is_sound(store: DiskStore, folder: Path) -> None:
    """Its lines say nothing that could be compared."""
    log = folder / "log"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        del line["sum"]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert verify(store).faults == ()
    store.write(PAGE, b"more", change=Change())
    assert verify(store).faults == ()


def test_a_damaged_note_of_the_newest_change_is_found(store: DiskStore, folder: Path) -> None:
    """Else an end that is cut off later would not be missed."""
    (folder / ".head").write_bytes(b"0000000000000p000006\n")
    assert verify(store).faults == ("its .head is damaged",)


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_version_that_is_gone_is_missed(store: DiskStore, folder: Path, number: int) -> None:
    """The others are still read."""
    (folder / str(number)).unlink()
    verdict = verify(store)
    assert [fault.partition(";")[0] for fault in verdict.faults] == [
        f"revision {number}: its file is missing"
    ]
    assert verdict.versions == len(TEXTS) - 1


@pytest.mark.parametrize("place", range(6))
def test_a_line_that_is_gone_from_the_log_is_missed(
    store: DiskStore, folder: Path, place: int
) -> None:
    """The first, the last, or one between."""
    log = folder / "log"
    lines = log.read_bytes().splitlines(keepends=True)
    del lines[place]
    log.write_bytes(b"".join(lines))
    assert any("the log has no line for revision" in fault for fault in verify(store).faults)


def test_a_history_that_is_gone_is_missed(store: DiskStore, folder: Path) -> None:
    """Of a page that may be deleted, too."""
    store.write(ADA.page("daily/2026/04/17.md"), b"- a day\n", change=Change())
    shutil.rmtree(folder)
    shutil.rmtree(folder.with_name("daily:2026:04:17.md"))
    assert DiskHistory(store).missing(ADA) == ["MEMORY.md", "daily/2026/04/17.md"]
    assert verify(store).faults == ("it has no history",)


def test_an_empty_log_is_a_fault(store: DiskStore, folder: Path) -> None:
    """If versions lie beside it."""
    (folder / "log").write_bytes(b"")
    assert verify(store).faults == ("its log is empty",)


def test_a_write_that_was_refused_leaves_nothing_to_miss(store: DiskStore) -> None:
    """It has begun no history."""
    store.write(ADA.page("new.md"), b"x", if_match="0" * 64, change=Change())
    assert DiskHistory(store).missing(ADA) == []


@pytest.mark.parametrize("outside", [False, True])
def test_purged_deleted_and_pruned_versions_are_no_fault(
    store: DiskStore, page: Path, *, outside: bool
) -> None:
    """They went on purpose."""
    history = DiskHistory(store)
    history.purge(PAGE, 3, change=Change())
    store.delete(PAGE, change=Change())
    store.write(PAGE, b"again\n", change=Change())
    if outside:
        page.write_text("edited\n")
        store.write(PAGE, b"and again\n", change=Change())
    assert verify(store).faults == ()


def test_the_cost_grows_with_the_versions_and_not_faster(
    store: DiskStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is read once, however many versions there are, and each version once."""
    opened: list[str] = []
    really: Callable[..., int] = os.open

    def counting(path: str, *more: object, **named: object) -> int:
        opened.append(str(path))
        return really(path, *more, **named)

    monkeypatch.setattr(os, "open", counting)
    verify(store)
    assert opened.count("log") == 1
    assert {opened.count(str(number)) for number in range(1, len(TEXTS))} == {1}
    assert json.loads((folder / "log").read_text().splitlines()[0])["revision"] == 1
