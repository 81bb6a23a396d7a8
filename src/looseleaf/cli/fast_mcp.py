"""The fast way into `looseleaf mcp`: a plain command line, with nothing imported that it can spare.

A coding agent starts the server with each session, and asks the model without its tools if they
come too late.
"""

from __future__ import annotations

from looseleaf import settings
from looseleaf.cli.output import answered
from looseleaf.cli.words import separate
from looseleaf.mcp_server.stdio import serve
from looseleaf.workspace import Workspace

_VALUED = ("--agent", "--root", "--tools", "--user")
_KNOWN = {**dict.fromkeys(_VALUED, True), "--all-agents": False}


def serve_plain(words: list[str]) -> int | None:
    """Run `mcp serve` with these arguments; None where they are not plain, and click is asked."""
    options, names = separate(words, _KNOWN)
    given = dict(option.partition("=")[::2] for option in options)
    if names not in ([], ["serve"]) or words[:1] == ["--"] or not _is_plain(options, given):
        return None
    if settings.variable(settings.REMOTE) and "--root" not in given:
        return None  # a server is meant

    def work() -> None:
        serve(
            lambda: Workspace.open(given.get("--root"), surface="mcp"),
            agent=given.get("--agent"),
            user=int(given["--user"]) if "--user" in given else None,
            several="--all-agents" in given,
            full=given.get("--tools") == "full",
        )

    return answered(work)


def _is_plain(options: list[str], given: dict[str, str]) -> bool:
    user = given.get("--user", "1")
    return (
        all(_KNOWN.get(name) == (f"{name}={text}" in options) for name, text in given.items())
        and user.isascii()
        and user.isdigit()
        and given.get("--tools", "small") in ("small", "full")
    )
