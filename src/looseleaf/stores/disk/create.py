"""Making a folder a workspace, with a settings file that shows the usual settings."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib

from looseleaf import settings
from looseleaf.errors import InUse, InvalidSetting
from looseleaf.files import atomic
from looseleaf.files.folders import GROUP, PRIVATE, open_folder
from looseleaf.memory.sections import end_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Plain = str | bool | float | None

# Changing one line of a settings file; everything else stays as people wrote it.


_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def quote_toml(text: str) -> str:
    """Write a text as a string of TOML."""
    # A JSON string without surrogate escapes is a TOML string too.
    return json.dumps(text, ensure_ascii=False)


def set_database_url(root: int, path: str, url: str, *, only_changed: bool = False) -> None:
    """Write this database into the settings file of an open root folder; "" is SQLite.

    With `only_changed`, a file that names no database stays as it is.
    """
    is_set = bool(_read_fields(_read_settings_file(path)).get("database_url"))
    if is_set or (url and not only_changed):
        write_settings(root, path, {"database_url": url or None})


def write_settings(root: int, path: str, new_settings: Mapping[str, Plain]) -> None:
    """Change lines of the settings file of an open root folder; None removes a setting.

    Nothing is written unless the new file says exactly what the old one did, with the changes.
    """
    old_content = content = _read_settings_file(path)
    fields = _read_fields(content)
    for name, setting in new_settings.items():
        content = _set_line(content, name, setting)
        fields.pop(name, None)
    named = {name: setting for name, setting in new_settings.items() if setting is not None}
    try:
        is_exact = _read_fields(content) == {**fields, **named}
    except InvalidSetting:
        is_exact = False
    if not is_exact:
        names = ", ".join(new_settings)
        raise InvalidSetting(names, f"it cannot be changed safely; edit {settings.FILE} yourself")
    is_written = atomic.replace(
        root,
        settings.FILE,
        content,
        mode=stat.S_IMODE(os.stat(settings.FILE, dir_fd=root).st_mode),
        condition=lambda: _read_settings_file(path) == old_content,
    )
    if not is_written:
        raise InUse(settings.FILE, "it was changed at the same time; try again")


def _read_settings_file(path: str) -> bytes:
    with open(os.path.join(path, settings.FILE), "rb") as file:
        return file.read()


def _read_fields(content: bytes) -> dict[str, object]:
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(settings.FILE, f"it is not TOML ({error})") from error


def _set_line(content: bytes, name: str, setting: Plain) -> bytes:
    """Replace the line of a setting, or add it: below its commented line, else above all tables."""
    text = content.decode()
    table = _TABLE.search(text)
    end = table.start() if table else len(text)
    top, rest = text[:end], text[end:]
    line = "" if setting is None else f"{name} = {json.dumps(setting, ensure_ascii=False)}\n"
    present, commented = (
        re.search(rf"^[ \t]*{mark}{re.escape(name)}[ \t]*=.*(?:\n|\Z)", top, re.MULTILINE)
        for mark in ("", "#[ \t]*")
    )
    if present:
        top = top[: present.start()] + line + top[present.end() :]
    elif commented:
        top = end_line(top[: commented.end()]) + line + top[commented.end() :]
    elif line:
        top = (end_line(top) if top else "") + line
    return (top + rest).encode("utf-8", "surrogatepass")


_SETTINGS = """\
# Settings of this Looseleaf workspace. Every line is optional; the values shown are the defaults.
{name}# what people call this workspace
# default_agent = ""            # the agent that is meant when none is named
# default_user = 1
# group_writable = false        # files 0660 and folders 0770 instead of 0600 and 0700
# retention_days = 90           # prior versions stay this long after they were replaced
# retention_versions = 200      # and at most this many of them, once they are a day old
{journal}# whether agents may write their journal
# agents_md = false             # compose AGENTS.md for coding agents
# agents_md_include = "inline"  # or "imports": @ lines instead of the text itself
# project_folder = "."          # where AGENTS.md goes, seen from here
# database_url = ""             # postgresql://… instead of SQLite inside .looseleaf
# prompt_total_bytes = 0        # the most a prompt may take; 0 is no limit
# allowed_hosts = []            # names the server answers to, needed where others can reach it
# workers = 1                   # processes of the server
# mcp_tools = "small"           # or "full": which tools the server offers over MCP
# default_model = ""            # who answers: provider:model, or "echo" to try it out
"""


def format_settings(name: str, *, journal: bool = False) -> str:
    """Return the text of a new settings file, with the journal switched on or as by default."""
    set_name = f"name = {quote_toml(name)}" if name else '# name = ""'
    set_journal = f"{'' if journal else '# '}daily_memory_enabled = {str(journal).lower()}"
    text = _SETTINGS.replace("{journal}", f"{set_journal:<31} ")
    return text.replace("{name}", f"{set_name:<31} ")


def create_folder(folder: str, name: str, *, journal: bool = False) -> None:
    """Create the folder, its settings file and `.looseleaf`, if they are missing.

    A folder that was empty is closed to others; in one with files, they are others' business, and
    whoever asked for the workspace is told.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        names = os.listdir(root)
        is_new = settings.FILE not in names
        is_shared = not is_new and settings.load(folder).group_writable
        os.close(open_folder(root, (".looseleaf",), create=(GROUP if is_shared else PRIVATE)[1]))
        if is_new:
            text = format_settings(name, journal=journal)
            atomic.create_durably(root, settings.FILE, text.encode())
            status = os.fstat(root)
            if not names and status.st_uid == os.geteuid():
                os.fchmod(root, stat.S_IMODE(status.st_mode) & ~0o077)
    finally:
        os.close(root)
    if is_shared:
        open_to_group(folder)


def open_to_group(folder: str) -> None:
    """Let the group use every file of this user below a folder, if `group_writable` came later.

    Files that belong to others are theirs to open; the doctor names what stays closed.
    """
    user = os.geteuid()
    for place, _, files in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in files)):
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode) or status.st_uid != user:
                continue
            wanted_bits = GROUP[stat.S_ISDIR(status.st_mode)]
            mode = stat.S_IMODE(status.st_mode)
            if mode & wanted_bits != wanted_bits:
                os.chmod(path, mode | wanted_bits)
