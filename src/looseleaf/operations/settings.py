"""Settings: all of them with their sources, and changing some while running."""

from __future__ import annotations

from looseleaf.catalog.context import build_event
from looseleaf.catalog.declaration import operation
from looseleaf.errors import InvalidSetting, WorkspaceMissing
from looseleaf.settings import RUNTIME, Provider, Settings, WordPressSite, check_runtime, load
from looseleaf.values import Secret, field_names, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context

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


@value
class SettingInfo:
    """A setting as it is in force: its source, and when a change of it takes effect."""

    name: str
    setting: str | bool | float | tuple[str, ...] | Mapping[str, str | Mapping[str, str]] | None
    source: str  # default, file, database, or process: its environment or command line
    runtime: bool  # whether it can be changed while running; else a change needs a restart
    restart_needed: bool = False  # whether the file was changed after this process had read it


@operation(
    "looseleaf/list-settings", permission="settings", categories=("settings",), read_only=True
)
def list_settings(context: Context) -> list[SettingInfo]:
    """List every setting with its value, and where the value comes from."""
    context.allow()
    in_database = context.parts.accounts().settings.all()
    in_file, file_alone = _read_file(context)
    names = [name for name in field_names(Settings) if name != "root"]
    return [_describe_setting(context, name, in_database, in_file, file_alone) for name in names]


@operation(
    "looseleaf/set-setting", permission="settings", categories=("settings",), idempotent=True
)
def set_setting(context: Context, name: str, *, setting: str | bool | float | None) -> SettingInfo:
    """Change a setting while running; null restores the value of the settings file.

    Arguments:
        name: The name of the setting, one of those that can be changed while running.
        setting: The new value of the setting; null goes back to what the settings file says.
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
    new_settings = {
        name: None if setting is None and name in RUNTIME else check_runtime(name, setting)
        for name, setting in settings.items()
    }
    store = context.parts.accounts().settings
    target = " ".join(f"{name}={setting}" for name, setting in settings.items())
    store.put(new_settings, build_event(context, "looseleaf/set-setting", target))
    in_database = store.all()
    in_file, file_alone = _read_file(context)
    return [_describe_setting(context, name, in_database, in_file, file_alone) for name in settings]


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
) -> SettingInfo:
    configured_value = getattr(context.parts.settings, name)
    source, setting = "default", configured_value
    is_changed = name not in _PER_PROCESS and getattr(in_file, name) != configured_value
    if configured_value != getattr(Settings(root=""), name):
        is_own = name in _FROM_PROCESS and getattr(file_alone, name) != configured_value
        source = "process" if is_own and not is_changed else "file"
    if name in in_database:
        source, setting = "database", in_database[name]
    is_hidden = name in _LOCAL and not context.principal.is_local
    if name in _SECRETS or (is_hidden and setting):
        setting = IS_SET if setting else IS_NOT_SET
    return SettingInfo(name, _display_setting(setting), source, name in RUNTIME, is_changed)


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
