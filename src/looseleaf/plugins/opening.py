"""Which plugins there are, found out without paying for those that are not there.

A plain `memory read` may take three starts of Python. To import importlib.metadata takes three, and
pluggy two; so the files in which packages name their entry points are looked at here, with
plain calls, and both stay outside as long as no plugin is found. docs/why.md has the figures.
"""

from __future__ import annotations

import os
import sys

from looseleaf.memory.registry import OWNER
from looseleaf.plugins.hooks import MARK, Hooks, Implementation, Plugin
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.plugins.defaults import Defaults
    from looseleaf.settings import Settings

GROUP = "looseleaf.plugins"
_PACKAGES = (".dist-info", ".egg-info")


@value
class Installed:
    """An entry point: the plugin's name, the module or object it is, and its package."""

    name: str
    target: str
    package: str
    version: str


def open_hooks(settings: Settings, defaults: Defaults) -> Hooks:
    """Put together the hooks of a workspace: ours, those of installed plugins, those it names."""
    found = installed(sys.path)
    if not settings.plugins and all(one.name in settings.plugins_off for one in found):
        return Hooks(settings, our_implementations(defaults), (ours(defaults), *map(off, found)))
    from looseleaf.plugins.loader import load

    return load(settings, defaults, found)


def ours(defaults: Defaults) -> Plugin:
    """Describe our own plugin."""
    return Plugin(
        OWNER, "built in", type(defaults).__module__, hooks=tuple(our_implementations(defaults))
    )


def off(one: Installed) -> Plugin:
    """Describe a plugin that is installed, and switched off."""
    return Plugin(one.name, "installed", one.target, one.package, one.version, enabled=False)


def our_implementations(defaults: Defaults) -> dict[str, tuple[Implementation, ...]]:
    """Give what pluggy would find in our own plugin."""
    found: dict[str, tuple[Implementation, ...]] = {}
    for name, function in vars(type(defaults)).items():
        if hasattr(function, MARK):
            code = function.__code__
            takes = code.co_varnames[1 : code.co_argcount]
            found[name] = (Implementation(OWNER, getattr(defaults, name), takes),)
    return found


def installed(path: Sequence[str]) -> tuple[Installed, ...]:
    """Find the plugins that installed packages bring, by name; of a package, the first one found.

    `path` is where modules are looked for. What cannot be read holds no module either.
    """
    found: dict[str, Installed] = {}
    packages: set[str] = set()
    for folder in path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(_PACKAGES):
                package, _, version = name.rpartition(".")[0].partition("-")
                if package.lower() in packages:
                    continue  # another version of it is imported
                packages.add(package.lower())
                for plugin, target in _entry_points(f"{folder or '.'}/{name}/entry_points.txt"):
                    found.setdefault(plugin, Installed(plugin, target, package, version))
    return tuple(sorted(found.values(), key=lambda one: one.name))


def _entry_points(path: str) -> list[tuple[str, str]]:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)
    if GROUP.encode() not in text:
        return []
    group, found = "", []
    for line in text.decode("utf-8", "replace").splitlines():
        name, equals, target = line.partition("=")
        if line.strip().startswith("["):
            group = line.strip().strip("[]").strip()
        elif equals and group == GROUP and not line.lstrip().startswith(("#", ";")):
            found.append((name.strip(), target.partition("[")[0].strip()))
    return found
