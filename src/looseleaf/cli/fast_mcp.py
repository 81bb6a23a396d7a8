"""The fast path of `looseleaf mcp`: a plain command line, with as few imports as possible.

A coding agent starts the server with each session; if the tools come too late, the first request to
the model goes out without them.
"""

from __future__ import annotations

from looseleaf import settings
from looseleaf.cli.argv import split_options
from looseleaf.cli.output import run_command
from looseleaf.mcp.stdio import ServerOptions, serve
from looseleaf.workspace import Workspace

_VALUE_OPTIONS = ("--agent", "--root", "--tools", "--user")
_FLAGS = ("--all-agents", "--by-folder")
_OPTIONS = {**dict.fromkeys(_VALUE_OPTIONS, True), **dict.fromkeys(_FLAGS, False)}


def serve_plain(argv: list[str]) -> int | None:
    """Run `mcp serve` with these arguments, or None if click must parse them."""
    options, names = split_options(argv, _OPTIONS)
    values = dict(option.partition("=")[::2] for option in options)
    if names not in ([], ["serve"]) or argv[:1] == ["--"] or not _is_plain(options, values):
        return None
    if settings.read_variable(settings.REMOTE) and "--root" not in values:
        return None  # the workspace is on a server

    def work() -> None:
        serve(
            lambda: Workspace.open(values.get("--root"), surface="mcp"),
            ServerOptions(
                agent=values.get("--agent"),
                user=int(values["--user"]) if "--user" in values else None,
                all_agents="--all-agents" in values,
                by_folder="--by-folder" in values,
                full=values.get("--tools") == "full",
            ),
        )

    return run_command(work)


def _is_plain(options: list[str], values: dict[str, str]) -> bool:
    user = values.get("--user", "1")
    return (
        all(_OPTIONS.get(name) == (f"{name}={text}" in options) for name, text in values.items())
        and user.isascii()
        and user.isdigit()
        and values.get("--tools", "small") in ("small", "full")
    )
