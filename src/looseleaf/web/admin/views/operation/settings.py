"""Settings of the workspace: each with its source, and those that can be changed while running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.settings import FILE

if TYPE_CHECKING:
    from looseleaf.operations.settings import SettingInfo
    from looseleaf.plugins.admin_pages import Visit

ADDRESS = "/admin/settings"
MOST_PLAIN = 100_000  # larger numbers are written with separators
SOURCES = {
    "default": "as delivered",
    "file": f"from {FILE}",
    "database": "set here",
    "process": "from the start of the server",
}
MEANINGS = {
    "daily_memory_enabled": "Whether agents may write their journals.",
    "history_packing_enabled": "Whether old versions of pages are packed every night.",
    "prompt_page_bytes": "The most bytes that one page takes of a prompt; 0 is no limit.",
    "prompt_total_bytes": "The most bytes that all pages take of a prompt; 0 is no limit.",
    "require_if_match": "Whether programs must name the version of the page that they replace.",
}


def list_settings(visit: Visit) -> Document | Redirect:
    """List the settings; those that can be changed now come first."""
    settings: list[SettingInfo] = visit.run("looseleaf/list-settings")
    data = {
        "running": [setting for setting in settings if setting.runtime],
        "fixed": [
            (setting, format_setting(setting.setting))
            for setting in settings
            if not setting.runtime
        ],
        "sources": SOURCES,
        "meanings": MEANINGS,
        "file": FILE,
        "needs_restart": any(setting.restart_needed for setting in settings),
    }
    return Document("operation/settings.html", "Settings", data)


def format_setting(setting: object) -> str:
    """Write a setting for people."""
    if isinstance(setting, bool):
        return "yes" if setting else "no"
    if isinstance(setting, dict):
        return ", ".join(f"{name}: {format_setting(item)}" for name, item in setting.items())
    if isinstance(setting, list | tuple):
        return ", ".join(map(str, setting)) or "none"
    if setting in (None, ""):
        return "none"
    if isinstance(setting, int | float):
        return f"{setting:g}" if setting < MOST_PLAIN else f"{setting:,.0f}"
    return str(setting).strip("()")


def change_setting(visit: Visit) -> Document | Redirect:
    """Set one setting, or reset it to the value of the file."""
    name, form = visit.form.get("name", ""), visit.form
    if form.get("action") == "unset":
        visit.run("looseleaf/set-settings", settings={name: None})
        return Redirect(ADDRESS, f"{name} is again what {FILE} says.")
    setting: bool | int = "setting" in form
    if form.get("kind") == "number":
        text = form.get("setting", "").strip().replace(",", "")
        if not text.isdecimal() or len(text) > 12:
            raise Invalid(f"{name} is a whole number, not {text!r}; 0 is no limit.")
        setting = int(text)
    visit.run("looseleaf/set-settings", settings={name: setting})
    return Redirect(ADDRESS, f"{name} is {format_setting(setting)} now, without a restart.")
