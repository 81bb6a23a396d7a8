"""Whatever stops an install or an upgrade, the agent is as before or complete, never in between."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors.features import UpgradeMissing
from looseleaf.errors.pages import AgentExists
from looseleaf.features.bundles.install_operations import list_pending_upgrades
from looseleaf.features.bundles.operations import list_bundles
from looseleaf.features.workflows.system_tasks import TaskPrompts
from tests.conftest import FULL, sample
from tests.features.bundles.scenes import SCENES, perform, prepare
from tests.stores.tracing import CHANGING, Call, Tracer, copy_of

KILLS, FAULTS = 2, 1  # of each scene; in `full` at each of its changing calls


@pytest.fixture(scope="module")
def tracer() -> Iterator[Tracer]:
    """Yield a process that acts out scenes under strace."""
    with Tracer("tests.features.bundles.scenes") as process:
        yield process


def state_of(root: Path) -> dict[str, Any]:
    """Return all that a process opening the workspace now sees of its agents and workflows."""
    with Workspace.open(root) as workspace:
        context = workspace.context
        agents = {}
        for record in workspace.agents.records():
            names = [entry.filename for entry in workspace.pages.list(record.shelf)]
            pages = {name: workspace.pages.text(record.shelf.page(name)) for name in names}
            agents[record.slug] = (record.name, dict(record.config), pages)
        workflows = []
        for name, keys in (("pipelines", ("agent_id",)), ("flows", ("agent_id", "pipeline_id"))):
            for document in invoke(context, f"looseleaf/list-{name}", {}):
                left_out = {"id", "created", "updated", "hash", *keys}
                workflows.append({k: v for k, v in document.items() if k not in left_out})
        user = {"file": "USER.md", "layer": "user"}
        pipelines = invoke(context, "looseleaf/list-pipelines", {})
        slugs = {f"pipeline-{document['id']}": document["slug"] for document in pipelines}
        files = sorted(
            f"{slugs[path.relative_to(root).parts[0]]}/{path.parent.name}/{path.name}"
            for pattern in ("pipeline-*/context/*", "pipeline-*/flow-*/flow-*-files/*")
            for path in root.glob(pattern)
        )
        return {
            "agents": agents,
            "workflows": workflows,
            "user": invoke(context, "datamachine/get-agent-file", user)["content"],
            "bundles": [(bundle.agent, bundle.bundle_version) for bundle in list_bundles(context)],
            "files": files,
            "prompts": TaskPrompts(str(root)).overrides(),
            "waiting": [
                (upgrade.agent, upgrade.bundle_version, upgrade.waiting)
                for upgrade in list_pending_upgrades(context)
            ],
            "deleted": [record.slug for record in workspace.agents.deleted_records()],
            "journal": (root / ".looseleaf/bundles/journal.json").exists(),
        }


class Whole:
    """What a scene makes of its root when nothing stops it."""

    def __init__(self, tracer: Tracer, name: str, folder: Path) -> None:
        self.root = folder / "root"
        prepare(name, self.root)
        self.before = state_of(self.root)
        root = copy_of(self.root, folder / "whole")
        calls = tracer.calls(name, root, folder / "trace")
        # A call of close that strace refuses leaves the file open, which no disk does.
        self.every_call: list[Call] = [call for call in calls if call.name != "close"]
        self.calls = [call for call in calls if call.name in CHANGING]
        self.after = state_of(root)
        assert self.after != self.before
        assert not self.after["journal"]


def choose(calls: list[Call], count: int, seed: int) -> list[Call]:
    """Choose calls that are spread over the whole scene, and the last one."""
    return sorted({*sample(calls, seed, every=len(calls) // count), calls[-1]}, key=calls.index)


def check_mended(name: str, root: Path, whole: Whole) -> None:
    """Check that repeating the act leads to where it would have led."""
    if state_of(root) == whole.before or name.startswith("upgrade"):
        perform(name, root)
    else:
        with pytest.raises((AgentExists, UpgradeMissing)):
            perform(name, root)
    assert state_of(root) == whole.after


@pytest.mark.parametrize("name", SCENES)
def test_a_kill_at_any_call_leaves_all_or_nothing(
    tracer: Tracer, name: str, tmp_path: Path, seed: int
) -> None:
    """The next process takes back what was begun, or finds it complete; it can be repeated."""
    whole = Whole(tracer, name, tmp_path)
    for call in choose(whole.calls, KILLS, seed):
        root = copy_of(whole.root, tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, root, f"{call.name}:signal=KILL:when={call.number}")
        try:
            assert ending.killed
            assert state_of(root) in (whole.before, whole.after)
            check_mended(name, root, whole)
        except BaseException as error:
            error.add_note(f"killed before {call}")
            raise
        shutil.rmtree(root.parent)
    print(f"{name}: {len(whole.calls)} changing calls")  # noqa: T201 - a figure that -rP shows


@pytest.mark.parametrize("fault", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("name", SCENES)
def test_a_disk_that_fails_leaves_all_or_nothing(
    tracer: Tracer, name: str, fault: str, tmp_path: Path, seed: int
) -> None:
    """An error means that nothing has changed, as soon as the disk works; none means all has."""
    whole = Whole(tracer, name, tmp_path)
    for call in choose(whole.every_call if FULL else whole.calls, FAULTS, seed):
        root = copy_of(whole.root, tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, root, f"{call.name}:error={fault}:when={call.number}")
        try:
            assert not ending.killed
            assert state_of(root) == (whole.before if ending.error else whole.after)
        except BaseException as error:
            error.add_note(f"{fault} from {call}: {ending}")
            raise
        shutil.rmtree(root.parent)
    print(f"{name}: {len(whole.every_call)} calls")  # noqa: T201 - a figure that -rP shows
