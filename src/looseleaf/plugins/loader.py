"""Loading plugins: a plugin manager for one workspace, and every mistake found while it opens."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pluggy

from looseleaf.errors import BrokenPlugin, InvalidSetting
from looseleaf.memory.registry import OWNER
from looseleaf.plugins import hookspecs
from looseleaf.plugins.hooks import MARK, Hooks, Implementation, Plugin
from looseleaf.plugins.opening import off, ours
from looseleaf.values import changed

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from looseleaf.plugins.defaults import Defaults
    from looseleaf.plugins.opening import Installed
    from looseleaf.settings import Settings

SPECS = tuple(name for name in vars(hookspecs) if hasattr(vars(hookspecs)[name], "looseleaf_spec"))


def load(settings: Settings, defaults: Defaults, found: tuple[Installed, ...]) -> Hooks:
    """Load the plugins that settings name and those installed, and check them against the hooks.

    They are called in that order, each kind as listed; ours register first and are asked last.
    """
    manager = pluggy.PluginManager("looseleaf")
    manager.add_hookspecs(hookspecs)
    manager.register(defaults, OWNER)
    on = [one for one in found if one.name not in settings.plugins_off]
    loaded = [*map(_named, settings.plugins), *map(_installed, on)]
    # pluggy calls last the plugin that was registered first.
    for plugin, module in reversed(loaded):
        _register(manager, plugin, module)
    hooks = {name: _implementations(manager, name) for name in SPECS}
    described = [
        changed(plugin, hooks=tuple(name for name in SPECS if _has(hooks[name], plugin.name)))
        for plugin, _ in loaded
        if manager.has_plugin(plugin.name)
    ]
    switched_off = [off(one) for one in found if one not in on]
    return Hooks(settings, hooks, (ours(defaults), *described, *switched_off))


def _named(name: str) -> tuple[Plugin, ModuleType]:
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _unimportable(name, error) from error
        why = f"there is no module {name}; install it beside Looseleaf, or take it out of the list"
        raise InvalidSetting("plugins", why) from error
    except Exception as error:
        raise _unimportable(name, error) from error
    version = getattr(module, "__version__", "")
    return Plugin(name, "settings", name, version=str(version)), module


def _installed(one: Installed) -> tuple[Plugin, Any]:
    module, _, attributes = one.target.partition(":")
    try:
        plugin: Any = import_module(module)
        for attribute in filter(None, attributes.split(".")):
            plugin = getattr(plugin, attribute)
    except Exception as error:
        raise _unimportable(one.name, error) from error
    return Plugin(one.name, "installed", one.target, one.package, one.version), plugin


def _unimportable(name: str, error: Exception) -> BrokenPlugin:
    return BrokenPlugin(name, f"it cannot be imported ({type(error).__name__}: {error})")


def _register(manager: pluggy.PluginManager, plugin: Plugin, module: object) -> None:
    if manager.is_registered(module):
        return  # installed, and named in the settings too
    if manager.has_plugin(plugin.name):
        raise BrokenPlugin(plugin.name, "another plugin has that name")
    marked = [name for name in dir(module) if hasattr(getattr(module, name, None), MARK)]
    forgotten = [name for name in SPECS if hasattr(module, name) and name not in marked]
    if forgotten or not marked:
        why = f"mark {', '.join(forgotten) or 'its hooks'} with @hookimpl"
        raise BrokenPlugin(plugin.name, why)
    try:
        manager.register(module, plugin.name)
        manager.check_pending()
    except (pluggy.PluginValidationError, TypeError) as error:
        why = f"{' '.join(str(error).split())}; the hooks are {', '.join(SPECS)}"
        raise BrokenPlugin(plugin.name, why) from error


def _implementations(manager: pluggy.PluginManager, name: str) -> tuple[Implementation, ...]:
    found = getattr(manager.hook, name).get_hookimpls()
    for one in found:
        if one.wrapper or one.hookwrapper:
            raise BrokenPlugin(one.plugin_name, f"its {name} is a wrapper; hooks are not wrapped")
    return tuple(
        Implementation(one.plugin_name, one.function, tuple(one.argnames))
        for one in reversed(found)
    )


def _has(implementations: tuple[Implementation, ...], plugin: str) -> bool:
    return any(one.plugin == plugin for one in implementations)
