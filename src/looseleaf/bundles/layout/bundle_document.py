"""A bundle as one JSON document: its files by path, each as a text; it is read, never written."""

from __future__ import annotations

from looseleaf.bundles.archive_paths import check_archive_path
from looseleaf.bundles.layout.bundle_json import parse_json
from looseleaf.bundles.zip_reader import ZipLimits
from looseleaf.errors.bundles import InvalidArchive

_DOCUMENT = "the document"


def is_document(content: bytes) -> bool:
    """Return whether the bytes of a bundle are JSON, and no archive."""
    return content.lstrip()[:1] == b"{"


def parse_document(content: bytes, limits: ZipLimits | None = None) -> dict[str, bytes]:
    """Read the files of a bundle: `{"files": {"manifest.json": "…", …}}`."""
    bounds = limits or ZipLimits()
    if len(content) > bounds.archive_bytes:
        raise InvalidArchive(_DOCUMENT, f"it has more than {bounds.archive_bytes:,} bytes")
    # A file is a path, a text and a comma.
    document = parse_json(_DOCUMENT, content, most_parts=3 * bounds.files + 10)
    texts = document.get("files")
    if set(document) != {"files"} or not isinstance(texts, dict):
        raise InvalidArchive(_DOCUMENT, "it is not an object with the key files alone")
    if len(texts) > bounds.files:
        raise InvalidArchive(_DOCUMENT, f"it has more than {bounds.files:,} files")
    files = {}
    for path, text in texts.items():
        if not isinstance(text, str):
            raise InvalidArchive(path[:200], "it is no text")
        files[check_archive_path(path, depth=bounds.depth)] = _encode(path, text)
        if len(files[path]) > bounds.file_bytes:
            raise InvalidArchive(path, f"it has more than {bounds.file_bytes:,} bytes")
    return files


def _encode(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidArchive(path[:200], "it is not UTF-8 text") from None
