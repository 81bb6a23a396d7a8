"""Edits of TOML: one table is set or removed; every other line stays, comments too."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any


def set_table(text: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    """Set the table `[key.name]`, in its old place if it exists; without an entry, remove it.

    Raise `ValueError` if the edit would change anything else, because of the layout of the file.
    """
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        # A file with Windows line ends keeps them.
        unix_text = set_table(text.replace("\r\n", "\n"), key, name, entry)
        return unix_text.replace("\n", "\r\n")
    old_data = tomllib.loads(text)
    complete_text = text if not text or text.endswith("\n") else text + "\n"
    header = rf'\[{re.escape(key)}\.(?:{re.escape(name)}|"{re.escape(name)}")(?:\.[^\n]*)?\]'
    # Our table and the tables inside it, each with the lines right below its header.
    pattern = rf"(?m)(?:^\n)?^[ \t]*{header}[^\n]*\n(?:(?![ \t]*(?:\[|#|\n))[^\n]*\n)*"
    old = re.search(pattern, complete_text)
    new_text = re.sub(pattern, "", complete_text) if old else text
    if entry:
        new_text, position = (
            re.sub(pattern, "", complete_text),
            old.start() if old else len(complete_text),
        )
        new_text = (
            new_text[:position]
            + ("\n" if position else "")
            + format_table(key, name, entry)
            + new_text[position:]
        )
    data = tomllib.loads(new_text)
    is_kept = _without_server(old_data, key, name) == _without_server(data, key, name)
    if not is_kept or data.get(key, {}).get(name) != entry:
        raise ValueError("the layout of its tables is not supported")
    return new_text


def format_table(key: str, name: str, entry: dict[str, Any]) -> str:
    """Write one table as lines; a JSON value without surrogate escapes is a TOML value too."""
    lines = [f"{field} = {json.dumps(data, ensure_ascii=False)}" for field, data in entry.items()]
    return "\n".join([f"[{key}.{name}]", *lines]) + "\n"


def _without_server(table: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    servers = {
        server: server_entry
        for server, server_entry in table.get(key, {}).items()
        if server != name
    }
    other_fields = {field: data for field, data in table.items() if field != key}
    return {**other_fields, key: servers}
