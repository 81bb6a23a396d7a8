"""What waits for approval: kept with its texts, shown as a diff, applied or rejected later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Invalid, InvalidArgument, Unavailable
from looseleaf.errors.features import UpgradeMissing, UpgradeOutdated
from looseleaf.features.bundles import install_target
from tests.features.bundles.agents_of import (
    SOUL,
    create_ada,
    edit,
    encode,
    export,
    files_of,
    install_ada,
    read_tree,
)

MANIFEST, PIPELINE = "manifest.json", "pipelines/news.json"
OWN = SOUL.replace("Calm and exact.", "Loud and funny.")
NEW = SOUL.replace("Programs.", "Programs and proofs.")
RECORD = ".looseleaf/bundles/pending-2.json"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """Return the files of a bundle of ada."""
    return files_of(export(create_ada(tmp_path / "ada")))


@pytest.fixture
def eve(tmp_path: Path, files: dict[str, bytes]) -> Workspace:
    """Return a workspace where ada is installed, edited and upgraded, so that parts of it wait."""
    workspace = install_ada(tmp_path / "eve", files)
    write_soul(workspace, OWN)
    upgrade(workspace, newer(files))
    return workspace


def newer(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the next version of the bundle: another SOUL.md, pipeline, and a wider policy."""
    agent = json.loads(files[MANIFEST])["agent"]
    agent["agent_config"]["tool_policy"] = {"mode": "deny", "tools": []}
    target = edit(files, MANIFEST, bundle_version="2", agent=agent)
    target = edit(target, PIPELINE, system_prompt="Write well.")
    return {**target, "memory/agent/SOUL.md": NEW.encode()}


def write_soul(workspace: Workspace, text: str) -> None:
    change = {"file": "SOUL.md", "content": text, "agent": "ada", "allow_shrink": True}
    invoke(workspace.context, "datamachine/write-agent-file", change)


def upgrade(workspace: Workspace, target: dict[str, bytes], **options: Any) -> Any:  # noqa: ANN401
    arguments = {"data": encode(target), "agent": "ada", **options}
    return invoke(workspace.context, "looseleaf/upgrade-bundle", arguments)


