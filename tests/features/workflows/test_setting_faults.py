"""Settings that cannot work are refused when they are saved, and the error names the setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.step import StepType
from looseleaf.features.workflows.steps.defaults import CORE_STEPS
from looseleaf.features.workflows.steps.texts import is_misspelling
from looseleaf.settings import Settings

FEED = {"source": "feed"}
SOUL = {"target": "section", "file": "soul.md", "section": "A"}
FOLDER = {"target": "file", "folder": "elsewhere", "filename": "a.md"}
TITEL = {"target": "daily", "template": "# {{titel}}"}
SITE = {"target": "wordpress", "site": "blog"}
# Faults that no flow can mend, and those of settings that a flow may complete.
ALWAYS = {
    "file": ("memory_update", SOUL, "file cannot be soul.md"),
    "mode": ("memory_update", {"target": "daily", "mode": "set"}, "mode is append"),
    "template": ("memory_update", TITEL, "template asks for {{titel}}; {{title}} is meant"),
    "folder": ("publish", FOLDER, "folder: publish_folders in looseleaf.toml has no 'elsewhere'"),
    "site": ("publish", SITE, "site: wordpress_sites in looseleaf.toml has no 'blog'"),
}
UNFINISHED = {
    "url": ("input", FEED, "url is missing"),
    "json": ("input", {"source": "json"}, "url is missing"),
    "section": ("memory_update", {"target": "section"}, "section is missing"),
    "filename": ("publish", {"target": "file", "folder": "out"}, "filename is missing"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace with one folder to publish into."""
    Workspace.create(tmp_path, agent="ada").close()
    with (tmp_path / "looseleaf.toml").open("a") as file:
        file.write('[publish_folders]\nout = "public"\n')
    return Workspace.open(tmp_path)


def run(workspace: Workspace, operation: str, /, **arguments: Any) -> Any:  # noqa: ANN401 - any JSON
    return invoke(workspace.context, f"looseleaf/{operation}", arguments)


def build_steps(step_type: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of a pipeline in which a step has its material."""
    step = {"type": step_type, "settings": settings}
    text = {"type": "input", "settings": {"source": "text", "text": "x"}}
    return [step] if step_type == "input" else [text, step]


@pytest.mark.parametrize(("step_type", "settings", "fault"), ALWAYS.values(), ids=ALWAYS)
def test_what_no_flow_could_mend_is_refused_at_once(
    workspace: Workspace, step_type: str, settings: dict[str, Any], fault: str
) -> None:
    """In a new pipeline, in a changed one, and in the settings of a flow."""
    steps = build_steps(step_type, settings)
    with pytest.raises(InvalidWorkflow, match=fault):
        run(workspace, "create-pipeline", name="News", steps=steps)
    bare = [{**step, "settings": {"target": "daily"}} for step in steps[1:]]
    if step_type == "publish":
        bare = [{**step, "settings": {"target": settings["target"]}} for step in steps[1:]]
    run(workspace, "create-pipeline", name="News", steps=[steps[0], *bare])
    with pytest.raises(InvalidWorkflow, match=fault):
        run(workspace, "update-pipeline", pipeline="news", steps=steps)
    own = {step_type.replace("_", "-"): settings}
    with pytest.raises(InvalidWorkflow, match=fault):
        run(workspace, "create-flow", pipeline="news", name="A", step_settings=own)


@pytest.mark.parametrize(("step_type", "settings", "fault"), UNFINISHED.values(), ids=UNFINISHED)
def test_what_a_flow_may_complete_is_refused_where_it_would_run(
    workspace: Workspace, step_type: str, settings: dict[str, Any], fault: str
) -> None:
    """A pipeline may leave it open, and a flow at rest, too; a schedule and a job may not."""
    steps = build_steps(step_type, settings)
    run(workspace, "create-pipeline", name="News", steps=steps)
    run(workspace, "create-flow", pipeline="news", name="At rest")
    daily = {"interval": "daily"}
    with pytest.raises(InvalidWorkflow, match=fault):
        run(workspace, "create-flow", pipeline="news", name="B", schedule=daily)
    with pytest.raises(InvalidWorkflow, match=fault):
        run(workspace, "update-flow", flow="at-rest", schedule=daily)
    with pytest.raises(InvalidWorkflow, match=fault):
        invoke(workspace.context, "datamachine/execute-workflow", {"steps": steps})


def test_an_egress_policy_names_its_fault(workspace: Workspace) -> None:
    """Before, what was unknown was left out without a word."""
    run(workspace, "create-pipeline", name="News", steps=[{"type": "input", "settings": FEED}])
    for policy, fault in (
        ({"daily_memory": {"egress": ["email"]}}, "daily_memory.egress: 'email' is no target"),
        ({"secrets": {"egress": ["artifact"]}}, "'secrets' is no kind of artifact"),
        ({"daily_memory": {"egress": "artifact"}}, "egress is a list of targets"),
    ):
        with pytest.raises(InvalidWorkflow, match=fault):
            run(workspace, "create-flow", pipeline="news", name="A", run_artifacts=policy)
    policy = {"daily_memory": {"egress": ["Artifact"]}}
    flow = run(workspace, "create-flow", pipeline="news", name="A", run_artifacts=policy)
    assert flow["run_artifacts"] == {"daily_memory": {"egress": ["artifact"]}}


TEMPLATES = [
    (step_type, name, target)
    for step_type in CORE_STEPS
    for name, field in step_type.settings["properties"].items()
    if "{{" in str(field.get("default")) or "{{date}}" in field.get("description", "")
    for target in step_type.settings["properties"]["target"]["enum"]
]


@pytest.mark.parametrize(
    ("step_type", "name", "target"), TEMPLATES, ids=lambda part: getattr(part, "name", part)
)
def test_a_slip_in_every_template_is_found(step_type: StepType, name: str, target: str) -> None:
    """Each setting that says it is a template; and a name that packets may have is none."""
    settings = {"target": target, name: "{{date}} {{ pubished }}"}
    fault = step_type.find_fault(settings, Settings(root=""), is_whole=False)
    assert fault == f"{name} asks for {{{{pubished}}}}; {{{{published}}}} is meant"
    settings[name] = "{{date}} {{webhook.reason}} {{price}} {{context}} {{mtime}}"
    assert step_type.find_fault(settings, Settings(root=""), is_whole=False) == ""


WORDS = """titles tile mode data date dated timer mtime low note ids urls steps context comment
contents name names author summary link types updated Title stamp publisher"""


def test_a_word_of_its_own_is_no_misspelling() -> None:
    """A feed or a JSON document may have such a field."""
    known = ("content", "title", "url", "id", "published", "date", "time", "flow", "step", "type")
    words = WORDS.split()
    assert not [(word, name) for word in words for name in known if is_misspelling(word, name)]
