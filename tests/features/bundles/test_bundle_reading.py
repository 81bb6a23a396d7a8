"""A bundle is checked wholly before anything is written; a plan hides the USER.md of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Forbidden
from looseleaf.errors.features import InvalidBundle
from tests.features.bundles.agents_of import create_ada, edit, encode, export, files_of, read_tree

Files = dict[str, bytes]
MANIFEST, FLOW, PIPELINE = "manifest.json", "flows/morning.json", "pipelines/news.json"
PRIVATE = "Born in 1815."


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return the files of a shared bundle."""
    with create_ada(tmp_path_factory.mktemp("ada")) as workspace:
        return files_of(export(workspace))


def change_agent(files: Files, **fields: Any) -> Files:  # noqa: ANN401 - any JSON
    """Change fields of the agent in the manifest."""
    return edit(files, MANIFEST, agent={**json.loads(files[MANIFEST])["agent"], **fields})


def add_memory(files: Files, path: str) -> Files:
    """Add a file below memory/, which the manifest lists."""
    included = json.loads(files[MANIFEST])["included"]
    memory = [*included["memory"], path]
    added = {**files, f"memory/{path}": b"x\n"}
    return edit(added, MANIFEST, included={**included, "memory": memory})


def without_soul(files: Files) -> Files:
    """Take the page out that the misspelled one would stand beside."""
    included = json.loads(files[MANIFEST])["included"]
    kept = {path: text for path, text in files.items() if path != "memory/agent/SOUL.md"}
    memory = [path for path in included["memory"] if path != "agent/SOUL.md"]
    return edit(kept, MANIFEST, included={**included, "memory": memory})


def set_number(files: Files) -> Files:
    """Write a number that no computer holds."""
    text = files[MANIFEST].replace(b'"agent_config": {', b'"agent_config": {"x": 1e999, ')
    return {**files, MANIFEST: text}


UNREADABLE: dict[str, Callable[[Files], Files]] = {
    "half a character in a setting": lambda files: change_agent(
        files, agent_config={"note": "\ud800"}
    ),
    "half a character in a prompt": lambda files: edit(files, PIPELINE, system_prompt="\udcff"),
    "half a character in a queue": lambda files: edit(files, FLOW, prompt_queue=["\ud83d"]),
    "a number without end": set_number,
    "a version that writes to the terminal": lambda files: edit(
        files, MANIFEST, bundle_version="\x1b]0;x\x07"
    ),
    "a version of two lines": lambda files: edit(files, MANIFEST, bundle_version="1\r\nX: y"),
    "settings that are a list": lambda files: edit(
        files, FLOW, steps=[{"step_position": 0, "step_id": "input", "handler_configs": [1]}]
    ),
    "a version of the schema that is no number": lambda files: edit(
        files, PIPELINE, schema_version=True
    ),
    "a million empty lists": lambda files: edit(files, FLOW, steps=[[] for _ in range(1_000_000)]),
}
MISFITS: dict[str, Callable[[Files], Files]] = {
    "soul.md": lambda files: add_memory(without_soul(files), "agent/soul.md"),
    "a type of file that is not taken": lambda files: add_memory(files, "pipelines/news/a.php"),
    "an unknown tool": lambda files: change_agent(
        files, agent_config={"tool_policy": {"mode": "deny", "tools": ["no_such_tool"]}}
    ),
}


@pytest.mark.parametrize("change", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_could_not_be_written_again_is_refused(
    files: Files, tmp_path: Path, change: Callable[[Files], Files]
) -> None:
    """One error with one code, whatever is asked, and no file."""
    data = encode(change(files))
    with Workspace.create(tmp_path, agent="main") as workspace:
        before = read_tree(tmp_path)
        for name in ("inspect", "plan", "install"):
            with pytest.raises(InvalidBundle):
                invoke(workspace.context, f"looseleaf/{name}-bundle", {"data": data})
        assert read_tree(tmp_path) == before


@pytest.mark.parametrize("name", MISFITS)
def test_a_bundle_that_does_not_fit_is_named_by_every_check(
    files: Files, tmp_path: Path, name: str
) -> None:
    """The report of an inspection names what an install refuses, and its file."""
    data = encode(MISFITS[name](files))
    with Workspace.create(tmp_path, agent="main") as workspace:
        context = workspace.context
        report = invoke(context, "looseleaf/inspect-bundle", {"data": data})
        assert not report["compatible"]
        [problem] = report["problems"]
        for operation in ("plan", "install"):
            with pytest.raises(InvalidBundle) as refusal:
                invoke(context, f"looseleaf/{operation}-bundle", {"data": data})
            assert str(refusal.value).endswith(f": {problem.rstrip('.')}.")


def test_a_plan_shows_user_md_to_its_own_user_alone(tmp_path: Path) -> None:
    """An administrator of the agent sees that it stays, and not what it says."""
    with create_ada(tmp_path) as workspace:
        page = {"file": "USER.md", "layer": "user", "content": PRIVATE, "allow_shrink": True}
        invoke(workspace.context, "datamachine/write-agent-file", page)
        files = files_of(export(workspace, "backup")) | {"memory/USER.md": b"Other.\n"}
        agent = workspace.agents.resolve("ada")
        grants = {agent.id: "admin"}
        people = {
            "owner": Principal(
                kind="session", user_id=agent.owner, name="owner", capabilities=frozenset()
            ),
            "admin": Principal(
                kind="session", user_id=9, name="eve", capabilities=frozenset(), grants=grants
            ),
            "manager": Principal(
                kind="session", user_id=8, name="bob", capabilities=frozenset({"manage_agents"})
            ),
            "boss": Principal(
                kind="session", user_id=7, name="kim", capabilities=frozenset({"manage_options"})
            ),
        }
        for name, principal in people.items():
            context = workspace.acting(principal=principal, surface="test")
            data = encode(files)
            upgrade = {"data": data, "agent": "ada", "dry_run": True}
            plans = [
                invoke(context, "looseleaf/upgrade-bundle", upgrade),
                invoke(context, "looseleaf/plan-bundle", {"data": data, "slug": "ada"}),
            ]
            for plan in plans:
                [entry] = [part for part in plan["entries"] if part["key"] == "user_page:USER.md"]
                assert entry["reason"] == "learned_memory_kept"
                assert (PRIVATE in entry["diff"]) is (name in ("owner", "boss"))


def test_an_administrator_of_one_agent_may_compare_it_alone(files: Files, tmp_path: Path) -> None:
    """Another agent takes that role on it, and a new one the capability manage_agents."""
    with create_ada(tmp_path) as workspace:
        invoke(workspace.context, "looseleaf/create-agent", {"slug": "other"})
        grants = {workspace.agents.resolve("ada").id: "admin"}
        eve = Principal(
            kind="session", user_id=9, name="eve", capabilities=frozenset(), grants=grants
        )
        context = workspace.acting(principal=eve, surface="test")
        for name in ("looseleaf/plan-bundle", "looseleaf/show-bundle-status"):
            assert invoke(context, name, {"data": encode(files), "slug": "ada"})
            for slug in ("other", "new", ""):
                with pytest.raises(Forbidden):
                    invoke(context, name, {"data": encode(files), "slug": slug})
