"""People edit pages with their own programs while Looseleaf writes: neither side loses anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf.errors.pages import RevisionMissing
from looseleaf.files import atomic, mounts
from looseleaf.memory.store import ABSENT, Deleted, Found, Missing, Retention, Written, hash_content
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.conftest import Clock
from tests.stores.conformance import ADA, CHANGE, MEMORY, advance_days, append_line, put, read
from tests.stores.drivers.editor import KINDS
from tests.stores.scenes import move_over, open_store, page_file_of, save_in_place
from tests.stores.state import list_leftovers, state_of, versions_of

EDITOR = Path(__file__).parent / "drivers" / "editor.py"
SAVES = (move_over, save_in_place)


class Editor:
    """A process that edits a page, and what it saved once it is done."""

    def __init__(self, root: Path, count: int, seed: int, *kinds: str) -> None:
        self.notes = root.parent / "saved.json"
        arguments = [str(page_file_of(root)), str(self.notes), str(count), str(seed), *kinds]
        self.process = subprocess.Popen(
            [sys.executable, str(EDITOR), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n"
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def at_work(self) -> bool:
        """Return whether it is still editing."""
        return self.process.poll() is None

    def saved(self) -> list[tuple[str, bytes]]:
        """Wait for it and return the kind and the bytes of each of its saves."""
        self.process.communicate()
        assert self.process.returncode == 0
        told = json.loads(self.notes.read_text(encoding="utf-8"))
        return [(kind, content.encode()) for kind, content in told]


def lost(saved: list[tuple[str, bytes]], versions: set[bytes]) -> list[tuple[str, bytes]]:
    """Return the saves that are in no version: their very bytes, or the line that was appended."""
    everything = b"".join(versions)
    return [
        (kind, content[:40])
        for kind, content in saved
        if (content not in everything if kind == "append" else content not in versions)
    ]


@pytest.mark.parametrize(
    ("count", "kinds"),
    [
        *((40, (kind,)) for kind in KINDS),
        (150, ()),
        pytest.param(3_000, (), marks=pytest.mark.slow),
    ],
    ids=[*KINDS, "all kinds", "all kinds, often"],
)
def test_neither_side_loses_a_version(
    root: Path, seed: int, count: int, kinds: tuple[str, ...]
) -> None:
    """While another program saves at random, its versions and ours are all kept or current."""
    store = open_store(root)
    put(store, MEMORY, b"the beginning\n")
    editor = Editor(root, count, seed, *kinds)
    ours: list[str] = []
    while editor.at_work():
        ours.append(append_line(b"ours %d\n" % len(ours), store, MEMORY).hash)
    saved = editor.saved()
    versions = versions_of(store, MEMORY) | {read(store, MEMORY) or b""}
    kept = {hash_content(version) for version in versions}
    assert not lost(saved, versions)
    assert set(ours) <= kept
    assert not list_leftovers(root)
    print(f"{len(saved)} saves outside, {len(ours)} writes of ours, 0 lost")  # noqa: T201 - figures


@pytest.mark.parametrize("count", [150, pytest.param(2_000, marks=pytest.mark.slow)])
def test_a_version_that_was_not_read_is_never_replaced(root: Path, seed: int, count: int) -> None:
    """Each write that named a version replaced exactly it, whatever was saved in between."""
    store = open_store(root)
    put(store, MEMORY, b"the beginning\n")
    editor = Editor(root, count, seed)
    replaced: dict[str, str] = {}
    conflicts = 0
    while editor.at_work():
        page = store.read(MEMORY)
        expected = page.hash if isinstance(page, Found) else ABSENT
        mine = b"ours %d\n" % (len(replaced) + conflicts)
        outcome = store.write(MEMORY, mine, if_match=expected, change=CHANGE)
        if isinstance(outcome, Written):
            replaced[outcome.hash] = "" if expected == ABSENT else expected
        else:
            conflicts += 1
    saved = len(editor.saved())
    append_line(b"the end\n", store, MEMORY)
    hashes = [revision.hash for revision in DiskHistory(store).revisions(MEMORY)]
    before = dict(zip(hashes[1:], hashes, strict=False))
    assert {new: before[new] for new in replaced} == replaced
    print(f"{saved} saves, {len(replaced)} writes, {conflicts} conflicts")  # noqa: T201


@pytest.mark.parametrize("save", SAVES)
def test_an_outside_edit_is_a_version_of_its_own(
    store: DiskStore, history: DiskHistory, root: Path, save: Callable[[Path, bytes], None]
) -> None:
    """What someone saved stands in the history between our versions, and is nobody's of ours."""
    put(store, MEMORY, b"one\n")
    save(root, b"by hand\n")
    append_line(b"two\n", store, MEMORY)
    revisions = history.revisions(MEMORY)
    assert [revision.operation for revision in revisions] == ["write", "outside", "write"]
    assert [history.content(MEMORY, revision.number) for revision in revisions] == [
        b"one\n",
        b"by hand\n",
        b"by hand\ntwo\n",
    ]
    assert (revisions[1].actor, revisions[1].surface) == ("", "disk")
    assert revisions[0].time <= revisions[1].time <= revisions[2].time


