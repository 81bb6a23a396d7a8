"""The ways a page is changed on disk, each as a short scene that can be stopped anywhere.

A scene prepares a root and then acts on it. Whatever stops the act, what the page says must be one
of the states the scene goes through, and nothing that was there before it may be lost.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from looseleaf.files import atomic
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Change, Retention
from looseleaf.stores.disk import page_changes
from looseleaf.stores.disk.history import packing
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.agent_folders import AGENTS
from tests.stores.conformance import ADA, MEMORY

ACTED = Change("act", Provenance("ada", reason="the act of a scene"))
PREPARED = Change("prepare", Provenance("ada", reason="before the act"))
DAY = 86_400.0
NESTED = ADA.page("daily/2026/04/17.md")
DAMAGING = b"an outside edit, saved during the act\n"


class Scene(NamedTuple):
    """What lies there, what is done to it, and to which page."""

    prepare: Callable[[DiskStore, Path], object]
    act: Callable[[DiskStore, Path], object]
    page: Scope = MEMORY
    setting: Callable[[], None] = lambda: None


def open_store(root: Path) -> DiskStore:
    """Open the root of a scene as a process that has just started does."""
    return DiskStore(str(root), agent_folder=AGENTS.__getitem__)


def page_file_of(root: Path) -> Path:
    """Return the file that the scenes' page is."""
    return root / "agents/ada/MEMORY.md"


def history_folder_of(root: Path) -> Path:
    """Return the folder of its history."""
    return root / ".looseleaf/history/agent-1/MEMORY.md"


def staged_file_of(root: Path) -> Path:
    """Return the file in staging that a write of the page uses."""
    return root / ".looseleaf/staging/agent-1:MEMORY.md"


def move_over(root: Path, content: bytes) -> None:
    """Save the page as careful editors do: a new file, then a rename."""
    fresh = root / "agents/ada/.saving"
    fresh.write_bytes(content)
    fresh.rename(page_file_of(root))


def save_in_place(root: Path, content: bytes) -> None:
    """Save the page as simple editors do: empty it, then write."""
    page_file_of(root).write_bytes(content)


