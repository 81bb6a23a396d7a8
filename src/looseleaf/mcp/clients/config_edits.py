"""Edits of a program's configuration files: planned together, then written all or none."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import shlex
import stat
import tomllib
from typing import TYPE_CHECKING, Any

from looseleaf import settings
from looseleaf.errors import Invalid, LooseleafError, Unavailable
from looseleaf.files import atomic
from looseleaf.mcp.clients import file_formats
from looseleaf.mcp.clients.programs import (
    Client,
    LaunchTarget,
    read_address,
    read_connection,
    read_hook,
)
from looseleaf.values import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    HookFilter = Callable[[LaunchTarget], bool]


# The policy file that lets models read and add without asking a person, but not replace.


_POLICY_MARK = "# Written by `looseleaf mcp install`; `looseleaf mcp uninstall` removes it."
# Without this file Gemini CLI offers no tool of any server if there is no person to ask.
_POLICY = """\
{mark}
# Models use the tools that read memory or add to it; before text is replaced, a person is asked.
[[rule]]
mcpName = "{name}"
toolName = "*"
toolAnnotations = {{ readOnlyHint = true }}
decision = "allow"
priority = 100

[[rule]]
mcpName = "{name}"
toolName = "*"
toolAnnotations = {{ destructiveHint = false }}
decision = "allow"
priority = 100
"""


def build_policy(name: str) -> str:
    """Write the policy of a server."""
    return _POLICY.format(mark=_POLICY_MARK, name=name)


def is_policy(text: str) -> bool:
    """Return whether Looseleaf wrote a policy."""
    return text.startswith(_POLICY_MARK)


# The session-start hook that loads the memory: a command in a JSON file, or a small plugin.


EVENT = ("hooks", "SessionStart")
_PLUGIN_MARK = "// Written by `looseleaf mcp install`; `looseleaf mcp uninstall` removes it."
# OpenCode asks for the system prompt before every request. The memory is read once for a session,
# so that the beginning of its requests stays the same, as the caches of providers require.
_PLUGIN = """\
%s
import { execFile } from "node:child_process"
import { promisify } from "node:util"

const command = %s
const run = promisify(execFile)
const sessions = new Map()

async function readMemory(directory, client) {
  try {
    const running = run(command[0], command.slice(1), { maxBuffer: 1 << 24 })
    running.child.stdin.on("error", () => {})
    running.child.stdin.end(JSON.stringify({ cwd: directory }))
    const output = JSON.parse((await running).stdout)
    const message = output.systemMessage
    if (message) client?.tui?.showToast({ body: { message, variant: "warning" } })?.catch(() => {})
    return output.hookSpecificOutput?.additionalContext ?? message ?? ""
  } catch (error) {
    return `looseleaf: the memory could not be read: ${error.message}`
  }
}

