"""Front matter: the fields between two lines of `---` at the beginning of a Markdown file.

Only what importers need is read: plain fields, and one level of fields below a field. Nothing is
evaluated, and a file without a closing line has no front matter.
"""

from __future__ import annotations

import re

_MARK = "---"
_FIELD = re.compile(r"( *)([A-Za-z_][\w-]*):(?: +(.*))?")
_BLOCK = re.compile(r"[>|][+-]?")


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the fields of a file and the text below them; a nested field is `parent.name`."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != _MARK:
        return {}, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _MARK:
            return _parse_fields(lines[1:number]), "".join(lines[number + 1 :]).lstrip("\r\n")
    return {}, text


def _parse_fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    parent = key = ""
    for line in lines:
        match = _FIELD.fullmatch(line.rstrip())
        if match is None or (match[1] and not parent):
            if key and line.startswith(" ") and line.strip():
                fields[key] = f"{fields[key]} {line.strip()}".strip()
            continue
        content = (match[3] or "").strip()
        if not match[1]:
            parent = "" if content else match[2]
        key = f"{parent}.{match[2]}" if match[1] else match[2]
        fields[key] = "" if _BLOCK.fullmatch(content) else content.strip("\"'")
    return fields