def run(workspace: Workspace, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - any JSON
    return invoke(workspace.context, f"looseleaf/{name}", {"agent": "ada", **arguments})


def soul(workspace: Workspace) -> str:
    page = {"file": "SOUL.md", "agent": "ada"}
    return str(invoke(workspace.context, "datamachine/get-agent-file", page)["content"])


def config(workspace: Workspace) -> dict[str, Any]:
    found: dict[str, Any] = run(workspace, "show-agent")["config"]
    return found


WAITING = ["agent_config:tool_policy", "memory:SOUL.md", "schedule:morning"]


def test_what_waits_is_listed_and_shown_as_a_diff(eve: Workspace) -> None:
    """What was safe is applied; the rest is kept with who brought it, and survives a restart."""
    pipeline = invoke(eve.context, "looseleaf/show-pipeline", {"pipeline": "news"})
    assert pipeline["system_prompt"] == "Write well."
    eve.close()
    with Workspace.open(eve.root) as workspace:
        (listed,) = invoke(workspace.context, "looseleaf/list-pending-upgrades", {})
        assert (listed["agent"], listed["kind"]) == ("ada", "bundle_upgrade")
        assert sorted(listed["waiting"]) == WAITING
        assert listed["parts"] == []
        shown = run(workspace, "show-pending-upgrade")
        parts = {part["key"]: part for part in shown["parts"]}
        assert sorted(parts) == WAITING
        assert (shown["bundle_version"], shown["created_by"]) == ("2", workspace.settings.actor)
        assert "-Loud and funny." in parts["memory:SOUL.md"]["diff"]
        assert parts["memory:SOUL.md"]["reason"] == "local_modified"
        assert not any(part["outdated"] for part in parts.values())
        mergeable_keys = {key for key, part in parts.items() if part["mergeable"]}
        assert mergeable_keys == {"memory:SOUL.md"}


def test_only_approved_keys_are_applied(eve: Workspace) -> None:
    """Each key by itself, without the bundle; when nothing is left, nothing waits."""
    decision = run(eve, "approve-upgrade", keys=["memory:SOUL.md"])
    assert decision["keys"] == ["memory:SOUL.md"]
    assert sorted(decision["waiting"]) == [WAITING[0], WAITING[2]]
    assert soul(eve) == NEW
    assert config(eve)["tool_policy"]["tools"] == ["delete_agent"]
    states = {part["key"]: part["status"] for part in run(eve, "show-bundle")["artifacts"]}
    assert (states["memory:SOUL.md"], states["schedule:morning"]) == ("clean", "waiting")
    assert run(eve, "approve-upgrade", keys=["all"])["waiting"] == []
    assert config(eve)["tool_policy"]["tools"] == []
    flow = invoke(eve.context, "looseleaf/show-flow", {"flow": "morning"})
    assert flow["schedule"]["enabled"] is True
    states = {part["key"]: part["status"] for part in run(eve, "show-bundle")["artifacts"]}
    assert set(states.values()) == {"clean"}
    assert not (Path(eve.root) / RECORD).exists()
    for name in ("show-pending-upgrade", "approve-upgrade", "reject-upgrade"):
        with pytest.raises(UpgradeMissing):
            run(eve, name)


def test_a_schedule_of_an_install_waits_the_same_way(tmp_path: Path, files: Any) -> None:  # noqa: ANN401
    """It is approved later, without the bundle."""
    workspace = Workspace.create(tmp_path / "new", agent="main")
    invoke(workspace.context, "looseleaf/install-bundle", {"data": encode(files)})
    assert run(workspace, "show-pending-upgrade")["kind"] == "bundle_install"
    run(workspace, "approve-upgrade", keys=["schedule:morning"])
    flow = invoke(workspace.context, "looseleaf/show-flow", {"flow": "morning"})
    assert flow["schedule"]["enabled"] is True
    assert files_of(export(workspace)) == files


def test_nothing_approved_is_an_error(eve: Workspace) -> None:
    """So is a key that does not wait; nothing changes."""
    before = read_tree(Path(eve.root))
    for name in ("approve-upgrade", "reject-upgrade"):
        with pytest.raises(InvalidArgument, match=r"memory:SOUL\.md"):
            run(eve, name)
        with pytest.raises(InvalidArgument, match="pipeline:news"):
            run(eve, name, keys=["memory:SOUL.md", "pipeline:news"])
    with pytest.raises(InvalidArgument, match="merged"):
        run(eve, "approve-upgrade", merge=["schedule:morning"])
    assert read_tree(Path(eve.root)) == before


def test_a_part_that_was_changed_since_is_refused(eve: Workspace) -> None:
    """Nothing of the decision is applied; a new plan, or a rejection, is the way on."""
    write_soul(eve, "# Third\n")
    parts = {part["key"]: part for part in run(eve, "show-pending-upgrade")["parts"]}
    assert parts["memory:SOUL.md"]["outdated"] is True
    with pytest.raises(UpgradeOutdated, match=r"memory:SOUL\.md"):
        run(eve, "approve-upgrade", keys=["all"])
    assert soul(eve) == "# Third\n"
    assert config(eve)["tool_policy"]["tools"] == ["delete_agent"]
    write_soul(eve, NEW)  # it is what the bundle wants already
    assert run(eve, "approve-upgrade", keys=["all"])["waiting"] == []


def test_a_merge_keeps_what_was_edited_here(eve: Workspace) -> None:
    """Sections of SOUL.md are merged, from what the last bundle left."""
    run(eve, "approve-upgrade", merge=["memory:SOUL.md"])
    assert soul(eve) == OWN.replace("Programs.", "Programs and proofs.")


def test_a_rejected_part_stays_as_it_is(eve: Workspace, files: dict[str, bytes]) -> None:
    """It waits no longer; a rejected schedule stays paused through the next upgrade."""
    decision = run(eve, "reject-upgrade", keys=["schedule:morning", "memory:SOUL.md"])
    assert (decision["act"], decision["waiting"]) == ("reject", ["agent_config:tool_policy"])
    assert soul(eve) == OWN
    assert upgrade(eve, newer(files))["waiting"] == ["agent_config:tool_policy", "memory:SOUL.md"]
    flow = invoke(eve.context, "looseleaf/show-flow", {"flow": "morning"})
    assert flow["schedule"]["enabled"] is False


def test_a_newer_upgrade_replaces_what_waits(eve: Workspace, files: dict[str, bytes]) -> None:
    """The plan of the newest bundle counts; when it leaves nothing to decide, nothing waits."""
    third = edit(newer(files), MANIFEST, bundle_version="3")
    third["memory/agent/SOUL.md"] = b"# Third\n"
    upgrade(eve, third)
    shown = run(eve, "show-pending-upgrade")
    assert shown["bundle_version"] == "3"
    diffs = {part["key"]: part["diff"] for part in shown["parts"]}
    assert "+# Third" in diffs["memory:SOUL.md"]
    upgrade(eve, third, approve=["all"])
    assert invoke(eve.context, "looseleaf/list-pending-upgrades", {}) == []


def test_too_much_is_refused_before_anything_is_written(
    tmp_path: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits is bounded; approving it at once is still possible."""
    workspace = Workspace.create(tmp_path / "new", agent="main")
    invoke(workspace.context, "looseleaf/install-bundle", {"data": encode(files)})
    write_soul(workspace, OWN)
    monkeypatch.setattr(install_target, "LARGEST_RECORD", 500)
    before = read_tree(Path(workspace.root))
    with pytest.raises(Invalid, match="wait for approval"):
        upgrade(workspace, newer(files))
    assert read_tree(Path(workspace.root)) == before
    upgrade(workspace, newer(files), approve=["all"])
    assert soul(workspace) == NEW


def test_a_damaged_record_is_named(eve: Workspace) -> None:
    """The error says which file it is; nothing is guessed."""
    (Path(eve.root) / RECORD).write_text('{"artifacts": []}')
    with pytest.raises(Unavailable, match="pending-2"):
        run(eve, "show-pending-upgrade")


def test_the_history_names_the_bundle(eve: Workspace) -> None:
    """Pages that an install or an approval writes are an import, and their reason is the bundle."""
    arguments = {"agent": "ada", "keys": ["memory:SOUL.md"]}
    invoke(eve.context, "looseleaf/approve-upgrade", arguments)
    scope = eve.agents.resolve("ada").shelf.page("SOUL.md")
    revisions = [entry for entry in eve.history.revisions(scope) if entry.origin == "import"]
    assert [entry.reason for entry in revisions] == ["bundle ada 1", "bundle ada 2"]
    assert {entry.actor_kind for entry in revisions} == {"import"}
