"""The Looseleaf servers and hooks of every supported program: which there are, and which speak."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tomllib
from typing import TYPE_CHECKING

from looseleaf import settings
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.mcp.clients import file_formats
from looseleaf.mcp.clients.config_edits import (
    is_plugin,
    parse_connections,
    read_file,
    read_json_hooks,
    read_plugin,
)
from looseleaf.mcp.clients.programs import CLIENTS, Client, LaunchTarget
from looseleaf.values import replace, value

if TYPE_CHECKING:
    from typing import Any

YES, NO, NOT_TRUSTED, SILENT, UNKNOWN = "yes", "no", "not trusted", "silent here", "unknown"


@value(kw_only=True)
class Status:
    """One server of one program; the name is "" for a program without a Looseleaf server."""

    client: str
    scope: str  # user or project
    file: str
    name: str = ""
    workspace: str = ""  # or the address of a server
    agent: str = ""
    command: str = ""
    hook: str = ""  # yes, no, not trusted, silent here, or unknown for a program without hooks
    by_folder: bool = False  # whether the agent of a project comes before the agent
    project_agent: str = ""  # the agent of the project in this folder, if it comes first
    own_memory: str = ""  # on or off, for a program with a memory of its own
    problems: tuple[str, ...] = ()


def read_status() -> list[Status]:
    """Read the files of all programs, of this user and of the project in this folder."""
    rows: list[Status] = []
    for word, client in CLIENTS.items():
        found_rows = _read_scope(word, client, project=False)
        if client.project_files and not _is_user_file(client):
            found_rows += _read_scope(word, client, project=True)
        found_rows = _mark_speakers(found_rows)
        if all(row.scope != "user" for row in found_rows):
            file = client.server_file(project=False)
            found_rows.insert(0, Status(client=word, scope="user", file=file))
        rows += found_rows
    return rows


def has_project_hook(host: str, folder: str) -> bool:
    """Return whether a project has a hook of Looseleaf that a program runs in this folder.

    Hooks of a user and of a project add up in every program, and a request has one identity: the
    hook of the user is silent where the project's speaks.
    """
    client = next((client for client in CLIENTS.values() if client.host == host), None)
    if client is None:
        return False
    own_files = [os.path.realpath(file) for file in _list_files(client.hook_files())]
    project_files = [
        os.path.join(place, file)
        for place in _list_folders(client, folder)
        for file in client.project_hook_files
    ]
    return any(
        _read_hooks(client, file) and (host != "codex" or _is_project_trusted(folder))
        for file in _list_files(tuple(project_files))
        if os.path.realpath(file) not in own_files
    )


def read_own_memory(client: Client) -> str:
    """Return whether the program's own memory is "on" or "off" here; "" if it has none."""
    if not client.own_memory:
        return ""
    is_off = settings.read_variable(_OWN_MEMORY_OFF).lower() not in ("", "0", "false", "no", "off")
    user_file = client.hook_file("", project=False)
    project_file = client.hook_file("", project=True)
    # The innermost file that says something decides.
    for file in (project_file.replace(".json", ".local.json"), project_file, user_file):
        try:
            data = file_formats.parse((read_file(file) or b"").decode()).data
        except (Unavailable, ValueError):
            continue
        switch = data.get(client.own_memory) if isinstance(data, dict) else None
        if isinstance(switch, bool):
            return "off" if is_off or not switch else "on"
    return "off" if is_off else "on"


_OWN_MEMORY_OFF = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"


def _list_folders(client: Client, folder: str) -> list[str]:
    """List the folders whose files a program reads in a folder, up to the top of its repository."""
    places = [folder]
    while client.reads_parents and not os.path.exists(os.path.join(places[-1], ".git")):
        parent = os.path.dirname(places[-1])
        if parent == places[-1]:
            return [folder]  # no repository, so that a program looks no further
        places.append(parent)
    return places


def _list_files(patterns: tuple[str, ...]) -> list[str]:
    """List the files of patterns, in which a server may have any name."""
    return [
        file
        for pattern in patterns
        for file in sorted(glob.glob(glob.escape(pattern).replace("{name}", "*")))
    ]


def _mark_speakers(rows: list[Status]) -> list[Status]:
    """Mark the hooks of the user that are silent here, and report if several would speak."""
    host = CLIENTS[rows[0].client].host if rows else ""
    if host and has_project_hook(host, settings.find_folder()):
        rows = [
            replace(row, hook=SILENT) if row.scope == "user" and row.by_folder and row.hook else row
            for row in rows
        ]
    speakers = [row for row in rows if row.hook in (YES, NOT_TRUSTED)]
    if len(speakers) < 2:
        return _mark_strangers(rows, speakers)
    names = " and ".join(f"{row.name} ({row.scope})" for row in speakers)
    is_old = any(row.scope == "user" and not row.by_folder for row in speakers)
    advice = (
        f"run `looseleaf mcp install --client {rows[0].client}` again, and the user's is silent"
        if is_old and any(row.scope == "project" for row in speakers)
        else "uninstall all but one, by --name"
    )
    problem = f"{len(speakers)} memories speak in each session here, {names}: {advice}"
    return [
        replace(row, problems=(*row.problems, problem)) if row in speakers else row for row in rows
    ]