export const Looseleaf = async ({ directory, client }) => ({
  "experimental.chat.system.transform": async (input, output) => {
    const session = input.sessionID ?? ""
    if (!sessions.has(session)) sessions.set(session, readMemory(directory, client))
    const memory = await sessions.get(session)
    if (memory) output.system.push(memory)
  },
})
"""


def build_plugin(command: list[str]) -> str:
    """Write the module that OpenCode loads."""
    return _PLUGIN % (_PLUGIN_MARK, json.dumps(command, ensure_ascii=False))


def is_plugin(text: str) -> bool:
    """Return whether Looseleaf wrote a module."""
    return text.startswith(_PLUGIN_MARK)


def read_plugin(text: str) -> LaunchTarget | None:
    """Parse a module that Looseleaf wrote."""
    line = re.search(r"^const command = (\[.*\])$", text, re.MULTILINE)
    try:
        return read_connection(json.loads(line[1])) if line else None
    except ValueError:
        return None


def build_json_hook(command: list[str]) -> dict[str, Any]:
    """Return the hook group in the format of Claude Code, Codex and Gemini CLI."""
    return {"hooks": [{"type": "command", "command": shlex.join(command)}]}


def read_json_hooks(data: object) -> list[LaunchTarget]:
    """List the Looseleaf hooks of a JSON file."""
    return [connection for _, connection in _list_json_hooks(data)]


def set_json_hook(text: str, command: list[str] | None, is_replaced: HookFilter) -> str:
    """Replace the selected hooks of a JSON file by ours; without a command, remove them."""
    places = [
        place
        for place, hook in _list_json_hooks(file_formats.parse(text).data)
        if is_replaced(hook)
    ]
    keep = 1 if command else 0
    for place in reversed(places[keep:]):
        text = file_formats.remove_value(text, place)
    if command and places:
        return file_formats.set_value(text, (*places[0], "command"), shlex.join(command))
    if command:
        groups = _find_value(file_formats.parse(text).data, *EVENT)
        place = (*EVENT, len(groups) if isinstance(groups, list) else 0)
        return file_formats.set_value(text, place, build_json_hook(command))
    return text


def _list_json_hooks(data: object) -> Iterator[tuple[file_formats.Path, LaunchTarget]]:
    groups = _find_value(data, *EVENT)
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        hooks = _find_value(group, "hooks")
        for number, hook in enumerate(hooks if isinstance(hooks, list) else ()):
            connection = read_hook(_find_value(hook, "command"))
            if connection:
                yield (*EVENT, index, "hooks", number), connection


def _find_value(data: object, *names: str) -> object:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


MAX_BYTES = 64_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@value
class FileEdit:
    """A file before and after the edit, or None if there is no file."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        """The change, line by line."""
        old, new = ((text or b"").decode().splitlines() for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, self.path, self.path, n=2, lineterm="")
        return "\n".join(lines)


@value(kw_only=True)
class ClientSetup:
    """The server and the session-start hook that a program is to have under a name.

    The server is started by `words`, or has an address. Without either, the server and its hook are
    removed.
    """

    client: Client
    name: str
    project: bool = False
    words: tuple[str, ...] = ()
    address: str = ""
    hook: tuple[str, ...] = ()
    own_memory: str = ""  # "on" or "off" switches the program's own memory, "" leaves it as it is

    @property
    def entry(self) -> dict[str, Any] | None:
        """The entry of the server, or None if it is to be removed."""
        if self.address and self.client.remote_entry:
            return self.client.remote_entry(self.address)
        return self.client.entry([*self.words]) if self.words else None

    @property
    def server_file(self) -> str:
        """The file of servers."""
        return self.client.server_file(project=self.project)

    @property
    def hook_file(self) -> str:
        """The file of hooks, or "" if the program has none."""
        return self.client.hook_file(self.name, project=self.project)

    @property
    def policy_file(self) -> str:
        """The file of our policy, or "" if the program needs none."""
        return self.client.policy_file(self.name, project=self.project)


def build_snippets(plan: ClientSetup) -> dict[str, str]:
    """Return the entries of the program's files as text to paste, by file.

    Two entries of one file are one document.
    """
    hook = _build_hook_snippet(plan)
    texts = {plan.server_file: _build_server_snippet(plan)}
    if hook and plan.hook_file == plan.server_file:
        texts[plan.hook_file] = _encode_json(json.loads(texts[plan.server_file]) | json.loads(hook))
    elif hook:
        texts[plan.hook_file] = hook
    if plan.policy_file:
        texts[plan.policy_file] = build_policy(plan.name)
    return texts


def _build_server_snippet(plan: ClientSetup) -> str:
    client, entry = plan.client, plan.entry or {}
    if any(file.endswith(".toml") for file in client.project_files):
        return file_formats.format_table(client.key, plan.name, entry)
    return _encode_json({client.key: {plan.name: entry}})


def _build_hook_snippet(plan: ClientSetup) -> str:
    if not plan.hook or not plan.hook_file:
        return ""
    if plan.client.hooks == "plugin":
        return build_plugin([*plan.hook])
    switch = {plan.client.own_memory: False} if plan.own_memory == "off" else {}
    return _encode_json({**switch, "hooks": {"SessionStart": [build_json_hook([*plan.hook])]}})


def check_plan(plan: ClientSetup) -> None:
    """Refuse a name that some programs do not accept, and what a program does not have."""
    if not _NAME.fullmatch(plan.name):
        raise Invalid(f"Invalid name {plan.name!r}: use letters, digits, - and _, at most 64.")
    if not plan.server_file:
        raise Invalid(f"{plan.client.title} has no configuration of its own for a project.")
    if plan.own_memory and not plan.client.own_memory:
        raise Invalid(f"{plan.client.title} has no memory of its own that we know of.")


def plan_edits(plan: ClientSetup) -> list[FileEdit]:
    """List the edits of the files that would change."""
    paths = (plan.server_file, plan.hook_file, plan.policy_file)
    old_texts = {path: read_file(path) for path in paths if path}
    texts = dict(old_texts)
    old_connections = parse_connections(plan.client, plan.server_file, texts[plan.server_file])
    _draft(texts, plan.server_file, lambda text: _with_server(plan, text))
    if plan.hook_file:
        _draft(texts, plan.hook_file, lambda text: _with_hook(plan, text, old_connections))
    if plan.policy_file:
        _draft(texts, plan.policy_file, lambda text: _with_policy(plan, text))
    if plan.own_memory:
        _draft(texts, plan.hook_file, lambda text: _with_own_memory(plan, text))
    return [
        FileEdit(
            path, old_texts[path], None if plan.entry is None and _is_empty(path, text) else text
        )
        for path, text in texts.items()
        if text != old_texts[path]
    ]


def _is_empty(path: str, content: bytes | None) -> bool:
    """Return whether nothing is left in a file; the target of a link belongs to someone else."""
    return (content or b"").strip() in (b"", b"{}") and not os.path.islink(path)


def plan_project(
    root: str, projects: tuple[tuple[str, str], ...], folder: str, agent: str | None
) -> FileEdit | None:
    """Return the edit that gives a project an agent, or none; None if nothing would change."""
    path = os.path.join(root, settings.FILE)
    content = read_file(path) or b""
    try:
        text = content.decode()
        top = os.path.realpath(folder)
        names = [name for name, _ in projects if os.path.realpath(os.path.expanduser(name)) == top]
        if [dict(projects)[name] for name in names] == [agent]:
            return None
        for name in names:
            text = file_formats.set_line(text, "projects", name, None)
        if agent is not None:
            text = file_formats.set_line(text, "projects", folder, agent)
    except ValueError as error:
        raise Invalid(f"{path} cannot be edited safely ({error}).") from error
    return FileEdit(path, content, text.encode()) if text.encode() != content else None


def parse_connections(client: Client, path: str, content: bytes | None) -> dict[str, LaunchTarget]:
    """Return the Looseleaf servers of a program by name, empty for a broken file."""
    try:
        text = (content or b"").decode()
        data: Any = tomllib.loads(text) if path.endswith(".toml") else file_formats.parse(text).data
    except ValueError:
        return {}
    servers = data.get(client.key) if isinstance(data, dict) else None
    own_servers = {}
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(entry, dict):
            continue
        connection = parse_entry(name, entry)
        if connection:
            own_servers[name] = connection
    return own_servers


def parse_entry(name: str, entry: dict[str, Any]) -> LaunchTarget | None:
    """Return the Looseleaf server of an entry, or None for any other."""
    connection = read_connection(_argv_of(entry)) or read_address(name, entry)
    is_required = entry.get("required") is True
    return replace(connection, is_required=is_required) if connection else None


def read_file(path: str) -> bytes | None:
    """Read a file that may be missing, up to the largest size of a configuration."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(path, error.strerror) from error
    if len(content) > MAX_BYTES:
        raise Unavailable(path, f"it has more than {MAX_BYTES:,} bytes")
    return content


