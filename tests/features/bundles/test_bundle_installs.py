"""Installs and upgrades: round trips, plans, approvals, and refusals without a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Invalid, InvalidArgument
from looseleaf.errors.features import BundleMismatch, BundleMissing
from looseleaf.errors.operations import UserMissing
from looseleaf.errors.pages import AgentExists
from tests.features.bundles.agents_of import (
    SOUL,
    create_ada,
    edit,
    encode,
    export,
    files_of,
    read_tree,
)

MANIFEST = "manifest.json"
PIPELINE, FLOW = "pipelines/news.json", "flows/morning.json"
Files = dict[str, bytes]


@pytest.fixture
def ada(tmp_path: Path) -> Workspace:
    """Return a workspace with the agent ada."""
    return create_ada(tmp_path / "ada")


@pytest.fixture
def empty(tmp_path: Path) -> Workspace:
    """Return another workspace, which has no agent ada."""
    return Workspace.create(tmp_path / "empty", agent="main")


def run(workspace: Workspace, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - any JSON
    return invoke(workspace.context, f"looseleaf/{name}-bundle", arguments)


def entries(plan: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {entry["key"]: (entry["bucket"], entry["reason"]) for entry in plan["entries"]}


@pytest.mark.parametrize("profile", ["share", "backup", "fork"])
def test_a_round_trip_is_byte_identical(ada: Workspace, empty: Workspace, profile: str) -> None:
    """Export, install elsewhere, export again: the archives are the same."""
    data = export(ada, profile)
    result = run(empty, "install", data=data)
    assert (result["act"], result["agent"]) == ("install", "ada")
    assert export(empty, profile) == data


def test_a_schedule_arrives_paused_until_it_is_approved(ada: Workspace, empty: Workspace) -> None:
    """The plan names it, approving it starts it, and the export stays the same all the time."""
    data = export(ada)
    assert run(empty, "install", data=data)["waiting"] == ["schedule:morning"]
    flow = invoke(empty.context, "looseleaf/show-flow", {"flow": "morning"})
    assert flow["schedule"]["enabled"] is False
    states = {part["key"]: part["status"] for part in run(empty, "show", agent="ada")["artifacts"]}
    assert states.pop("schedule:morning") == "waiting"
    assert set(states.values()) == {"clean"}
    result = run(empty, "upgrade", data=data, approve=["schedule:morning"])
    assert (result["applied"], result["waiting"]) == (["schedule:morning"], [])
    flow = invoke(empty.context, "looseleaf/show-flow", {"flow": "morning"})
    assert flow["schedule"]["enabled"] is True
    assert export(empty) == data


def test_an_install_with_approval_starts_the_schedule(ada: Workspace, empty: Workspace) -> None:
    """Approving all keys at once leaves nothing waiting."""
    assert run(empty, "install", data=export(ada), approve=["all"])["waiting"] == []
    flow = invoke(empty.context, "looseleaf/show-flow", {"flow": "morning"})
    assert flow["schedule"]["enabled"] is True


def test_a_dry_run_writes_nothing(ada: Workspace, empty: Workspace) -> None:
    """Neither a plan nor a dry run of an install or upgrade changes a byte."""
    data, before = export(ada), read_tree(Path(empty.root))
    assert run(empty, "plan", data=data)["act"] == "install"
    assert run(empty, "install", data=data, dry_run=True)["applied"] == []
    assert read_tree(Path(empty.root)) == before
    run(empty, "install", data=data)
    before = read_tree(Path(empty.root))
    changed = encode({**files_of(data), "memory/agent/SOUL.md": b"# New\n"})
    assert run(empty, "upgrade", data=changed, dry_run=True)["applied"] == []
    assert read_tree(Path(empty.root)) == before


def test_the_slug_of_an_agent_that_is_there(ada: Workspace, empty: Workspace) -> None:
    """It is an error, is skipped, upgrades, or is avoided by another slug."""
    data = export(ada)
    run(empty, "install", data=data)
    with pytest.raises(AgentExists):
        run(empty, "install", data=data)
    assert run(empty, "install", data=data, on_conflict="skip")["act"] == "skip"
    assert run(empty, "install", data=data, on_conflict="upgrade")["act"] == "upgrade"
    assert run(empty, "install", data=data, slug="eve")["agent"] == "eve"
    bundles = invoke(empty.context, "looseleaf/list-bundles", {})
    assert [bundle["agent"] for bundle in bundles] == ["ada", "eve"]


def test_a_page_of_the_user_is_written_only_where_there_is_none(
    ada: Workspace, empty: Workspace
) -> None:
    """USER.md that a person wrote stays; the starter text gives way."""
    data = export(ada, "backup")
    page = {"file": "USER.md", "layer": "user"}
    change = {**page, "content": "# Me\n", "allow_shrink": True}
    invoke(empty.context, "datamachine/write-agent-file", change)
    run(empty, "install", data=data)
    content = invoke(empty.context, "datamachine/get-agent-file", page)["content"]
    assert content == "# Me\n"


def test_an_edited_soul_needs_approval(ada: Workspace, empty: Workspace) -> None:
    """The rest follows the bundle, the local SOUL.md stays, and learned memory is never touched."""
    files = files_of(export(ada, "backup"))
    run(empty, "install", data=encode(files))
    own = SOUL.replace("Calm and exact.", "Loud and funny.")
    for name, text in (("SOUL.md", own), ("MEMORY.md", "# Learned here\n")):
        change = {"file": name, "content": text, "agent": "ada", "allow_shrink": True}
        invoke(empty.context, "datamachine/write-agent-file", change)
    newer = SOUL.replace("Programs.", "Programs and proofs.").encode()
    target = edit({**files, "memory/agent/SOUL.md": newer}, MANIFEST, bundle_version="2")
    target = edit(target, PIPELINE, system_prompt="Write well.")
    target["memory/agent/MEMORY.md"] = b"# Theirs\n"
    plan = run(empty, "plan", data=encode(target))
    decisions = entries(plan)
    assert decisions["memory:SOUL.md"] == ("needs_approval", "local_modified")
    assert decisions["memory:MEMORY.md"] == ("warnings", "learned_memory_kept")
    assert decisions["pipeline:news"] == ("auto_apply", "local_unchanged_from_installed")
    diff = next(entry["diff"] for entry in plan["entries"] if entry["key"] == "memory:SOUL.md")
    assert "-Loud and funny." in diff
    result = run(empty, "upgrade", data=encode(target))
    assert "memory:SOUL.md" in result["waiting"]
    assert result["applied"] == ["pipeline:news"]
    assert _read(empty, "SOUL.md") == own
    assert _read(empty, "MEMORY.md") == "# Learned here\n"
    pipeline = invoke(empty.context, "looseleaf/show-pipeline", {"pipeline": "news"})
    assert pipeline["system_prompt"] == "Write well."
    run(empty, "upgrade", data=encode(target), merge=["memory:SOUL.md"])
    assert _read(empty, "SOUL.md") == own.replace("Programs.", "Programs and proofs.")
    run(empty, "upgrade", data=encode(target), approve=["memory:SOUL.md"])
    assert _read(empty, "SOUL.md") == newer.decode()
    assert _read(empty, "MEMORY.md") == "# Learned here\n"


def _read(workspace: Workspace, name: str) -> str:
    found = invoke(workspace.context, "datamachine/get-agent-file", {"file": name, "agent": "ada"})
    content: str = found["content"]
    return content


def test_wider_rights_need_approval(ada: Workspace, empty: Workspace) -> None:
    """A tool policy that denies less is not applied by itself, although nobody changed it here."""
    files = files_of(export(ada))
    run(empty, "install", data=encode(files))
    agent = json.loads(files[MANIFEST])["agent"]
    agent["agent_config"]["tool_policy"] = {"mode": "deny", "tools": []}
    agent["agent_config"]["models"] = {"default": "other:model"}
    agent["agent_config"]["daily_memory"] = {"enabled": False}
    target = encode(edit(files, MANIFEST, agent=agent))
    decisions = entries(run(empty, "upgrade", data=target))
    assert decisions["agent_config:tool_policy"] == ("needs_approval", "widens_rights")
    assert decisions["agent_config:models"] == ("no_op", "kept_local")
    config = invoke(empty.context, "looseleaf/show-agent", {"agent": "ada"})["config"]
    assert config["tool_policy"]["tools"] == ["delete_agent"]
    assert config["models"] == {"default": "echo"}
    assert config["daily_memory"] == {"enabled": False}
    run(empty, "upgrade", data=target, approve=["agent_config:tool_policy"])
    config = invoke(empty.context, "looseleaf/show-agent", {"agent": "ada"})["config"]
    assert config["tool_policy"]["tools"] == []


def test_new_flows_and_pipelines_come_with_an_upgrade(ada: Workspace, empty: Workspace) -> None:
    """They are added, the schedule paused; what the bundle no longer has stays, with a warning."""
    files = files_of(export(ada))
    run(empty, "install", data=encode(files))
    invoke(ada.context, "looseleaf/create-pipeline", {"name": "Weekly"})
    flow = {"pipeline": "weekly", "name": "Sunday", "schedule": {"interval": "weekly"}}
    invoke(ada.context, "looseleaf/create-flow", flow)
    invoke(ada.context, "looseleaf/delete-flow", {"flow": "morning"})
    result = run(empty, "upgrade", data=export(ada))
    decisions = entries(result)
    assert decisions["pipeline:weekly"] == ("auto_apply", "new_artifact")
    assert decisions["schedule:sunday"] == ("needs_approval", "starts_by_itself")
    assert decisions["flow:morning"] == ("warnings", "orphaned_installed_artifact")
    sunday = invoke(empty.context, "looseleaf/show-flow", {"flow": "sunday"})
    assert (sunday["schedule"]["interval"], sunday["schedule"]["enabled"]) == ("weekly", False)
    assert invoke(empty.context, "looseleaf/show-flow", {"flow": "morning"})["name"] == "Morning"


def test_schedules_and_queues_stay_unless_asked(ada: Workspace, empty: Workspace) -> None:
    """What runs here is decided here; reconcile_runtime takes the bundle's, by approval."""
    files = files_of(export(ada))
    run(empty, "install", data=encode(files), approve=["all"])
    target = edit(files, FLOW, schedule={"interval": "hourly"}, prompt_queue=["Other."])
    decisions = entries(run(empty, "upgrade", data=encode(target)))
    assert decisions["schedule:morning"] == ("no_op", "kept_local")
    assert decisions["seed_queue:morning"] == ("no_op", "kept_local")
    options = {"reconcile_runtime": True, "approve": ["schedule:morning"]}
    run(empty, "upgrade", data=encode(target), **options)
    flow = invoke(empty.context, "looseleaf/show-flow", {"flow": "morning"})
    assert (flow["schedule"]["interval"], flow["prompt_queue"]) == ("hourly", ["Other."])


