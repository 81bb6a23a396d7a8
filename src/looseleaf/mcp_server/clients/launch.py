"""The command lines by which programs start Looseleaf, with a path that lasts."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from looseleaf import settings
from looseleaf.errors import Invalid
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Sequence

_CACHE_FOLDERS = frozenset({".cache", "Caches"})
_CACHE_MARK = "CACHEDIR.TAG"  # a file at the top of a package cache, and of a virtual environment
_HOOK = ("--hook", "session-start")


@value
class LaunchTarget:
    """The workspace and agent that a command line serves."""

    root: str  # "" for the workspace of the current folder
    agent: str  # "" for all agents, or the default agent
    command: str  # the program that is started


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


def build_hook_command(command: list[str], root: str, agent: str, *options: str) -> list[str]:
    """Return the command that prints an agent's memory when a session starts."""
    return [*command, "prompt", "show", "--root", root, "--agent", agent, *options, *_HOOK]


def read_connection(words: Sequence[object]) -> LaunchTarget | None:
    """Parse a command line that Looseleaf wrote, or None for any other."""
    texts = [word for word in words if isinstance(word, str)]
    is_server = "mcp" in texts and "--root" in texts
    is_hook = "prompt" in texts and _HOOK[0] in texts and any("looseleaf" in word for word in texts)
    if len(texts) < len(words) or not (is_server or is_hook):
        return None
    return LaunchTarget(_find_option(texts, "--root"), _find_option(texts, "--agent"), texts[0])


def _find_option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1] if name in words[:-1] else ""


def read_hook(command: object) -> LaunchTarget | None:
    """Parse the command of a hook, which is one shell line."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    return read_connection(words) if _HOOK[0] in words else None