@pytest.mark.parametrize("save", SAVES)
def test_an_edit_nobody_has_come_upon_yet_is_told(
    store: DiskStore, history: DiskHistory, root: Path, save: Callable[[Path, bytes], None]
) -> None:
    """A save is in the history before any write of ours, and the version it overwrote as well."""
    put(store, MEMORY, b"one\n")
    put(store, MEMORY, b"one\ntwo\n")
    save(root, b"by hand\n")
    revisions = history.revisions(MEMORY)
    assert [revision.hash for revision in revisions][-1] == hash_content(b"by hand\n")
    contents = [history.content(MEMORY, revision.number) for revision in revisions]
    assert contents == [b"one\n", b"one\ntwo\n", b"by hand\n"] or save is move_over
    put(store, MEMORY, b"three\n")
    assert {b"one\n", b"one\ntwo\n", b"by hand\n", b"three\n"} == state_of(store, MEMORY).versions


@pytest.mark.parametrize("first", SAVES)
@pytest.mark.parametrize("second", SAVES)
def test_our_version_survives_two_edits_in_a_row(
    store: DiskStore,
    root: Path,
    first: Callable[[Path, bytes], None],
    second: Callable[[Path, bytes], None],
) -> None:
    """However often someone saves over our version before we write again, it can be read again."""
    for content in (b"one\n", b"one\ntwo, with ends\n", b"one\nthree, with ends\n"):
        put(store, MEMORY, content)
    first(root, b"by hand\n")
    second(root, b"by hand again\n")
    put(store, MEMORY, b"ours\n")
    assert {b"one\nthree, with ends\n", b"by hand again\n"} <= state_of(store, MEMORY).versions


def test_our_version_survives_when_the_one_before_is_gone(
    store: DiskStore, history: DiskHistory, root: Path, clock: Clock
) -> None:
    """A version can be made again even after the one it was made from was pruned or purged."""
    put(store, MEMORY, b"one\n")
    put(store, MEMORY, b"one\ntwo\n")
    advance_days(store, clock, days=95)
    assert history.prune(ADA, Retention()) == 1
    save_in_place(root, b"by hand\n")
    put(store, MEMORY, b"three\n")
    assert b"one\ntwo\n" in state_of(store, MEMORY).versions
    history.purge(MEMORY, 3, change=CHANGE)
    save_in_place(root, b"by hand again\n")
    put(store, MEMORY, b"four\n")
    assert b"three\n" in state_of(store, MEMORY).versions


def test_a_page_removed_outside_keeps_its_versions(
    store: DiskStore, history: DiskHistory, root: Path
) -> None:
    """Someone's `rm` is told as what it was, and what the page said can be read again."""
    put(store, MEMORY, b"one\n")
    put(store, MEMORY, b"two\n")
    page_file_of(root).unlink()
    assert store.read(MEMORY) == Missing()
    assert [(revision.operation, revision.hash) for revision in history.revisions(MEMORY)][-1] == (
        "outside",
        "",
    )
    assert history.content(MEMORY, 2) == b"two\n"
    assert history.content(MEMORY, 3) is None
    put(store, MEMORY, b"three\n")
    assert [revision.operation for revision in history.revisions(MEMORY)] == [
        *("write", "write", "outside", "write")
    ]
    assert history.content(MEMORY, 2) == b"two\n"


@pytest.mark.parametrize("save", SAVES)
def test_a_page_made_outside_is_kept_when_it_is_replaced(
    store: DiskStore, history: DiskHistory, root: Path, save: Callable[[Path, bytes], None]
) -> None:
    """The text a person wrote before Looseleaf ever saw the page is its first version."""
    save(root, b"by hand\n")
    written = put(store, MEMORY, b"ours\n")
    assert (written.previous, written.revision) == (hash_content(b"by hand\n"), 2)
    assert history.content(MEMORY, 1) == b"by hand\n"


