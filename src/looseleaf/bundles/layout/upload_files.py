"""Uploaded files of pipelines and flows as files of a bundle.

Texts lie as they are below memory/. Files that are no text, such as images, lie below uploads/ as
JSON with their bytes in base64, since the files of a bundle are texts.
"""

from __future__ import annotations

from base64 import b64decode, b64encode

from looseleaf.bundles.layout.bundle_json import format_json, parse_json
from looseleaf.errors.bundles import InvalidBundle
from looseleaf.memory.store import hash_content

MEMORY, UPLOADS = "memory/", "uploads/"
PIPELINE_FILES, FLOW_FILES = f"{MEMORY}pipelines/", f"{MEMORY}flows/"
SCHEMA_VERSION = 1
_TEXTS = (".md", ".txt", ".json", ".yaml", ".yml", ".csv")
_FIELDS = {"schema_version", "name", "bytes", "sha256", "encoding", "data"}
_ENCODING = "base64"
_MOST_PARTS = 1_000  # of a file that may be an upload; ours have 18


def place_upload(path: str, content: bytes) -> str:
    """Return the path of an upload in the bundle; `path` is the one it would have as a text."""
    return path if is_plain(path, content) else f"{UPLOADS}{path.removeprefix(MEMORY)}.json"


def is_plain(path: str, content: bytes) -> bool:
    """Return whether an upload is a text, by its name and its bytes."""
    if not path.lower().endswith(_TEXTS) or b"\0" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def format_upload(path: str, content: bytes) -> bytes:
    """Write an upload as its file in the bundle."""
    if is_plain(path, content):
        return content
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": path.rpartition("/")[2],
        "bytes": len(content),
        "sha256": hash_content(content),
        "encoding": _ENCODING,
        "data": b64encode(content).decode(),
    }
    return format_json(document)


def parse_upload(path: str, content: bytes) -> tuple[str, bytes] | None:
    """Read an upload that is no text: its path below memory/, and its bytes, checked by their hash.

    None if another program wrote the file: it lies elsewhere, or has other fields.
    """
    if path.count("/") != 3 or not path.endswith(".json"):
        return None
    upload_path = f"{MEMORY}{path.removeprefix(UPLOADS).removesuffix('.json')}"
    if not upload_path.startswith((PIPELINE_FILES, FLOW_FILES)):
        return None
    document = parse_json(path, content, most_parts=_MOST_PARTS)
    if set(document) != _FIELDS or document["schema_version"] != SCHEMA_VERSION:
        return None
    if document["encoding"] != _ENCODING or document["name"] != upload_path.rpartition("/")[2]:
        raise InvalidBundle(path, f"its encoding is not {_ENCODING}, or its name is another")
    try:
        data = b64decode(document["data"], validate=True)
    except (ValueError, TypeError):
        raise InvalidBundle(path, "its data is not base64") from None
    if [len(data), hash_content(data)] != [document["bytes"], document["sha256"]]:
        raise InvalidBundle(path, "its bytes are not those of its sha256")
    return upload_path, data
