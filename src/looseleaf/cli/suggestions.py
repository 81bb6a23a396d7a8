"""What a person meant by a command or option that does not exist: by meaning, then by spelling."""

from __future__ import annotations

import difflib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

# Commands by what people type instead, each as it would be typed.
COMMANDS: Mapping[str, str] = {
    "add": "remember",
    "agent": "agents",
    "append": "memory append",
    "ask": "chat",
    "bundle": "bundles",
    "cat": "memory read",
    "changes": "recent",
    "check": "doctor",
    "compose": "memory compose",
    "config": "settings list",
    "connect": "mcp install",
    "daily": "memory daily read",
    "delete": "memory delete",
    "diff": "memory diff",
    "edit": "memory edit",
    "export": "memory export",
    "files": "memory list",
    "find": "search",
    "flow": "flows",
    "forget": "memory delete",
    "get": "memory read",
    "grep": "search",
    "health": "doctor",
    "history": "memory log",
    "info": "status",
    "install": "mcp install",
    "job": "jobs",
    "journal": "memory daily read",
    "list": "memory list",
    "log": "recent",
    "logs": "audit list",
    "ls": "memory list",
    "new": "init",
    "note": "remember",
    "open": "memory read",
    "pages": "memory list",
    "pipeline": "pipelines",
    "plugin": "plugins",
    "print": "memory read",
    "publish": "memory publish",
    "read": "memory read",
    "recall": "search",
    "rm": "memory delete",
    "run": "jobs run",
    "save": "remember",
    "schedule": "schedules",
    "server": "serve",
    "set": "settings set",
    "setting": "settings list",
    "setup": "init",
    "share": "bundles export",
    "show": "memory read",
    "store": "remember",
    "talk": "chat",
    "tasks": "system tasks",
    "today": "memory daily read",
    "token": "tokens",
    "tool": "tools",
    "undo": "memory restore",
    "user": "users",
    "verify": "doctor --verify",
    "version": "--version",
    "whoami": "status",
    "write": "memory write",
    "memory changes": "memory recent",
    "memory forget": "memory delete",
    "memory import": "import",
    "memory journal": "memory daily read",
    "memory pages": "memory list",
    "memory remember": "remember",
    "memory put": "memory write",
    "memory set": "memory write",
    "memory update": "memory write",
    "memory versions": "memory history",
    "mcp connect": "mcp install",
    "mcp disconnect": "mcp uninstall",
    "agents set": "agents configure",
    "agents use": "settings set default_agent",
    "agents default": "settings set default_agent",
    "settings reset": "settings unset",
    "backup restore": "restore",
    "tools list": "tools export",
}
# Words for what most groups can do, with the names that such a command may have there.
_VERBS = (
    ("add create make new", "create add install give append"),
    ("all index list ls", "list status show"),
    ("cat describe get info print read show view", "show get read list status"),
    ("change edit modify set update", "update set configure"),
    ("del delete destroy drop remove rm", "delete revoke take unset uninstall"),
    ("find grep search", "search list"),
    ("history log logs", "log history runs list"),
    ("exec run start", "run serve create"),
    ("abort kill stop", "cancel pause"),
    ("move mv rename", "rename update"),
    ("revert undo", "undo restore"),
)
# Options by what people type instead; the first one that a command has is meant.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "--json": ("--format json",),
    "--output": ("--format json",),
    "--yaml": ("--format json",),
    "--dir": ("--root FOLDER",),
    "--directory": ("--root FOLDER",),
    "--folder": ("--root FOLDER",),
    "--path": ("--root FOLDER",),
    "--workspace": ("--root FOLDER",),
    "--server": ("--remote URL",),
    "--url": ("--remote URL",),
    "--comment": ("--reason TEXT",),
    "--message": ("--reason TEXT",),
    "--why": ("--reason TEXT",),
    "--force": ("--yes", "--allow-shrink"),
    "--confirm": ("--yes",),
    "--no-input": ("--yes",),
    "--slug": ("--agent SLUG",),
    "--name": ("--agent SLUG",),
    "--since": ("--from DAY", "--as-of TIME"),
    "--at": ("--as-of TIME",),
    "--preview": ("--dry-run",),
    "--max": ("--limit N",),
    "--count": ("--limit N",),
    "--top": ("--limit N",),
}
_ALIKE = 0.7  # the least likeness of two words that may be the same one


def describe_unknown_command(name: str, group: str, names: Collection[str]) -> str:
    """Return the error for a command that a group does not have, with the command that was meant.

    `group` has the words that name the group, "" for the whole command line.
    """
    meant = COMMANDS.get(f"{group} {name}".lstrip(), "")
    if not meant:
        word = _find_verb(name, names) or find_alike(name, names)
        meant = f"{group} {word}".lstrip() if word else ""
    advice = f" Did you mean: looseleaf {meant}?" if meant else ""
    return f"No such command {name!r}.{advice}"


def _find_verb(name: str, names: Collection[str]) -> str:
    """Return the command of a group that does what a common word says, or "" without one."""
    verbs = next((verbs for words, verbs in _VERBS if name in words.split()), "")
    return next((verb for verb in verbs.split() if verb in names), "")


def describe_unknown_option(name: str, names: Collection[str]) -> str:
    """Return the error for an option that a command does not have, with the one that was meant."""
    options = _OPTIONS.get(name, ())
    meant = next((option for option in options if option.split()[0] in names), "")
    meant = meant or find_alike(name, names)
    return f"No such option {name!r}." + (f" Did you mean {meant}?" if meant else "")


def find_alike(name: str, names: Collection[str]) -> str:
    """Return the name that is spelled most alike, or "" if none is."""
    words = [word for word in names if word.lstrip("-")[:1] == name.lstrip("-")[:1]]
    return next(iter(difflib.get_close_matches(name, words, 1, _ALIKE)), "")