@pytest.mark.parametrize("save", SAVES)
def test_deleting_keeps_what_someone_saved_last(
    store: DiskStore, history: DiskHistory, root: Path, save: Callable[[Path, bytes], None]
) -> None:
    """A page that was edited outside and then deleted can be had back as it was."""
    put(store, MEMORY, b"one\n")
    save(root, b"by hand\n")
    assert isinstance(store.delete(MEMORY, change=CHANGE), Deleted)
    assert [history.content(MEMORY, number) for number in (1, 2, 3)] == [
        *(b"one\n", b"by hand\n", None)
    ]


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
def test_a_save_during_our_write_is_not_overwritten(
    store: DiskStore,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    save: Callable[[Path, bytes], None],
    *,
    exchange: bool,
) -> None:
    """A save that comes between our reading and our writing is what our edit is then made of."""
    if not exchange:
        monkeypatch.setattr(atomic, "_swap", lambda *_names: False)
    put(store, MEMORY, b"one\n")
    tries: list[bytes | None] = []

    def edit(page: bytes | None) -> bytes:
        tries.append(page)
        if len(tries) < 4:
            save(root, b"by hand %d\n" % len(tries))
        return (page or b"") + b"two\n"

    store.edit(MEMORY, edit, change=CHANGE)
    assert tries == [b"one\n", b"by hand 1\n", b"by hand 2\n", b"by hand 3\n"]
    assert state_of(store, MEMORY).page == b"by hand 3\ntwo\n"
    assert state_of(store, MEMORY).versions >= {b"one\n", b"by hand 1\n", b"by hand 2\n"}
    assert not list_leftovers(root)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS cannot tell who has a file open")
def test_we_wait_for_a_program_that_is_just_saving(store: DiskStore, root: Path) -> None:
    """A program that has emptied the page and not yet written it is waited for."""
    put(store, MEMORY, b"one\n")
    emptied, write = threading.Event(), threading.Event()

    def save() -> None:
        with page_file_of(root).open("wb") as file:
            emptied.set()
            write.wait()
            file.write(b"by hand\n")

    program = threading.Thread(target=save)
    program.start()
    emptied.wait()
    threading.Timer(0.05, write.set).start()
    append_line(b"two\n", store, MEMORY)
    program.join()
    assert read(store, MEMORY) == b"by hand\ntwo\n"
    assert state_of(store, MEMORY).versions == {b"one\n", b"by hand\n", b"by hand\ntwo\n"}


def test_a_program_that_keeps_the_page_open_writes_into_the_past(
    store: DiskStore, history: DiskHistory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written through a file opened before our last write is on disk, not in the page.

    This is the one case in which an outside edit is not shown: no system can lead the bytes of an
    open file to the new one. Our own versions stay right, made again from the log.
    """
    monkeypatch.setattr(mounts, "WRITER_SECONDS", 0.0)
    put(store, MEMORY, b"one\n")
    put(store, MEMORY, b"one\ntwo\n")
    with page_file_of(root).open("ab") as file:
        put(store, MEMORY, b"three\n")
        file.write(b"too late\n")
    assert read(store, MEMORY) == b"three\n"
    assert history.content(MEMORY, 2) == b"one\ntwo\n"
    kept = root / ".looseleaf/history/agent-1/MEMORY.md/2"
    assert kept.read_bytes() == b"one\ntwo\ntoo late\n"


def test_a_version_that_is_damaged_is_not_given_out(
    store: DiskStore, history: DiskHistory, root: Path
) -> None:
    """Bytes that are not what was written are never given as a version."""
    for content in (b"one\n", b"two\n", b"three\n"):
        put(store, MEMORY, content)
    versions = root / ".looseleaf/history/agent-1/MEMORY.md"
    for damaged in ("1", "2"):
        (versions / damaged).write_bytes(b"damaged")
    assert history.content(MEMORY, 1) == b"one\n"  # its line in the log has all of it
    store.run_locked(
        MEMORY, lambda page, _current: page.log.rewrite(without_redo(page.log.lines()), mode=0o600)
    )
    for number in (1, 2):
        with pytest.raises(RevisionMissing):
            history.content(MEMORY, number)
    assert history.content(MEMORY, 3) == b"three\n"


def without_redo(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """Take out of a log what it could make versions again from."""
    return [{name: field for name, field in line.items() if name != "redo"} for line in lines]


def test_times_from_outside_stay_in_order(
    store: DiskStore, history: DiskHistory, root: Path, clock: Clock
) -> None:
    """A file's time that lies in the future or long ago does not bring the history out of order."""
    put(store, MEMORY, b"one\n")
    for number, moment in enumerate([9_000_000_000.0, 0.0, clock.now + 5]):
        clock.advance(seconds=10)
        save_in_place(root, b"by hand %d\n" % number)
        os.utime(page_file_of(root), (moment, moment))
        times = [revision.time for revision in history.revisions(MEMORY)]
        assert times == sorted(times)
        put(store, MEMORY, b"ours %d\n" % number)
    times = [revision.time for revision in history.revisions(MEMORY)]
    assert times == sorted(times)
    assert times[-1] == clock.now
