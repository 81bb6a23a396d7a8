"""Three-way merges of artifacts: pages by section, JSON by key; in doubt the local side stays."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import CONFIG, FLOW, IDENTITY, PIPELINE
from looseleaf.bundles.comparison.rights import PAGES, TOOLS
from looseleaf.memory.text.section_merge import BOTH, compare_sections, merge_sections
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.bundles.comparison.artifacts import Artifact
    from looseleaf.bundles.installation.ledger import BundleLedger

_POLICY = "tool_policy"  # of a pipeline
_ABSENT = object()  # of a key that an object does not have


@value
class MergedArtifact:
    """The merged payload, and the sections or keys that both sides changed: the local ones stay."""

    payload: Any
    conflicts: tuple[str, ...]


def is_mergeable(artifact: Artifact) -> bool:
    """Return whether an artifact has sections or keys to merge.

    A policy is one rule: a mix of the keys of two policies could allow more than each of them.
    """
    if artifact.key in (TOOLS, PAGES):
        return False
    is_document = artifact.kind in (CONFIG, PIPELINE, FLOW) and isinstance(artifact.payload, dict)
    return artifact.key == IDENTITY or is_document


def merge_artifact(
    target: Artifact, current: Artifact | None, ledger: BundleLedger | None
) -> MergedArtifact:
    """Merge the changes between the last bundle and this one into the artifact here."""
    if current is None:
        return MergedArtifact(target.payload, ())
    entry = ledger.artifacts.get(target.key) if ledger is not None else None
    base = entry.payload if entry is not None else None
    if isinstance(target.payload, str):
        return _merge_page(base if isinstance(base, str) else None, current, target)
    conflicts: list[str] = []
    start = _ABSENT if base is None else base
    payload = _merge_json((start, current.payload, target.payload), "", conflicts)
    return MergedArtifact(payload, tuple(conflicts))


def _merge_page(base: str | None, current: Artifact, target: Artifact) -> MergedArtifact:
    parts = compare_sections(base, current.payload, target.payload)
    choices = {number: "mine" for number, part in enumerate(parts) if part.state == BOTH}
    titles = [parts[number].title or "(above the first section)" for number in choices]
    return MergedArtifact(merge_sections(parts, choices), tuple(titles))


def _merge_json(versions: tuple[Any, Any, Any], path: str, conflicts: list[str]) -> object:
    """Merge base, local and target; a list or a policy is one value, of one side or the other."""
    base, mine, theirs = versions
    if theirs in (mine, base):
        return mine
    if mine == base:
        return theirs
    if path == _POLICY or not (isinstance(mine, dict) and isinstance(theirs, dict)):
        conflicts.append(path or "(all of it)")
        return mine
    former = base if isinstance(base, dict) else {}
    merged_document = {}
    for key in sorted({*former, *mine, *theirs}):
        sides = (former.get(key, _ABSENT), mine.get(key, _ABSENT), theirs.get(key, _ABSENT))
        part = _merge_json(sides, f"{path}.{key}" if path else key, conflicts)
        if part is not _ABSENT:
            merged_document[key] = part
    return merged_document
