"""The form of an agent's configuration: its fields from the JSON, and the JSON from its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf.catalog.tools.memory_tools import MODEL_TOOLS
from looseleaf.catalog.tools.names import list_tool_categories
from looseleaf.errors import Invalid
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from looseleaf.agents.config import AgentConfig
    from looseleaf.catalog.context import Context

MODES = ("default", "chat", "pipeline", "system")
ALL = "default"  # the choice that restricts nothing
PAGE, TOOL, CATEGORY, MODEL = "page:", "tool:", "category:", "model:"


@value
class Checkbox:
    """One checkbox of a list."""

    name: str
    is_chosen: bool


@value(kw_only=True)
class ConfigFields:
    """The fields of the form."""

    models: tuple[tuple[str, str], ...]  # mode and model
    has_daily: bool
    recent_days: int
    memory_mode: str
    pages: tuple[Checkbox, ...]
    other_pages: tuple[str, ...]
    binds_access: bool
    tool_mode: str
    tools: tuple[Checkbox, ...]
    categories: tuple[Checkbox, ...]
    other_tools: tuple[str, ...]
    outside_tools: tuple[str, ...]


def describe_config(context: Context, config: AgentConfig, pages: Iterable[str]) -> ConfigFields:
    """Return the fields of a form that shows a configuration."""
    memory, tools, daily = config.memory_policy, config.tool_policy, config.daily_memory
    policy_pages = memory.deny or memory.allow_only
    page_names = list(dict.fromkeys(pages))
    models = {mode: config.models.get(mode, "") for mode in (*MODES, *config.models)}
    return ConfigFields(
        models=tuple(models.items()),
        has_daily=daily.enabled,
        recent_days=daily.recent_days,
        memory_mode=memory.mode,
        pages=tuple(Checkbox(name, name in policy_pages) for name in page_names),
        other_pages=tuple(name for name in policy_pages if name not in page_names),
        binds_access=memory.binds == "access",
        tool_mode=tools.mode if config.has_tool_policy else ALL,
        tools=tuple(Checkbox(name, name in tools.tools) for name in MODEL_TOOLS),
        categories=tuple(
            Checkbox(name, name in tools.categories)
            for name in list_tool_categories(context.parts.operations())
        ),
        other_tools=tuple(name for name in tools.tools if name not in MODEL_TOOLS),
        outside_tools=tools.outside_tools,
    )


def describe_form(context: Context, form: Mapping[str, str], pages: Iterable[str]) -> ConfigFields:
    """Return the fields as they were sent, even if they are invalid."""
    models = {mode: form.get(MODEL + mode, "") for mode in MODES}
    categories = list_tool_categories(context.parts.operations())
    return ConfigFields(
        models=tuple(models.items()),
        has_daily="daily" in form,
        recent_days=int(days)
        if (days := form.get("recent-days", "")).isdecimal() and len(days) < 5
        else 3,
        memory_mode=form.get("memory-mode", ALL),
        pages=tuple(Checkbox(name, PAGE + name in form) for name in dict.fromkeys(pages)),
        other_pages=tuple(_split_lines(form, "other-pages")),
        binds_access="binds" in form,
        tool_mode=form.get("tool-mode", ALL),
        tools=tuple(Checkbox(name, TOOL + name in form) for name in MODEL_TOOLS),
        categories=tuple(Checkbox(name, CATEGORY + name in form) for name in categories),
        other_tools=tuple(_split_lines(form, "other-tools")),
        outside_tools=tuple(_split_lines(form, "outside-tools")),
    )


def build_config(form: Mapping[str, str], config: AgentConfig) -> dict[str, Any]:
    """Return the keys of a configuration that a form sets; None removes a key."""
    return {
        "models": _build_models(form, config),
        "daily_memory": _build_daily(form),
        "memory_policy": _build_memory_policy(form),
        "tool_policy": _build_tool_policy(form),
    }


def _build_models(form: Mapping[str, str], config: AgentConfig) -> dict[str, str] | None:
    models = dict(config.models)
    for name, text in form.items():
        if name.startswith(MODEL):
            models[name.removeprefix(MODEL)] = text.strip()
    return {mode: model for mode, model in models.items() if model} or None


def _build_daily(form: Mapping[str, str]) -> dict[str, Any]:
    days = form.get("recent-days", "").strip() or "3"
    if not days.isdecimal() or len(days) > 4:
        raise Invalid(f"The number of days is a whole number, not {days!r}.")
    return {"enabled": "daily" in form, "recent_days": int(days)}


def _build_memory_policy(form: Mapping[str, str]) -> dict[str, Any] | None:
    mode = form.get("memory-mode", ALL)
    binds = {"binds": "access"} if "binds" in form else {}
    if mode == ALL:
        return {"mode": ALL, **binds} if binds else None
    return {
        "mode": mode,
        mode: [*_list_checked(form, PAGE), *_split_lines(form, "other-pages")],
        **binds,
    }


def _build_tool_policy(form: Mapping[str, str]) -> dict[str, Any] | None:
    mode = form.get("tool-mode", ALL)
    if mode == ALL:
        return None
    outside = _split_lines(form, "outside-tools")
    return {
        "mode": mode,
        "tools": [*_list_checked(form, TOOL), *_split_lines(form, "other-tools")],
        "categories": _list_checked(form, CATEGORY),
        **({"outside_tools": outside} if outside else {}),
    }


def _list_checked(form: Mapping[str, str], prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in form if name.startswith(prefix)]


def _split_lines(form: Mapping[str, str], name: str) -> list[str]:
    return [line.strip() for line in form.get(name, "").splitlines() if line.strip()]
