"""Settings that can be made while running."""

from __future__ import annotations

from looseleaf.operations.audit import event
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import accounts_of
from looseleaf.settings import RUNTIME, Settings, check_runtime
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.operations.context import Context

# It may hold a password, and is shown to nobody.
_SECRET = ("database_url",)
# Where things lie is nobody's business elsewhere.
_LOCAL = ("project_folder", "tokenizer_folder")
HIDDEN = "(set)"


@value
class SettingInfo:
    """A setting as it is in force: from where, and whether it can be made while running."""

    name: str
    setting: str | bool | int | float
    source: str  # default, file or database
    runtime: bool


@operation(
    "looseleaf/list-settings", permission="settings", categories=("settings",), read_only=True
)
def list_settings(context: Context) -> list[SettingInfo]:
    """List every setting, what it is and where that comes from."""
    context.allow()
    made = accounts_of(context).settings.all()
    return [_info(context, name, made) for name in Settings.__match_args__ if name != "root"]


@operation(
    "looseleaf/set-setting", permission="settings", categories=("settings",), idempotent=True
)
def set_setting(context: Context, name: str, *, setting: str | bool | float | None) -> SettingInfo:
    """Make a setting while running; null takes it back to what the settings file says."""
    context.allow()
    checked = None if setting is None and name in RUNTIME else check_runtime(name, setting)
    store = accounts_of(context).settings
    store.put(name, checked, event(context, "looseleaf/set-setting", f"{name}={setting}"))
    return _info(context, name, store.all())


def _info(context: Context, name: str, made: object) -> SettingInfo:
    default = Settings(root="")
    source, setting = "default", getattr(default, name)
    told = getattr(context.configured or context.settings, name)
    if told != setting:
        source, setting = "file", told
    if isinstance(made, dict) and name in made:
        source, setting = "database", made[name]
    hidden = name in _SECRET or (name in _LOCAL and not context.principal.is_local)
    if hidden and setting:
        setting = HIDDEN
    return SettingInfo(name, setting, source, name in RUNTIME)
