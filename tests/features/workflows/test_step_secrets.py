"""Secrets of steps: no surface shows them, and a document that is saved again leaves them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import list_argument_names
from looseleaf.errors import LooseleafError
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.parts import definitions_of
from looseleaf.schema_fields import HIDDEN, has_hidden, hide_secrets, restore_secrets
from tests.cli.fixtures import Run
from tests.web.fixtures import Opens

PLUGIN = """
from looseleaf.plugins.hooks import hookimpl
from looseleaf.features.workflows.step import StepOutcome, StepType

KEY = {"type": "string", "writeOnly": True}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "address": {"type": "string"},
        "key": KEY,
        "login": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "word": KEY},
        },
    },
}

@hookimpl
def register_steps(steps):
    steps.register(
        StepType(name="call", label="Call", description="Calls.", run=lambda run: StepOutcome(),
                 settings=SCHEMA)
    )
"""
SECRETS = ("kept-in-the-step-1", "kept-in-the-step-2", "kept-in-the-flow-3")
SETTINGS = {"address": "a", "key": SECRETS[0], "login": {"name": "ada", "word": SECRETS[1]}}
MASKED = {"address": "a", "key": HIDDEN, "login": {"name": "ada", "word": HIDDEN}}
STEP = {"type": "call", "id": "call", "settings": SETTINGS}
KNOWN = {"pipeline": 1, "flow": 1, "job": 1, "agent": "ada", "step": "call", "file": "MEMORY.md"}


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a plugin whose type of step has secrets importable, and return its name."""
    (tmp_path / "calling_steps.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "calling_steps"


def define(workspace: Workspace) -> None:
    """Create a pipeline with secrets, a flow with one of its own, and a job of both."""
    context = workspace.context
    invoke(context, "looseleaf/create-pipeline", {"name": "N", "agent": "ada", "steps": [STEP]})
    own = {"call": {"key": SECRETS[2]}}
    invoke(context, "looseleaf/create-flow", {"pipeline": 1, "name": "M", "step_settings": own})
    invoke(context, "datamachine/execute-workflow", {"flow": 1})


def stored(workspace: Workspace) -> tuple[Any, Any]:
    """Return the settings of the step and of the flow as they are stored."""
    definitions = definitions_of(workspace)
    pipeline, flow = definitions.pipelines.find(1), definitions.flows.find(1)
    assert pipeline is not None
    assert flow is not None
    return dict(pipeline.steps[0].settings), dict(flow.step_settings)


def test_no_operation_shows_a_secret_of_a_step(opens: Opens, plugin: str) -> None:
    """Neither what operations that read give, nor those that change, on REST and in the site."""
    site = opens(plugins=(plugin,))
    define(site.workspace)
    context, shown = site.workspace.context, []
    browser, csrf = site.sign_in()
    for operation in CATALOG.values():
        if not operation.read_only:
            continue
        names = list_argument_names(operation)
        given = {name: KNOWN[name] for name in names if name in KNOWN}
        try:
            text = json.dumps(invoke(context, operation.name, given), default=str)
        except LooseleafError:
            continue
        shown.append(operation.name)
        assert not [secret for secret in SECRETS if secret in text], operation.name
        if {"flow", "pipeline"} & set(given) or "flows" in operation.categories:
            head = {"x-csrf-token": csrf}
            address = f"/wp-abilities/v1/abilities/{operation.name}/run"
            text = browser.post(address, json=given, headers=head).text
            assert not [secret for secret in SECRETS if secret in text], address
    assert {
        "looseleaf/list-pipelines",
        "looseleaf/show-pipeline",
        "looseleaf/list-flows",
        "looseleaf/show-flow",
        "looseleaf/export-pipeline",
        "datamachine/get-job",
    } <= set(shown)
    page = "/admin/agents/ada/pipelines/1"
    for address in (page, f"{page}?view=json", "/admin/agents/ada/flows/1?view=json"):
        answer = browser.get(address)
        assert answer.status_code == 200, address
        assert not [secret for secret in SECRETS if secret in answer.text], address
    changed = invoke(context, "looseleaf/update-pipeline", {"pipeline": 1, "name": "Other"})
    assert changed["steps"][0]["settings"] == MASKED


def test_a_saved_mask_leaves_the_secret(opens: Opens, plugin: str) -> None:
    """Of a pipeline and of a flow; a new secret replaces it, and no mask is ever stored."""
    site = opens(plugins=(plugin,))
    define(site.workspace)
    context, before = site.workspace.context, stored(site.workspace)
    steps = invoke(context, "looseleaf/show-pipeline", {"pipeline": 1})["steps"]
    invoke(context, "looseleaf/update-pipeline", {"pipeline": 1, "steps": steps})
    own = invoke(context, "looseleaf/show-flow", {"flow": 1})["step_settings"]
    assert own == {"call": {"key": HIDDEN}}
    invoke(context, "looseleaf/update-flow", {"flow": 1, "step_settings": own})
    assert stored(site.workspace) == before
    steps[0]["settings"] |= {"address": "b", "key": "another-one"}
    invoke(context, "looseleaf/update-pipeline", {"pipeline": 1, "steps": steps})
    assert stored(site.workspace)[0] == {**SETTINGS, "address": "b", "key": "another-one"}
    masked = {"type": "call", "settings": MASKED}
    document = invoke(context, "looseleaf/export-pipeline", {"pipeline": 1})
    for name, given in (
        ("looseleaf/create-pipeline", {"name": "P", "steps": [masked]}),
        ("looseleaf/update-pipeline", {"pipeline": 1, "steps": [{**masked, "id": "new"}]}),
        (
            "looseleaf/update-flow",
            {"flow": 1, "step_settings": {"call": {"login": MASKED["login"]}}},
        ),
        ("datamachine/execute-workflow", {"steps": [masked], "agent": "ada"}),
        ("looseleaf/import-pipeline", {"document": document}),
    ):
        with pytest.raises(InvalidWorkflow, match="in place of a secret"):
            invoke(context, name, given)


def test_the_command_line_shows_and_keeps_no_secret(
    run: Run, command_root: Path, plugin: str
) -> None:
    """`--set` changes another setting, and the secret stays as it is."""
    file = command_root / "looseleaf.toml"
    file.write_text(f'plugins = ["{plugin}"]\n{file.read_text()}')
    assert run("pipelines", "create", "N", "--step", f"call={json.dumps(SETTINGS)}").code == 0
    answer = run("pipelines", "show", "1", "--format", "json")
    assert answer.json["steps"][0]["settings"] == MASKED
    assert run("pipelines", "update", "1", "--set", "call.address=b").code == 0
    with Workspace.open(command_root) as workspace:
        pipeline = definitions_of(workspace).pipelines.find(1)
        assert pipeline is not None
        assert pipeline.steps[0].settings == {**SETTINGS, "address": "b"}


def test_a_secret_goes_back_to_its_own_entry_of_a_list() -> None:
    """Entries that were moved keep theirs; a changed one with a mask is told apart."""
    entry = {"type": "object", "properties": {"key": {"type": "string", "writeOnly": True}}}
    schema = {"type": "object", "properties": {"sites": {"type": "array", "items": entry}}}
    known = {"sites": [{"name": "a", "key": "1"}, {"name": "b", "key": "2"}]}
    shown = hide_secrets(schema, known)
    assert not re.search("[12]", json.dumps(shown))
    moved = {"sites": list(reversed(shown["sites"]))}
    assert restore_secrets(schema, moved, known) == {"sites": list(reversed(known["sites"]))}
    other = {"sites": [{"name": "c", "key": HIDDEN}]}
    assert has_hidden(schema, restore_secrets(schema, other, known))
    assert not has_hidden(schema, restore_secrets(schema, shown, known))
