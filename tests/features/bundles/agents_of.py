"""An agent with a bit of everything, and bundles of it, for the tests of bundles."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.features.bundles.zip_archive import pack_files, unpack_files

CONFIG = {
    "tool_policy": {"mode": "deny", "tools": ["delete_agent"]},
    "memory_policy": {"mode": "deny", "deny": ["private.md"]},
    "daily_memory": {"enabled": True, "recent_days": 2},
    "models": {"default": "echo"},
}
SOUL = "# Ada\n\n## Voice\n\nCalm and exact.\n\n## Work\n\nPrograms.\n"


def create_ada(root: Path) -> Workspace:
    """Create a workspace whose agent ada has pages, a journal, a pipeline, a flow and a file."""
    workspace = Workspace.create(root, agent="ada")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("looseleaf/configure-agent", {"agent": "ada", "config": CONFIG}),
        (
            "datamachine/write-agent-file",
            {"file": "SOUL.md", "content": SOUL, "allow_shrink": True},
        ),
        ("datamachine/write-agent-file", {"file": "contexts/notes.md", "content": "# Notes\n"}),
        (
            "datamachine/write-agent-file",
            {"file": "USER.md", "content": "# Grace\n", "layer": "user", "allow_shrink": True},
        ),
        ("datamachine/daily-memory-write", {"date": "2026-04-17", "content": "We met."}),
        (
            "looseleaf/create-pipeline",
            {
                "name": "News",
                "memory_files": ["contexts/notes.md"],
                "system_prompt": "Write.",
                "steps": [{"type": "input", "settings": {"source": "text"}}, {"type": "ai"}],
            },
        ),
        (
            "looseleaf/create-flow",
            {
                "pipeline": "news",
                "name": "Morning",
                "schedule": {"interval": "daily"},
                "prompt_queue": ["Go."],
                "step_settings": {"input": {"text": "Hello"}},
            },
        ),
        ("datamachine/upload-flow-file", {"file": "a.txt", "data": "eA==", "pipeline": "news"}),
    ]
    for name, arguments in calls:
        invoke(workspace.context, name, arguments)
    return workspace


def export(workspace: Workspace, profile: str = "share", **options: Any) -> str:  # noqa: ANN401
    """Export ada; the archive in base64."""
    arguments = {"agent": "ada", "profile": profile, **options}
    data: str = invoke(workspace.context, "looseleaf/export-bundle", arguments)["data"]
    return data


def files_of(data: str) -> dict[str, bytes]:
    """Return the files of an exported bundle."""
    return unpack_files(b64decode(data))


def encode(files: dict[str, bytes]) -> str:
    """Return files as the operations take a bundle."""
    return b64encode(pack_files(files)).decode()


def install_ada(folder: Path, files: dict[str, bytes]) -> Workspace:
    """Create a workspace where the bundle of ada is installed."""
    workspace = Workspace.create(folder, agent="main")
    invoke(workspace.context, "looseleaf/install-bundle", {"data": encode(files)})
    return workspace


def edit(files: dict[str, bytes], path: str, **fields: Any) -> dict[str, bytes]:  # noqa: ANN401
    """Change fields of a JSON file of a bundle; None takes a field out."""
    document = json.loads(files[path]) | fields
    remaining_fields = {name: field for name, field in document.items() if field is not None}
    return {**files, path: json.dumps(remaining_fields).encode()}


def read_tree(root: Path) -> dict[str, bytes]:
    """Return every file below a root, but for the database's own and locks."""
    excluded_suffixes = (".db", ".db-wal", ".db-shm", "lock")
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.endswith(excluded_suffixes)
    }