def test_files_of_other_programs_are_kept(ada: Workspace, empty: Workspace) -> None:
    """Rubrics, extras and fields of the manifest are not used, and leave again with the agent."""
    files = edit(files_of(export(ada)), MANIFEST, run_artifacts={"report": {"keep": True}})
    files |= {"rubrics/tone.json": b"{}\n", "notes-for-people/README.md": b"# Hi\n"}
    run(empty, "install", data=encode(files))
    again = files_of(export(empty))
    assert json.loads(again.pop(MANIFEST)) == json.loads(files.pop(MANIFEST))
    assert again == files


def test_an_upgrade_is_of_the_same_bundle(ada: Workspace, empty: Workspace) -> None:
    """Another bundle, a key that the plan lacks, and an agent that came from none are refused."""
    files = files_of(export(ada))
    run(empty, "install", data=encode(files))
    with pytest.raises(BundleMismatch):
        run(empty, "upgrade", data=encode(edit(files, MANIFEST, bundle_slug="other")))
    with pytest.raises(InvalidArgument, match="soul"):
        run(empty, "upgrade", data=encode(files), approve=["memory:soul"])
    with pytest.raises(InvalidArgument, match=r"SOUL\.md"):
        run(empty, "upgrade", data=encode(files), merge=["schedule:morning"])
    with pytest.raises(BundleMissing):
        run(empty, "show", agent="main")
    with pytest.raises(UserMissing):
        run(empty, "install", data=encode(files), slug="eve", owner=99)


