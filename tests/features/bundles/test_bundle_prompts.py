"""Prompts of system tasks in bundles: they travel, wait for approval, and are never lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Forbidden
from looseleaf.errors.features import InvalidBundle
from tests.features.bundles.agents_of import create_ada, encode, export, files_of

NAME = {"task_type": "daily_memory_generation", "prompt_key": "daily_memory"}
KEY = "prompt:daily_memory_generation/daily_memory"
PATH = "prompts/system-tasks/daily_memory_generation/daily_memory.json"
AGENTS_ONLY = Principal(
    kind="session", user_id=1, name="eve", capabilities=frozenset({"manage_agents"})
)


@pytest.fixture
def ada(tmp_path: Path) -> Workspace:
    """Return a workspace with the agent ada, where the prompt of the daily task was replaced."""
    workspace = create_ada(tmp_path / "ada")
    set_prompt(workspace, "Please. ")
    return workspace


@pytest.fixture
def empty(tmp_path: Path) -> Workspace:
    """Return another workspace, which has no agent ada."""
    return Workspace.create(tmp_path / "empty", agent="main")


def run(workspace: Workspace, name: str, **arguments: Any) -> Any:  # noqa: ANN401 - any JSON
    return invoke(workspace.context, f"looseleaf/{name}-bundle", arguments)


def show_prompt(workspace: Workspace) -> dict[str, Any]:
    row: dict[str, Any] = invoke(workspace.context, "looseleaf/show-task-prompt", NAME)
    return row


def set_prompt(workspace: Workspace, start: str) -> str:
    text = start + str(show_prompt(workspace)["default"])
    invoke(workspace.context, "looseleaf/set-task-prompt", {**NAME, "prompt": text})
    return text


def decision(plan: dict[str, Any], key: str) -> tuple[str, str]:
    entry = next(entry for entry in plan["entries"] if entry["key"] == key)
    return entry["bucket"], entry["reason"]


@pytest.mark.parametrize("profile", ["share", "backup", "fork"])
def test_a_replaced_prompt_travels_and_waits(
    ada: Workspace, empty: Workspace, profile: str
) -> None:
    """It is in the bundle and its manifest, comes in force when approved, and leaves the same."""
    data = export(ada, profile)
    files = files_of(data)
    assert json.loads(files[PATH])["prompt"] == show_prompt(ada)["override"]
    prompts = json.loads(files["manifest.json"])["included"]["prompts"]
    assert prompts == ["system-tasks/daily_memory_generation/daily_memory"]
    result = run(empty, "install", data=data)
    assert decision(result, KEY) == ("needs_approval", "affects_all_agents")
    assert KEY in result["waiting"]
    shown = invoke(empty.context, "looseleaf/show-pending-upgrade", {"agent": "ada"})
    for rows in (result["entries"], shown["parts"]):  # the built-in text is what it is compared to
        diff = next(row["diff"] for row in rows if row["key"] == KEY)
        assert len([line for line in diff.splitlines() if line.startswith("+")]) == 2
    assert not show_prompt(empty)["has_override"]
    states = {part["key"]: part["status"] for part in run(empty, "show", agent="ada")["artifacts"]}
    assert states[KEY] == "waiting"
    assert export(empty, profile) == data
    result = run(empty, "upgrade", data=data, approve=[KEY])
    assert (result["applied"], KEY in result["waiting"]) == ([KEY], False)
    assert show_prompt(empty)["override"] == show_prompt(ada)["override"]
    assert export(empty, profile) == data


def test_an_install_may_approve_a_prompt(ada: Workspace, empty: Workspace) -> None:
    """Approving it at once puts it in force; a prompt that is the same already waits for nobody."""
    data = export(ada)
    result = run(empty, "install", data=data, approve=[KEY, "schedule:morning"])
    assert result["waiting"] == []
    assert show_prompt(empty)["override"] == show_prompt(ada)["override"]
    again = run(empty, "install", data=data, slug="eve")
    assert decision(again, KEY) == ("no_op", "already_matches_target")


def test_a_prompt_that_was_replaced_here_stays(ada: Workspace, empty: Workspace) -> None:
    """The other text is a conflict: it needs approval, on an install and on an upgrade."""
    own = set_prompt(empty, "Mine. ")
    data = export(ada)
    assert decision(run(empty, "install", data=data), KEY) == ("needs_approval", "local_modified")
    assert decision(run(empty, "upgrade", data=data), KEY) == ("needs_approval", "local_modified")
    assert show_prompt(empty)["override"] == own
    assert json.loads(files_of(export(empty))[PATH])["prompt"] == own
    run(empty, "upgrade", data=data, approve=[KEY])
    assert show_prompt(empty)["override"] == show_prompt(ada)["override"]


def test_a_prompt_that_was_reset_here_stays_so(ada: Workspace, empty: Workspace) -> None:
    """Going back to the built-in text is a decision that an upgrade respects."""
    data = export(ada)
    run(empty, "install", data=data, approve=["all"])
    invoke(empty.context, "looseleaf/reset-task-prompt", NAME)
    plan = run(empty, "upgrade", data=data, approve=["all"])
    assert decision(plan, KEY) == ("warnings", "missing_local_artifact")
    assert not show_prompt(empty)["has_override"]


def test_a_prompt_takes_the_right_to_change_settings(ada: Workspace, empty: Workspace) -> None:
    """Without it the prompt stays out of exports and plans, and nobody puts it in force."""
    data = export(ada)
    for workspace in (ada, empty):
        invoke(workspace.context, "looseleaf/create-user", {"login": "eve"})
    arguments = {"agent": "ada", "profile": "share"}
    context = ada.acting(principal=AGENTS_ONLY)
    preview = invoke(context, "looseleaf/preview-bundle", arguments)
    assert PATH not in {file["path"] for file in preview["files"]}
    assert preview["left_out"][0].startswith("prompts: ")
    context = empty.acting(principal=AGENTS_ONLY)
    with pytest.raises(Forbidden):
        invoke(context, "looseleaf/install-bundle", {"data": data, "approve": [KEY]})
    plan = invoke(context, "looseleaf/install-bundle", {"data": data})
    assert {entry["diff"] for entry in plan["entries"] if entry["key"] == KEY} == {""}
    with pytest.raises(Forbidden):
        invoke(context, "looseleaf/upgrade-bundle", {"data": data, "approve": [KEY]})
    assert not show_prompt(empty)["has_override"]


def test_a_prompt_that_no_task_can_use(ada: Workspace, empty: Workspace) -> None:
    """A text without its placeholders is refused; one of another task is kept and not used."""
    files = files_of(export(ada))
    document = json.loads(files[PATH])
    useless = {**files, PATH: json.dumps(document | {"prompt": "Hi."}).encode()}
    report = run(empty, "inspect", data=encode(useless))
    assert (report["compatible"], PATH in report["problems"][0]) == (False, True)
    with pytest.raises(InvalidBundle, match="lacks"):
        run(empty, "install", data=encode(useless))
    other = "prompts/system-tasks/tidy_up/main.json"
    document |= {"task_type": "tidy_up", "prompt_key": "main"}
    del files[PATH]
    files[other] = (json.dumps(document, indent=4, sort_keys=True) + "\n").encode()
    manifest = json.loads(files["manifest.json"])
    manifest["included"]["prompts"] = ["system-tasks/tidy_up/main"]
    files["manifest.json"] = (json.dumps(manifest, indent=4, sort_keys=True) + "\n").encode()
    plan = run(empty, "install", data=encode(files), approve=["all"])
    assert decision(plan, f"extra:{other}") == ("auto_apply", "kept_not_used")
    assert files_of(export(empty)) == files


def test_a_prompt_has_the_names_of_its_path(ada: Workspace, empty: Workspace) -> None:
    """A file that says otherwise is refused; one with other fields is of another program."""
    files = files_of(export(ada))
    document = json.loads(files[PATH])
    for fields in ({"prompt_key": "other"}, {"prompt": 7}):
        spoilt = {**files, PATH: json.dumps(document | fields).encode()}
        with pytest.raises(InvalidBundle):
            run(empty, "inspect", data=encode(spoilt))
    foreign = encode({**files, PATH: b'{"content": "Hi."}'})
    assert run(empty, "inspect", data=foreign)["extras"] == [PATH]
