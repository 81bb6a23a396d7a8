"""Editing TOML: one table is set or removed, every other line stays, comments too."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any


def set_table(text: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    """Put the table `[key.name]` in, in its old place if it has one; without an entry take it out.

    `ValueError` where the file is laid out so that this would change anything else.
    """
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        # A file of Windows keeps its line ends.
        plain = set_table(text.replace("\r\n", "\n"), key, name, entry)
        return plain.replace("\n", "\r\n")
    before = tomllib.loads(text)
    lined = text if not text or text.endswith("\n") else text + "\n"
    header = rf'\[{re.escape(key)}\.(?:{re.escape(name)}|"{re.escape(name)}")(?:\.[^\n]*)?\]'
    # Our table and those inside of it, each with the lines right below its header.
    ours = rf"(?m)(?:^\n)?^[ \t]*{header}[^\n]*\n(?:(?![ \t]*(?:\[|#|\n))[^\n]*\n)*"
    old = re.search(ours, lined)
    after = re.sub(ours, "", lined) if old else text
    if entry:
        after, at = re.sub(ours, "", lined), old.start() if old else len(lined)
        after = after[:at] + ("\n" if at else "") + format_table(key, name, entry) + after[at:]
    data = tomllib.loads(after)
    is_kept = _others(before, key, name) == _others(data, key, name)
    if not is_kept or data.get(key, {}).get(name) != entry:
        raise ValueError("its tables are not laid out as we would")
    return after


def format_table(key: str, name: str, entry: dict[str, Any]) -> str:
    """Write one table as lines; a JSON value without surrogate escapes is a TOML value too."""
    lines = [f"{field} = {json.dumps(data, ensure_ascii=False)}" for field, data in entry.items()]
    return "\n".join([f"[{key}.{name}]", *lines]) + "\n"


def _others(table: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    servers = {server: about for server, about in table.get(key, {}).items() if server != name}
    rest = {field: data for field, data in table.items() if field != key}
    return {**rest, key: servers}