def without(path: str) -> Callable[[Files], Files]:
    return lambda files: {name: content for name, content in files.items() if name != path}


def with_file(path: str, content: bytes = b"x") -> Callable[[Files], Files]:
    return lambda files: {**files, path: content}


def with_fields(path: str, **fields: Any) -> Callable[[Files], Files]:  # noqa: ANN401 - any JSON
    return lambda files: edit(files, path, **fields)


def with_agent(**fields: Any) -> Callable[[Files], Files]:  # noqa: ANN401 - any JSON
    def spoil(files: Files) -> Files:
        agent = json.loads(files[MANIFEST])["agent"] | fields
        return edit(files, MANIFEST, agent=agent)

    return spoil


STEP = {"step_position": 0, "step_type": "input", "step_id": "input"}
MALFORMED: dict[str, Callable[[Files], Files]] = {
    "no manifest": without(MANIFEST),
    "a manifest that is no JSON": with_file(MANIFEST, b"{"),
    "a manifest that is a list": with_file(MANIFEST, b"[]"),
    "a key twice": with_file(MANIFEST, b'{"schema_version": 1, "schema_version": 1}'),
    "JSON too deep": with_file(MANIFEST, b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "another schema": with_fields(MANIFEST, schema_version=2),
    "a schema that is true": with_fields(MANIFEST, schema_version=True),
    "an unknown field": with_fields(MANIFEST, surprise=1),
    "no version": with_fields(MANIFEST, bundle_version=""),
    "a version too long": with_fields(MANIFEST, bundle_version="1" * 192),
    "a slug that leaves": with_fields(MANIFEST, bundle_slug="../evil"),
    "no lists": with_fields(MANIFEST, included=None),
    "capabilities that we lack": with_fields(MANIFEST, capabilities=["browser"]),
    "an agent's slug that leaves": with_agent(slug="../../etc"),
    "an agent without a slug": with_agent(slug=""),
    "a policy that cannot be followed": with_agent(agent_config={"memory_policy": {"mode": "x"}}),
    "a policy with an unknown tool": with_agent(
        agent_config={"tool_policy": {"mode": "deny", "tools": ["no_such_tool"]}}
    ),
    "subagents": with_agent(subagents=["b"]),
    "a page that is not listed": with_file("memory/agent/extra.md"),
    "a page that is missing": without("memory/agent/SOUL.md"),
    "a page that is no text": with_file("memory/agent/SOUL.md", b"\xff\xfe"),
    "a page with a NUL": with_file("memory/agent/SOUL.md", b"a\0b"),
    "a page of a wrong day": with_file("memory/agent/daily/2026/13/45.md"),
    "a page of another type": with_file("memory/agent/run.sh"),
    "a file at the top": with_file("evil.sh"),
    "an upload for nobody": with_file("memory/pipelines/none/a.txt"),
    "a pipeline of another schema": with_fields(PIPELINE, schema_version=9),
    "a pipeline of another name": with_fields(PIPELINE, slug="other"),
    "a pipeline with an unknown step": with_fields(PIPELINE, steps=[{**STEP, "step_type": "rm"}]),
    "a pipeline with an unknown tool": with_fields(
        PIPELINE, tool_policy={"mode": "deny", "tools": ["no_such_tool"]}
    ),
    "two steps at one place": with_fields(PIPELINE, steps=[STEP, {**STEP, "step_id": "b"}]),
    "steps that are no list": with_fields(PIPELINE, steps={"a": 1}),
    "a core file as a memory file": with_fields(PIPELINE, memory_files=["SOUL.md"]),
    "a memory file outside": with_fields(PIPELINE, memory_files=["../../etc/passwd"]),
    "a flow without its pipeline": with_fields(FLOW, pipeline_slug="gone"),
    "a flow with an old key": with_fields(FLOW, steps=[{"step_position": 0, "handler": "rss"}]),
    "a flow with settings of no step": with_fields(
        FLOW, steps=[{"step_position": 0, "step_id": "none", "handler_configs": {"a": 1}}]
    ),
    "a schedule that cannot be kept": with_fields(FLOW, schedule={"interval": "now and then"}),
}


@pytest.mark.parametrize("spoil", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_bundle_leaves_no_trace(
    ada: Workspace, empty: Workspace, spoil: Callable[[Files], Files]
) -> None:
    """It is refused by one clear error, as an install and as an upgrade, and nothing is written."""
    files = files_of(export(ada))
    run(empty, "install", data=encode(files))
    before = read_tree(Path(empty.root))
    data = encode(spoil(files))
    for name, options in (("install", {"slug": "eve"}), ("upgrade", {"agent": "ada"})):
        with pytest.raises(Invalid) as refusal:
            run(empty, name, data=data, **options)
        assert len(str(refusal.value)) < 6_000
        assert "\n" not in str(refusal.value)
    agents = [agent["slug"] for agent in invoke(empty.context, "looseleaf/list-agents", {})]
    assert agents == ["ada", "main"]
    after = read_tree(Path(empty.root))
    ignored = "agents/register.json"  # an id that was spent stays spent
    assert {k: v for k, v in after.items() if k != ignored} == {
        k: v for k, v in before.items() if k != ignored
    }
