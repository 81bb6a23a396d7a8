"""The steps of Data Machine as steps of our types, with each setting that has an equivalent here.

Only settings that are named in this module are taken, so that no credential of a handler is.
"""

from __future__ import annotations

from looseleaf.bundles.importers.datamachine.fields import as_list, as_object
from looseleaf.bundles.secret_scan import scan_text
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_TYPES = {
    "fetch": "input",
    "ai": "ai",
    "publish": "publish",
    "upsert": "publish",
    "webhook_gate": "webhook_gate",
    "system_task": "system_task",
}
# Settings of a step in its pipeline; the handlers, and with them the rest, are those of its flows.
_PIPELINE_SETTINGS: dict[str, dict[str, Any]] = {
    "input": {"source": "text"},
    "publish": {"target": "file"},
}
_SOURCES = {  # the fetch handlers that have an equivalent, with the setting of their address
    "rss": ("feed", "feed_url"),
    "wordpress_api": ("json", "endpoint_url"),
    "files": ("files", ""),
    "webhook_payload": ("packet", ""),
}
_STATUSES = ("draft", "pending", "private", "publish")
_MOST_ITEMS = 50
_HOUR = 3_600
_SHORTEST_WAIT, _LONGEST_WAIT = 60, 30 * 24 * _HOUR
# Keys of a step that are read elsewhere, or add nothing to other keys.
_KNOWN_KEYS = frozenset(
    (
        "step_type",
        "execution_order",
        "label",
        "enabled",
        "flow_step_id",
        "pipeline_step_id",
        "pipeline_id",
        "flow_id",
        "handler_slug",
        "handler_slugs",
        "handler_config",
        "handler_configs",
        "flow_step_settings",
        "prompt_queue",
        "queue_mode",
        "user_message",
        "enabled_tools",
        "disabled_tools",
        "settings_display",
        "settings_summary",
        "handler_settings_displays",
        "system_prompt",
        "system_prompt_queue",
        "system_prompt_queue_mode",
    )
)


@value
class MappedSettings:
    """The settings of a step here, and a sentence for each thing that has no equivalent."""

    settings: Mapping[str, Any] = FrozenDict()
    problems: tuple[str, ...] = ()


def map_step_type(step_type: object) -> str:
    """Return the type of step here, or "" if there is none."""
    return _TYPES.get(step_type, "") if isinstance(step_type, str) else ""


def map_pipeline_step(step: Mapping[str, Any]) -> MappedSettings:
    """Return the settings that a step has in its pipeline."""
    step_type = map_step_type(step.get("step_type"))
    settings = dict(_PIPELINE_SETTINGS.get(step_type, {}))
    problems = list(_name_unknown(step))
    if step_type == "ai":
        settings |= _read_tools(step)
    if step_type == "system_task":
        mapped_step = _map_task(step)
        settings |= mapped_step.settings
        problems += mapped_step.problems
    return MappedSettings(settings, tuple(problems))


def map_flow_step(step: Mapping[str, Any], site: str) -> MappedSettings:
    """Return the settings of a step in a flow; `site` is the name of the site in our settings.

    A handler without an equivalent leaves the step as its pipeline has it, so that it brings
    nothing or stops the job until a person sets it up.
    """
    step_type = map_step_type(step.get("step_type"))
    slugs, configs = _read_handlers(step)
    problems = list(_name_unknown(step))
    if step.get("enabled") is False:
        problems.append("it is switched off in the source; here every step of a pipeline runs")
    if step_type == "ai":
        return MappedSettings(_read_tools(step), tuple(problems))
    if step_type == "webhook_gate":
        return _map_gate(configs.get("", {}), problems)
    if step_type == "system_task":
        return _map_task(step)
    if not slugs:
        return MappedSettings({}, (*problems, "it has no handler in the source"))
    problems += [
        f"its handler {slug} is one of several, and a step has one target here"
        for slug in slugs[1:]
    ]
    slug, config = slugs[0], configs.get(slugs[0], {})
    mapped_step = (
        _map_source(slug, config)
        if step_type == "input"
        else _map_target(step.get("step_type"), slug, config, site)
    )
    return MappedSettings(mapped_step.settings, (*problems, *mapped_step.problems))


