"""Uploads in bundles: files that are no text travel in a backup, whole, checked and bounded."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors.features import InvalidBundle, SecretsFound
from looseleaf.features.bundles import export as uploads
from looseleaf.features.bundles.bundle import format_upload, parse_upload, place_upload
from tests.features.bundles.agents_of import create_ada, encode, export, files_of

IMAGE = b"\x89PNG\r\n\x1a\n\0\xff\xfe" * 3
PATH = "uploads/flows/morning/chart.png.json"


@pytest.fixture
def ada(tmp_path: Path) -> Workspace:
    """Return a workspace with ada, whose flow has an image."""
    workspace = create_ada(tmp_path / "ada")
    upload(workspace, "chart.png", IMAGE, flow="morning")
    return workspace


def upload(workspace: Workspace, name: str, content: bytes, **place: Any) -> None:  # noqa: ANN401
    arguments = {"file": name, "data": b64encode(content).decode(), **place}
    invoke(workspace.context, "datamachine/upload-flow-file", arguments)


def install(workspace: Workspace, data: str) -> None:
    invoke(workspace.context, "looseleaf/install-bundle", {"data": data})


def test_an_image_travels_in_a_backup(ada: Workspace, tmp_path: Path) -> None:
    """It is JSON in the bundle, the same file after an install, and the next export is the same."""
    data = export(ada, "backup")
    document = json.loads(files_of(data)[PATH])
    assert (document["bytes"], document["encoding"]) == (len(IMAGE), "base64")
    other = Workspace.create(tmp_path / "other", agent="main")
    install(other, data)
    assert [path.read_bytes() for path in tmp_path.glob("other/pipeline-*/flow-*/*/*")] == [IMAGE]
    assert export(other, "backup") == data


@pytest.mark.parametrize("profile", ["share", "fork"])
def test_uploads_stay_when_an_agent_is_given_away(ada: Workspace, profile: str) -> None:
    """Neither texts nor images leave with the profiles share and fork."""
    assert not [
        path for path in files_of(export(ada, profile)) if "chart" in path or "a.txt" in path
    ]


@given(content=st.binary(max_size=200), name=st.sampled_from(["a.txt", "b.csv", "c.png", "d.pdf"]))
def test_every_file_comes_back_as_it_was(content: bytes, name: str) -> None:
    """A text lies in the bundle as it is, and other bytes come out of their JSON unchanged."""
    path = f"memory/pipelines/news/{name}"
    place, file = place_upload(path, content), format_upload(path, content)
    assert b"\0" not in file.decode().encode()
    if place == path:
        assert (file, parse_upload(place, file)) == (content, None)
    else:
        assert parse_upload(place, file) == (path, content)


@pytest.mark.parametrize(
    "fields",
    [
        {"sha256": "0" * 64},
        {"bytes": 1},
        {"data": "?"},
        {"data": 7},
        {"encoding": "hex"},
        {"name": "other.png"},
        {"name": "../chart.png"},
    ],
)
def test_an_upload_that_is_not_what_it_says_is_refused(
    ada: Workspace, tmp_path: Path, fields: dict[str, object]
) -> None:
    """Its hash, size, encoding and name are compared with its bytes; nothing is installed."""
    files = files_of(export(ada, "backup"))
    spoilt = {**files, PATH: json.dumps(json.loads(files[PATH]) | fields).encode()}
    other = Workspace.create(tmp_path / "other", agent="main")
    with pytest.raises(InvalidBundle):
        install(other, encode(spoilt))
    assert [agent["slug"] for agent in invoke(other.context, "looseleaf/list-agents", {})] == [
        "main"
    ]


def test_an_upload_stands_once_and_belongs_to_a_flow(ada: Workspace, tmp_path: Path) -> None:
    """A second file of the same name, and one of a flow that is not there, are refused."""
    files = files_of(export(ada, "backup"))
    manifest = json.loads(files["manifest.json"])
    manifest["included"]["memory"].append("flows/morning/chart.png")
    twice = {**files, "memory/flows/morning/chart.png": b"x"}
    twice["manifest.json"] = json.dumps(manifest).encode()
    nobody = {**files, PATH.replace("morning", "evening"): files[PATH]}
    other = Workspace.create(tmp_path / "other", agent="main")
    for spoilt, reason in ((twice, "twice"), (nobody, "evening")):
        with pytest.raises(InvalidBundle, match=reason):
            install(other, encode(spoilt))


def test_other_files_below_uploads_are_kept(ada: Workspace, tmp_path: Path) -> None:
    """A file of another program is an extra, whatever its folder is called."""
    extras = {"uploads/pipelines/news/x.json": b'{"a": 1}\n', "uploads/README.md": b"# Hi\n"}
    files = files_of(export(ada)) | extras
    other = Workspace.create(tmp_path / "other", agent="main")
    install(other, encode(files))
    assert files_of(export(other)) == files


def test_a_secret_inside_a_file_is_found(ada: Workspace) -> None:
    """Base64 hides nothing: the bytes themselves are searched."""
    upload(ada, "report.pdf", b"\0\xff\nDB_PASSWORD=hunter2hunter2\n", pipeline="news")
    with pytest.raises(SecretsFound, match=r"uploads/pipelines/news/report\.pdf\.json:2"):
        export(ada, "backup")


@pytest.mark.parametrize("bound", ["LARGEST_FILE", "LARGEST_TOTAL"])
def test_what_is_too_large_is_named(
    ada: Workspace, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """A file beyond the bounds stays, and the export says which."""
    monkeypatch.setattr(uploads, bound, 10)
    arguments = {"agent": "ada", "profile": "backup"}
    result = invoke(ada.context, "looseleaf/export-bundle", arguments)
    assert PATH not in files_of(result["data"])
    assert "memory/pipelines/news/a.txt" in files_of(result["data"])
    names = [reason.partition(":")[0] for reason in result["left_out"]]
    assert names == ["memory/flows/morning/chart.png"]
