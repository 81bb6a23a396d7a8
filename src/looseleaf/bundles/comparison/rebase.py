"""Rebase: how the bundle's changes would merge into an agent that was changed here; a preview."""

from __future__ import annotations

from looseleaf.bundles.comparison.merging import is_mergeable, merge_artifact
from looseleaf.bundles.comparison.plan import format_diff
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.bundles.comparison.artifacts import Artifact
    from looseleaf.bundles.comparison.plan import BundleComparison


@value
class RebaseEntry:
    """How one part would merge.

    Fields:
        key: The kind and name of the part.
        state: bundle (only the bundle changed it), local (only this workspace did), merged (both
            did, in different places) or conflict (both changed the same).
        conflicts: The sections of a page, or the keys of JSON, that both changed; the local ones
            stay.
        diff: What the merge would change here, with values of secrets masked.
    """

    key: str
    state: str
    conflicts: tuple[str, ...]
    diff: str


def preview_rebase(comparison: BundleComparison) -> tuple[RebaseEntry, ...]:
    """Merge every part that has sections or keys and differs from the bundle."""
    return tuple(_merge_entries(comparison))


def _merge_entries(comparison: BundleComparison) -> Iterator[RebaseEntry]:
    for key, target in comparison.target.items():
        current = comparison.current.get(key)
        if current is None or current.hash == target.hash or not is_mergeable(target):
            continue
        merge_result = merge_artifact(target, current, comparison.ledger)
        result = replace(target, payload=merge_result.payload)
        state = _find_state(comparison, target, current)
        if state == "both":
            state = "conflict" if merge_result.conflicts else "merged"
        yield RebaseEntry(key, state, merge_result.conflicts, format_diff(current, result))


def _find_state(comparison: BundleComparison, target: Artifact, current: Artifact) -> str:
    installed_hash = comparison.ledger.hashes().get(target.key, "") if comparison.ledger else ""
    if current.hash == installed_hash:
        return "bundle"
    return "local" if target.hash == installed_hash else "both"
