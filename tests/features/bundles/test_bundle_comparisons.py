"""Drift and rebase: an agent beside a bundle, and how the changes of both would merge."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Invalid
from looseleaf.errors.features import BundleMismatch
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


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """Return the files of a bundle of ada."""
    return files_of(export(create_ada(tmp_path / "ada")))


@pytest.fixture
def eve(tmp_path: Path, files: dict[str, bytes]) -> Workspace:
    """Return a workspace where ada is installed."""
    return install_ada(tmp_path / "eve", files)


def status(workspace: Workspace, target: dict[str, bytes], **options: Any) -> Any:  # noqa: ANN401
    arguments = {"data": encode(target), **options}
    return invoke(workspace.context, "looseleaf/show-bundle-status", arguments)


def rebase(workspace: Workspace, target: dict[str, bytes]) -> dict[str, Any]:
    result = invoke(workspace.context, "looseleaf/rebase-bundle", {"data": encode(target)})
    return {entry["key"]: entry for entry in result["entries"]}


def test_drift_has_one_word(eve: Workspace, files: dict[str, bytes]) -> None:
    """Not installed, another bundle, another version, another source or content, or current."""
    assert status(eve, files)["status"] == "current"
    assert status(eve, files, slug="main")["status"] == "not_installed"
    assert status(eve, files, slug="nobody")["status"] == "not_installed"
    assert status(eve, edit(files, MANIFEST, bundle_slug="other"))["status"] == "wrong_bundle"
    assert status(eve, edit(files, MANIFEST, bundle_version="2"))["status"] == "version_drift"
    assert status(eve, edit(files, MANIFEST, source_revision="b"))["status"] == "source_drift"
    result = status(eve, {**files, "memory/agent/SOUL.md": b"# Other\n"})
    assert (result["status"], result["changed"]) == ("source_drift", ["memory:SOUL.md"])


def test_local_changes_and_what_waits_are_no_drift(eve: Workspace, files: dict[str, bytes]) -> None:
    """After an upgrade the agent is at that version, whatever was edited here."""
    change = {"file": "SOUL.md", "content": "# Mine\n", "agent": "ada", "allow_shrink": True}
    invoke(eve.context, "datamachine/write-agent-file", change)
    target = {**edit(files, MANIFEST, bundle_version="2"), "memory/agent/SOUL.md": b"# New\n"}
    invoke(eve.context, "looseleaf/upgrade-bundle", {"data": encode(target)})
    assert status(eve, target)["status"] == "current"


def test_a_rebase_merges_by_section_and_by_key(eve: Workspace, files: dict[str, bytes]) -> None:
    """Only what both changed is a conflict, and there the local side stays; nothing is written."""
    own = SOUL.replace("Calm and exact.", "Loud.")
    change = {"file": "SOUL.md", "content": own, "agent": "ada", "allow_shrink": True}
    invoke(eve.context, "datamachine/write-agent-file", change)
    fields = {"pipeline": "news", "system_prompt": "Mine.", "memory_files": []}
    invoke(eve.context, "looseleaf/update-pipeline", fields)
    before = read_tree(Path(eve.root))
    target = {**files, "memory/agent/SOUL.md": SOUL.replace("Programs.", "Proofs.").encode()}
    merged = rebase(eve, edit(target, PIPELINE, name="Theirs"))
    assert {key: entry["state"] for key, entry in merged.items()} == {
        "memory:SOUL.md": "merged",
        "pipeline:news": "merged",
    }
    assert "+Proofs." in merged["memory:SOUL.md"]["diff"]
    assert "Loud" not in merged["memory:SOUL.md"]["diff"].replace(" Loud.", "")
    assert '+  "name": "Theirs"' in merged["pipeline:news"]["diff"]
    assert "Mine" not in merged["pipeline:news"]["diff"].replace(' "Mine."', "")
    target = {**files, "memory/agent/SOUL.md": SOUL.replace("Calm", "Quiet").encode()}
    merged = rebase(eve, edit(target, PIPELINE, system_prompt="Theirs."))
    assert merged["memory:SOUL.md"]["conflicts"] == ["Voice"]
    assert merged["pipeline:news"]["conflicts"] == ["system_prompt"]
    assert {entry["state"] for entry in merged.values()} == {"conflict"}
    assert {entry["diff"] for entry in merged.values()} == {""}
    assert read_tree(Path(eve.root)) == before
    arguments = {"data": encode(edit(target, PIPELINE, name="Theirs")), "merge": ["pipeline:news"]}
    invoke(eve.context, "looseleaf/upgrade-bundle", arguments)
    pipeline = invoke(eve.context, "looseleaf/show-pipeline", {"pipeline": "news"})
    assert (pipeline["name"], pipeline["system_prompt"]) == ("Theirs", "Mine.")


def test_a_rebase_is_of_the_same_bundle(eve: Workspace, files: dict[str, bytes]) -> None:
    """Another bundle is refused; the same one has nothing to merge."""
    assert rebase(eve, files) == {}
    with pytest.raises(BundleMismatch):
        rebase(eve, edit(files, MANIFEST, bundle_slug="other"))


def test_the_report_says_what_a_bundle_needs(eve: Workspace, files: dict[str, bytes]) -> None:
    """What this workspace does not have is named, and an install is refused before any write."""
    target = edit(files, MANIFEST, capabilities=["browser", "memory"])
    target |= {"rubrics/tone.json": b"{}\n"}
    report = invoke(eve.context, "looseleaf/inspect-bundle", {"data": encode(target)})
    assert (report["compatible"], report["status"]) == (False, "incompatible")
    assert report["required_capabilities"] == ["browser", "memory"]
    assert report["unsupported_capabilities"] == ["browser"]
    assert report["unknown_artifact_types"] == ["rubrics"]
    with pytest.raises(Invalid, match="browser"):
        invoke(eve.context, "looseleaf/install-bundle", {"data": encode(target), "slug": "b"})
    fitting = edit(target, MANIFEST, capabilities=["memory"])
    invoke(eve.context, "looseleaf/install-bundle", {"data": encode(fitting), "slug": "b"})
    arguments = {"agent": "b", "slug": "ada"}
    data = invoke(eve.context, "looseleaf/export-bundle", arguments)["data"]
    assert json.loads(files_of(data)[MANIFEST])["capabilities"] == ["memory"]


def test_a_bundle_may_be_one_json_document(eve: Workspace, files: dict[str, bytes]) -> None:
    """Its files by path, each as a text; everything else is refused as an archive is."""
    texts = {path: content.decode() for path, content in files.items()}

    def install(document: object) -> Any:  # noqa: ANN401 - any JSON
        data = b64encode(json.dumps(document).encode()).decode()
        return invoke(eve.context, "looseleaf/install-bundle", {"data": data, "slug": "b"})

    documents: tuple[dict[str, Any], ...] = (
        {},
        {"files": []},
        {"files": texts, "more": 1},
        {"files": {**texts, "memory/agent/SOUL.md": 7}},
        {"files": {**texts, "../evil.md": "x"}},
        {"files": {**texts, "memory/agent/SOUL.md": "\ud800"}},
    )
    for document in documents:
        with pytest.raises(Invalid):
            install(document)
    assert install({"files": texts})["agent"] == "b"
