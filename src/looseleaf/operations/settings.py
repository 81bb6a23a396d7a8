"""Settings: all of them with their sources, and changing some while running."""

from __future__ import annotations

import os

from looseleaf.catalog.context import build_event
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.plugin_settings import plugin_settings_of
from looseleaf.errors import InvalidSetting, WorkspaceMissing
from looseleaf.memory.registry import OWNER
from looseleaf.settings import (
    FILE,
    NAMES,
    RUNTIME,
    Provider,
    Settings,
    WordPressSite,
    check_setting,
    load,
)
from looseleaf.values import Secret, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.plugin_settings import PluginSetting, PluginSettings

    Plain = str | bool | float | None

# The address may hold a password, so it is never shown.
_SECRETS = ("database_url",)
# Folders of this machine are shown to the local operator alone.
_LOCAL = ("project_folder", "tokenizer_folder")
# Settings that a process takes from its own environment or command line differ between processes.
_PER_PROCESS = ("root", "actor", "host", "port", "workers")
_FROM_PROCESS = (
    *_PER_PROCESS,
    "default_agent",
    "database_url",
    "default_model",
    "tokenizer_folder",
)
# If the file does not set the actor, the environment names one; this name stands in no file.
_NO_ACTOR = {"USER": "\0"}
IS_SET, IS_NOT_SET = "(set)", "(not set)"


@value(kw_only=True)
class SettingInfo:
    """A setting as it is in force: its source, and when a change of it takes effect."""

    name: str
    setting: str | bool | float | tuple[str, ...] | Mapping[str, str | Mapping[str, str]] | None
    source: str  # default, file, database, or process: its environment or command line
    runtime: bool  # whether it can be changed while running; else a change needs a restart
    restart_needed: bool = False  # whether the file was changed after this process had read it
    owner: str = OWNER  # the plugin that has registered the setting
    summary: str = ""  # what the plugin says of it


@operation(
    "looseleaf/list-settings", permission="settings", categories=("settings",), read_only=True
)
def list_settings(context: Context) -> list[SettingInfo]:
    """List every setting with its value, and where the value comes from."""
    context.allow()
    names = [*NAMES, *(entry.name for entry in plugin_settings_of(context.parts).all())]
    return _describe_settings(context, names)


@operation(
    "looseleaf/set-setting", permission="settings", categories=("settings",), idempotent=True
)
def set_setting(context: Context, name: str, *, setting: str | bool | float | None) -> SettingInfo:
    """Change a setting while running; null restores the value of the settings file.

    Arguments:
        name: The name of the setting, one of those that can be changed while running; the operator
            on this machine changes the settings file, too.
        setting: The new value of the setting; null goes back to what the settings file says, or to
            the default.
    """
    return set_settings(context, {name: setting})[0]


@operation(
    "looseleaf/set-settings", permission="settings", categories=("settings",), idempotent=True
)
def set_settings(context: Context, settings: Mapping[str, Any]) -> list[SettingInfo]:
    """Change several settings while running, all or none; null restores the file's value.

    Arguments:
        settings: The new values by the names of the settings; null takes one back to what the
            settings file says.
    """
    context.allow()
    plugin_settings = plugin_settings_of(context.parts)
    of_file = {
        name: _check_file_change(context, name, setting)
        for name, setting in settings.items()
        if name in NAMES and name not in RUNTIME and context.principal.is_local
    }
    of_database = {
        name: _check_change(plugin_settings, name, setting)
        for name, setting in settings.items()
        if name not in of_file
    }
    target = " ".join(
        f"{name}={IS_SET if name in _SECRETS else setting}" for name, setting in settings.items()
    )
    event = build_event(context, "looseleaf/set-setting", target)
    if of_file:
        _write_file(context, of_file)
    if of_database:
        context.parts.accounts().settings.put(of_database, event)
    else:
        context.parts.add_event(event)
    return _describe_settings(context, settings, changed_names=of_file)


def _check_file_change(context: Context, name: str, setting: Plain) -> Plain:
    """Return a setting as the file holds it, or raise `InvalidSetting`; an agent must exist."""
    default = getattr(Settings(root=""), name)
    if not isinstance(default, str | bool | int | float):
        raise InvalidSetting(name, f"it takes more than one line; set it in {FILE}")
    if setting is not None:
        check_setting(name, setting)
    if name == "default_agent" and setting:
        return context.parts.agents.resolve(str(setting)).slug
    return setting


def _write_file(context: Context, new_settings: Mapping[str, Plain]) -> None:
    """Change lines of the settings file."""
    from looseleaf.stores.disk.create import write_settings

    folder = context.parts.root_folder
    root = folder.open()
    try:
        write_settings(root, folder.path, new_settings)
    finally:
        os.close(root)


