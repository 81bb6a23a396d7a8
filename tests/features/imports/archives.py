"""Zip archives as other programs make them, for sources of imports."""

from __future__ import annotations

import io
import zipfile
from base64 import b64encode
from collections.abc import Mapping


def build_zip(files: Mapping[str, str | bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Pack files as the standard library does."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def encode_zip(files: Mapping[str, str | bytes]) -> str:
    """Pack files, and return the archive as an argument of an operation."""
    return b64encode(build_zip(files)).decode()
