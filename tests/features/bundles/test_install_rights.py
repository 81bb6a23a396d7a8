"""A bundle is installed without rights that nobody approved, and with the pages that it needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.audit import AuditFilter
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.page_checks import CheckRun
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import SecretsFound
from looseleaf.features.workflows.access import check_workflows
from tests.cli.fixtures import Run
from tests.features.bundles.agents_of import create_ada, edit, encode, export, files_of

PIPELINE, FLOW = "pipelines/news.json", "flows/morning.json"
TOOLS = {"mode": "allow", "tools": ["agent_memory", "delete_agent"], "categories": ["jobs"]}
INPUT = {
    "step_id": "input",
    "step_type": "input",
    "step_position": 0,
    "label": "",
    "step_config": {"source": "text"},
}
STEPS = {
    "webhook_gate": {},
    "publish": {"target": "file", "folder": "out", "filename": "a.md"},
    "system_task": {"task_type": "daily_memory_generation"},
}
WORKFLOW = ["pipeline:news", "flow:morning", "schedule:morning", "seed_queue:morning"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """Return the files of a bundle of ada that asks for nothing but its schedule."""
    with create_ada(tmp_path / "ada") as workspace:
        return files_of(export(workspace))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace without that agent."""
    return Workspace.create(tmp_path / "there", agent="main")


