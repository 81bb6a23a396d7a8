"""References of flows to credentials: a site of the settings, or a placeholder for a secret.

A bundle that is shared holds no credentials. A flow with a reference to a credential that this
workspace lacks cannot run, so its schedule stays paused.
"""

from __future__ import annotations

import re

from looseleaf.bundles.comparison.artifacts import FLOW
from looseleaf.bundles.comparison.dependencies import find_needed_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from looseleaf.bundles.comparison.artifacts import Artifact

_PLACEHOLDER = re.compile(r"<auth-ref:([^<>]{1,500})>")
_PUBLISH, _SITE = "publish", "site"


def find_unresolved(
    artifacts: Mapping[str, Artifact], sites: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the references that this workspace lacks, by the slug of each flow that has any."""
    resolved_names = {f"{_SITE}/{name}" for name in sites}
    flows = {}
    for artifact in artifacts.values():
        key = find_needed_key(artifact) if artifact.kind == FLOW else ""
        if key in artifacts:  # a pipeline that was deleted here cannot run its flows
            names = set(_find_references(artifacts[key].payload, artifact.payload)) - resolved_names
            if names:
                flows[artifact.name] = tuple(sorted(names))
    return flows


def _find_references(pipeline: Mapping[str, Any], flow: Mapping[str, Any]) -> Iterator[str]:
    """Yield the references of a flow, each step with the settings that it would run with."""
    own_settings = {
        step.get("step_id"): step.get("handler_configs", {}) for step in flow.get("steps", ())
    }
    for step in pipeline.get("steps", ()):
        settings = {**step.get("step_config", {}), **own_settings.get(step.get("step_id"), {})}
        if step.get("step_type") == _PUBLISH and isinstance(settings.get(_SITE), str):
            yield f"{_SITE}/{settings[_SITE]}"
        for text in _find_texts(settings):
            yield from _PLACEHOLDER.findall(text)


def _find_texts(settings: object) -> Iterator[str]:
    """Yield every text in settings; a bundle's JSON is never deep."""
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, dict):
        for part in settings.values():
            yield from _find_texts(part)
    elif isinstance(settings, list):
        for part in settings:
            yield from _find_texts(part)
