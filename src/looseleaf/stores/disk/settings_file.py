"""Changing one line of a settings file; everything else stays as people wrote it."""

from __future__ import annotations

import json
import os
import re

from looseleaf import settings
from looseleaf.errors import InvalidSetting
from looseleaf.files import atomic
from looseleaf.memory.sections import end_line

_LINE = re.compile(r"^[ \t]*database_url[ \t]*=.*(?:\n|\Z)", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def quote_toml(text: str) -> str:
    """Write a text as a string of TOML."""
    # A JSON string without surrogate escapes is a TOML string too.
    return json.dumps(text, ensure_ascii=False)


def set_database_url(root: int, path: str, url: str, *, only_changed: bool = False) -> None:
    """Write this database into the settings file of an open root folder; "" is SQLite.

    With `only_changed`, a file that names no database stays as it is.
    """
    with open(os.path.join(path, settings.FILE), "rb") as file:
        text = file.read().decode("utf-8", "surrogateescape")
    table = _TABLE.search(text)
    end = table.start() if table else len(text)
    top, rest = text[:end], text[end:]
    is_set = _LINE.search(top) is not None
    if not is_set and (only_changed or not url):
        return
    top = _LINE.sub("", top)
    if url:
        top = end_line(f"{end_line(top) if top else ''}database_url = {quote_toml(url)}")
    mode = atomic.derive_file_mode(root)
    atomic.replace(root, settings.FILE, (top + rest).encode("utf-8", "surrogateescape"), mode=mode)
    if settings.load(path, environ={}).database_url != url:
        raise InvalidSetting("database_url", f"it cannot be changed in {settings.FILE}")