def _map_source(slug: str, config: Mapping[str, Any]) -> MappedSettings:
    if slug not in _SOURCES:
        reason = "has no equal here; the step brings nothing until a person sets its source"
        return MappedSettings({}, (f"its handler {slug} {reason}",))
    source, address_key = _SOURCES[slug]
    settings: dict[str, Any] = {"source": source}
    problems = []
    address = config.get(address_key) if address_key else None
    if isinstance(address, str) and address:
        if next(scan_text("address", address), None) is None:
            settings["url"] = address
        else:
            problems.append(f"{address_key} holds a secret, which is not imported")
    max_items = config.get("max_items")
    if isinstance(max_items, int) and not isinstance(max_items, bool) and max_items > 0:
        settings["max_items"] = min(max_items, _MOST_ITEMS)
    used_keys = {address_key, "max_items"}
    return MappedSettings(settings, (*problems, *_name_settings(slug, config, used_keys)))


def _map_target(
    step_type: object, slug: str, config: Mapping[str, Any], site: str
) -> MappedSettings:
    if step_type != "publish" or not slug.startswith("wordpress"):
        reason = "has no equal here; the step stops the job until a person sets its target"
        return MappedSettings({}, (f"its handler {slug} {reason}",))
    settings: dict[str, Any] = {"target": "wordpress", "site": site}
    status = config.get("post_status")
    if status in _STATUSES:
        settings["status"] = status
    return MappedSettings(settings, _name_settings(slug, config, {"post_status"}))


def _map_gate(config: Mapping[str, Any], problems: list[str]) -> MappedSettings:
    hours = config.get("timeout_hours")
    settings = {}
    if isinstance(hours, int) and not isinstance(hours, bool) and hours > 0:
        seconds = max(_SHORTEST_WAIT, min(hours * _HOUR, _LONGEST_WAIT))
        settings["expires_seconds"] = seconds
    return MappedSettings(settings, (*problems, *_name_settings("", config, {"timeout_hours"})))


def _map_task(step: Mapping[str, Any]) -> MappedSettings:
    config = _read_handlers(step)[1].get("", {})
    settings: dict[str, Any] = {}
    if isinstance(config.get("task_type"), str) and config["task_type"]:
        settings["task_type"] = config["task_type"]
    params = config.get("params")
    problems = []
    if params:
        problems.append("the parameters of its task are not imported: they may hold credentials")
    return MappedSettings(settings, tuple(problems))


def _read_handlers(step: Mapping[str, Any]) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Return the handlers of a step in order, and the settings of each; "" is the step itself."""
    slugs = [slug for slug in as_list(step.get("handler_slugs")) if isinstance(slug, str) and slug]
    configs: dict[str, Mapping[str, Any]] = {
        slug: config
        for slug, config in as_object(step.get("handler_configs")).items()
        if isinstance(config, dict)
    }
    single, handler_config = step.get("handler_slug"), as_object(step.get("handler_config"))
    if isinstance(single, str) and single and single not in slugs:
        slugs.append(single)
        configs.setdefault(single, handler_config)
    configs[""] = {**as_object(step.get("flow_step_settings")), **handler_config}
    return slugs, configs


def _read_tools(step: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tools that an AI step is given or denied; they have the same names here."""
    tools = {}
    for key in ("enabled_tools", "disabled_tools"):
        names = [name for name in as_list(step.get(key)) if isinstance(name, str) and name]
        if names:
            tools[key] = names
    return tools


def _name_unknown(step: Mapping[str, Any]) -> Iterable[str]:
    for key in sorted(step):
        if key not in _KNOWN_KEYS and step[key] not in (None, "", False, 0, [], {}):
            yield f"{key} has no equal here"


def _name_settings(slug: str, config: Mapping[str, Any], used_keys: set[str]) -> tuple[str, ...]:
    """Name the settings of a handler that are not taken, without their values."""
    names = [
        key
        for key in sorted(config)
        if key not in used_keys and config[key] not in (None, "", False, 0, [], {})
    ]
    subject = f"of its handler {slug}" if slug else "of the step"
    return (f"settings {subject} without an equal: {', '.join(names)}",) if names else ()
