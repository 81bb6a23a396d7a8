"""Parts that need other parts: a flow its pipeline, a schedule and a queue their flow."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import FLOW, PIPELINE, QUEUE, SCHEDULE
from looseleaf.bundles.comparison.rights import starts_by_itself
from looseleaf.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from looseleaf.bundles.comparison.artifacts import Artifact


def find_needed_key(artifact: Artifact) -> str:
    """Find the key of the part that must be stored before an artifact, or "" if it needs none."""
    if artifact.kind == FLOW:
        return f"{PIPELINE}:{artifact.payload['pipeline_slug']}"
    if artifact.kind in (SCHEDULE, QUEUE):
        return f"{FLOW}:{artifact.name}"
    return ""


def has_other_steps(
    key: str, target: Mapping[str, Artifact], current: Mapping[str, Artifact]
) -> bool:
    """Return whether a pipeline would get other steps, on which settings of its flows depend."""
    if key not in target or key not in current or not key.startswith(f"{PIPELINE}:"):
        return False
    new_steps: object = target[key].payload.get("steps")
    return bool(new_steps != current[key].payload.get("steps"))


def add_dependents(
    keys: Collection[str], target: Mapping[str, Artifact], current: Mapping[str, Artifact]
) -> set[str]:
    """Add the queues of the new flows among the keys, and their schedules that start nothing."""
    new_flows = {key for key in keys if key.startswith(f"{FLOW}:") and key not in current}
    return {*keys} | {
        key
        for key, artifact in target.items()
        if find_needed_key(artifact) in new_flows and not starts_by_itself(artifact)
    }


def require_pipelines(
    keys: Collection[str], target: Mapping[str, Artifact], current: Mapping[str, Artifact]
) -> None:
    """Raise `InvalidArgument` if a flow is approved without the new steps of its pipeline."""
    for key in sorted(keys):
        pipeline = find_needed_key(target[key]) if key.startswith(f"{FLOW}:") else ""
        if pipeline and pipeline not in keys and has_other_steps(pipeline, target, current):
            raise InvalidArgument("keys", f"{key} needs the steps of {pipeline}; approve both")