def write(edits: list[FileEdit]) -> None:
    """Write the edits, each atomically, unless a file has changed meanwhile; file modes stay.

    If an edit fails, the edits before it are undone.
    """
    finished_edits: list[FileEdit] = []
    try:
        for edit in edits:
            _write(edit)
            finished_edits.append(edit)
    except LooseleafError:
        for edit in reversed(finished_edits):
            with contextlib.suppress(LooseleafError):  # only the first failure is reported
                _write(FileEdit(edit.path, edit.after, edit.before))
        raise
    for edit in edits:
        if edit.after is None:
            _remove_empty_folders(os.path.dirname(edit.path))


def _remove_empty_folders(folder: str) -> None:
    """Remove the folder of a file that is gone, and the one around it, if they are empty."""
    kept_folders = [os.path.realpath(place) for place in (os.path.expanduser("~"), os.curdir)]
    with contextlib.suppress(OSError):
        for place in (folder, os.path.dirname(folder)):
            if os.path.realpath(place) in kept_folders:
                return
            os.rmdir(place)


def _argv_of(entry: dict[str, Any]) -> list[object]:
    command = entry.get("command")
    if isinstance(command, list):
        return command
    arguments = entry.get("args", [])
    return [command, *arguments] if isinstance(arguments, list) else [command]


