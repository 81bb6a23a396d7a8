"""Workspaces to back up, and what a restored one must be."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from looseleaf import Change, Workspace
from looseleaf.features.backup import creation
from looseleaf.features.backup.archive import BackupDescription
from looseleaf.features.backup.folder_copies import FileSource
from looseleaf.features.backup.restoration import restore_workspace
from looseleaf.features.backup.source import WorkspaceFiles
from looseleaf.files.root_folder import RootFolder, read_identity
from looseleaf.memory.provenance import Provenance
from looseleaf.operations.doctor import check_workspace
from looseleaf.operations.users import create_user

BY = Change("write", Provenance("eve", "person", reason="a test"))
# What is made again, or belongs to processes that run.
NOT_COPIED = (".looseleaf/agents", ".looseleaf/index", ".looseleaf/staging", ".looseleaf/workers")


def fill(workspace: Workspace) -> None:
    """Add to a workspace a history, a deleted agent, accounts, records and files of a pipeline."""
    ada = workspace.agents.resolve("ada")
    for number in range(4):
        workspace.pages.append(ada.shelf.page("MEMORY.md"), f"- fact {number}\n", change=BY)
        workspace.pages.write(ada.shelf.page("daily/2026/04/17.md"), f"{number}\n", change=BY)
    workspace.pages.write(ada.shelf.page("gone.md"), "it was here\n", change=BY)
    workspace.pages.delete(ada.shelf.page("gone.md"), change=BY)
    bob = workspace.agents.create("bob")
    workspace.pages.write(bob.shelf.page("notes.md"), "his\n", change=BY)
    workspace.agents.remove("bob", files=True)
    create_user(workspace.context, "eve")
    root = Path(workspace.root)
    for name in ("pipeline-1/context/brief.txt", ".looseleaf/artifacts/1/x.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (root / name).write_text("{}")
    (root / "pipeline-1/flow-1/jobs").mkdir(parents=True)
    (root / "agents/README.md").write_text("by hand\n")
    (root / "shared/picture.png").write_bytes(bytes(range(256)) * 8_192)  # two megabytes


def files_of(workspace: WorkspaceFiles | str | Path) -> WorkspaceFiles:
    """Return the files of a workspace, to be backed up."""
    if isinstance(workspace, WorkspaceFiles):
        return workspace
    has_sqlite = Path(workspace, ".looseleaf/looseleaf.db").exists()
    return WorkspaceFiles(RootFolder(str(workspace)), has_sqlite=has_sqlite)


def write_backup(
    root: str | Path, folder: Path, source: FileSource | None = None, **options: object
) -> creation.BackupResult:
    """Write a backup of a workspace."""
    identity = read_identity(str(root))
    description = BackupDescription(
        format=1,
        program="0.1.0",
        created=1.5,
        workspace=identity,
        name="",
        database="sqlite",
        group_writable=False,
    )
    files = source or files_of(root)
    return creation.create_backup(files, description, str(folder), **options)  # type: ignore[arg-type]


def restore(result: creation.BackupResult, folder: Path) -> Workspace:
    """Restore a backup and open it."""
    restore_workspace(result.path, str(folder))
    return Workspace.open(folder)


def tree_of(root: str | Path) -> dict[str, str]:
    """Return the hash of every file that a backup has byte for byte, by its path."""
    hashes = {}
    for path in sorted(Path(root).rglob("*")):
        name = str(path.relative_to(root))
        is_copied = not name.startswith(NOT_COPIED) and ".db" not in path.suffix
        if path.is_file() and is_copied:
            hashes[name] = sha256(path.read_bytes()).hexdigest()
    return hashes


def faults_of(workspace: Workspace) -> list[str]:
    """Return what the doctor finds, edits outside too."""
    findings = check_workspace(workspace.context, verify=True)
    return [f"{finding.check}: {finding.detail}" for finding in findings if finding.status != "ok"]


def read_last_hashes(root: Path, shelf_name: str) -> dict[str, str]:
    """Return the hash that the last line of each log of a shelf has."""
    hashes = {}
    for log in (root / ".looseleaf/history" / shelf_name).glob("*/log"):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        hashes[log.parent.name] = lines[-1]["hash"] if lines else ""
    return hashes
