"""Uploaded files of a folder go to the pipelines and flows that an import of the site brought."""

from __future__ import annotations

from pathlib import Path

from looseleaf import Workspace
from looseleaf.features.imports import operations
from looseleaf.features.workflows.operations import files as workflow_files
from tests.features.bundles.datamachine_site import DataMachineSite, serve_site, write_settings
from tests.features.imports.sources import write_tree

FILES = {
    "shared/RULES.md": "# Rules\n\n- Be kind\n",
    "pipeline-5/context/style.md": "# Style\n",
    "pipeline-5/context/setup.exe": "no text\n",
    "pipeline-5/flow-7/flow-7-files/records.csv": "title\nBlue\n",
    "pipeline-5/flow-7/jobs/job-9/data.json": "[]\n",
    "pipeline-9/context/other.md": "# Other\n",
    "data-packets/v1/aa/x.json": "{}\n",
}


def test_files_find_their_pipelines(tmp_path: Path) -> None:
    """Before the import of the site they are left out; after it they arrive, once."""
    root, site = tmp_path / "root", DataMachineSite()
    Workspace.create(root, agent="ada").close()
    source = str(write_tree(tmp_path / "files", FILES))
    with serve_site(site) as server:
        address = write_settings(root, server)
        context = Workspace.open(root).context
        reasons = {entry.source: entry.reason for entry in operations.run(context, source).left_out}
        assert "import the site by its address first" in reasons["pipeline-5/context/style.md"]
        operations.run(context, address)
    preview = operations.preview(context, source)
    report = operations.run(context, source)
    assert preview.workflows == report.workflows
    assert [(part.action, part.owner, part.name) for part in report.workflows] == [
        ("create", "scout", "weekly-review: style.md"),
        ("create", "scout", "weekly-review/monday: records.csv"),
    ]
    reasons = {entry.source: entry.reason for entry in report.left_out}
    assert "its type is none of" in reasons["pipeline-5/context/setup.exe"]
    assert "import the site" in reasons["pipeline-9/context/other.md"]
    assert "no memory" in reasons["pipeline-5/flow-7/jobs/"]
    assert "no memory" in reasons["data-packets/"]
    files = workflow_files.list_workflow_files(context, pipeline="weekly-review")
    assert [file.filename for file in files] == ["style.md"]
    assert {part.action for part in operations.run(context, source).workflows} == {"unchanged"}


def test_a_file_that_was_changed_or_deleted_here_stays_so(tmp_path: Path) -> None:
    """A new version of the source replaces only what nobody changed here."""
    root, site = tmp_path / "root", DataMachineSite()
    Workspace.create(root, agent="ada").close()
    folder = write_tree(tmp_path / "files", FILES)
    with serve_site(site) as server:
        address = write_settings(root, server)
        context = Workspace.open(root).context
        operations.run(context, address)
    operations.run(context, str(folder))
    (folder / "pipeline-5/context/style.md").write_text("# New style\n")
    actions = {part.source: part.action for part in operations.run(context, str(folder)).workflows}
    assert actions["pipeline-5/context/style.md"] == "replace"
    workflow_files.delete_workflow_file(context, "style.md", pipeline="weekly-review")
    reasons = {e.source: e.reason for e in operations.run(context, str(folder)).left_out}
    assert "deleted here" in reasons["pipeline-5/context/style.md"]
