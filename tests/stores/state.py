"""The state of a page in a root: its file and its history, which must agree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Found, hash_content
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.stores.conformance import CHANGE
from tests.stores.scenes import open_store


class State(NamedTuple):
    """What a page says, and everything it ever said that can still be read."""

    page: bytes | None
    versions: frozenset[bytes]


def state_of(store: DiskStore, scope: Scope) -> State:
    """Read a page and its whole history, which must agree with it."""
    page = store.read(scope)
    content = page.content if isinstance(page, Found) else None
    history = DiskHistory(store)
    revisions = history.revisions(scope)
    assert [revision.number for revision in revisions] == sorted(
        {revision.number for revision in revisions}
    )
    assert [revision.time for revision in revisions] == sorted(
        revision.time for revision in revisions
    )
    versions = set() if content is None else {content}
    for revision in revisions:
        if revision.hash and revision.kept:
            version = history.content(scope, revision.number)
            assert version is not None
            assert hash_content(version) == revision.hash
            versions.add(version)
    if revisions or content is not None:
        assert revisions[-1].hash == (page.hash if isinstance(page, Found) else "")
    return State(content, frozenset(versions))


def versions_of(store: DiskStore, scope: Scope) -> set[bytes]:
    """Read every version in one go, for histories too long to ask for one by one."""
    log = store.log(scope)
    assert log is not None
    try:
        contents = [log.version(line) for line in log.lines() if line.get("hash")]
    finally:
        os.close(log.folder)
    return {content for content in contents if content is not None}


def list_leftovers(root: Path) -> list[Path]:
    """Return what lies in our own folder and is neither log, pack, numbered version nor note."""
    folder = root / ".looseleaf"
    return [
        path
        for path in folder.rglob("*")
        if not path.is_dir()
        and path.name not in ("log", "pack", ".head", ".owners", ".pages", ".removals")
        and not path.name.isdigit()
    ]


def list_lasting_faults(store: DiskStore, scope: Scope) -> list[str]:
    """Return the faults of a page, without versions whose file was purged or pruned meanwhile.

    A process that is killed in the middle of that leaves them in the log, which can rebuild them.
    """
    faults = DiskHistory(store).verify(scope).faults
    return [fault for fault in faults if "can be rebuilt" not in fault]


def check_sound(
    root: Path, scope: Scope, allowed_contents: set[bytes | None], needed_versions: set[bytes]
) -> None:
    """Check a root that a process died in: readable at once, clean after recovery, writable."""
    before = open_store(root).read(scope)
    assert (before.content if isinstance(before, Found) else None) in allowed_contents
    store = open_store(root)
    store.recover()
    state = state_of(store, scope)
    assert state.page in allowed_contents
    assert needed_versions <= state.versions, f"lost: {needed_versions - state.versions}"
    assert not list_leftovers(root)
    assert not list_lasting_faults(store, scope)
    store.write(scope, b"the next write\n", change=CHANGE)
    after = state_of(store, scope)
    assert after.page == b"the next write\n"
    needed_versions = needed_versions | (state.versions & {state.page})
    assert needed_versions <= after.versions, f"lost: {needed_versions - after.versions}"
    assert not list_leftovers(root)
    assert not list_lasting_faults(store, scope)
    assert (root / "agents/ada" / scope.filename).stat().st_nlink == 1
