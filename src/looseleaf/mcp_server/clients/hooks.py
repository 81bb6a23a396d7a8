"""The session-start hook that loads the memory: a command in a JSON file, or a small plugin."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from looseleaf.mcp_server.clients import jsonc
from looseleaf.mcp_server.clients.launch import LaunchTarget, read_connection, read_hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    HookFilter = Callable[[LaunchTarget], bool]

EVENT = ("hooks", "SessionStart")
_MARK = "// Written by `looseleaf mcp install`; `looseleaf mcp uninstall` removes it."
# OpenCode asks for the system prompt before every request. The memory is read once for a session,
# so that the beginning of its requests stays the same, as the caches of providers require.
_PLUGIN = """\
%s
import { execFile } from "node:child_process"
import { promisify } from "node:util"

const command = %s
const run = promisify(execFile)
const sessions = new Map()

async function readMemory() {
  try {
    const { stdout } = await run(command[0], command.slice(1), { maxBuffer: 1 << 24 })
    const output = JSON.parse(stdout)
    return output.hookSpecificOutput?.additionalContext ?? output.systemMessage ?? ""
  } catch (error) {
    return `looseleaf: the memory could not be read: ${error.message}`
  }
}

export const Looseleaf = async () => ({
  "experimental.chat.system.transform": async (input, output) => {
    const session = input.sessionID ?? ""
    if (!sessions.has(session)) sessions.set(session, readMemory())
    const memory = await sessions.get(session)
    if (memory) output.system.push(memory)
  },
})
"""


def build_plugin(command: list[str]) -> str:
    """Write the module that OpenCode loads."""
    return _PLUGIN % (_MARK, json.dumps(command, ensure_ascii=False))


def is_plugin(text: str) -> bool:
    """Return whether Looseleaf wrote a module."""
    return text.startswith(_MARK)


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
        place for place, hook in _list_json_hooks(jsonc.parse(text).data) if is_replaced(hook)
    ]
    keep = 1 if command else 0
    for place in reversed(places[keep:]):
        text = jsonc.remove_value(text, place)
    if command and places:
        return jsonc.set_value(text, (*places[0], "command"), shlex.join(command))
    if command:
        groups = _find_value(jsonc.parse(text).data, *EVENT)
        place = (*EVENT, len(groups) if isinstance(groups, list) else 0)
        return jsonc.set_value(text, place, build_json_hook(command))
    return text


def _list_json_hooks(data: object) -> Iterator[tuple[jsonc.Path, LaunchTarget]]:
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
