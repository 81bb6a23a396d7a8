"""Settings that can be made while running."""

from __future__ import annotations

from looseleaf.errors import InvalidSetting, WorkspaceMissing
from looseleaf.operations.audit import event
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import accounts_of
from looseleaf.settings import RUNTIME, Provider, Settings, check_runtime, load
from looseleaf.values import Secret, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.operations.context import Context

# The address may hold a password, so nobody is shown it.
_SECRETS = ("database_url",)
# Folders of this machine are shown to the local operator alone.
_LOCAL = ("project_folder", "tokenizer_folder")
# Settings that a process takes from its own environment or command line differ between processes.
_PER_PROCESS = ("root", "actor", "host", "port", "workers")
IS_SET, IS_NOT_SET = "(set)", "(not set)"


@value
class SettingInfo:
    """A setting as it is in force: its source, and when a change of it takes effect."""

    name: str
    setting: Any
    source: str  # default, file or database
    runtime: bool  # whether it can be changed while running; else a change needs a restart
    restart_needed: bool = False  # whether the file was changed after this process had read it


@operation(
    "looseleaf/list-settings", permission="settings", categories=("settings",), read_only=True
)
def list_settings(context: Context) -> list[SettingInfo]:
    """List every setting, what it is and where that comes from."""
    context.allow()
    in_database = accounts_of(context).settings.all()
    in_file = _read_file(context)
    names = [name for name in Settings.__match_args__ if name != "root"]
    return [_info(context, name, in_database, in_file) for name in names]


@operation(
    "looseleaf/set-setting", permission="settings", categories=("settings",), idempotent=True
)
def set_setting(context: Context, name: str, *, setting: str | bool | float | None) -> SettingInfo:
    """Make a setting while running; null takes it back to what the settings file says."""
    return set_settings(context, {name: setting})[0]


@operation(
    "looseleaf/set-settings", permission="settings", categories=("settings",), idempotent=True
)
def set_settings(context: Context, settings: Mapping[str, Any]) -> list[SettingInfo]:
    """Make several settings while running, all or none; null takes one back to the file's."""
    context.allow()
    checked = {
        name: None if setting is None and name in RUNTIME else check_runtime(name, setting)
        for name, setting in settings.items()
    }
    store = accounts_of(context).settings
    target = " ".join(f"{name}={setting}" for name, setting in settings.items())
    store.put(checked, event(context, "looseleaf/set-setting", target))
    in_database, in_file = store.all(), _read_file(context)
    return [_info(context, name, in_database, in_file) for name in settings]


def _read_file(context: Context) -> Settings:
    """Read the settings as the next start would; where that fails, those of this process."""
    try:
        return load(context.settings.root)
    except (InvalidSetting, WorkspaceMissing):
        return context.configured or context.settings


def _info(
    context: Context, name: str, in_database: Mapping[str, object], in_file: Settings
) -> SettingInfo:
    configured = getattr(context.configured or context.settings, name)
    source, setting = "default", configured
    if configured != getattr(Settings(root=""), name):
        source = "file"
    if name in in_database:
        source, setting = "database", in_database[name]
    is_hidden = name in _LOCAL and not context.principal.is_local
    if name in _SECRETS or (is_hidden and setting):
        setting = IS_SET if setting else IS_NOT_SET
    is_changed = name not in _PER_PROCESS and getattr(in_file, name) != configured
    return SettingInfo(name, _displayed(setting), source, name in RUNTIME, is_changed)


def _displayed(setting: object) -> object:
    """Give a setting in the form of its table in the file, each key as set or not set."""
    if not isinstance(setting, tuple):
        return setting
    if all(isinstance(item, Provider) for item in setting) and setting:
        return {item.name: _displayed_provider(item) for item in setting}
    if all(isinstance(item, tuple) for item in setting) and setting:
        return dict(setting)
    return list(setting)


def _displayed_provider(provider: Provider) -> dict[str, str]:
    has_key = isinstance(provider.key, Secret)
    return {"base_url": provider.base_url, "key": IS_SET if has_key else IS_NOT_SET}
