"""The rights of an agent, and the check whether a bundle widens them."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import CONFIG, FLOW, PIPELINE, SCHEDULE
from looseleaf.errors import Invalid
from looseleaf.memory.policy import parse_memory_policy, parse_tool_policy
from looseleaf.workflows.flow import MANUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.bundles.comparison.artifacts import Artifact

TOOLS, PAGES = f"{CONFIG}:tool_policy", f"{CONFIG}:memory_policy"
_INNER_STEPS = ("ai", "input", "memory_update")  # other types reach beyond the agent's memory
# Settings of steps that say what is written where, and which task runs.
_REACH = ("target", "folder", "filename", "replace", "site", "status", "task_type", "params")
_TOOL_LISTS = ("enabled_tools", "disabled_tools")


def widens_rights(target: Artifact, current: Artifact | None) -> bool:
    """Return whether an artifact allows more than the present one; in doubt, it does."""
    before = None if current is None else current.payload
    try:
        if target.key == TOOLS:
            return _widens_tools(before, target.payload)
        if target.key == PAGES:
            return _widens_pages(before, target.payload)
        if target.kind == PIPELINE and before is not None:
            policies = (before.get("tool_policy"), target.payload.get("tool_policy"))
            return _widens_tools(*policies) or _widens_steps(before, target.payload, "step_config")
        if target.kind == FLOW and before is not None:
            policies = (before.get("run_artifacts"), target.payload["run_artifacts"])
            return _widens_egress(*policies) or _widens_steps(
                before, target.payload, "handler_configs"
            )
    except Invalid:
        return True  # the present policy is invalid, so that the two cannot be compared
    return False


def starts_by_itself(target: Artifact) -> bool:
    """Return whether a schedule would run its flow without anyone asking."""
    if target.kind != SCHEDULE:
        return False
    schedule: Mapping[str, Any] = target.payload
    return bool(schedule.get("enabled", True)) and schedule.get("interval", MANUAL) != MANUAL


def _widens_tools(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    present, new = parse_tool_policy(before or None), parse_tool_policy(after or None)
    present_lists = [set(present.tools), set(present.categories), set(present.outside_tools)]
    new_lists = [set(new.tools), set(new.categories), set(new.outside_tools)]
    if present.mode == "deny" and not any(present_lists):
        return False  # it allows everything already
    if (present.mode, new.mode) == ("deny", "deny"):
        return not all(
            old_tools <= new_tools
            for old_tools, new_tools in zip(present_lists, new_lists, strict=True)
        )
    if (present.mode, new.mode) == ("allow", "allow"):
        return not all(
            new_tools <= old_tools
            for old_tools, new_tools in zip(present_lists, new_lists, strict=True)
        )
    return True


def _widens_steps(before: Mapping[str, Any], after: Mapping[str, Any], field: str) -> bool:
    """Return whether a step has more tools, writes elsewhere, or is new and reaches outside."""
    former_steps = {step["step_id"]: step for step in before.get("steps", ())}
    for step in after.get("steps", ()):
        former = former_steps.get(step["step_id"])
        is_same_type = former is not None and former.get("step_type") == step.get("step_type")
        if not is_same_type and step.get("step_type", _INNER_STEPS[0]) not in _INNER_STEPS:
            return True
        present, new = (former or {}).get(field, {}), step.get(field, {})
        if any(key in new and new[key] != present.get(key) for key in _REACH):
            return True
        if former is not None and _widens_tool_lists(present, new):
            return True
    return False


def _widens_tool_lists(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    allow_lists, deny_lists = ((before.get(name), after.get(name)) for name in _TOOL_LISTS)
    if allow_lists[0] is not None and (
        allow_lists[1] is None or not set(allow_lists[1]) <= set(allow_lists[0])
    ):
        return True
    return not set(deny_lists[0] or ()) <= set(deny_lists[1] or ())


def _widens_egress(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Return whether more artifacts of a run may be sent elsewhere."""
    return any((before or {}).get(source) != entry for source, entry in after.items())


def _widens_pages(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    present, new = parse_memory_policy(before or None), parse_memory_policy(after or None)
    if (present.binds, new.binds) == ("access", "injection"):
        return True
    if present.mode == "default":
        return False
    if (present.mode, new.mode) == ("deny", "deny"):
        return not set(present.deny) <= set(new.deny)
    if (present.mode, new.mode) == ("allow_only", "allow_only"):
        return not set(new.allow_only) <= set(present.allow_only)
    return True
