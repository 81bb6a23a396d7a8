"""The loader of plugins: a plugin manager for one workspace, with all checks at its start."""

from __future__ import annotations

from importlib import import_module

import pluggy

from looseleaf.errors import InvalidSetting
from looseleaf.errors.operations import BrokenPlugin
from looseleaf.memory.registry import OWNER
from looseleaf.plugins import hookspecs
from looseleaf.plugins.features import HOOKSPECS
from looseleaf.plugins.hooks import (
    MARK,
    Hooks,
    Implementation,
    Plugin,
    describe_defaults,
    describe_disabled,
)
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType
    from typing import Any

    from looseleaf.catalog.registry import Operations
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.templates import PageStarters
    from looseleaf.plugins.defaults import Defaults
    from looseleaf.plugins.hooks import InstalledPlugin
    from looseleaf.prompt.chain import Chain
    from looseleaf.settings import Settings

    OwnedNames = Sequence[tuple[str, str]]  # owner and name of each entry


_SPEC_MODULES = (hookspecs, *map(import_module, HOOKSPECS))
SPECS = {
    name: function
    for module in _SPEC_MODULES
    for name, function in vars(module).items()
    if hasattr(function, "looseleaf_spec")
}


def load(
    settings: Settings, defaults: Defaults, installed_plugins: tuple[InstalledPlugin, ...]
) -> Hooks:
    """Load the plugins of the settings and the installed ones, and check them against the hooks.

    Plugins are called in that order; the built-in plugin registers first and picks last.
    """
    manager = pluggy.PluginManager("looseleaf")
    for module in _SPEC_MODULES:
        manager.add_hookspecs(module)
    manager.register(defaults, OWNER)
    enabled_plugins = [
        entry for entry in installed_plugins if entry.name not in settings.plugins_off
    ]
    plugin_modules = [
        *map(_import_named, settings.plugins),
        *map(_import_installed, enabled_plugins),
    ]
    # pluggy calls last the plugin that was registered first.
    for plugin, module in reversed(plugin_modules):
        _register(manager, plugin, module)
    hooks = {name: _list_implementations(manager, name) for name in SPECS}
    plugins = [
        replace(
            plugin, hooks=tuple(name for name in SPECS if _implements(hooks[name], plugin.name))
        )
        for plugin, _ in plugin_modules
        if manager.has_plugin(plugin.name)
    ]
    switched_off = [
        describe_disabled(entry) for entry in installed_plugins if entry not in enabled_plugins
    ]
    return Hooks(settings, hooks, (describe_defaults(defaults), *plugins, *switched_off))


def _import_named(name: str) -> tuple[Plugin, ModuleType]:
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _import_failure(name, error) from error
        reason = (
            f"there is no module {name}; install it beside Looseleaf, or remove it from the list"
        )
        raise InvalidSetting("plugins", reason) from error
    except Exception as error:
        raise _import_failure(name, error) from error
    version = getattr(module, "__version__", "")
    return Plugin(name=name, origin="settings", module=name, version=str(version)), module


def _import_installed(entry: InstalledPlugin) -> tuple[Plugin, Any]:
    module, _, attributes = entry.target.partition(":")
    try:
        plugin: Any = import_module(module)
        for attribute in filter(None, attributes.split(".")):
            plugin = getattr(plugin, attribute)
    except Exception as error:
        raise _import_failure(entry.name, error) from error
    return Plugin(
        name=entry.name,
        origin="installed",
        module=entry.target,
        package=entry.package,
        version=entry.version,
    ), plugin


def _import_failure(name: str, error: Exception) -> BrokenPlugin:
    return BrokenPlugin(name, f"it cannot be imported ({type(error).__name__}: {error})")


def _register(manager: pluggy.PluginManager, plugin: Plugin, module: object) -> None:
    if manager.is_registered(module):
        return  # installed, and listed in the settings as well
    if manager.has_plugin(plugin.name):
        raise BrokenPlugin(plugin.name, "another plugin has that name")
    implementations = [name for name in dir(module) if hasattr(getattr(module, name, None), MARK)]
    unmarked_hooks = [
        name for name in SPECS if hasattr(module, name) and name not in implementations
    ]
    if unmarked_hooks or not implementations:
        reason = f"mark {', '.join(unmarked_hooks) or 'its hooks'} with @hookimpl"
        raise BrokenPlugin(plugin.name, reason)
    try:
        manager.register(module, plugin.name)
        manager.check_pending()
    except (pluggy.PluginValidationError, TypeError) as error:
        reason = f"{' '.join(str(error).split())}; the hooks are {', '.join(SPECS)}"
        raise BrokenPlugin(plugin.name, reason) from error


def _list_implementations(manager: pluggy.PluginManager, name: str) -> tuple[Implementation, ...]:
    implementations = getattr(manager.hook, name).get_hookimpls()
    for implementation in implementations:
        if implementation.wrapper or implementation.hookwrapper:
            raise BrokenPlugin(
                implementation.plugin_name, f"its {name} is a wrapper; hooks are not wrapped"
            )
    return tuple(
        Implementation(
            implementation.plugin_name, implementation.function, tuple(implementation.argnames)
        )
        for implementation in reversed(implementations)
    )


def _implements(implementations: tuple[Implementation, ...], plugin: str) -> bool:
    return any(entry.plugin == plugin for entry in implementations)


# The list of plugins with the entries that each registered.


def list_plugins(
    plugins: Iterable[Plugin],
    pages: tuple[FileRegistry, ComposedSections, PageStarters],
    chain: Chain,
    operations: Operations,
    feature_entries: Mapping[str, OwnedNames],
) -> tuple[Plugin, ...]:
    """List the plugins with the names of their entries, by kind."""
    files, sections, starters = pages
    parts = chain.parts
    kinds: dict[str, OwnedNames] = {
        "files": [(file.owner, file.filename) for file in files.files()],
        "composed sections": [
            (section.owner, f"{file.filename}: {section.slug}")
            for file in files.files()
            for section in sections.for_file(file.filename)
        ],
        "starters": _list_owned_names(starters.all()),
        "directives": _list_owned_names(chain.directives),
        "content filters": _list_owned_names(parts.content_filters.all()),
        "file filters": _list_owned_names(parts.file_filters.all()),
        "scoped file filters": _list_owned_names(parts.scoped_file_filters.all()),
        "site context": _list_owned_names(parts.site_filters.all()),
        "operations": _list_owned_names(operations.all()),
        **feature_entries,
    }

    def entries_of(plugin: str) -> dict[str, tuple[str, ...]]:
        by_kind = {
            kind: tuple(name for owner, name in entries if owner == plugin)
            for kind, entries in kinds.items()
        }
        return {kind: names for kind, names in by_kind.items() if names}

    return tuple(replace(plugin, registered=entries_of(plugin.name)) for plugin in plugins)


def _list_owned_names(entries: Iterable[Any]) -> OwnedNames:
    return [(entry.owner, entry.name) for entry in entries]
