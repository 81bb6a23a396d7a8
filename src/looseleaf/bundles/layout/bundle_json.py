"""JSON in bundles: written the same way for the same content, and read strictly."""

from __future__ import annotations

import hashlib
import json
import math
import re
from itertools import islice

from looseleaf.errors.bundles import InvalidBundle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

_DEEPEST = 40
MOST_PARTS = 100_000  # texts, brackets and commas of one document: some 10 MB when it is read
_PART = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)


def format_json(document: Mapping[str, Any]) -> bytes:
    """Write a document with sorted keys, indented, with a line end: the same bytes every time."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, indent=4, allow_nan=False)
    return text.encode() + b"\n"


def parse_json(path: str, content: bytes, *, most_parts: int = MOST_PARTS) -> dict[str, Any]:
    """Read a JSON object that can be written again as it is; else `InvalidBundle`.

    It is UTF-8, has each key once, no NaN, no number beyond a float and no lone surrogate, and is
    neither too deep nor of too many parts: `[],[],` takes twenty times its size in memory.
    """
    if count_parts(content, most_parts) > most_parts:
        raise InvalidBundle(path, f"its JSON has more than {most_parts:,} parts")
    try:
        document = json.loads(
            content.decode(),
            object_pairs_hook=_build_object,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
        )
    except RecursionError:
        raise InvalidBundle(path, "its JSON is nested too deep") from None
    except ValueError as error:
        raise InvalidBundle(path, f"it is not JSON ({error})") from None
    if not isinstance(document, dict):
        raise InvalidBundle(path, "it is not a JSON object")
    if _count_levels(document) > _DEEPEST:
        raise InvalidBundle(path, "its JSON is nested too deep")
    if b"\\u" in content and not _is_unicode(document):
        raise InvalidBundle(path, "its JSON has half of a character (a lone surrogate)")
    return document


def count_parts(content: bytes, most_parts: int) -> int:
    """Count the parts of JSON without parsing it; the count ends at `most_parts` + 1."""
    return sum(1 for _ in islice(_PART.finditer(content), most_parts + 1))


def hash_payload(payload: object) -> str:
    """Return the sha256 of a text, or of JSON with sorted keys and without blanks."""
    if not isinstance(payload, str):
        options = {"sort_keys": True, "ensure_ascii": False}
        payload = json.dumps(payload, separators=(",", ":"), **options)  # type: ignore[arg-type]
    return hashlib.sha256(payload.encode(errors="surrogateescape")).hexdigest()


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) < len(members):
        raise ValueError("a key stands twice in one object")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _is_unicode(document: object) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _count_levels(document: object) -> int:
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
