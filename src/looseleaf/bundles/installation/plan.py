"""The plan of an install or upgrade: what is applied, what a person must approve, what stays.

Each artifact is compared by three hashes: as it is here (current), as the bundle has it (target),
and as the last bundle left it (installed).
"""

from __future__ import annotations

import difflib
import json

from looseleaf.bundles.installation.artifacts import CONFIG, FLOW, IDENTITY, QUEUE, SCHEDULE
from looseleaf.bundles.installation.rights import starts_by_itself, widens_rights
from looseleaf.values import value
from looseleaf.workflows.artifacts.masking import SecretMask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from looseleaf.bundles.installation.artifacts import Artifact
    from looseleaf.bundles.installation.ledger import Ledger

AUTO, APPROVAL, WARNING, NO_OP = "auto_apply", "needs_approval", "warnings", "no_op"
BUCKETS = (AUTO, APPROVAL, WARNING, NO_OP)
EVERY_KEY = "all"
# Keys of a configuration that an installation chooses for itself; an upgrade leaves them alone.
LOCAL_CHOICES = {
    f"{CONFIG}:{key}" for key in ("models", "model", "provider", "allowed_redirect_uris")
}
_MOST_DIFF_LINES = 400


@value
class PlanEntry:
    """What would happen to one artifact.

    Fields:
        key: The kind and name of the artifact, by which it is approved: memory:SOUL.md.
        bucket: auto_apply, needs_approval, warnings or no_op.
        reason: Why: new_artifact, local_unchanged_from_installed, local_modified,
            untracked_local_artifact, widens_rights, starts_by_itself, already_matches_target,
            kept_local, learned_memory_kept, missing_local_artifact, orphaned_installed_artifact.
        source_path: The file of the bundle.
        current_hash: The hash of it as it is here; "" where it is not.
        target_hash: The hash of it in the bundle; "" where the bundle has it no longer.
        installed_hash: The hash of it as the last bundle left it; "" where none did.
        diff: The change as lines, with values of secrets masked; "" where nothing would change.
    """

    key: str
    bucket: str
    reason: str
    source_path: str = ""
    current_hash: str = ""
    target_hash: str = ""
    installed_hash: str = ""
    diff: str = ""


@value
class Comparison:
    """The three states that a plan compares, and whether schedules and queues are taken, too."""

    target: Mapping[str, Artifact]
    current: Mapping[str, Artifact]
    ledger: Ledger | None
    reconcile_runtime: bool = False


def build_plan(comparison: Comparison) -> tuple[PlanEntry, ...]:
    """Decide about every artifact of the target, and name those that the target has no longer."""
    return tuple(_entries(comparison))


def count_buckets(entries: Collection[PlanEntry]) -> dict[str, int]:
    """Count the entries of each bucket."""
    return {bucket: sum(entry.bucket == bucket for entry in entries) for bucket in BUCKETS}


def is_approved(key: str, approve: Collection[str]) -> bool:
    """Say whether a person approved an artifact: by its key, or all of them."""
    return key in approve or EVERY_KEY in approve


def _entries(comparison: Comparison) -> Iterator[PlanEntry]:
    ledger = comparison.ledger
    installed_hashes = ledger.hashes() if ledger is not None else {}
    for key, target in comparison.target.items():
        current = comparison.current.get(key)
        installed = installed_hashes.get(key, "")
        bucket, reason = _decide(comparison, target, installed)
        current_hash = current.hash if current is not None else ""
        diff = "" if bucket == NO_OP else format_diff(current, target)
        yield PlanEntry(
            key, bucket, reason, target.path, current_hash, target.hash, installed, diff
        )
    for key, installed in installed_hashes.items():
        if key not in comparison.target and not key.startswith(f"{QUEUE}:"):
            current = comparison.current.get(key)
            current_hash = current.hash if current is not None else ""
            reason = "orphaned_installed_artifact"
            yield PlanEntry(key, WARNING, reason, "", current_hash, "", installed)


def _decide(comparison: Comparison, target: Artifact, installed: str) -> tuple[str, str]:
    current = comparison.current.get(target.key)
    if current is not None and current.hash == target.hash:
        return NO_OP, "already_matches_target"
    if comparison.ledger is None and not comparison.current:
        is_waiting = starts_by_itself(target)
        return (APPROVAL, "starts_by_itself") if is_waiting else (AUTO, "new_artifact")
    if target.is_learned:
        return WARNING, "learned_memory_kept"
    if target.kind in (SCHEDULE, QUEUE):
        return _decide_runtime(comparison, target)
    if current is None:
        return (WARNING, "missing_local_artifact") if installed else _decide_new(target)
    return _decide_changed(target, current, installed)


def _decide_changed(target: Artifact, current: Artifact, installed: str) -> tuple[str, str]:
    if target.key in LOCAL_CHOICES:
        return NO_OP, "kept_local"
    if widens_rights(target, current):
        return APPROVAL, "widens_rights"
    if not installed:
        return APPROVAL, "untracked_local_artifact"
    if current.hash == installed:
        return AUTO, "local_unchanged_from_installed"
    return APPROVAL, "local_modified"


def _decide_new(target: Artifact) -> tuple[str, str]:
    return (APPROVAL, "widens_rights") if widens_rights(target, None) else (AUTO, "new_artifact")


def _decide_runtime(comparison: Comparison, target: Artifact) -> tuple[str, str]:
    """Leave schedules and queues to those who run the flow, unless they ask for the bundle's."""
    is_new = f"{FLOW}:{target.name}" not in comparison.current
    ledger = comparison.ledger
    is_waiting = ledger is not None and target.key in ledger.pending
    if is_new or is_waiting or comparison.reconcile_runtime:
        needs_approval = starts_by_itself(target) or (target.kind == SCHEDULE and not is_new)
        if needs_approval:
            return APPROVAL, "starts_by_itself" if starts_by_itself(target) else "local_modified"
        return AUTO, "new_artifact" if is_new else "local_unchanged_from_installed"
    return NO_OP, "kept_local"


def format_diff(current: Artifact | None, target: Artifact) -> str:
    """Write the change of an artifact as lines; values under the keys of secrets are masked."""
    before, after = _lines(current), _lines(target)
    lines = list(difflib.unified_diff(before, after, "current", "bundle", lineterm="", n=2))
    if len(lines) > _MOST_DIFF_LINES:
        count = len(lines) - _MOST_DIFF_LINES
        lines = [*lines[:_MOST_DIFF_LINES], f"… {count:,} lines more"]
    return "\n".join(lines)


def _lines(artifact: Artifact | None) -> list[str]:
    if artifact is None:
        return []
    payload = SecretMask().mask(artifact.payload)
    if artifact.key != IDENTITY and not isinstance(payload, str):
        payload = json.dumps(payload, sort_keys=True, ensure_ascii=False, indent=2)
    return str(payload).splitlines()
