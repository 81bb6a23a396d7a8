"""JSON for programs: one document, or an error as one document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from looseleaf.cli.escapes import is_hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.errors import LooseleafError

_KEYS = {"filename": "file"}  # every other document has the key "file"


def encode_error(message: str, error: LooseleafError | None) -> str:
    """Write an error as one JSON document: its code, its message and its fields."""
    attributes = vars(error) if error else {}
    fields = {_KEYS.get(name, name): _to_json(field) for name, field in attributes.items()}
    code = error.code if error else "usage"
    return encode_document({"error": {"code": code, "message": message, **fields}})


def encode_document(document: Mapping[str, object], *, indent: int | None = 2) -> str:
    """Write a document as JSON."""
    text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
    # The same document for a program, without any character that a terminal would obey.
    for sign in filter(is_hidden, set(text)):
        units = sign.encode("utf-16-be", "surrogatepass").hex()
        text = text.replace(
            sign, "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
        )
    return text


def _to_json(field: object) -> object:
    if isinstance(field, tuple):
        return [_to_json(item) for item in field]
    return field if isinstance(field, str | int | float | None) else str(field)
