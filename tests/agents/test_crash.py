"""Whatever stops a change of the agents, it is done or not done, and nothing is left behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.errors.pages import AgentExists, AgentMissing
from looseleaf.stores.disk.agents import DiskAgents
from tests.agents.scenes import SCENES, perform, prepare
from tests.conftest import FULL, sample
from tests.stores.tracing import CHANGING, Call, Tracer, copy_of

FAULTS = ("EIO", "ENOSPC")


@pytest.fixture(scope="module")
def tracer() -> Iterator[Tracer]:
    """Yield a process that acts out scenes under strace."""
    with Tracer("tests.agents.scenes") as new_tracer:
        yield new_tracer


def state_of(root: Path) -> dict[str, Any]:
    """Return all that a process opening the workspace now sees of its agents, but for ids."""
    workspace = Workspace.open(root)
    agents = {}
    for record in workspace.agents.records():
        entries = workspace.store.list_subtree(record.shelf, "")
        scopes = [record.shelf.page(entry.filename) for entry in entries]
        agents[record.slug] = (
            (record.name, record.status, dict(record.config)),
            {
                scope.filename: (
                    workspace.pages.text(scope),
                    [revision.operation for revision in workspace.history.revisions(scope)],
                )
                for scope in scopes
            },
        )
    assert len({item.id for item in workspace.agents.records()}) == len(agents)
    folders = set(workspace.agents.slugs()) - agents.keys()
    pages = {
        slug: sorted(path.name for path in (root / "agents" / slug).iterdir()) for slug in folders
    }
    deleted = [item.slug for item in workspace.agents.deleted_records()]
    return {"agents": agents, "folders": pages, "deleted": deleted}


def strays(root: Path) -> list[str]:
    """Name what lies there that is neither an agent's nor a record of ours."""
    found = [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.name.startswith((".new", ".agent", ":")) or path.name.endswith(":making")
    ]
    agents = DiskAgents(str(root))
    known = {f"agent-{item.id}" for item in [*agents.records(), *agents.deleted_records()]}
    histories = (root / ".looseleaf/history").glob("agent-*")
    return [*found, *(path.name for path in histories if path.name not in known)]


class Whole:
    """What a scene makes of its root when nothing stops it."""

    def __init__(self, tracer: Tracer, name: str, folder: Path) -> None:
        self.root = folder / "root"
        prepare(name, self.root)
        self.before = state_of(self.root)
        root = copy_of(self.root, folder / "whole")
        calls = tracer.calls(name, root, folder / "trace")
        # What a kill leaves changes with these calls alone.
        self.calls: list[Call] = [call for call in calls if call.name in CHANGING]
        self.after = state_of(root)
        assert self.after != self.before
        assert not strays(root)


def check_mended(name: str, root: Path, whole: Whole) -> None:
    """Check that repeating the call leads to where the call would have led."""
    with suppress(AgentExists, AgentMissing):  # if it is done already
        perform(name, root)
    assert state_of(root) == whole.after
    assert not strays(root)


@pytest.mark.parametrize("name", SCENES)
def test_a_kill_at_any_call_leaves_all_or_nothing(
    tracer: Tracer, name: str, tmp_path: Path, seed: int
) -> None:
    """Both before and after the next process has cleared up; and the call can be repeated."""
    whole = Whole(tracer, name, tmp_path)
    calls = sample(whole.calls, seed, every=6)
    for call in calls:
        root = copy_of(whole.root, tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, root, f"{call.name}:signal=KILL:when={call.number}")
        try:
            assert ending.killed
            seen = {item.slug: item.name for item in DiskAgents(str(root)).records()}
            states = [
                {slug: agent[0][0] for slug, agent in state["agents"].items()}
                for state in (whole.before, whole.after)
            ]
            assert seen in states
            assert state_of(root) in (whole.before, whole.after)
            check_mended(name, root, whole)
        except BaseException as error:
            error.add_note(f"killed before {call}")
            raise
        shutil.rmtree(root.parent)
    print(f"{len(calls)} kill points")  # noqa: T201 - a figure that -rP shows


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SCENES)
def test_a_change_that_fails_is_not_done(
    tracer: Tracer, name: str, fault: str, tmp_path: Path, seed: int
) -> None:
    """An error means that nothing has changed; no error means that all has."""
    whole = Whole(tracer, name, tmp_path)
    calls = sample(whole.calls, seed, every=12)
    refused = 0
    for call in calls:
        root = copy_of(whole.root, tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, root, f"{call.name}:error={fault}:when={call.number}")
        try:
            assert not ending.killed
            refused += bool(ending.error)
            if ending.error:
                assert ending.error == ("DiskFull" if fault == "ENOSPC" else "Unavailable")
                assert state_of(root) == whole.before
            else:
                assert state_of(root) == whole.after
            check_mended(name, root, whole)
        except BaseException as error:
            error.add_note(f"{fault} from {call}: {ending}")
            raise
        shutil.rmtree(root.parent)
    assert refused or not FULL  # the few calls of a short run may all be dispensable
    print(f"{refused} of {len(calls)} failures were refusals")  # noqa: T201 - as above
