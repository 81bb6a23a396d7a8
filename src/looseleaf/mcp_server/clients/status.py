"""The Looseleaf servers in the configuration of every supported program."""

from __future__ import annotations

import os
import shutil
import tomllib

from looseleaf import settings
from looseleaf.errors import Unavailable
from looseleaf.mcp_server.clients import hooks, jsonc
from looseleaf.mcp_server.clients.config_edits import parse_connections, read_file
from looseleaf.mcp_server.clients.launch import LaunchTarget
from looseleaf.mcp_server.clients.programs import CLIENTS, Client
from looseleaf.values import value


@value(kw_only=True)
class Status:
    """One server of one program; the name is "" for a program without a Looseleaf server."""

    client: str
    scope: str  # user or project
    file: str
    name: str = ""
    workspace: str = ""
    agent: str = ""
    command: str = ""
    hook: str = ""  # yes, no, not trusted, or unknown for a program without hooks
    problems: tuple[str, ...] = ()


def read_status() -> list[Status]:
    """Read the files of all programs, of this user and of the project in this folder."""
    rows: list[Status] = []
    for word, client in CLIENTS.items():
        user_rows = _read_scope(word, client, project=False)
        rows += user_rows or [
            Status(client=word, scope="user", file=client.server_file(project=False))
        ]
        if client.project_files and not _is_user_file(client):
            rows += _read_scope(word, client, project=True)
    return rows


def _is_user_file(client: Client) -> bool:
    """Return whether the file of the project is the file of the user, as in the home folder."""
    files = (client.server_file(project=is_project) for is_project in (False, True))
    user_file, project_file = map(os.path.realpath, files)
    return user_file == project_file


def _read_scope(word: str, client: Client, *, project: bool) -> list[Status]:
    file = client.server_file(project=project)
    scope = "project" if project else "user"
    try:
        content = read_file(file)
        if content is not None:
            _check(file, content.decode())
    except (Unavailable, ValueError) as error:
        return [
            Status(client=word, scope=scope, file=file, problems=(f"it cannot be read: {error}",))
        ]
    return [
        Status(
            client=word,
            scope=scope,
            file=file,
            name=name,
            workspace=connection.root,
            agent=connection.agent,
            command=connection.command,
            hook=_describe_hook(client, name, connection, project=project),
            problems=_list_problems(connection),
        )
        for name, connection in parse_connections(client, file, content).items()
    ]


def _check(file: str, text: str) -> None:
    if file.endswith(".toml"):
        tomllib.loads(text)
    else:
        jsonc.parse(text)


def _describe_hook(client: Client, name: str, connection: LaunchTarget, *, project: bool) -> str:
    file = client.hook_file(name, project=project)
    if not file:
        return "unknown"
    try:
        text = (read_file(file) or b"").decode()
        if client.hooks == "plugin":
            hook = hooks.read_plugin(text) if hooks.is_plugin(text) else None
            hook_connections = [hook] if hook else []
        else:
            hook_connections = hooks.read_json_hooks(jsonc.parse(text).data)
    except (Unavailable, ValueError):
        return "no"
    has_hook = any(
        hook.root == connection.root and connection.agent in ("", hook.agent)
        for hook in hook_connections
    )
    if has_hook and client is CLIENTS["codex"] and not _is_trusted(client, file):
        return "not trusted"
    return "yes" if has_hook else "no"


def _is_trusted(client: Client, hook_file: str) -> bool:
    """Return whether a person ever trusted a hook of this file; Codex stores trust by path."""
    try:
        text = (read_file(client.server_file(project=False)) or b"").decode()
        hooks_table = tomllib.loads(text).get("hooks")
    except (Unavailable, ValueError):
        return False
    state = hooks_table.get("state") if isinstance(hooks_table, dict) else None
    keys = state if isinstance(state, dict) else {}
    return any(str(key).startswith(f"{hook_file}:session_start:") for key in keys)


def _list_problems(connection: LaunchTarget) -> tuple[str, ...]:
    command = shutil.which(connection.command)
    is_workspace = os.path.isfile(os.path.join(connection.root, settings.FILE))
    return (
        *(() if command else (f"the command {connection.command} is missing",)),
        *(() if is_workspace else (f"{connection.root} is not a workspace",)),
    )
