"""Someone meddles with a page at every single step of a write, and a disk fails there too."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

from looseleaf.errors import Unavailable, Unsafe
from looseleaf.files import atomic
from looseleaf.memory.store import Found
from looseleaf.stores.disk.store import DiskStore
from tests.stores.conformance import CHANGE, MEMORY, append_line, put
from tests.stores.scenes import move_over, open_store, page_file_of, save_in_place
from tests.stores.state import list_leftovers, versions_of
from tests.stores.tree import create_memory_folder

STEPS = ("append", "create", "exchange", "link_file", "move", "remove", "sync")
THEIRS = b"theirs\n"
OURS = b"ours\n"

Act = Callable[[DiskStore], object]


class Steps:
    """Counts the steps a write takes on disk, and does something before one or the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken = 0
        self.before: dict[int, Callable[[], object]] = {}
        for name in STEPS:
            monkeypatch.setattr(atomic, name, self._counted(getattr(atomic, name)))

    def _counted(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        def counted(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as the step itself
            self.taken += 1
            self.before.pop(self.taken, lambda: None)()
            return step(*arguments, **named)

        return counted

    def count(self, act: Act, store: DiskStore) -> int:
        """Count the steps of an act."""
        self.taken = 0
        act(store)
        return self.taken

    def run(self, act: Act, store: DiskStore, before: dict[int, Callable[[], object]]) -> bool:
        """Act with interference; return whether it was acknowledged."""
        self.taken, self.before = 0, before
        try:
            act(store)
        except (Unsafe, Unavailable):
            return False
        else:
            return True
        finally:
            self.before = {}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Watch every step that is taken on disk."""
    return Steps(monkeypatch)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder in memory."""
    made = create_memory_folder()
    yield made
    shutil.rmtree(made)


def removed(root: Path, _content: bytes) -> None:
    """Remove the page."""
    page_file_of(root).unlink(missing_ok=True)


def linked(root: Path, _content: bytes) -> None:
    """Put a link to a file outside in the place of the page."""
    page_file_of(root).unlink(missing_ok=True)
    page_file_of(root).symlink_to(root.parent / "outside.md")


def piped(root: Path, _content: bytes) -> None:
    """Put a pipe in the place of the page."""
    page_file_of(root).unlink(missing_ok=True)
    os.mkfifo(page_file_of(root))


SAVES = (move_over, save_in_place)
ACTS: dict[str, Act] = {
    "write": lambda store: put(store, MEMORY, OURS),
    "append": lambda store: append_line(OURS, store, MEMORY),
    "delete": lambda store: store.delete(MEMORY, change=CHANGE),
}
BEGINNINGS = {"create": (), "replace": (b"one\n", b"one\ntwo\n")}
CASES = [
    (beginning, act)
    for beginning in BEGINNINGS
    for act in ACTS
    if (beginning, act) != ("create", "delete")
]


def fresh(folder: Path, beginning: str) -> tuple[Path, DiskStore]:
    """Make a root if the page has a past, or none."""
    root = folder / "root"
    (root / "agents/ada").mkdir(parents=True)
    (folder / "outside.md").write_bytes(b"outside")
    store = open_store(root)
    for content in BEGINNINGS[beginning]:
        put(store, MEMORY, content)
    return root, store


def check(root: Path, needed: set[bytes]) -> None:
    """Check that all is kept and that the next write works."""
    assert (root.parent / "outside.md").read_bytes() == b"outside"
    page = page_file_of(root)
    if page.is_symlink() or page.is_fifo():
        page.unlink()
    store = open_store(root)
    store.recover()
    assert not list_leftovers(root)
    found = store.read(MEMORY)
    present = {found.content} if isinstance(found, Found) else set()
    put(store, MEMORY, b"the next write\n")
    versions = versions_of(store, MEMORY)
    assert needed | present <= versions, f"lost: {(needed | present) - versions}"
    assert page.stat().st_nlink == 1
    assert not list_leftovers(root)


@pytest.mark.parametrize("meddle", [*SAVES, removed, linked, piped])
@pytest.mark.parametrize(("beginning", "act"), CASES)
def test_nothing_is_lost_whenever_someone_meddles(
    folder: Path, steps: Steps, beginning: str, act: str, meddle: Callable[[Path, bytes], None]
) -> None:
    """Whatever someone does to the page at whatever step, all versions of both sides are kept."""
    count = steps.count(ACTS[act], fresh(folder / "count", beginning)[1])
    assert count > 5
    for step in range(1, count + 1):
        root, store = fresh(folder / str(step), beginning)
        done = steps.run(ACTS[act], store, {step: partial(meddle, root, THEIRS)})
        assert done or meddle in (linked, piped), f"refused at step {step}"
        needed = set(BEGINNINGS[beginning])
        needed |= {THEIRS} if meddle in SAVES else set()
        check(root, needed)


def failing() -> None:
    """Fail as a disk does."""
    raise OSError(errno.EIO, "the disk is bad")


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
@pytest.mark.parametrize(("beginning", "act"), CASES)
def test_a_step_that_fails_takes_everything_back(
    folder: Path,
    steps: Steps,
    monkeypatch: pytest.MonkeyPatch,
    beginning: str,
    act: str,
    *,
    exchange: bool,
) -> None:
    """When any step fails, what was there before is there, unless all was done but clearing up."""
    if not exchange:
        monkeypatch.setattr(atomic, "_swap", lambda *_names: False)
    count = steps.count(ACTS[act], fresh(folder / "count", beginning)[1])
    acknowledged = 0
    for step in range(1, count + 1):
        root, store = fresh(folder / str(step), beginning)
        done = steps.run(ACTS[act], store, {step: failing})
        acknowledged += done
        page = store.read(MEMORY)
        before = BEGINNINGS[beginning][-1:]
        if not done:
            assert (page.content if isinstance(page, Found) else None) == (before or (None,))[0]
        check(root, set(BEGINNINGS[beginning]))
    assert acknowledged <= 2  # the two names in staging that are taken away at the end


@pytest.mark.parametrize("meddle", [*SAVES, removed])
@pytest.mark.parametrize(("beginning", "act"), CASES)
def test_nothing_is_lost_when_a_step_fails_after_someone_meddled(
    folder: Path, steps: Steps, beginning: str, act: str, meddle: Callable[[Path, bytes], None]
) -> None:
    """The same when the disk fails at a later step, in the middle of making good."""
    count = steps.count(ACTS[act], fresh(folder / "count", beginning)[1])
    for first in range(1, count + 1):
        for second in range(first + 1, first + 8):
            root, store = fresh(folder / f"{first}-{second}", beginning)
            steps.run(ACTS[act], store, {first: partial(meddle, root, THEIRS), second: failing})
            needed = set(BEGINNINGS[beginning])
            needed |= {THEIRS} if meddle in SAVES else set()
            check(root, needed)


@pytest.mark.parametrize("meddle", SAVES)
@pytest.mark.parametrize("again", SAVES)
@pytest.mark.parametrize(("beginning", "act"), CASES)
def test_a_save_during_the_making_good_is_kept_too(
    folder: Path,
    steps: Steps,
    beginning: str,
    act: str,
    meddle: Callable[[Path, bytes], None],
    again: Callable[[Path, bytes], None],
) -> None:
    """Someone who saves twice during one write keeps at least the last, and we keep all of ours."""
    count = steps.count(ACTS[act], fresh(folder / "count", beginning)[1])
    for first in range(1, count + 1):
        for second in range(first + 1, first + 6):
            root, store = fresh(folder / f"{first}-{second}", beginning)
            twice = (partial(meddle, root, THEIRS), partial(again, root, b"theirs again\n"))
            steps.run(ACTS[act], store, {first: twice[0], second: twice[1]})
            reached = steps.taken >= second
            needed = {*BEGINNINGS[beginning], b"theirs again\n" if reached else THEIRS}
            check(root, needed)