def write_three_versions(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Write the page three times."""
    for content in (b"one\n", b"one\ntwo\n", b"one\ntwo\nthree\n"):
        store.write(MEMORY, content, change=PREPARED)


def leave_empty(store: DiskStore, root: Path) -> None:
    """Begin with a root that was never written to."""


def with_save_in_place(store: DiskStore, root: Path) -> None:
    """Have someone edit the page in place after the last write."""
    write_three_versions(store, root)
    save_in_place(root, b"one\ntwo\nthree, by hand\n")


def with_save_moved_over(store: DiskStore, root: Path) -> None:
    """Have someone replace the page after the last write."""
    write_three_versions(store, root)
    move_over(root, b"one\ntwo\nthree, by hand\n")


def with_delete_outside(store: DiskStore, root: Path) -> None:
    """Have someone remove the page after the last write."""
    write_three_versions(store, root)
    page_file_of(root).unlink()


def delete_page(store: DiskStore, root: Path) -> None:
    """Delete the page after three versions."""
    write_three_versions(store, root)
    store.delete(MEMORY, change=PREPARED)


def save_first_outside(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Begin with a page that only a person ever wrote."""
    save_in_place(root, b"by hand\n")


def write_long_ago(store: DiskStore, root: Path) -> None:
    """Write versions that a retention of 90 days no longer keeps, and the last one now."""
    for days in range(400, 270, -8):  # a step of time counts as a week at most
        moment = time.time() - days * DAY
        old = DiskStore(store.root, agent_folder=AGENTS.__getitem__, clock=lambda now=moment: now)  # type: ignore[misc]
        old.write(MEMORY, f"{days} days ago\n".encode(), change=PREPARED)
    save_in_place(root, b"by hand, the day before\n")
    store.write(MEMORY, b"today\n", change=PREPARED)


def write_seven_versions(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Write the page seven times, so that four versions are settled."""
    for number in range(1, 8):
        store.write(MEMORY, b"line %d\n" % number * 40 + b"end\n", change=PREPARED)


def pack_early() -> None:
    """Pack a page of few versions, and each version in a batch of its own but the first two."""
    packing.NEWEST_UNPACKED, packing.LEAST_VERSIONS, packing._BATCH_BYTES = 2, 2, 500


def pack_now(store: DiskStore, page: Scope = MEMORY) -> int:
    """Pack the page early, leave the limits as they were, and return how many versions went."""
    limits = packing.NEWEST_UNPACKED, packing.LEAST_VERSIONS, packing._BATCH_BYTES
    pack_early()
    try:
        return DiskHistory(store).pack(page).versions
    finally:
        packing.NEWEST_UNPACKED, packing.LEAST_VERSIONS, packing._BATCH_BYTES = limits


def with_pack(store: DiskStore, root: Path) -> None:
    """Write the page seven times, pack its settled versions, and write it three times more."""
    write_seven_versions(store, root)
    assert pack_now(store)
    for number in range(8, 11):
        store.write(MEMORY, b"line %d\n" % number * 40, change=PREPARED)


def with_pack_cut_short(store: DiskStore, root: Path) -> None:
    """Leave what packing leaves that is killed before the files of packed versions go."""
    write_seven_versions(store, root)
    files = {number: (history_folder_of(root) / str(number)).read_bytes() for number in range(1, 5)}
    assert pack_now(store)
    for number, content in files.items():
        (history_folder_of(root) / str(number)).write_bytes(content)


def with_pack_of_long_ago(store: DiskStore, root: Path) -> None:
    """Pack versions of which a retention of 90 days keeps some no longer."""
    write_long_ago(store, root)
    assert pack_now(store)


def stop_before_swap(store: DiskStore, root: Path) -> None:
    """Leave what a write leaves that is killed just before it swaps."""
    write_three_versions(store, root)
    staged_file_of(root).write_bytes(b"never acknowledged\n")
    os.link(page_file_of(root), history_folder_of(root) / "3")


def stop_after_swap(store: DiskStore, root: Path) -> None:
    """Leave what a write leaves that is killed between the swap and the log."""
    stop_before_swap(store, root)
    file = staged_file_of(root)
    file.rename(root / "new")
    os.link(page_file_of(root), file)
    (root / "new").rename(page_file_of(root))


def stop_with_stray_save(store: DiskStore, root: Path) -> None:
    """Leave what a write leaves that is killed when it has swapped out someone's fresh save."""
    stop_after_swap(store, root)
    staged_file_of(root).unlink()
    staged_file_of(root).write_bytes(b"one\ntwo\nthree, saved meanwhile\n")


def stop_over_save_in_place(store: DiskStore, root: Path) -> None:
    """Leave what a write leaves that is killed when someone saved into the file it swapped out."""
    stop_after_swap(store, root)
    staged_file_of(root).write_bytes(b"one\ntwo\nthree, saved meanwhile\n")


def write(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Write the page."""
    store.write(MEMORY, b"one\nnew\n", change=ACTED)


def write_same(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Write what the page says already."""
    store.write(MEMORY, b"one\ntwo\nthree\n", change=ACTED)


def write_nested(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Write a page in folders that are not there yet."""
    store.write(NESTED, b"# 2026-04-17\n", change=ACTED)


def append(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Add a line to the page."""
    store.edit(MEMORY, lambda page: (page or b"") + b"four\n", change=ACTED)


def delete(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Delete the page."""
    store.delete(MEMORY, change=ACTED)


def restore(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Write the page as it once was."""
    store.write(MEMORY, DiskHistory(store).content(MEMORY, 1) or b"", change=ACTED)


def purge(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Purge the version before the present one."""
    DiskHistory(store).purge(MEMORY, 2, change=ACTED)


def prune(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Prune what is older than 90 days."""
    DiskHistory(store).prune(ADA, Retention())


def pack(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Pack the settled versions of the page."""
    DiskHistory(store).pack(MEMORY)


def recover(store: DiskStore, root: Path) -> None:  # noqa: ARG001 - every scene gets both
    """Clear up."""
    store.recover()


def without_exchange() -> None:
    """Behave as on a file system that cannot swap two files in one step."""
    atomic._swap = lambda *_names: False


def prune_often() -> None:
    """Let every third write prune."""
    page_changes._PRUNE_EVERY = 3


def build_overtaken_edit(save: Callable[[Path, bytes], None]) -> Callable[[DiskStore, Path], None]:
    """Edit the page while someone saves it between our reading and our writing."""

    def act(store: DiskStore, root: Path) -> None:
        saves = iter([DAMAGING])

        def edit(page: bytes | None) -> bytes:
            for content in saves:
                save(root, content)
                (root.parent / "saved").touch()
            return (page or b"") + b"four\n"

        store.edit(MEMORY, edit, change=ACTED)

    return act


SCENES = {
    "create": Scene(leave_empty, write),
    "create in new folders": Scene(leave_empty, write_nested, NESTED),
    "create after delete": Scene(delete_page, write),
    "create after delete outside": Scene(with_delete_outside, write),
    "replace": Scene(write_three_versions, write),
    "replace a page made outside": Scene(save_first_outside, write),
    "replace after save in place": Scene(with_save_in_place, write),
    "replace after move over": Scene(with_save_moved_over, write),
    "replace by the same": Scene(write_three_versions, write_same),
    "replace and prune": Scene(write_long_ago, write, setting=prune_often),
    "replace without exchange": Scene(write_three_versions, write, setting=without_exchange),
    "append": Scene(write_three_versions, append),
    "append, overtaken in place": Scene(write_three_versions, build_overtaken_edit(save_in_place)),
    "append, overtaken by a move": Scene(write_three_versions, build_overtaken_edit(move_over)),
    "append, overtaken, without exchange": Scene(
        write_three_versions, build_overtaken_edit(move_over), setting=without_exchange
    ),
    "delete": Scene(write_three_versions, delete),
    "delete after save in place": Scene(with_save_in_place, delete),
    "restore": Scene(write_three_versions, restore),
    "restore after delete": Scene(delete_page, restore),
    "purge": Scene(write_three_versions, purge),
    "purge after save in place": Scene(with_save_in_place, purge),
    "prune": Scene(write_long_ago, prune),
    "pack": Scene(write_seven_versions, pack, setting=pack_early),
    "pack more": Scene(with_pack, pack, setting=pack_early),
    "pack after a cut": Scene(with_pack_cut_short, pack, setting=pack_early),
    "purge from a pack": Scene(with_pack, purge),
    "prune a pack": Scene(with_pack_of_long_ago, prune),
    "append beside a pack": Scene(with_pack, append),
    "recover before the swap": Scene(stop_before_swap, recover),
    "recover after the swap": Scene(stop_after_swap, recover),
    "recover a stray": Scene(stop_with_stray_save, recover),
    "recover a save in place": Scene(stop_over_save_in_place, recover),
}


def perform(name: str, root: Path) -> None:
    """Do the act of a scene in a prepared root."""
    SCENES[name].setting()
    SCENES[name].act(open_store(root), root)


def warm_up() -> None:
    """Act out every scene once, so that everything is imported that ever will be."""
    for scene in SCENES.values():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "root")
            (root / "agents/ada").mkdir(parents=True)
            scene.prepare(open_store(root), root)
            scene.act(open_store(root), root)
