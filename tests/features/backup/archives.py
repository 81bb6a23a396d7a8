"""Archives built by hand: sound ones, and ones that no honest program writes."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from looseleaf.features.backup.archive import (
    END,
    FILE,
    Header,
    build_padding,
    encode_header,
    format_checksum,
    format_manifest_line,
)

DESCRIPTION: dict[str, Any] = {
    "format": 1,
    "program": "0.1.0",
    "created": 1.5,
    "workspace": "abc",
    "name": "",
    "database": "none",
    "group_writable": False,
}
SETTINGS = ("looseleaf.toml", b"")


def build_member(path: str | bytes, content: bytes = b"", *, kind: bytes = FILE) -> bytes:
    """Return a member as it stands in an archive."""
    raw_path = path.encode() if isinstance(path, str) else path
    header = encode_header(Header(raw_path, len(content), 0o600, 0, kind))
    return header + content + build_padding(len(content))


def build(
    *files: tuple[str, bytes],
    members: bytes = b"",
    description: dict[str, Any] | bytes = DESCRIPTION,
    unlisted: bool = False,
) -> bytes:
    """Return an archive with a right manifest and checksum; `members` are put in as they are."""
    description_bytes = (
        description if isinstance(description, bytes) else json.dumps(description).encode()
    )
    all_files = (("BACKUP.json", description_bytes), *files)
    archive = b"".join(build_member(path, content) for path, content in all_files) + members
    lines = [
        format_manifest_line(sha256(content).hexdigest(), path.encode())
        for path, content in all_files
    ]
    return close(archive + build_member("SHA256SUMS", b"".join(lines[:1] if unlisted else lines)))


def close(archive: bytes) -> bytes:
    """Add the checksum and the end to everything that stands before them."""
    text = format_checksum(sha256(archive).hexdigest(), len(archive))
    return archive + build_member("ARCHIVE-SHA256", text) + END


def write(folder: Path, archive: bytes) -> str:
    """Write an archive into a folder and return its path."""
    path = folder / "hostile.tar"
    path.write_bytes(archive)
    return str(path)
