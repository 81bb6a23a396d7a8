"""Discovery of installed plugins, at no cost if there are none.

A plain `memory read` may take as long as three starts of Python. Importing importlib.metadata takes
as long as three, and pluggy as two; so this module reads the entry point files of packages with
plain calls, and both libraries are imported only if a plugin is found. docs/why.md has the
figures.
"""

from __future__ import annotations

import os
import sys

from looseleaf.plugins.hooks import (
    Hooks,
    InstalledPlugin,
    describe_defaults,
    describe_disabled,
    find_implementations,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.plugins.defaults import Defaults
    from looseleaf.settings import Settings

GROUP = "looseleaf.plugins"
_PACKAGE_SUFFIXES = (".dist-info", ".egg-info")


def open_hooks(settings: Settings, defaults: Defaults) -> Hooks:
    """Build the hooks of a workspace, and check the settings that only plugins can know."""
    hooks = _load_hooks(settings, defaults)
    if settings.extra:
        from looseleaf.catalog.plugin_settings import PluginSettings

        registry = hooks.registry_for("register_settings", plugin_settings=PluginSettings)
        registry.check_file(settings)
    return hooks


def _load_hooks(settings: Settings, defaults: Defaults) -> Hooks:
    """Load the hooks: built in, of installed plugins, of the settings."""
    plugins = find_installed(sys.path)
    if not settings.plugins and all(plugin.name in settings.plugins_off for plugin in plugins):
        return Hooks(
            settings,
            find_implementations(defaults),
            (describe_defaults(defaults), *map(describe_disabled, plugins)),
        )
    from looseleaf.plugins.loader import load

    return load(settings, defaults, plugins)


def find_installed(path: Sequence[str]) -> tuple[InstalledPlugin, ...]:
    """Find the plugins of installed packages, by name; the first version of a package counts.

    `path` lists the folders of modules. A folder that cannot be read holds no module either.
    """
    plugins: dict[str, InstalledPlugin] = {}
    packages: set[str] = set()
    for folder in path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(_PACKAGE_SUFFIXES):
                package, _, version = name.rpartition(".")[0].partition("-")
                if package.lower() in packages:
                    continue  # another version of the package is imported
                packages.add(package.lower())
                for plugin, target in _read_entry_points(
                    f"{folder or '.'}/{name}/entry_points.txt"
                ):
                    plugins.setdefault(plugin, InstalledPlugin(plugin, target, package, version))
    return tuple(sorted(plugins.values(), key=lambda plugin: plugin.name))


def _read_entry_points(path: str) -> list[tuple[str, str]]:
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
    group, entries = "", []
    for line in text.decode("utf-8", "replace").splitlines():
        name, equals, target = line.partition("=")
        if line.strip().startswith("["):
            group = line.strip().strip("[]").strip()
        elif equals and group == GROUP and not line.lstrip().startswith(("#", ";")):
            entries.append((name.strip(), target.partition("[")[0].strip()))
    return entries
