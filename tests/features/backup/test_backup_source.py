"""A backup is consistent whatever others do while it is made."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.features.backup.folder_copies import CopyChanged, FileCopy, FileGroup
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Found
from looseleaf.operations.users import create_user
from tests.features.backup.copies import (
    BY,
    faults_of,
    files_of,
    read_last_hashes,
    restore,
    tree_of,
    write_backup,
)

PATIENCE = 120.0  # seconds; nothing here depends on how fast a machine is
_WRITER = """
import sys
from looseleaf import Change, Workspace
workspace = Workspace.open(sys.argv[1])
page = workspace.agents.resolve(sys.argv[2]).shelf.page(sys.argv[3])
for number in range(1_000_000):
    workspace.pages.append(page, f"- line {number} of {sys.argv[2]}\\n", change=Change("append"))
    print(number, flush=True)
"""


class Writer:
    """A process that appends lines to a page and tells of each when it is acknowledged."""

    def __init__(self, root: str, agent: str, page: str) -> None:
        self.agent, self.page, self.count = agent, page, 0
        command = [sys.executable, "-c", _WRITER, root, agent, page]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.listener = threading.Thread(target=self._listen)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.count = int(line) + 1

    def wait_for(self, count: int) -> None:
        """Wait until so many lines are acknowledged."""
        deadline = time.monotonic() + PATIENCE
        while self.count < count:
            assert time.monotonic() < deadline
            assert self.process.poll() is None
            time.sleep(0.001)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join()
        assert self.process.stdout
        self.process.stdout.close()


def test_a_backup_beside_writers_loses_nothing(workspace: Workspace, tmp_path: Path) -> None:
    """Each acknowledged line of before is in it, no page is torn, each has its line in the log."""
    for number in range(6):
        workspace.agents.create(f"idle-{number}")
    workspace.agents.create("bob")
    create_user(workspace.context, "eve")
    places = [("ada", "MEMORY.md"), ("ada", "notes/long.md"), ("bob", "MEMORY.md")]
    with ExitStack() as stack:
        writers = [stack.enter_context(Writer(workspace.root, *place)) for place in places]
        for writer in writers:
            writer.wait_for(3)
        before = [writer.count for writer in writers]

        def show_progress(_done: int, _total: int) -> None:
            # After each group someone has written, so that the backup is never alone.
            writers[0].wait_for(writers[0].count + 1)

        result = write_backup(workspace.root, tmp_path / "backups", show_progress=show_progress)
        assert writers[0].count > before[0]
    restored = restore(result, tmp_path / "new")
    assert result.left_out == ()
    assert faults_of(restored) == []
    for writer, count in zip(writers, before, strict=True):
        scope = restored.agents.resolve(writer.agent).shelf.page(writer.page)
        page = restored.store.read(scope)
        assert isinstance(page, Found)
        lines = [line for line in page.content.decode().splitlines() if " of " in line]
        expected = [f"- line {number} of {writer.agent}" for number in range(len(lines))]
        assert lines == expected
        assert len(lines) >= count
        logs = read_last_hashes(Path(restored.root), scope.shelf_name)
        assert logs[writer.page.replace("/", ":")] == page.hash
    assert [user.login for user in restored.accounts().users.list()] == ["admin", "eve"]


def after_agents(act: Callable[[], object]) -> Callable[[int, int], None]:
    """Return a progress that acts once, when the list of agents was taken and none is copied."""
    pending = [act]

    def show_progress(done: int, total: int) -> None:
        if total > 1 and done and pending:
            pending.pop()()

    return show_progress


@pytest.mark.parametrize("act", ["rename", "delete", "delete with files", "create", "restore"])
def test_agents_that_move_meanwhile_are_in_it(
    workspace: Workspace, tmp_path: Path, act: str
) -> None:
    """Each as it was when the list of agents was taken; one that is created later is not in it."""
    agents = workspace.agents
    zoe = agents.create("zoe")
    workspace.pages.write(zoe.shelf.page("notes.md"), "hers\n", change=BY)
    if act == "restore":
        agents.remove("zoe", files=True)
    acts: dict[str, Callable[[], object]] = {
        "rename": lambda: agents.rename("zoe", "aaron"),
        "delete": lambda: agents.remove("zoe"),
        "delete with files": lambda: agents.remove("zoe", files=True),
        "create": lambda: agents.create("later"),
        "restore": lambda: agents.restore("zoe"),
    }
    progress = after_agents(acts[act])
    restored = restore(
        write_backup(workspace.root, tmp_path / "backups", show_progress=progress), tmp_path / "new"
    )
    assert faults_of(restored) == []
    if act == "restore":
        assert [record.slug for record in restored.agents.deleted_records()] == ["zoe"]
        restored.agents.restore("zoe")
    assert restored.agents.slugs() == ["ada", "zoe"]
    page = restored.agents.resolve("zoe").shelf.page("notes.md")
    assert restored.pages.text(page) == "hers\n"
    assert restored.history.revisions(page)[-1].actor == "eve"


def test_pages_that_come_and_go_meanwhile_are_whole(workspace: Workspace, tmp_path: Path) -> None:
    """With the line of their history, or not at all."""
    shelf = workspace.agents.resolve("ada").shelf
    workspace.pages.write(shelf.page("a.md"), "a\n", change=BY)

    def come_and_go() -> None:
        workspace.pages.write(shelf.page("new.md"), "new\n", change=BY)
        workspace.pages.delete(shelf.page("a.md"), change=BY)
        workspace.pages.write(Shelf("shared").page("late.md"), "late\n", change=BY)

    progress = after_agents(come_and_go)
    result = write_backup(workspace.root, tmp_path / "backups", show_progress=progress)
    restored = restore(result, tmp_path / "new")
    assert faults_of(restored) == []
    assert restored.history.content(shelf.page("a.md"), 1) == b"a\n"


def groups_of(root: str, scratch: Path) -> Iterator[FileGroup]:
    """Yield the groups of a workspace, one after the other."""
    scratch.mkdir()
    yield from files_of(root).groups(str(scratch))


def bytes_of(copy: FileCopy) -> bytes:
    """Read the bytes of a copy."""
    return b"".join(copy.chunks)


def test_a_history_that_is_replaced_meanwhile_is_read_again(
    workspace: Workspace, tmp_path: Path
) -> None:
    """A large prior version that is gone, or another file, is no torn copy."""
    scope = workspace.agents.resolve("ada").shelf.page("large.md")
    for sign in "abc":
        workspace.pages.write(scope, f"{sign}\n" * 600_000, change=BY)
    version = Path(workspace.root, ".looseleaf/history/agent-1/large.md/1")
    for group in groups_of(workspace.root, tmp_path / "scratch"):
        copies = group.read_copies(False)
        first = next(copies, None)
        if first is None or not first.path.endswith(b"ada/large.md"):
            continue
        content = version.read_bytes()
        version.unlink()
        with pytest.raises(CopyChanged):
            list(map(bytes_of, copies))
        version.write_bytes(content)
        again = {copy.path: bytes_of(copy) for copy in group.read_copies(True)}
        assert again[b".looseleaf/history/agent-1/large.md/1"] == content
        workspace.pages.write(scope, "short\n", change=BY)  # the lock is released by now
        return
    pytest.fail("there is no such group")


def test_the_lock_of_a_page_is_held_for_small_files_alone(
    workspace: Workspace, tmp_path: Path
) -> None:
    """While the bytes of a large page are copied, a writer can write to it."""
    scope = workspace.agents.resolve("ada").shelf.page("large.md")
    workspace.pages.write(scope, "x\n" * 1_000_000, change=BY)
    for group in groups_of(workspace.root, tmp_path / "scratch"):
        for copy in group.read_copies(False):
            if copy.path.endswith(b"ada/large.md"):
                workspace.pages.append(scope, "y\n", change=BY)
                with pytest.raises(CopyChanged):
                    b"".join(copy.chunks)
                return
    pytest.fail("there is no such page")


def test_what_cannot_be_copied_is_named(workspace: Workspace, tmp_path: Path) -> None:
    """Links and pipes are left out, and the rest is there."""
    root = Path(workspace.root)
    (root / "agents/ada/link.md").symlink_to("/etc/hostname")
    (root / "agents/linked").symlink_to(root / "agents/ada")
    os.mkfifo(root / "shared/pipe")
    (root / ".looseleaf/elsewhere").symlink_to("/etc")
    result = write_backup(root, tmp_path / "backups")
    names = sorted(line.partition(":")[0] for line in result.left_out)
    assert names == [
        ".looseleaf/elsewhere",
        "agents/ada/link.md",
        "agents/linked",
        "shared/pipe",
    ]
    restored = restore(result, tmp_path / "new")
    assert tree_of(restored.root).keys() == tree_of(root).keys() - {"agents/ada/link.md"}


def test_a_damaged_database_is_copied_and_named(workspace: Workspace, tmp_path: Path) -> None:
    """People who have nothing better want what is left."""
    create_user(workspace.context, "eve")
    workspace.close()
    file = Path(workspace.root, ".looseleaf/looseleaf.db")
    raw = bytearray(file.read_bytes())
    raw[8_192:12_000] = b"\xff" * 3_808
    file.write_bytes(raw)
    result = write_backup(workspace.root, tmp_path / "backups")
    assert [line.partition(":")[0] for line in result.left_out] == [".looseleaf/looseleaf.db"]
