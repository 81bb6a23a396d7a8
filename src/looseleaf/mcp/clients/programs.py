"""The supported programs: the files of their servers and hooks, and what a person must approve."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from looseleaf import settings
from looseleaf.errors import Invalid
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Entry = Callable[[list[str]], dict[str, Any]]
    RemoteEntry = Callable[[str], dict[str, Any]]

    Files = Callable[[], tuple[str, ...]]


NAME = "looseleaf"
TOKEN = "LOOSELEAF_TOKEN"  # noqa: S105 - the variable that has a token; no file of a program has it


@value(kw_only=True)
class Client:
    """A program with its files of servers and session-start hooks, for a user and for a project.

    Of several files, the first that exists is used. `hooks` is "json" for a list of commands in a
    JSON file, "plugin" for a module that the program loads, and "" if the program has no hooks.
    A policy is a file of our own that lets models use the tools that read and add. `own_memory` is
    the setting, in the file of hooks, by which a person switches the program's own memory off.
    """

    title: str
    files: Files
    project_files: tuple[str, ...]
    key: str
    entry: Entry
    remote_entry: RemoteEntry | None = None  # for a server that the program reaches over HTTP
    hooks: str = ""
    hook_files: Files = tuple
    project_hook_files: tuple[str, ...] = ()
    reads_parents: bool = False  # whether a project's files are found from its subfolders, too
    host: str = ""  # the program as a host of hooks, which knows the limit of their output
    policy_files: Files = tuple
    own_memory: str = ""
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


def _build_listed_entry(command: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": command, "enabled": True}


def _build_url_entry(variable: str, **fields: str) -> RemoteEntry:
    """Return the builder of an entry with a token, as the program names a variable in a text."""
    header = {"Authorization": f"Bearer {variable}"}
    return lambda url: {**fields, "url": url, "headers": header}


def _build_loaded_url_entry(url: str) -> dict[str, Any]:
    return {**_build_url_entry(f"${{{TOKEN}}}", type="http")(url), "alwaysLoad": True}


def _build_codex_url_entry(url: str) -> dict[str, Any]:
    return {"url": url, "bearer_token_env_var": TOKEN}


def _build_gemini_url_entry(url: str) -> dict[str, Any]:
    return {"httpUrl": url, "headers": {"Authorization": f"Bearer ${TOKEN}"}}


def _build_listed_url_entry(url: str) -> dict[str, Any]:
    entry = _build_url_entry(f"{{env:{TOKEN}}}", type="remote")(url)
    return {**entry, "oauth": False, "enabled": True}


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
        remote_entry=_build_loaded_url_entry,
        hooks="json",
        hook_files=_locate_claude_settings,
        project_hook_files=(".claude/settings.json",),
        host="claude-code",
        own_memory="autoMemoryEnabled",
        approval="Claude Code asks before a memory tool is used for the first time.",
        project_approval="Claude Code asks in each project whether the server of its .mcp.json "
        "may start: run `claude` there and answer, or see /mcp. `claude -p` does not ask.",
    ),
    "codex": Client(
        title="Codex",
        files=_locate_files("CODEX_HOME", "~/.codex", "config.toml"),
        project_files=(".codex/config.toml",),
        key="mcp_servers",
        entry=_build_plain_entry,
        remote_entry=_build_codex_url_entry,
        hooks="json",
        hook_files=_locate_files("CODEX_HOME", "~/.codex", "hooks.json"),
        project_hook_files=(".codex/hooks.json",),
        reads_parents=True,
        host="codex",
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
        remote_entry=_build_gemini_url_entry,
        hooks="json",
        hook_files=_locate_files("GEMINI_CLI_HOME", "~", ".gemini/settings.json"),
        project_hook_files=(".gemini/settings.json",),
        host="gemini",
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
        remote_entry=_build_listed_url_entry,
        hooks="plugin",
        hook_files=_locate_files("XDG_CONFIG_HOME", "~/.config", "opencode/plugin/{name}.js"),
        project_hook_files=(".opencode/plugin/{name}.js",),
        reads_parents=True,
        host="opencode",
    ),
    "cursor": Client(
        title="Cursor",
        files=_locate_files("", "~/.cursor", "mcp.json"),
        project_files=(".cursor/mcp.json",),
        key="mcpServers",
        entry=_build_plain_entry,
        remote_entry=_build_url_entry(f"${{env:{TOKEN}}}"),
        approval="Cursor may ask you to switch the server on: Settings, Tools & MCP.",
    ),
    "vscode": Client(
        title="VS Code",
        files=_locate_application_file("Code/User", "mcp.json"),
        project_files=(".vscode/mcp.json",),
        key="servers",
        entry=_build_typed_entry,
        remote_entry=_build_url_entry(f"${{env:{TOKEN}}}", type="http"),
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


# The command lines by which programs start Looseleaf, with a path that lasts.


_CACHE_FOLDERS = frozenset({".cache", "Caches"})
_CACHE_MARK = "CACHEDIR.TAG"  # a file at the top of a package cache, and of a virtual environment
_HOOK = ("--hook", "session-start")
BY_FOLDER = "--by-folder"  # in the entries of a user: the agent of the project goes first


@value
class LaunchTarget:
    """The workspace and agent that a command line serves."""

    root: str  # or the address of a server; "" for the workspace of the current folder
    agent: str  # "" for all agents, or the default agent
    command: str = ""  # the program that is started; "" for a server
    by_folder: bool = False  # whether the agent of a project comes before it
    is_required: bool = False  # whether the program does not start without it


def resolve_stable_command() -> list[str]:
    """Return the command that starts Looseleaf from anywhere, independent of PATH.

    A copy in a package cache disappears with the cache, so another copy on the PATH is used.
    """
    if not in_package_cache(sys.prefix):
        executable = os.path.join(os.path.dirname(sys.executable), "looseleaf")
        return (
            [executable] if os.access(executable, os.X_OK) else [sys.executable, "-m", "looseleaf"]
        )
    for folder in settings.read_variable("PATH").split(os.pathsep):
        command = os.path.join(folder, "looseleaf")
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(command)))
        is_stable = os.path.isabs(command) and not in_package_cache(prefix)
        if is_stable and os.access(command, os.X_OK):
            return [command]
    raise Invalid(
        f"This Looseleaf runs from a package cache ({sys.prefix}), which may be emptied. "
        "Install it first (uv tool install looseleaf, or pipx install looseleaf; from a checkout "
        "its folder instead of the name), and run the installed looseleaf."
    )


def in_package_cache(prefix: str) -> bool:
    """Return whether an environment is in a package cache, as with uvx and pipx run."""
    folder = os.path.dirname(os.path.abspath(prefix))
    cache = settings.read_variable("UV_CACHE_DIR")
    if cache and f"{folder}/".startswith(os.path.join(os.path.abspath(cache), "")):
        return True
    while folder != os.path.dirname(folder):
        is_cache = os.path.basename(folder) in _CACHE_FOLDERS
        if is_cache or os.path.isfile(os.path.join(folder, _CACHE_MARK)):
            return True
        folder = os.path.dirname(folder)
    return False


def build_hook_command(command: list[str], place: list[str], *options: str) -> list[str]:
    """Return the command that prints an agent's memory when a session starts."""
    return [*command, "prompt", "show", *place, *options, *_HOOK]


