"""Whether a bundle would widen what an agent may see or do, compared with its present policies."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import CONFIG, PIPELINE, SCHEDULE
from looseleaf.errors import Invalid
from looseleaf.memory.policy import memory_policy, tool_policy
from looseleaf.workflows.flow import MANUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.bundles.comparison.artifacts import Artifact

TOOLS, PAGES = f"{CONFIG}:tool_policy", f"{CONFIG}:memory_policy"


def widens_rights(target: Artifact, current: Artifact | None) -> bool:
    """Say whether a policy lets through what the present one does not; in doubt, it does."""
    before = None if current is None else current.payload
    try:
        if target.key == TOOLS:
            return _widens_tools(before, target.payload)
        if target.key == PAGES:
            return _widens_pages(before, target.payload)
        if target.kind == PIPELINE and before is not None:
            return _widens_tools(before.get("tool_policy"), target.payload.get("tool_policy"))
    except Invalid:
        return True  # the present policy cannot be followed, so that nothing is known about it
    return False


def starts_by_itself(target: Artifact) -> bool:
    """Say whether a schedule would run its flow without anyone asking."""
    if target.kind != SCHEDULE:
        return False
    schedule: Mapping[str, Any] = target.payload
    return bool(schedule.get("enabled", True)) and schedule.get("interval", MANUAL) != MANUAL


def _widens_tools(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    present, new = tool_policy(before or None), tool_policy(after or None)
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
        return not all(less <= old for old, less in zip(present_lists, new_lists, strict=True))
    return True


def _widens_pages(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    present, new = memory_policy(before or None), memory_policy(after or None)
    if (present.binds, new.binds) == ("access", "injection"):
        return True
    if present.mode == "default":
        return False
    if (present.mode, new.mode) == ("deny", "deny"):
        return not set(present.deny) <= set(new.deny)
    if (present.mode, new.mode) == ("allow_only", "allow_only"):
        return not set(new.allow_only) <= set(present.allow_only)
    return True
