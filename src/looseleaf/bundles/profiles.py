"""Profiles of an export: the parts of an agent that are shared, backed up or forked."""

from __future__ import annotations

from looseleaf.errors import InvalidArgument
from looseleaf.values import value
from looseleaf.workflows.artifacts.masking import is_secret_key, split_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.bundles.layout.manifest import HandlerAuth

# Keys of a configuration that belong to one installation, and are never exported.
LOCAL_KEYS = ("datamachine_bundle",)
IDENTITY_PAGE = "SOUL.md"
_DEEPEST = 32


@value
class Profile:
    """The content of an export.

    Fields:
        name: share, backup or fork.
        learned_memory: Whether all pages of the agent and USER.md are exported, or SOUL.md alone.
        handler_auth: Whether settings under the keys of secrets are exported (full) or replaced by
            a reference (refs), or the settings of flows are left out altogether (omit).
    """

    name: str
    learned_memory: bool
    handler_auth: HandlerAuth


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("share", learned_memory=False, handler_auth="refs"),
        Profile("backup", learned_memory=True, handler_auth="full"),
        Profile("fork", learned_memory=False, handler_auth="omit"),
    )
}


def find_profile(name: str) -> Profile:
    """Return the profile of a name, or raise `InvalidArgument`."""
    profile = PROFILES.get(name)
    if profile is None:
        raise InvalidArgument("profile", f"it is one of {', '.join(PROFILES)}, not {name!r}")
    return profile


def select_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a configuration that are exported."""
    return {key: setting for key, setting in config.items() if key not in LOCAL_KEYS}


def apply_handler_auth(profile: Profile, settings: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the settings of a step as a profile exports them; `place` names the step."""
    if profile.handler_auth == "omit":
        return {}
    if profile.handler_auth == "full":
        return dict(settings)
    return {key: _replace_secret(key, setting, place, 0) for key, setting in settings.items()}


def _replace_secret(key: str, setting: object, place: str, depth: int) -> object:
    is_secret = is_secret_key(split_key(key)) and not isinstance(setting, bool | int | float)
    if is_secret and setting not in (None, "", {}, []):
        return f"<auth-ref:{place}/{key}>"
    if depth < _DEEPEST and isinstance(setting, dict):
        return {
            name: _replace_secret(name, part, place, depth + 1) for name, part in setting.items()
        }
    if depth < _DEEPEST and isinstance(setting, list):
        return [_replace_secret(key, part, place, depth + 1) for part in setting]
    return setting