def _check_change(plugin_settings: PluginSettings, name: str, setting: object) -> object:
    """Return a setting as the database holds it, or raise `InvalidSetting`."""
    entry = plugin_settings.find(name)
    if not (entry.runtime if entry else name in RUNTIME):
        from difflib import get_close_matches

        reason = "there is no such setting"
        if entry or name in NAMES:
            reason = f"it is set in {FILE} and applies after a restart of the server"
        names = [*RUNTIME, *(each.name for each in plugin_settings.all() if each.runtime)]
        alike = get_close_matches(name, (*NAMES, *names), 1)
        advice = f"the nearest is {alike[0]}" if alike and alike[0] != name else ""
        advice = advice or f"while running one can set {', '.join(names)}"
        raise InvalidSetting(name, f"{reason}; {advice}")
    if setting is None:
        return None
    return entry.check(setting) if entry else check_setting(name, setting)


def _describe_settings(
    context: Context, names: Iterable[str], *, changed_names: Collection[str] = ()
) -> list[SettingInfo]:
    in_database = context.parts.accounts().settings.all()
    in_file, file_alone = _read_file(context)
    plugin_settings = plugin_settings_of(context.parts)
    return [
        _describe_setting(
            context,
            name,
            in_database,
            in_file,
            file_alone,
            configured=in_file if name in changed_names else context.parts.settings,
        )
        if name in NAMES
        else _describe_plugin_setting(context, plugin_settings.get(name), in_database, in_file)
        for name in names
    ]


def _describe_plugin_setting(
    context: Context, entry: PluginSetting, in_database: Mapping[str, object], in_file: Settings
) -> SettingInfo:
    configured_value = context.parts.settings.extra.get(entry.name, entry.default)
    source, setting = "default", configured_value
    if configured_value != entry.default:
        source = "file"
    if entry.runtime and entry.name in in_database:
        source, setting = "database", in_database[entry.name]
    return SettingInfo(
        name=entry.name,
        setting=_display_setting(setting),
        source=source,
        runtime=entry.runtime,
        restart_needed=in_file.extra.get(entry.name, entry.default) != configured_value,
        owner=entry.owner,
        summary=entry.summary,
    )


def _read_file(context: Context) -> tuple[Settings, Settings]:
    """Read the settings as the next start would, and without the environment of this process.

    If that fails, they are those of this process.
    """
    root = context.settings.root
    try:
        return load(root), load(root, environ=_NO_ACTOR)
    except (InvalidSetting, WorkspaceMissing):
        return context.parts.settings, context.parts.settings


def _describe_setting(
    context: Context,
    name: str,
    in_database: Mapping[str, object],
    in_file: Settings,
    file_alone: Settings,
    *,
    configured: Settings,
) -> SettingInfo:
    """Describe a setting: `configured` has those of this process, or what the file says now."""
    configured_value = getattr(configured, name)
    source, setting = "default", configured_value
    own_value = getattr(context.parts.settings, name)
    is_changed = name not in _PER_PROCESS and getattr(in_file, name) != own_value
    if configured_value != getattr(Settings(root=""), name):
        is_own = name in _FROM_PROCESS and getattr(file_alone, name) != configured_value
        source = "process" if is_own and not is_changed else "file"
    if name in in_database:
        source, setting = "database", in_database[name]
    is_hidden = name in _LOCAL and not context.principal.is_local
    if name in _SECRETS or (is_hidden and setting):
        setting = IS_SET if setting else IS_NOT_SET
    return SettingInfo(
        name=name,
        setting=_display_setting(setting),
        source=source,
        runtime=name in RUNTIME,
        restart_needed=is_changed,
    )


def _display_setting(setting: Any) -> Any:  # noqa: ANN401 - what `SettingInfo` declares
    """Return a setting in the form of its table in the file, each key as set or not set."""
    if not isinstance(setting, tuple):
        return setting
    if all(isinstance(item, Provider) for item in setting) and setting:
        return {item.name: _describe_provider(item) for item in setting}
    if all(isinstance(item, WordPressSite) for item in setting) and setting:
        return {item.name: _describe_site(item) for item in setting}
    if all(isinstance(item, tuple) for item in setting) and setting:
        return dict(setting)
    return list(setting)


def _describe_site(site: WordPressSite) -> dict[str, str]:
    password = IS_SET if isinstance(site.password, Secret) else IS_NOT_SET
    return {"url": site.url, "user": site.user, "password": password}


def _describe_provider(provider: Provider) -> dict[str, str]:
    has_key = isinstance(provider.key, Secret)
    return {"base_url": provider.base_url, "key": IS_SET if has_key else IS_NOT_SET}
