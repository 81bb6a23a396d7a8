"""The supported programs: the files of their servers and hooks, and what a person must approve."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from looseleaf import settings
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Callable

    Entry = Callable[[list[str]], dict[str, Any]]
    Files = Callable[[], tuple[str, ...]]

NAME = "looseleaf"
_NO_LIMIT = ("--max-characters", "100000")  # for a program without a limit for hooks


@value(kw_only=True)
class Client:
    """A program with its files of servers and session-start hooks, for a user and for a project.

    Of several files, the first that exists is used. `hooks` is "json" for a list of commands in a
    JSON file, "plugin" for a module that the program loads, and "" if the program has no hooks.
    A policy is a file of our own that lets models use the tools that read and add.
    """

    title: str
    files: Files
    project_files: tuple[str, ...]
    key: str
    entry: Entry
    hooks: str = ""
    hook_files: Files = tuple
    project_hook_files: tuple[str, ...] = ()
    hook_options: tuple[str, ...] = ()  # the limit of the program for a hook's output
    policy_files: Files = tuple
    approval: str = ""
    project_approval: str = ""

    def server_file(self, *, project: bool) -> str:
        """Return the file for the entry of a server."""
        return _pick_existing(self.project_files if project else self.files())

    def hook_file(self, name: str, *, project: bool) -> str:
        """Return the file for the hook of a server, or "" if there is none."""
        files = self.project_hook_files if project else self.hook_files()
        return _pick_existing(tuple(file.format(name=name) for file in files)) if files else ""

    def policy_file(self, name: str, *, project: bool) -> str:
        """Return the file for the policy of a server, or "" if there is none."""
        files = () if project else self.policy_files()
        return _pick_existing(tuple(file.format(name=name) for file in files)) if files else ""


def _pick_existing(files: tuple[str, ...]) -> str:
    paths = [os.path.abspath(file) for file in files]
    return next((path for path in paths if os.path.exists(path)), paths[-1]) if paths else ""


def _build_plain_entry(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _build_typed_entry(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", **_build_plain_entry(command)}


def _build_loaded_entry(command: list[str]) -> dict[str, Any]:
    # Otherwise the model must search for the tools, and the first request may not wait for them.
    return {**_build_typed_entry(command), "alwaysLoad": True}


def _build_required_entry(command: list[str]) -> dict[str, Any]:
    # Otherwise the first request does not wait for the tools.
    return {**_build_plain_entry(command), "required": True}


def _build_listed_entry(command: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": command, "enabled": True}


def _locate_files(variable: str, default_folder: str, *files: str) -> Files:
    return lambda: tuple(
        os.path.join(settings.folder_of(variable, default_folder), file) for file in files
    )


def _locate_application_file(folder: str, file: str) -> Files:
    """Return the configuration file of a desktop application."""
    is_mac = sys.platform == "darwin"
    default_folder = "~/Library/Application Support" if is_mac else "~/.config"
    return _locate_files("" if is_mac else "XDG_CONFIG_HOME", default_folder, f"{folder}/{file}")


def _locate_claude_settings() -> tuple[str, ...]:
    return (os.path.join(settings.folder_of("CLAUDE_CONFIG_DIR", "~/.claude"), "settings.json"),)


CLIENTS = {
    "claude-code": Client(
        title="Claude Code",
        files=_locate_files("CLAUDE_CONFIG_DIR", "~", ".claude.json"),
        project_files=(".mcp.json",),
        key="mcpServers",
        entry=_build_loaded_entry,
        hooks="json",
        hook_files=_locate_claude_settings,
        project_hook_files=(".claude/settings.json",),
        hook_options=("--host", "claude-code"),
        approval="Claude Code asks before a memory tool is used for the first time.",
        project_approval="Claude Code asks in each project whether the server of its .mcp.json "
        "may start: run `claude` there and answer, or see /mcp. `claude -p` does not ask.",
    ),
    "codex": Client(
        title="Codex",
        files=_locate_files("CODEX_HOME", "~/.codex", "config.toml"),
        project_files=(".codex/config.toml",),
        key="mcp_servers",
        entry=_build_required_entry,
        hooks="json",
        hook_files=_locate_files("CODEX_HOME", "~/.codex", "hooks.json"),
        project_hook_files=(".codex/hooks.json",),
        hook_options=("--host", "codex"),
        approval="Codex runs a hook only once you trust it: run `codex` and trust the "
        "SessionStart hook, at its start or in /hooks. Until then sessions start without memory, "
        "with the tools.",
        project_approval="Codex reads .codex only in a project that you trust: run `codex` there "
        "and answer.",
    ),
    "gemini": Client(
        title="Gemini CLI",
        files=_locate_files("GEMINI_CLI_HOME", "~", ".gemini/settings.json"),
        project_files=(".gemini/settings.json",),
        key="mcpServers",
        entry=_build_plain_entry,
        hooks="json",
        hook_files=_locate_files("GEMINI_CLI_HOME", "~", ".gemini/settings.json"),
        project_hook_files=(".gemini/settings.json",),
        hook_options=_NO_LIMIT,
        policy_files=_locate_files("GEMINI_CLI_HOME", "~", ".gemini/policies/{name}.toml"),
        approval="Gemini CLI starts servers only in folders that you trust: run `gemini` in the "
        "folder and answer, or see /permissions. It asks before a page's text is replaced.",
        project_approval="Gemini CLI warns once of a hook that a project brings, and without a "
        "person it offers its models no memory tool: policies are for a user, not for a project.",
    ),
    "opencode": Client(
        title="OpenCode",
        files=_locate_files(
            "XDG_CONFIG_HOME", "~/.config", "opencode/opencode.jsonc", "opencode/opencode.json"
        ),
        project_files=("opencode.jsonc", "opencode.json"),
        key="mcp",
        entry=_build_listed_entry,
        hooks="plugin",
        hook_files=_locate_files("XDG_CONFIG_HOME", "~/.config", "opencode/plugin/{name}.js"),
        project_hook_files=(".opencode/plugin/{name}.js",),
        hook_options=_NO_LIMIT,
    ),
    "cursor": Client(
        title="Cursor",
        files=_locate_files("", "~/.cursor", "mcp.json"),
        project_files=(".cursor/mcp.json",),
        key="mcpServers",
        entry=_build_plain_entry,
        approval="Cursor may ask you to switch the server on: Settings, Tools & MCP.",
    ),
    "vscode": Client(
        title="VS Code",
        files=_locate_application_file("Code/User", "mcp.json"),
        project_files=(".vscode/mcp.json",),
        key="servers",
        entry=_build_typed_entry,
        approval="VS Code asks whether you trust the server when it starts it for the first time.",
    ),
    "claude-desktop": Client(
        title="Claude Desktop",
        files=_locate_application_file("Claude", "claude_desktop_config.json"),
        project_files=(),
        key="mcpServers",
        entry=_build_plain_entry,
        approval="Claude Desktop asks before a memory tool is used for the first time.",
    ),
}