def read_connection(words: Sequence[object]) -> LaunchTarget | None:
    """Parse a command line that Looseleaf wrote, or None for any other."""
    texts = [word for word in words if isinstance(word, str)]
    is_server = "mcp" in texts and "--root" in texts
    is_hook = "prompt" in texts and _HOOK[0] in texts and any("looseleaf" in word for word in texts)
    if len(texts) < len(words) or not (is_server or is_hook):
        return None
    root, agent, server = (_find_option(texts, name) for name in ("--root", "--agent", "--remote"))
    root = build_mcp_address(server).partition("?")[0] if server else root
    return LaunchTarget(root, agent, texts[0], BY_FOLDER in texts)


def build_mcp_address(base: str, agent: str = "") -> str:
    """Return the address at which a server speaks MCP, bound to an agent if there is one."""
    return f"{base}/mcp" + (f"?agent={quote(agent)}" if agent else "")


def read_address(name: str, entry: dict[str, Any]) -> LaunchTarget | None:
    """Parse the address of a Looseleaf server, which only its name and our variable tell."""
    url = entry.get("url") or entry.get("httpUrl")
    is_ours = NAME in name.lower() or TOKEN in str(entry)
    if not is_ours or not isinstance(url, str):
        return None
    address, _, query = url.partition("?")
    agent = next((part[6:] for part in query.split("&") if part.startswith("agent=")), "")
    return LaunchTarget(address, unquote(agent))


def _find_option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1] if name in words[:-1] else ""


def read_hook(command: object) -> LaunchTarget | None:
    """Parse the command of a hook, which is one shell line."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    return read_connection(words) if _HOOK[0] in words else None
