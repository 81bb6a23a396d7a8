"""Changes to the files of a program: planned as a whole, shown, then written all or none."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import stat
import tomllib
from typing import TYPE_CHECKING, Any

from looseleaf import atomic
from looseleaf.errors import Invalid, LooseleafError, Unavailable
from looseleaf.mcp_server.clients import hooks, jsonc, policy, toml
from looseleaf.mcp_server.clients.launch import Connection, read_connection
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.mcp_server.clients.catalog import Client

MAX_BYTES = 64_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@value
class Edit:
    """A file as it is and as it is to be; None where there is none."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        """The change, line by line."""
        old, new = ((text or b"").decode().splitlines() for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, self.path, self.path, n=2, lineterm="")
        return "\n".join(lines)


@value
class Plan:
    """What a program is to start under a name: a server and, when a session starts, a hook.

    Without words there is to be no server, and no hook of it.
    """

    client: Client
    name: str
    project: bool = False
    words: tuple[str, ...] = ()
    hook: tuple[str, ...] = ()

    @property
    def server_file(self) -> str:
        """The file of servers."""
        return self.client.server_file(project=self.project)

    @property
    def hook_file(self) -> str:
        """The file of hooks; "" where the program has none."""
        return self.client.hook_file(self.name, project=self.project)

    @property
    def policy_file(self) -> str:
        """The file of our policy; "" where the program needs none."""
        return self.client.policy_file(self.name, project=self.project)


def snippets(plan: Plan) -> dict[str, str]:
    """Give the entries as they stand in the program's files, as lines one can paste, by file.

    Two entries of one file are one document.
    """
    hook = _hook_snippet(plan)
    texts = {plan.server_file: _server_snippet(plan)}
    if hook and plan.hook_file == plan.server_file:
        texts[plan.hook_file] = _document(json.loads(texts[plan.server_file]) | json.loads(hook))
    elif hook:
        texts[plan.hook_file] = hook
    if plan.policy_file:
        texts[plan.policy_file] = policy.policy_text(plan.name)
    return texts


def _server_snippet(plan: Plan) -> str:
    client, entry = plan.client, plan.client.entry([*plan.words])
    if any(file.endswith(".toml") for file in client.project_files):
        return toml.format_table(client.key, plan.name, entry)
    return _document({client.key: {plan.name: entry}})


def _hook_snippet(plan: Plan) -> str:
    if not plan.hook or not plan.hook_file:
        return ""
    if plan.client.hooks == "plugin":
        return hooks.plugin_text([*plan.hook])
    return _document({"hooks": {"SessionStart": [hooks.json_hook([*plan.hook])]}})


def check_plan(plan: Plan) -> None:
    """Refuse a name that not every program takes, and a project where a program has none."""
    if not _NAME.fullmatch(plan.name):
        raise Invalid(f"Invalid name {plan.name!r}: use letters, digits, - and _, at most 64.")
    if not plan.server_file:
        raise Invalid(f"{plan.client.title} has no configuration of its own for a project.")


def plan_edits(plan: Plan) -> list[Edit]:
    """Say how the files would change; nothing for a file that stays as it is."""
    paths = (plan.server_file, plan.hook_file, plan.policy_file)
    before = {path: read_file(path) for path in paths if path}
    texts = dict(before)
    old = connections(plan.client, plan.server_file, texts[plan.server_file])
    _draft(texts, plan.server_file, lambda text: _with_server(plan, text))
    if plan.hook_file:
        _draft(texts, plan.hook_file, lambda text: _with_hook(plan, text, old))
    if plan.policy_file:
        _draft(texts, plan.policy_file, lambda text: _with_policy(plan, text))
    return [
        Edit(path, before[path], after) for path, after in texts.items() if after != before[path]
    ]


def connections(client: Client, path: str, content: bytes | None) -> dict[str, Connection]:
    """Give those servers of a program that are ours, by their name; none of a broken file."""
    try:
        text = (content or b"").decode()
        data: Any = tomllib.loads(text) if path.endswith(".toml") else jsonc.parse(text).data
    except ValueError:
        return {}
    servers = data.get(client.key) if isinstance(data, dict) else None
    found = {}
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        connection = read_connection(_words(entry))
        if connection:
            found[name] = connection
    return found


def read_file(path: str) -> bytes | None:
    """Read a file that may not be there; never more than a configuration can be."""
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


def write(edits: list[Edit]) -> None:
    """Make the changes, each atomically, unless a file has changed meanwhile; modes stay.

    Where one cannot be made, those before it are undone.
    """
    done: list[Edit] = []
    try:
        for edit in edits:
            _write(edit)
            done.append(edit)
    except LooseleafError:
        for edit in reversed(done):
            with contextlib.suppress(LooseleafError):  # the first failure is the one to tell
                _write(Edit(edit.path, edit.after, edit.before))
        raise


def _words(entry: object) -> list[object]:
    command = entry.get("command") if isinstance(entry, dict) else None
    if isinstance(command, list):
        return command
    arguments = entry.get("args", []) if isinstance(entry, dict) else []
    return [command, *arguments] if isinstance(arguments, list) else [command]


def _document(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _draft(texts: dict[str, bytes | None], path: str, change: Any) -> None:  # noqa: ANN401
    content = texts[path]
    try:
        after = change((content or b"").decode())
    except (ValueError, TypeError) as error:
        raise Invalid(f"{path} cannot be edited safely ({error}).") from error
    if after is None or after or content is not None:
        texts[path] = None if after is None else after.encode()


def _with_server(plan: Plan, text: str) -> str:
    client, entry = plan.client, plan.client.entry([*plan.words]) if plan.words else None
    if plan.server_file.endswith(".toml"):
        return toml.set_table(text, client.key, plan.name, entry)
    if not isinstance(jsonc.parse(text).data, dict):
        raise TypeError("the whole is no table")
    place = (client.key, plan.name)
    return jsonc.set_value(text, place, entry) if entry else jsonc.remove_value(text, place)


def _with_hook(plan: Plan, text: str, old: dict[str, Connection]) -> str | None:
    if plan.client.hooks == "plugin":
        return _with_plugin(plan, text)
    mine = [old[plan.name]] if plan.name in old else []
    mine += filter(None, [read_connection(plan.words)])
    others = [connection for name, connection in old.items() if name != plan.name]

    def chosen(hook: Connection) -> bool:
        if any(_serves(other, hook) for other in others):
            return False
        is_mine = not hook.root or any(_serves(own, hook) for own in mine)
        return is_mine or not plan.words  # whose server is gone, too

    return hooks.set_json_hook(text, [*plan.hook] or None, chosen)


def _with_plugin(plan: Plan, text: str) -> str | None:
    if text and not hooks.is_plugin(text):
        raise ValueError("it is not ours")
    return hooks.plugin_text([*plan.hook]) if plan.hook else None


def _with_policy(plan: Plan, text: str) -> str | None:
    if text and not policy.is_policy(text):
        raise ValueError("it is not ours")
    return policy.policy_text(plan.name) if plan.words else None


def _serves(server: Connection, hook: Connection) -> bool:
    return server.root == hook.root and server.agent in ("", hook.agent)


def _write(edit: Edit) -> None:
    path = os.path.realpath(edit.path)  # a link stays a link, and what it leads to is replaced
    folder, name = os.path.split(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _opened(folder) as opened:
            is_unchanged = _exchange(opened, name, edit, path)
    except OSError as error:
        raise Unavailable(edit.path, error.strerror) from error
    if not is_unchanged:
        raise Unavailable(edit.path, "another program has just changed it; try again")


def _exchange(folder: int, name: str, edit: Edit, path: str) -> bool:
    if edit.after is None:
        if read_file(path) != edit.before:
            return False
        atomic.remove(folder, name)
        return True
    mode = stat.S_IMODE(os.stat(path).st_mode) if edit.before is not None else 0o600
    return atomic.replace(
        folder, name, edit.after, mode=mode, provided=lambda: read_file(path) == edit.before
    )


@contextlib.contextmanager
def _opened(folder: str) -> Iterator[int]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield opened
    finally:
        os.close(opened)
