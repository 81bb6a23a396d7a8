"""JSON in bundles: written the same way for the same content, and read strictly."""

from __future__ import annotations

import hashlib
import json

from looseleaf.errors.bundles import InvalidBundle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

_DEEPEST = 40


def format_json(document: Mapping[str, Any]) -> bytes:
    """Write a document with sorted keys, laid out, and a line end: the same bytes every time."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, indent=4, allow_nan=False)
    return text.encode() + b"\n"


def parse_json(path: str, content: bytes) -> dict[str, Any]:
    """Read a JSON object: UTF-8, each key once, no NaN, not too deep; else `InvalidBundle`."""
    try:
        document = json.loads(
            content.decode(),
            object_pairs_hook=_unique_members,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise InvalidBundle(path, "its JSON is nested too deep") from None
    except ValueError as error:
        raise InvalidBundle(path, f"it is not JSON ({error})") from None
    if not isinstance(document, dict):
        raise InvalidBundle(path, "it is not a JSON object")
    if _depth(document) > _DEEPEST:
        raise InvalidBundle(path, "its JSON is nested too deep")
    return document


def hash_payload(payload: object) -> str:
    """Give the sha256 of a text, or of JSON with sorted keys and without blanks."""
    if not isinstance(payload, str):
        options = {"sort_keys": True, "ensure_ascii": False}
        payload = json.dumps(payload, separators=(",", ":"), **options)  # type: ignore[arg-type]
    return hashlib.sha256(payload.encode(errors="surrogateescape")).hexdigest()


def _unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) < len(members):
        raise ValueError("a key stands twice in one object")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _depth(document: object) -> int:
    """Count the levels of nested objects and lists, without recursion."""
    level, depth = [document], 0
    while level:
        containers = [part for part in level if isinstance(part, dict | list)]
        level = [
            child
            for part in containers
            for child in (part.values() if isinstance(part, dict) else part)
        ]
        depth += bool(containers)
        if depth > _DEEPEST:
            break
    return depth
