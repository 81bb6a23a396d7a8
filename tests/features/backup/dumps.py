"""Dumps of databases, to be compared and to be damaged."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from looseleaf.features.backup.database_copies import dump_database


def dump(url: str, root: str | Path, folder: Path) -> dict[str, bytes]:
    """Dump a database into a new folder; return the files by name."""
    folder.mkdir(parents=True)
    fd = os.open(folder, os.O_RDONLY)
    try:
        names = dump_database(url, str(root), fd)
    finally:
        os.close(fd)
    assert sorted(names) == sorted(path.name for path in folder.iterdir())
    return {name: (folder / name).read_bytes() for name in names}


def change_schema(folder: Path, **fields: Any) -> None:  # noqa: ANN401
    """Let a dump say something else of itself."""
    path = folder / "schema.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def change_table(folder: Path, name: str, lines: bytes) -> None:
    """Replace the lines of a table in a dump, with their hash and their number."""
    (folder / f"{name}.jsonl").write_bytes(lines)
    tables = json.loads((folder / "schema.json").read_text())["tables"]
    for table in tables:
        if table["name"] == name:
            table |= {"rows": lines.count(b"\n"), "sha256": sha256(lines).hexdigest()}
    change_schema(folder, tables=tables)
