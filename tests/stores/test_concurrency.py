"""Many processes and threads on one root: no update is lost, and all see one history."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from looseleaf.memory.sections import list_sections, read_section
from looseleaf.memory.store import ABSENT, Conflict, Found, Written, hash_content
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.stores.chain import Observation, follow
from tests.stores.conformance import ADA, CHANGE, MEMORY, SHARED, append_line, put, read
from tests.stores.scenes import open_store
from tests.stores.state import list_leftovers

WRITER = Path(__file__).parent / "drivers" / "writer.py"
PROCESSES = 8

often = pytest.mark.parametrize("count", [30, pytest.param(1_000, marks=pytest.mark.slow)])
less_often = pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.slow)])


def together(root: Path, task: str, count: int) -> list[Observation]:
    """Have several processes do a task at the same time, and return all they were told."""
    writers = [
        subprocess.Popen(
            [sys.executable, str(WRITER), str(root), task, f"w{number}", str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    outputs = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * PROCESSES
    return [Observation(*fields) for output in outputs for fields in json.loads(output)]


def all_lines(count: int) -> list[bytes]:
    """Return the lines that the processes write, sorted."""
    return sorted(b"w%d.%d\n" % (who, item) for who in range(PROCESSES) for item in range(count))


@often
def test_appends_of_many_processes_all_survive(root: Path, count: int) -> None:
    """Every line that a process appended is there exactly once, whole."""
    together(root, "append", count)
    lines = (read(open_store(root), MEMORY) or b"").splitlines(keepends=True)
    assert sorted(lines) == all_lines(count)
    revisions = DiskHistory(open_store(root)).revisions(MEMORY)
    assert len(revisions) == PROCESSES * count
    assert not list_leftovers(root)


@often
def test_compare_and_swap_makes_one_chain(root: Path, count: int) -> None:
    """What processes replaced is one unbroken chain that ends in the page and in its history."""
    store = open_store(root)
    first = put(store, MEMORY, b"the beginning")
    told = together(root, "swap", count)
    path = follow(first.hash, told)
    assert len(path) == PROCESSES * count + 1
    assert hash_content(read(store, MEMORY) or b"") == path[-1]
    history = DiskHistory(store)
    assert [revision.hash for revision in history.revisions(MEMORY)] == path
    conflicts = sum(item.kind == "conflict" for item in told)
    print(f"{len(path) - 1} writes, {conflicts} conflicts, 0 forks")  # noqa: T201 - a figure
    some = range(1, len(path) + 1, max(1, len(path) // 100))
    assert all(hash_content(history.content(MEMORY, at) or b"") == path[at - 1] for at in some)


@less_often
def test_sections_of_one_page_do_not_touch_each_other(root: Path, count: int) -> None:
    """Processes that each write to their own section lose and change nothing of the others'."""
    together(root, "section", count)
    text = (read(open_store(root), MEMORY) or b"").decode()
    names = [f"w{number}" for number in range(PROCESSES)]
    assert sorted(section.name for section in list_sections(text)) == names
    for name in names:
        lines = [f"{name}.{number}" for number in range(count)]
        assert read_section(text, name).split("\n") == lines


@less_often
def test_different_pages_are_written_side_by_side(root: Path, count: int) -> None:
    """Processes that make their own pages in a folder nobody had made yet all succeed."""
    together(root, "page", count)
    store = open_store(root)
    pages = store.list_subtree(ADA, "pages")
    assert [page.filename for page in pages] == [f"pages/w{n}.md" for n in range(PROCESSES)]
    lines = b"".join(read(store, ADA.page(page.filename)) or b"" for page in pages)
    assert sorted(lines.splitlines(keepends=True)) == all_lines(count)


def test_threads_share_one_store(store: DiskStore) -> None:
    """Threads that replace, append and read through one store object see one history as well."""
    start = threading.Barrier(8)

    def work(name: int) -> int:
        start.wait()
        done = tries = 0
        while done < 20:
            tries += 1
            append_line(b"%d.%d\n" % (name, tries), store, SHARED.page("lines.md"))
            page = store.read(MEMORY)
            expected = page.hash if isinstance(page, Found) else ABSENT
            mine = b"%d.%d" % (name, done)
            done += isinstance(store.write(MEMORY, mine, if_match=expected, change=CHANGE), Written)
        return tries

    with ThreadPoolExecutor(8) as pool:
        tries = sum(pool.map(work, range(8)))
    lines = (read(store, SHARED.page("lines.md")) or b"").splitlines()
    assert len(lines) == len(set(lines)) == tries
    hashes = [revision.hash for revision in DiskHistory(store).revisions(MEMORY)]
    assert len(hashes) == len(set(hashes)) == 160


def test_only_one_process_can_make_a_page(root: Path) -> None:
    """Of threads with stores of their own that make the same page, exactly one does."""
    start = threading.Barrier(8)

    def make(name: int) -> Written | Conflict:
        store = open_store(root)
        start.wait()
        return store.write(MEMORY, b"%d" % name, if_match=ABSENT, change=CHANGE)

    for _ in range(10):
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(make, range(8)))
        assert sum(isinstance(outcome, Written) for outcome in outcomes) == 1
        open_store(root).delete(MEMORY, change=CHANGE)


def test_a_history_read_during_writes_blames_nobody_outside(store: DiskStore) -> None:
    """A history read while a write is under way never takes that write for an outside edit."""
    put(store, MEMORY, b"0")
    done = threading.Event()

    def write() -> None:
        for number in range(1, 100):
            put(store, MEMORY, b"%d" % number)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    history = DiskHistory(store)
    seen = 0
    while not done.is_set():
        revisions = history.revisions(MEMORY)
        assert {revision.operation for revision in revisions} == {"write"}
        content = history.content(MEMORY, revisions[-1].number)
        assert content == b"%d" % (revisions[-1].number - 1)
        seen += 1
    writer.join()
    assert seen


def test_the_checker_notices_what_is_wrong() -> None:
    """A fork, a lost write, a write out of order and a stale read are each found."""
    one, two = Observation("write", "a", "b", 1, 2), Observation("write", "b", "c", 3, 4)
    assert follow("a", [two, one, Observation("read", "", "b", 2, 3)]) == ["a", "b", "c"]
    wrong = (
        [one, Observation("write", "a", "c", 1, 2)],
        [one, Observation("write", "x", "c", 3, 4)],
        [Observation("write", "a", "b", 3, 4), Observation("write", "b", "c", 1, 2)],
        [one, two, Observation("read", "", "a", 5, 6)],
        [one, two, Observation("read", "", "c", 1, 2)],
        [one, two, Observation("read", "", "x", 1, 2)],
    )
    for told in wrong:
        with pytest.raises(AssertionError):
            follow("a", told)
