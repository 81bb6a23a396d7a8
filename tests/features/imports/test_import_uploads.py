"""Uploaded archives and files are imported as folders are; nothing of them stays."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import InvalidArchive, InvalidImport
from looseleaf.features.imports import operations
from looseleaf.operations import memory
from looseleaf.values import replace
from tests.features.imports.archives import build_zip, encode_zip
from tests.features.imports.sources import DATAMACHINE, OPENCLAW, compute_fingerprint

ADMINISTRATOR = Principal(
    kind="session", user_id=1, name="admin", capabilities=frozenset(("manage_options",))
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Create a workspace with the agent ada."""
    return Workspace.create(tmp_path / "root", agent="ada")


@pytest.mark.parametrize("top", ["", "workspace/", "backup/pip/"])
def test_an_archive_is_imported(workspace: Workspace, top: str) -> None:
    """By anyone who may import, whatever folders the server opens; the preview equals the run."""
    context = replace(workspace.context, principal=ADMINISTRATOR)
    data = encode_zip({f"{top}{name}": text for name, text in OPENCLAW.items()})
    [system] = operations.detect(context, "pip.zip", data=data)
    assert system.kind == "openclaw"
    before = compute_fingerprint(Path(workspace.root))
    preview = operations.preview(context, "pip.zip", data=data)
    assert compute_fingerprint(Path(workspace.root)) == before
    report = operations.run(context, "pip.zip", data=data)
    assert report.location.startswith("pip.zip")
    assert [(page.action, page.file) for page in preview.pages] == [
        (page.action, page.file) for page in report.pages
    ]
    text = (Path(workspace.root) / "agents/ada/TOOLS.md").read_text()
    assert text == OPENCLAW["TOOLS.md"]
    assert operations.run(context, "pip.zip", data=data).changed == 0


def test_nothing_of_an_upload_stays_but_its_pages(workspace: Workspace) -> None:
    """Neither the archive nor a ledger: an archive of another source may have the same name."""
    operations.run(workspace.context, "a.zip", data=encode_zip(OPENCLAW))
    folder = Path(workspace.root) / ".looseleaf/upkeep/imports"
    assert [path.name for path in folder.glob("*.json")] == []
    other = {**OPENCLAW, "MEMORY.md": "# Memory\n\n- Another source\n"}
    operations.run(workspace.context, "a.zip", data=encode_zip(other))
    text = memory.read_page(workspace.context, "MEMORY.md").content
    assert "- Row 3 is Conference pears" in text
    assert "- Another source" in text


def test_a_layout_whose_top_is_one_folder(workspace: Workspace) -> None:
    """It is not taken for a folder around everything."""
    files = {name: text for name, text in DATAMACHINE.items() if name.startswith("agents/")}
    report = operations.run(workspace.context, "files.zip", data=encode_zip(files))
    assert (report.kind, report.new_agents) == ("datamachine", ("scout",))


def test_a_single_file_is_imported(workspace: Workspace) -> None:
    """A CLAUDE.md, and the graph of a memory server."""
    data = b64encode(b"# Rules\n\n- Tests first\n").decode()
    report = operations.run(workspace.context, "CLAUDE.md", data=data)
    assert [page.file for page in report.pages] == ["projects/upload/CLAUDE.md"]
    line = b'{"type":"entity","name":"Ines","entityType":"person","observations":["Prunes"]}\n'
    report = operations.run(workspace.context, "graph.jsonl", data=b64encode(line).decode())
    assert [page.file for page in report.pages] == ["knowledge/person.md"]


def test_an_archive_of_this_machine(workspace: Workspace, tmp_path: Path) -> None:
    """A path at the command line may be a zip archive; a later import knows it again."""
    archive = tmp_path / "pip.zip"
    archive.write_bytes(build_zip(OPENCLAW))
    assert operations.run(workspace.context, str(archive)).changed > 0
    other = {**OPENCLAW, "TOOLS.md": "# Tools\n\n- New\n"}
    archive.write_bytes(build_zip(other))
    report = operations.run(workspace.context, str(archive))
    assert {p.file: p.action for p in report.pages if p.action != "unchanged"} == {
        "TOOLS.md": "replace"
    }


def test_uploads_that_are_refused(workspace: Workspace) -> None:
    """One clear error each, and nothing is written."""
    before = compute_fingerprint(Path(workspace.root))
    context = workspace.context
    with pytest.raises(InvalidArgument, match="base64"):
        operations.run(context, "a.zip", data="***")
    with pytest.raises(InvalidArchive):
        operations.run(context, "a.zip", data=b64encode(b"no archive").decode())
    with pytest.raises(InvalidImport, match="no system that is known"):
        operations.run(context, "a.zip", data=encode_zip({"a/b.txt": "x"}))
    with pytest.raises(InvalidImport, match="no system that is known"):
        operations.preview(context, "note.txt", data=b64encode(b"x").decode())
    assert compute_fingerprint(Path(workspace.root)) == before