def run(workspace: Workspace, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - any JSON
    return invoke(workspace.context, f"looseleaf/{name}", arguments)


def with_config(files: dict[str, bytes], **config: Any) -> dict[str, bytes]:  # noqa: ANN401
    """Return the files with other keys of the agent's configuration."""
    agent = {"slug": "ada", "label": "Ada", "description": "", "agent_config": config}
    return edit(files, "manifest.json", agent=agent)


def with_step(files: dict[str, bytes], step_type: str = "webhook_gate") -> dict[str, bytes]:
    """Return the files with another step at the end of the pipeline."""
    step = {"step_id": "out", "step_type": step_type, "step_config": STEPS[step_type]}
    return edit(files, PIPELINE, steps=[INPUT, {**step, "step_position": 1, "label": ""}])


@pytest.mark.parametrize("step_type", STEPS)
def test_a_step_that_reaches_outside_waits_with_its_workflow(
    files: dict[str, bytes], workspace: Workspace, step_type: str
) -> None:
    """Nothing of it is here before a person has approved it; then all of it is."""
    data = encode(with_step(files, step_type))
    plan = run(workspace, "plan-bundle", data=data)
    reasons = {entry["key"]: entry["reason"] for entry in plan["entries"]}
    assert reasons["pipeline:news"] == "widens_rights"
    assert reasons["flow:morning"] == "needs_pipeline"
    assert run(workspace, "install-bundle", data=data)["waiting"] == WORKFLOW
    assert run(workspace, "list-pipelines") == []
    with pytest.raises(InvalidArgument, match="needs pipeline:news; approve both"):
        run(workspace, "approve-upgrade", agent="ada", keys=["flow:morning"])
    run(workspace, "approve-upgrade", agent="ada", keys=["pipeline:news", "flow:morning"])
    assert len(run(workspace, "show-pipeline", pipeline="news")["steps"]) == 2
    flow = run(workspace, "show-flow", flow="morning")
    assert flow["prompt_queue"] == ["Go."]
    assert flow["schedule"]["enabled"] is False
    assert run(workspace, "approve-upgrade", agent="ada", keys=["all"])["waiting"] == []
    assert run(workspace, "show-flow", flow="morning")["schedule"]["enabled"] is True


def test_a_tool_policy_gives_the_tools_of_memory_until_it_is_approved(
    files: dict[str, bytes], workspace: Workspace
) -> None:
    """Its allow list could name any operation, and without it the agent would not be limited."""
    data = encode(with_config(files, tool_policy=TOOLS, danger={"x": 1}))
    waiting = run(workspace, "install-bundle", data=data)["waiting"]
    keys = ["agent_config:danger", "agent_config:tool_policy"]
    assert waiting[:2] == keys
    config = run(workspace, "show-agent", agent="ada")["config"]
    assert config == {"tool_policy": {"mode": "allow", "tools": ["agent_memory"]}}
    run(workspace, "approve-upgrade", agent="ada", keys=["agent_config:danger"])
    assert run(workspace, "show-agent", agent="ada")["config"]["danger"] == {"x": 1}
    again = run(workspace, "upgrade-bundle", data=data)
    assert "agent_config:tool_policy" in again["waiting"]


def test_everything_is_installed_with_approval(
    files: dict[str, bytes], workspace: Workspace
) -> None:
    """A person who looked at the plan needs one command, and the export is the bundle again."""
    egress = {"daily_memory": {"egress": ["artifact"]}}
    changed = edit(with_step(files), FLOW, run_artifacts=egress)
    changed = with_config(changed, tool_policy={"mode": "allow", "tools": ["agent_memory"]})
    plan = run(workspace, "plan-bundle", data=encode(changed))
    assert {"pipeline:news", "flow:morning"} <= set(plan["waiting"])
    result = run(workspace, "install-bundle", data=encode(changed), approve=["all"])
    assert result["waiting"] == []
    assert run(workspace, "show-flow", flow="morning")["run_artifacts"] == egress
    states = run(workspace, "show-bundle", agent="ada")["artifacts"]
    assert {part["status"] for part in states} == {"clean"}


def test_what_cannot_be_approved_is_an_error(files: dict[str, bytes], workspace: Workspace) -> None:
    """Also a schedule whose flow waits; nothing is written."""
    data = encode(with_step(files))
    with pytest.raises(InvalidArgument, match="needs flow:morning; approve both"):
        run(workspace, "install-bundle", data=data, approve=["schedule:morning"])
    assert [agent["slug"] for agent in run(workspace, "list-agents")] == ["main"]
    run(workspace, "install-bundle", data=encode(files))
    learned = {**files, "memory/agent/contexts/notes.md": b"# Other notes\n"}
    with pytest.raises(InvalidArgument, match=r"cannot be approved.*learned_memory_kept"):
        run(
            workspace,
            "upgrade-bundle",
            data=encode(learned),
            approve=["memory:contexts/notes.md"],
        )


def test_a_page_that_is_new_in_an_upgrade_is_installed(
    files: dict[str, bytes], workspace: Workspace
) -> None:
    """It is the bundle's page; one that the agent has is memory, and stays."""
    run(workspace, "install-bundle", data=encode(files))
    included = json.loads(files["manifest.json"])["included"]
    included["memory"] = ["agent/SOUL.md", "agent/brand.md", "agent/contexts/notes.md"]
    new = {**edit(files, "manifest.json", included=included), "memory/agent/brand.md": b"# Brand\n"}
    new["memory/agent/contexts/notes.md"] = b"# Other notes\n"
    result = run(workspace, "upgrade-bundle", data=encode(new))
    assert result["applied"] == ["memory:brand.md"]
    root = Path(workspace.root)
    assert (root / "agents/ada/brand.md").read_text() == "# Brand\n"
    assert (root / "agents/ada/contexts/notes.md").read_text() == "# Notes\n"


def test_a_shared_workflow_brings_the_pages_that_it_selects(
    files: dict[str, bytes], workspace: Workspace
) -> None:
    """Reference pages, not learned memory; what is missing is said by export, plan and doctor."""
    assert files["memory/agent/contexts/notes.md"] == b"# Notes\n"
    assert not any(path.startswith("memory/agent/daily") for path in files)
    data = encode(edit(files, PIPELINE, memory_files=["contexts/notes.md", "brand.md"]))
    plan = run(workspace, "install-bundle", data=data)
    [missing] = [entry for entry in plan["entries"] if entry["reason"] == "missing_page"]
    assert (missing["key"], missing["bucket"]) == ("memory:brand.md", "warnings")
    assert missing["source_path"] == PIPELINE
    [finding] = check_workflows(CheckRun(workspace.context))
    assert finding.detail == "pipeline news selects brand.md, which ada does not have"
    left_out = run(workspace, "export-bundle", agent="ada")["left_out"]
    assert left_out == [f"brand.md: {PIPELINE} selects it, but it is no page of the agent"]


def test_an_export_with_secrets_is_in_the_audit(workspace: Workspace) -> None:
    """Of the operator, too; the entry has no secret, and a refused or clean export has none."""
    page = Path(workspace.root) / "agents/main/SOUL.md"
    run(workspace, "export-bundle", agent="main")
    page.write_text("# Main\n\npassword: Zx81kk29Akd02\n")
    with pytest.raises(SecretsFound):
        run(workspace, "export-bundle", agent="main")
    run(workspace, "export-bundle", agent="main", allow_secrets=True)
    events = workspace.accounts().audit.list(only=AuditFilter(action="export-bundle"))
    [event] = [entry.event for entry in events]
    assert event.target == "agent=main profile=share secrets=1"


def test_a_plan_shows_what_is_asked_for(run: Run, command_root: Path, tmp_path: Path) -> None:
    """Without --diff, the content of each part that needs approval is printed."""
    with create_ada(tmp_path / "ada") as workspace:
        files = files_of(export(workspace))
    for path, content in with_step(files).items():
        file = command_root / "ada" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    text = run("bundles", "plan", "ada").text
    assert '+      "step_type": "webhook_gate"' in text
    assert "memory:SOUL.md\n---" not in text