def _mark_strangers(rows: list[Status], speakers: list[Status]) -> list[Status]:
    """Report a project's server that writes to another memory than the one that speaks here."""
    given = {(row.workspace, row.project_agent or row.agent) for row in speakers}
    return [
        replace(row, problems=(*row.problems, _STRANGER))
        if given and row.scope == "project" and row.hook == NO
        and (row.workspace, row.agent) not in given
        else row
        for row in rows
    ]  # fmt: skip


_STRANGER = (
    "its sessions start with the memory of the user's hook, and its tools write to another: "
    "install it with its hook, or give the project an agent by `looseleaf mcp project`"
)


def _is_user_file(client: Client) -> bool:
    """Return whether the file of the project is the file of the user, as in the home folder."""
    files = (client.server_file(project=is_project) for is_project in (False, True))
    user_file, project_file = map(os.path.realpath, files)
    return user_file == project_file


def _is_user_hook_file(client: Client, path: str) -> bool:
    return os.path.realpath(path) in map(os.path.realpath, client.hook_files())


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
            by_folder=_yields(client, name, connection, project=project),
            project_agent=_find_agent_here(connection),
            own_memory=read_own_memory(client),
            problems=_list_problems(connection),
        )
        for name, connection in parse_connections(client, file, content).items()
    ]


def _find_agent_here(connection: LaunchTarget) -> str:
    """Return the agent of the project in this folder, or "" if there is none to find."""
    if not connection.by_folder:
        return ""
    with contextlib.suppress(LooseleafError, OSError):
        projects = settings.load(connection.root).projects
        return settings.find_project_agent(projects, settings.find_folder())
    return ""


def _check(file: str, text: str) -> None:
    if file.endswith(".toml"):
        tomllib.loads(text)
    else:
        file_formats.parse(text)


def _read_hooks(client: Client, file: str) -> list[LaunchTarget]:
    """List the Looseleaf hooks of a file; none for a broken one, which its program cannot run."""
    try:
        text = (read_file(file) or b"").decode()
        if client.hooks == "plugin":
            hook = read_plugin(text) if is_plugin(text) else None
            return [hook] if hook else []
        return read_json_hooks(file_formats.parse(text).data)
    except (Unavailable, ValueError):
        return []


def _describe_hook(client: Client, name: str, connection: LaunchTarget, *, project: bool) -> str:
    file = client.hook_file(name, project=project)
    if not file:
        return UNKNOWN
    has_hook = bool(_list_own_hooks(client, file, connection))
    if has_hook and client is CLIENTS["codex"] and not _is_trusted(file):
        return NOT_TRUSTED
    return YES if has_hook else NO


def _list_own_hooks(client: Client, file: str, connection: LaunchTarget) -> list[LaunchTarget]:
    """List the hooks of a file that give the memory which a server serves."""
    return [
        hook
        for hook in _read_hooks(client, file)
        if hook.root == connection.root and connection.agent in ("", hook.agent)
    ]


def _yields(client: Client, name: str, connection: LaunchTarget, *, project: bool) -> bool:
    """Return whether a project comes before the agent; a server by its address has one agent."""
    file = client.hook_file(name, project=project)
    hooks = _list_own_hooks(client, file, connection) if file and not connection.command else []
    return connection.by_folder or any(hook.by_folder for hook in hooks)


def _is_trusted(hook_file: str) -> bool:
    """Return whether a person ever trusted a hook of this file; Codex stores trust by path."""
    hooks_table = _read_codex_config().get("hooks")
    state = hooks_table.get("state") if isinstance(hooks_table, dict) else None
    keys = state if isinstance(state, dict) else {}
    return any(str(key).startswith(f"{hook_file}:session_start:") for key in keys)


def _is_project_trusted(folder: str) -> bool:
    """Return whether Codex reads the files of a project: only if a person trusts it."""
    projects = _read_codex_config().get("projects")
    entries = projects if isinstance(projects, dict) else {}
    return any(
        isinstance(entry, dict)
        and entry.get("trust_level") == "trusted"
        and os.path.join(os.path.realpath(folder), "").startswith(
            os.path.join(os.path.realpath(str(project)), "")
        )
        for project, entry in entries.items()
    )


def _read_codex_config() -> dict[str, Any]:
    try:
        content = read_file(CLIENTS["codex"].server_file(project=False)) or b""
        return tomllib.loads(content.decode())
    except (Unavailable, ValueError):
        return {}


def _list_problems(connection: LaunchTarget) -> tuple[str, ...]:
    if not connection.command:
        return ()  # the address of a server, which is not asked
    command = shutil.which(connection.command)
    is_workspace = os.path.isfile(os.path.join(connection.root, settings.FILE))
    is_required = "the program does not start without it: run mcp install again"
    return (
        *((is_required,) if connection.is_required else ()),
        *(() if command else (f"the command {connection.command} is missing",)),
        *(() if is_workspace else (f"{connection.root} is not a workspace",)),
    )
