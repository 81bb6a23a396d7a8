"""Exports: what leaves by which profile, the same bytes for the same content, and no secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import InvalidExport, SecretsFound
from tests.features.bundles.agents_of import create_ada, export, files_of

SHARE = {
    "manifest.json",
    "memory/agent/SOUL.md",
    "memory/agent/contexts/notes.md",  # the pipeline selects it
    "pipelines/news.json",
    "flows/morning.json",
}
BACKUP = SHARE | {
    "memory/USER.md",
    "memory/agent/MEMORY.md",
    "memory/agent/daily/2026/04/17.md",
    "memory/pipelines/news/a.txt",
}


@pytest.fixture
def ada(tmp_path: Path) -> Workspace:
    """Return a workspace with the agent ada."""
    return create_ada(tmp_path / "ada")


@pytest.mark.parametrize(
    ("profile", "paths"), [("share", SHARE), ("backup", BACKUP), ("fork", SHARE)]
)
def test_a_profile_says_what_leaves(ada: Workspace, profile: str, paths: set[str]) -> None:
    """The preview lists exactly the files that the export has, the journal in a backup too."""
    preview = invoke(ada.context, "looseleaf/preview-bundle", {"agent": "ada", "profile": profile})
    assert {file["path"] for file in preview["files"]} == paths
    assert preview["secrets"] == []
    assert set(files_of(export(ada, profile))) == paths


def test_the_same_content_gives_the_same_bytes(ada: Workspace) -> None:
    """Exporting again, or another time, changes nothing; a changed page does."""
    first = export(ada, "backup")
    assert export(ada, "backup") == first
    change = {"file": "contexts/notes.md", "content": "# Other\n", "agent": "ada"}
    invoke(ada.context, "datamachine/write-agent-file", change)
    assert export(ada, "backup") != first


def test_policies_models_and_memory_files_travel(ada: Workspace) -> None:
    """The configuration is in the manifest, and memory_files is a key of its own, not a step."""
    files = files_of(export(ada))
    manifest = json.loads(files["manifest.json"])
    config = manifest["agent"]["agent_config"]
    assert set(config) == {"tool_policy", "memory_policy", "daily_memory", "models"}
    pipeline = json.loads(files["pipelines/news.json"])
    assert pipeline["memory_files"] == ["contexts/notes.md"]
    assert [step["step_type"] for step in pipeline["steps"]] == ["input", "ai"]
    flow = json.loads(files["flows/morning.json"])
    assert (flow["pipeline_slug"], flow["prompt_queue"]) == ("news", ["Go."])
    assert flow["steps"][0]["handler_configs"] == {"text": "Hello"}


def test_a_fork_leaves_the_settings_of_flows_out(ada: Workspace) -> None:
    """A fork keeps the pipeline, and its flows begin without settings."""
    flow = json.loads(files_of(export(ada, "fork"))["flows/morning.json"])
    assert flow["steps"] == []


def test_a_secret_stops_the_export(ada: Workspace) -> None:
    """The error names file and line without the value; a flag lets it leave."""
    secret = "hunter2" + "hunter2"
    change = {"file": "MEMORY.md", "content": f"# M\n\nDB_PASSWORD={secret}\n", "agent": "ada"}
    invoke(ada.context, "datamachine/write-agent-file", {**change, "allow_shrink": True})
    with pytest.raises(SecretsFound) as refusal:
        export(ada, "backup")
    assert "memory/agent/MEMORY.md:3" in str(refusal.value)
    assert secret not in str(refusal.value)
    preview = invoke(ada.context, "looseleaf/preview-bundle", {"agent": "ada", "profile": "backup"})
    assert [finding["line"] for finding in preview["secrets"]] == [3]
    assert secret not in json.dumps(preview)
    assert "memory/agent/MEMORY.md" in files_of(export(ada, "backup", allow_secrets=True))
    assert export(ada)  # MEMORY.md does not leave with it


def test_a_secret_setting_is_replaced_by_a_reference(ada: Workspace) -> None:
    """When an agent is shared, values under the keys of secrets stay behind."""
    files = json.loads(files_of(export(ada))["manifest.json"])
    assert files["included"]["handler_auth"] == "refs"
    from looseleaf.features.bundles.artifacts import PROFILES, apply_handler_auth

    settings = {"api_key": "abc", "headers": [{"token": "x"}], "url": "u", "max_tokens": 5}
    assert apply_handler_auth(PROFILES["share"], settings, "news/input") == {
        "api_key": "<auth-ref:news/input/api_key>",
        "headers": [{"token": "<auth-ref:news/input/token>"}],
        "url": "u",
        "max_tokens": 5,
    }


def test_the_page_of_another_user_does_not_leave(ada: Workspace) -> None:
    """An administrator of the agent who is not its owner gets no USER.md of the owner."""
    invoke(ada.context, "looseleaf/create-user", {"login": "bob"})
    person = Principal(kind="session", user_id=2, name="bob", grants={1: "admin"})
    context = ada.acting(principal=person)
    arguments = {"agent": "ada", "profile": "backup"}
    preview = invoke(context, "looseleaf/preview-bundle", arguments)
    assert "memory/USER.md" not in {file["path"] for file in preview["files"]}
    assert "USER.md" in preview["left_out"][0]


def test_an_export_has_a_known_profile_and_a_sound_name(ada: Workspace) -> None:
    """Another profile, or a name that no folder can have, is refused."""
    for options in ({"profile": "all"}, {"slug": "../x"}):
        with pytest.raises((InvalidArgument, ValueError)):
            export(ada, **options)


@pytest.mark.parametrize("name", ["agents/ada/SOUL.md", "agents/ada/MEMORY.md", "users/1/USER.md"])
def test_a_page_that_is_not_there_does_not_come_back_as_a_starter(
    ada: Workspace, tmp_path: Path, name: str
) -> None:
    """An install starts the core pages, and an export leaves those out that nobody wrote."""
    (tmp_path / "ada" / name).unlink()
    archive = export(ada, "backup")
    with Workspace.create(tmp_path / "other", agent="main") as other:
        invoke(other.context, "looseleaf/install-bundle", {"data": archive})
        assert export(other, "backup") == archive
        page = {"file": "MEMORY.md", "content": "# Learned here\n", "agent": "ada"}
        invoke(other.context, "datamachine/write-agent-file", page | {"allow_shrink": True})
        assert b"Learned here" in files_of(export(other, "backup"))["memory/agent/MEMORY.md"]


@pytest.mark.parametrize("content", [b"caf\xe9\n", b"a\0b\n"])
def test_a_page_that_is_no_text_is_named_and_stays(
    ada: Workspace, tmp_path: Path, content: bytes
) -> None:
    """The rest of the backup can be installed."""
    (tmp_path / "ada/agents/ada/contexts/notes.md").write_bytes(content)
    arguments = {"agent": "ada", "profile": "backup"}
    archive = invoke(ada.context, "looseleaf/export-bundle", arguments)
    reason, missing = archive["left_out"]
    assert reason.startswith("memory/agent/contexts/notes.md: it is no")
    assert "contexts/notes.md" in missing  # the pipeline that selects it goes without it
    with Workspace.create(tmp_path / "other", agent="main") as other:
        invoke(other.context, "looseleaf/install-bundle", {"data": archive["data"]})
        assert export(other, "backup") == archive["data"]


def test_a_bundle_that_nobody_could_install_is_not_exported(ada: Workspace) -> None:
    """Neither shown in a preview; the error names another way, and a smaller profile works."""
    folder = Path(ada.root) / "agents" / "ada" / "notes"
    folder.mkdir()
    for number in range(10_001):
        (folder / f"{number}.md").write_bytes(b"x")
    for name in ("looseleaf/preview-bundle", "looseleaf/export-bundle"):
        with pytest.raises(InvalidExport, match=r"10,000.*looseleaf backup"):
            invoke(ada.context, name, {"agent": "ada", "profile": "backup"})
    assert set(files_of(export(ada, "share"))) == SHARE
