"""The configuration files of programs that speak MCP: our entry put in or taken out, no more."""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
import sys
import tomllib
from typing import TYPE_CHECKING, Any

from looseleaf import atomic, settings
from looseleaf.errors import Invalid, Unavailable
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "looseleaf"


@value
class Client:
    """A program: what people call it, where it keeps its servers, and how it writes one down."""

    title: str
    file: Callable[[], str]  # for all projects of a user
    project_file: str
    key: str
    entry: Callable[[list[str]], dict[str, Any]]


@value
class Edit:
    """A file as it is and as it is to be; None where there is none."""

    path: str
    before: bytes | None
    after: bytes

    @property
    def diff(self) -> str:
        """The change, line by line."""
        old, new = ((text or b"").decode().splitlines() for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, self.path, self.path, n=2, lineterm="")
        return "\n".join(lines)


def _plain_entry(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _typed_entry(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain_entry(command)}


def _listed_entry(command: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": command, "enabled": True}


def _in_folder(variable: str, otherwise: str, file: str) -> Callable[[], str]:
    return lambda: os.path.join(settings.folder_of(variable, otherwise), file)


CLIENTS = {
    "claude-code": Client(
        "Claude Code",
        _in_folder("CLAUDE_CONFIG_DIR", "~", ".claude.json"),
        ".mcp.json",
        "mcpServers",
        _typed_entry,
    ),
    "codex": Client(
        "Codex",
        _in_folder("CODEX_HOME", "~/.codex", "config.toml"),
        ".codex/config.toml",
        "mcp_servers",
        _plain_entry,
    ),
    "opencode": Client(
        "OpenCode",
        _in_folder("XDG_CONFIG_HOME", "~/.config", "opencode/opencode.json"),
        "opencode.json",
        "mcp",
        _listed_entry,
    ),
    "cursor": Client(
        "Cursor",
        _in_folder("", "~/.cursor", "mcp.json"),
        ".cursor/mcp.json",
        "mcpServers",
        _plain_entry,
    ),
}


def own_command() -> list[str]:
    """Give the words that start this Looseleaf from anywhere, whatever the program's PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "looseleaf")
    return [beside] if os.access(beside, os.X_OK) else [sys.executable, "-m", "looseleaf"]


def snippet(client: Client, name: str, command: list[str]) -> str:
    """Give the entry as it stands in the client's file."""
    entry = client.entry(command)
    if client.project_file.endswith(".toml"):
        return _table(client.key, name, entry)
    return json.dumps({client.key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def planned(client: Client, path: str, name: str, command: list[str] | None) -> Edit:
    """Say how the file would change to have our entry, or, without a command, to lack it."""
    try:
        with open(path, "rb") as file:
            before: bytes | None = file.read()
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise Unavailable(path, error.strerror) from error
    entry = client.entry(command) if command else None
    change = _changed_toml if path.endswith(".toml") else _changed_json
    try:
        after = change((before or b"").decode(), client.key, name, entry)
    except (ValueError, TypeError) as error:
        what = f"{path} cannot be edited safely ({error}). Edit it yourself"
        text = f"; this is the entry:\n{snippet(client, name, command)}" if command else "."
        raise Invalid(what + text) from error
    return Edit(path, before, after.encode())


def write(edit: Edit) -> None:
    """Make the change, atomically, unless the file has changed meanwhile; its mode stays."""
    path = os.path.realpath(edit.path)  # a link stays a link, and what it leads to is replaced
    folder, name = os.path.split(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        mode = stat.S_IMODE(os.stat(path).st_mode) if edit.before is not None else 0o600
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            same = atomic.replace(
                opened, name, edit.after, mode=mode, provided=lambda: _read(path) == edit.before
            )
        finally:
            os.close(opened)
    except OSError as error:
        raise Unavailable(edit.path, error.strerror) from error
    if not same:
        raise Unavailable(edit.path, "another program has just changed it; try again")


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _changed_json(text: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    table = json.loads(text, object_pairs_hook=_once) if text.strip() else {}
    servers = table.get(key, {}) if isinstance(table, dict) else None
    if not isinstance(servers, dict):
        raise TypeError(f"{key!r} is no table of servers")
    if entry is None and name not in servers:
        return text
    others = {one: about for one, about in servers.items() if one != name or entry}
    if entry:
        others[name] = entry
    return _laid_out({**table, key: others}, text)


def _laid_out(table: dict[str, Any], text: str) -> str:
    """Write a table in the layout of the text that it comes from."""
    if not text.strip():
        return json.dumps(table, indent=2, ensure_ascii=False) + "\n"
    margin = re.search(r'^\s*\{\r?\n([ \t]+)"', text)
    escaped = text.isascii() and "\\u" in text
    made = json.dumps(table, indent=margin[1] if margin else None, ensure_ascii=escaped)
    return made + ("\n" if text.endswith("\n") else "")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("it has a key twice")
    return dict(pairs)


def _changed_toml(text: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    before = tomllib.loads(text)
    lined = text if not text or text.endswith("\n") else text + "\n"
    header = rf'\[{re.escape(key)}\.(?:{re.escape(name)}|"{re.escape(name)}")(?:\.[^\n]*)?\]'
    # Our table and those inside of it, each with the lines right below its header.
    ours = rf"(?m)(?:^\n)?^[ \t]*{header}[^\n]*\n(?:(?![ \t]*(?:\[|#|\n))[^\n]*\n)*"
    found = re.search(ours, lined)
    made = re.sub(ours, "", lined) if found else text
    if entry:
        made, at = re.sub(ours, "", lined), found.start() if found else len(lined)
        made = made[:at] + ("\n" if at else "") + _table(key, name, entry) + made[at:]
    after = tomllib.loads(made)
    kept = _others(before, key, name) == _others(after, key, name)
    if not kept or after.get(key, {}).get(name) != entry:
        raise ValueError("its tables are not laid out as we would")
    return made


def _others(table: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    servers = {one: about for one, about in table.get(key, {}).items() if one != name}
    rest = {one: about for one, about in table.items() if one != key}
    return {**rest, key: servers}


def _table(key: str, name: str, entry: dict[str, Any]) -> str:
    lines = [f"{field} = {json.dumps(one, ensure_ascii=False)}" for field, one in entry.items()]
    return "\n".join([f"[{key}.{name}]", *lines]) + "\n"
