"""The egress policy of a flow: which artifacts of a run may leave, and to which targets.

Looseleaf checks the policy and builds the artifacts. The program that reads both sends them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

SOURCES = ("completion_assertions", "daily_memory", "transcript_summary")
TARGETS = ("artifact", "bundle-file", "pr-body")
_WITH_PATH = "daily_memory"
_LONGEST_PATH = 500


def normalize_egress(policy: Any, *, targets: Collection[str] = TARGETS) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return the known sources and targets of a policy, in one order, or {} if there are none.

    A source keeps its targets if its path is dropped; a source without targets is dropped.
    """
    if not isinstance(policy, dict):
        return {}
    normal: dict[str, Any] = {}
    for source in SOURCES:
        entry = policy.get(source)
        if not isinstance(entry, dict) or not isinstance(entry.get("egress"), list | tuple):
            continue
        names = {name.strip().lower() for name in entry["egress"] if isinstance(name, str)}
        egress = sorted(names & set(targets))
        if not egress:
            continue
        normal[source] = {"egress": egress}
        path = normalize_path(entry.get("bundle_relative_path"))
        if path and source == _WITH_PATH:
            normal[source]["bundle_relative_path"] = path
    return normal


def normalize_path(path: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a path below a bundle, or "" for anything else, such as a path that leaves it."""
    if not isinstance(path, str) or not path.isprintable() or len(path) > _LONGEST_PATH:
        return ""
    segments = [segment for segment in path.strip().replace("\\", "/").split("/") if segment]
    if any(segment.strip() in (".", "..", "") for segment in segments):
        return ""
    return "/".join(segments)