def _encode_json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _draft(texts: dict[str, bytes | None], path: str, change: Any) -> None:  # noqa: ANN401
    content = texts[path]
    try:
        new_text = change((content or b"").decode())
    except (ValueError, TypeError) as error:
        raise Invalid(f"{path} cannot be edited safely ({error}).") from error
    if new_text is None or new_text or content is not None:
        texts[path] = None if new_text is None else new_text.encode()


def _with_server(plan: ClientSetup, text: str) -> str:
    client, entry = plan.client, plan.entry
    if plan.server_file.endswith(".toml"):
        return file_formats.set_table(text, client.key, plan.name, entry)
    if not isinstance(file_formats.parse(text).data, dict):
        raise TypeError("it is not a table")
    place = (client.key, plan.name)
    return (
        file_formats.set_value(text, place, entry)
        if entry
        else file_formats.remove_value(text, place)
    )


def _with_hook(
    plan: ClientSetup, text: str, old_connections: dict[str, LaunchTarget]
) -> str | None:
    if plan.client.hooks == "plugin":
        return _with_plugin(plan, text)
    own_connections = [old_connections[plan.name]] if plan.name in old_connections else []
    own_connections += filter(None, [parse_entry(plan.name, plan.entry or {})])
    other_connections = [
        connection for name, connection in old_connections.items() if name != plan.name
    ]

    def is_replaced(hook: LaunchTarget) -> bool:
        if any(_serves(server, hook) for server in other_connections):
            return False
        is_mine = not hook.root or any(_serves(server, hook) for server in own_connections)
        return is_mine or plan.entry is None  # removing also takes a hook whose server is gone

    return set_json_hook(text, [*plan.hook] or None, is_replaced)


def _with_plugin(plan: ClientSetup, text: str) -> str | None:
    if text and not is_plugin(text):
        raise ValueError("Looseleaf did not write it")
    return build_plugin([*plan.hook]) if plan.hook else None


def _with_policy(plan: ClientSetup, text: str) -> str | None:
    if text and not is_policy(text):
        raise ValueError("Looseleaf did not write it")
    return build_policy(plan.name) if plan.entry else None


def _with_own_memory(plan: ClientSetup, text: str) -> str:
    """Switch the program's own memory; it is on where nothing is said."""
    place = (plan.client.own_memory,)
    if plan.own_memory == "off":
        return file_formats.set_value(text, place, False)
    return file_formats.remove_value(text, place)


def _serves(server: LaunchTarget, hook: LaunchTarget) -> bool:
    return server.root == hook.root and server.agent in ("", hook.agent)


def _write(edit: FileEdit) -> None:
    path = os.path.realpath(edit.path)  # a link stays a link, and its target is replaced
    folder, name = os.path.split(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _open_folder(folder) as folder_fd:
            is_unchanged = _exchange(folder_fd, name, edit, path)
    except OSError as error:
        raise Unavailable(edit.path, error.strerror) from error
    if not is_unchanged:
        raise Unavailable(edit.path, "another program has just changed it; try again")


def _exchange(folder: int, name: str, edit: FileEdit, path: str) -> bool:
    if edit.after is None:
        if read_file(path) != edit.before:
            return False
        atomic.remove(folder, name)
        return True
    mode = stat.S_IMODE(os.stat(path).st_mode) if edit.before is not None else 0o600
    return atomic.replace(
        folder, name, edit.after, mode=mode, condition=lambda: read_file(path) == edit.before
    )


@contextlib.contextmanager
def _open_folder(folder: str) -> Iterator[int]:
    folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder_fd
    finally:
        os.close(folder_fd)
