"""The settings that plugins add: how they are declared, checked and read."""

from __future__ import annotations

from math import isfinite

from looseleaf.errors import InvalidName, InvalidSetting
from looseleaf.errors.operations import BrokenPlugin
from looseleaf.memory.registry import OWNER, NamedRegistry
from looseleaf.settings import FILE, Settings, check_kind
from looseleaf.values import field_names, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.catalog.services import WorkspaceServices

    Kind = str | bool | int | float | tuple[str, ...]

_PLAIN_KINDS = (str, bool, int, float)


@value
class PluginSetting:
    """A setting by its name and default, with the rule that returns why a value is refused."""

    name: str
    default: Kind
    summary: str
    rule: Callable[[Any], str | None] | None = None
    runtime: bool = False  # whether it can be changed while running
    owner: str = OWNER

    def check(self, setting: object) -> Any:  # noqa: ANN401 - of the type of its default
        """Return a setting of the type of the default, or raise `InvalidSetting`."""
        checked: Any = check_kind(self.name, setting, self.default)
        if isinstance(self.default, float):
            checked = float(checked)
            if not isfinite(checked):
                raise InvalidSetting(self.name, f"it must be a number, not {checked}")
        try:
            reason = self.rule(checked) if self.rule else None
        except Exception as error:
            why = (
                f"its rule for the setting {self.name} failed with {type(error).__name__}: {error}"
            )
            raise BrokenPlugin(self.owner, why) from error
        if reason:
            raise InvalidSetting(self.name, str(reason))
        return checked

    def read(self, settings: Settings) -> Any:  # noqa: ANN401 - of the type of its default
        """Return the setting as these settings have it, or its default."""
        return self.check(settings.extra.get(self.name, self.default))


class PluginSettings(NamedRegistry):
    """The settings that plugins add to one workspace, by name."""

    noun, hook = "setting", "register_settings"

    def register(
        self,
        name: str,
        default: Kind,
        summary: str,
        *,
        rule: Callable[[Any], str | None] | None = None,
        runtime: bool = False,
        owner: str = "",
    ) -> PluginSetting:
        """Add a setting, or refuse one whose name is taken or whose default cannot be used."""
        self._refuse_if_frozen(name)
        if not (name.isascii() and name.isidentifier()):
            raise InvalidName(name, "a setting has a name of letters, digits and _")
        if name in self._entries or name in field_names(Settings):
            taken_by = self._entries[name].owner if name in self._entries else OWNER
            raise InvalidName(name, f"{taken_by} has a setting of that name")
        if type(default) not in (*_PLAIN_KINDS, tuple):
            raise InvalidSetting(name, "its default is a text, true or false, a number or a tuple")
        if runtime and isinstance(default, tuple):
            raise InvalidSetting(name, "a list cannot be changed while running")
        setting = PluginSetting(name, default, summary, rule, runtime, owner or OWNER)
        setting.check(default)
        self._entries[name] = setting
        return setting

    def find(self, name: str) -> PluginSetting | None:
        """Return a setting by its name, or None."""
        return self._entries.get(name)

    def get(self, name: str) -> PluginSetting:
        """Return a setting by its name, or raise `InvalidSetting`."""
        setting = self.find(name)
        if setting is None:
            raise InvalidSetting(name, f"{FILE} has no such setting")
        return setting

    def all(self) -> tuple[PluginSetting, ...]:
        """Return every setting, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))

    def check_file(self, settings: Settings) -> None:
        """Raise `InvalidSetting` if a name is not registered, or its value cannot be used."""
        for name in settings.extra:
            self.get(name).read(settings)


def plugin_settings_of(parts: WorkspaceServices) -> PluginSettings:
    """Return the settings that plugins have registered."""
    return parts.registry_for("register_settings", plugin_settings=PluginSettings)


def read_setting(parts: WorkspaceServices, name: str) -> Any:  # noqa: ANN401 - of the type of its default
    """Return a setting of a plugin as it is in force."""
    setting = plugin_settings_of(parts).get(name)
    return setting.read(parts.effective_settings() if setting.runtime else parts.settings)
