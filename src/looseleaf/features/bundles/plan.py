"""The plan of an install or upgrade: what is applied, what a person must approve, what stays.

Each artifact is compared by three hashes: as it is here (current), as the bundle has it (target),
and as the last bundle left it (installed).
"""

from __future__ import annotations

import difflib
import json
import re

from looseleaf.errors import InvalidArgument
from looseleaf.features.bundles.artifacts import (
    AUTH_REF,
    CONFIG,
    EXTRA,
    FLOW,
    IDENTITY,
    MEMORY,
    PAGES,
    PIPELINE,
    PROMPT,
    QUEUE,
    SCHEDULE,
    TOOLS,
    USER,
    find_needed_key,
    has_other_steps,
    starts_by_itself,
    widens_rights,
)
from looseleaf.features.bundles.bundle import FLOWS
from looseleaf.features.workflows.artifacts import SecretMask
from looseleaf.memory.section_merge import BOTH, compare_sections, merge_sections
from looseleaf.values import FrozenDict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from looseleaf.features.bundles.artifacts import Artifact
    from looseleaf.features.bundles.ledger import BundleLedger
    from looseleaf.features.bundles.manifest import Manifest


AUTO, APPROVAL, WARNING, NO_OP = "auto_apply", "needs_approval", "warnings", "no_op"
BUCKETS = (AUTO, APPROVAL, WARNING, NO_OP)
EVERY_KEY = "all"
# Keys of a configuration that an installation chooses for itself; an upgrade leaves them alone.
LOCAL_CHOICES = {
    f"{CONFIG}:{key}" for key in ("models", "model", "provider", "allowed_redirect_uris")
}
_MOST_DIFF_LINES, _LONGEST_DIFF_LINE = 400, 4_000
UNRESOLVED, KEPT_LOCAL = "unresolved_auth_ref", "kept_local"


@value(kw_only=True)
class PlanEntry:
    """What would happen to one artifact.

    Fields:
        key: The kind and name of the artifact, by which it is approved: memory:SOUL.md.
        bucket: auto_apply, needs_approval, warnings or no_op.
        reason: Why: new_artifact, local_unchanged_from_installed, local_modified,
            untracked_local_artifact, widens_rights, starts_by_itself, already_matches_target,
            kept_local, learned_memory_kept, missing_local_artifact, orphaned_installed_artifact,
            missing_pipeline (of a flow), needs_pipeline (of a flow or file whose pipeline, or the
            new steps of it, must be approved), needs_flow (of a schedule, queue or file),
            missing_page (a page that a workflow selects and the bundle does not have),
            affects_all_agents (a prompt of a system task), kept_not_used (a file that only other
            programs use), unresolved_auth_ref (a credential that this workspace does not have).
        source_path: The file of the bundle.
        current_hash: The hash of the artifact here, or "" if there is none.
        target_hash: The hash of the artifact in the bundle, or "" if the bundle no longer has it.
        installed_hash: The hash of the artifact in the last bundle, or "" if there was none.
        diff: The change as lines, with values of secrets masked, or "" if nothing would change.
    """

    key: str
    bucket: str
    reason: str
    source_path: str = ""
    current_hash: str = ""
    target_hash: str = ""
    installed_hash: str = ""
    diff: str = ""


@value(kw_only=True)
class BundleComparison:
    """The three states that a plan compares.

    Fields:
        target: The artifacts of the bundle.
        current: The artifacts as they are here.
        ledger: The ledger of the last bundle, or None if there was none.
        reconcile_runtime: Whether schedules and queues follow the bundle, too.
        missing_refs: The references to credentials that are not here, by slug of the flow.
        is_new_agent: Whether the bundle creates the agent.
        builtins: Texts that are in force here if nobody replaced them, for the diff.
        missing_pages: Pages that workflows of the bundle select and nothing here has, each with
            the file that selects it.
    """

    target: Mapping[str, Artifact]
    current: Mapping[str, Artifact]
    ledger: BundleLedger | None
    reconcile_runtime: bool = False
    missing_refs: Mapping[str, tuple[str, ...]] = FrozenDict()
    is_new_agent: bool = False
    builtins: Mapping[str, Artifact] = FrozenDict()
    missing_pages: Mapping[str, str] = FrozenDict()

    def is_waiting(self, key: str) -> bool:
        """Return whether the last bundle brought an artifact that is not approved yet."""
        return self.ledger is not None and key in self.ledger.pending


def build_plan(comparison: BundleComparison) -> tuple[PlanEntry, ...]:
    """Decide about every artifact of the target, and list those that the target no longer has."""
    return tuple(_decide_entries(comparison))


def count_buckets(entries: Collection[PlanEntry]) -> dict[str, int]:
    """Count the entries of each bucket."""
    return {bucket: sum(entry.bucket == bucket for entry in entries) for bucket in BUCKETS}


def choose_approved(entries: Collection[PlanEntry], approve: Collection[str]) -> frozenset[str]:
    """Return the keys that need approval and have it: each by its name, or all by `all`.

    A key that the plan does not have is refused, so that a mistyped approval is noticed.
    """
    by_key = {entry.key: entry for entry in entries}
    for key in sorted(approve):
        if key not in by_key and key != EVERY_KEY:
            raise InvalidArgument("approve", f"the plan has no {key!r}")
        if key in by_key and by_key[key].reason == UNRESOLVED:
            reason = f"{key} needs a credential that this workspace does not have; see the warnings"
            raise InvalidArgument("approve", reason)
        if key in by_key and (by_key[key].bucket == WARNING or by_key[key].reason == KEPT_LOCAL):
            reason = f"{key} cannot be approved, since nothing would be done: {by_key[key].reason}"
            raise InvalidArgument("approve", reason)
    return frozenset(
        entry.key
        for entry in entries
        if entry.bucket == APPROVAL
        and (entry.key in approve or (EVERY_KEY in approve and entry.reason != UNRESOLVED))
    )


def list_waiting_entries(
    entries: Collection[PlanEntry], approved_keys: Collection[str]
) -> list[PlanEntry]:
    """List the entries that need approval and do not have it."""
    return [
        entry for entry in entries if entry.bucket == APPROVAL and entry.key not in approved_keys
    ]


def _decide_entries(comparison: BundleComparison) -> Iterator[PlanEntry]:
    ledger = comparison.ledger
    installed_hashes = ledger.hashes() if ledger is not None else {}
    decisions: dict[str, tuple[str, str]] = {}
    for key, target in comparison.target.items():
        current = comparison.current.get(key)
        installed_hash = installed_hashes.get(key, "")
        decision = _decide(comparison, target, installed_hash)
        bucket, reason = decisions[key] = _follow_needed(comparison, target, decision, decisions)
        current_hash = current.hash if current is not None else ""
        diff = (
            "" if bucket == NO_OP else format_diff(current or comparison.builtins.get(key), target)
        )
        yield PlanEntry(
            key=key,
            bucket=bucket,
            reason=reason,
            source_path=target.path,
            current_hash=current_hash,
            target_hash=target.hash,
            installed_hash=installed_hash,
            diff=diff,
        )
    for key, installed_hash in installed_hashes.items():
        if key not in comparison.target and not key.startswith(f"{QUEUE}:"):
            current = comparison.current.get(key)
            current_hash = current.hash if current is not None else ""
            reason = "orphaned_installed_artifact"
            yield PlanEntry(
                key=key,
                bucket=WARNING,
                reason=reason,
                source_path="",
                current_hash=current_hash,
                target_hash="",
                installed_hash=installed_hash,
            )
    for name, path in comparison.missing_pages.items():
        key = f"{MEMORY}:{name}"
        yield PlanEntry(key=key, bucket=WARNING, reason="missing_page", source_path=path)
    names = {name: slug for slug, names in comparison.missing_refs.items() for name in names}
    for name, slug in sorted(names.items()):
        yield PlanEntry(
            key=f"{AUTH_REF}:{name}",
            bucket=WARNING,
            reason=UNRESOLVED,
            source_path=f"{FLOWS}{slug}.json",
        )


def _decide(comparison: BundleComparison, target: Artifact, installed_hash: str) -> tuple[str, str]:
    current = comparison.current.get(target.key)
    if current is not None and current.hash == target.hash:
        return NO_OP, "already_matches_target"
    if target.kind == EXTRA:
        return AUTO, "kept_not_used"
    if target.kind == PROMPT:
        return _decide_prompt(comparison, target, installed_hash)
    if target.kind in (SCHEDULE, QUEUE):
        return _decide_runtime(comparison, target)
    if comparison.is_new_agent:
        return _decide_new(target)
    if target.is_learned:
        is_new = current is None and not installed_hash and target.kind != USER
        return (AUTO, "new_artifact") if is_new else (WARNING, "learned_memory_kept")
    if current is None:
        return (WARNING, "missing_local_artifact") if installed_hash else _decide_new(target)
    return _decide_changed(target, current, installed_hash)


def _follow_needed(
    comparison: BundleComparison,
    target: Artifact,
    decision: tuple[str, str],
    decisions: Mapping[str, tuple[str, str]],
) -> tuple[str, str]:
    """Change a decision if the part that an artifact needs is not here, or must wait.

    Artifacts come in the order in which they are applied, so that `decisions` has that part.
    """
    key, bucket = find_needed_key(target), decision[0]
    if not key or bucket not in (AUTO, APPROVAL):
        return decision
    needed_bucket = decisions.get(key, ("", ""))[0]
    if key not in comparison.current:
        if needed_bucket == WARNING:
            reason = "missing_pipeline" if target.kind == FLOW else "missing_local_artifact"
            return WARNING, reason
        is_waiting = needed_bucket == APPROVAL and bucket == AUTO
        reason = "needs_pipeline" if key.startswith(f"{PIPELINE}:") else "needs_flow"
        return (APPROVAL, reason) if is_waiting else decision
    is_changed = has_other_steps(key, comparison.target, comparison.current)
    if needed_bucket == APPROVAL and bucket == AUTO and is_changed:
        return APPROVAL, "needs_pipeline"
    return decision


def _decide_changed(target: Artifact, current: Artifact, installed_hash: str) -> tuple[str, str]:
    if target.key in LOCAL_CHOICES:
        return NO_OP, KEPT_LOCAL
    if widens_rights(target, current):
        return APPROVAL, "widens_rights"
    if not installed_hash:
        return APPROVAL, "untracked_local_artifact"
    if current.hash == installed_hash:
        return AUTO, "local_unchanged_from_installed"
    return APPROVAL, "local_modified"


def _decide_new(target: Artifact) -> tuple[str, str]:
    return (APPROVAL, "widens_rights") if widens_rights(target, None) else (AUTO, "new_artifact")


def _decide_runtime(comparison: BundleComparison, target: Artifact) -> tuple[str, str]:
    """Keep the schedule and the queue of a flow here, unless `reconcile_runtime` is set."""
    is_new = f"{FLOW}:{target.name}" not in comparison.current
    if is_new or comparison.is_waiting(target.key) or comparison.reconcile_runtime:
        if starts_by_itself(target):
            return APPROVAL, _choose_wait_reason(comparison, target)
        if target.kind == SCHEDULE and not is_new:
            return APPROVAL, "local_modified"
        return AUTO, "new_artifact" if is_new else "local_unchanged_from_installed"
    return NO_OP, KEPT_LOCAL


def _choose_wait_reason(comparison: BundleComparison, schedule: Artifact) -> str:
    return UNRESOLVED if schedule.name in comparison.missing_refs else "starts_by_itself"


def _decide_prompt(
    comparison: BundleComparison, target: Artifact, installed_hash: str
) -> tuple[str, str]:
    """Leave to a person the decision about every prompt: the tasks of all agents use it."""
    current = comparison.current.get(target.key)
    if current is None and installed_hash and not comparison.is_waiting(target.key):
        return WARNING, "missing_local_artifact"
    is_edited = current is not None and current.hash != installed_hash
    return APPROVAL, "local_modified" if is_edited else "affects_all_agents"


def format_diff(current: Artifact | None, target: Artifact) -> str:
    """Write the change of an artifact as lines; values under the keys of secrets are masked."""
    before, after = _format_lines(current), _format_lines(target)
    lines = list(difflib.unified_diff(before, after, "current", "bundle", lineterm="", n=2))
    if len(lines) > _MOST_DIFF_LINES:
        count = len(lines) - _MOST_DIFF_LINES
        lines = [*lines[:_MOST_DIFF_LINES], f"… {count:,} lines more"]
    return "\n".join(line[:_LONGEST_DIFF_LINE] for line in lines)


def _format_lines(artifact: Artifact | None) -> list[str]:
    if artifact is None:
        return []
    if isinstance(artifact.payload, str) and not _is_text(artifact.payload):
        return [f"({artifact.kind}: bytes that are no text)"]
    payload = SecretMask().mask(artifact.payload)
    if artifact.key != IDENTITY and not isinstance(payload, str):
        payload = json.dumps(payload, sort_keys=True, ensure_ascii=False, indent=2)
    return str(payload).splitlines()


def _is_text(payload: str) -> bool:
    """Return whether a payload was UTF-8 text; other bytes were decoded as surrogates."""
    try:
        payload.encode()
    except UnicodeEncodeError:
        return False
    return True


# Drift: the difference between the bundle an agent came from and another; local changes aside.


CURRENT, NOT_INSTALLED, WRONG_BUNDLE = "current", "not_installed", "wrong_bundle"
VERSION_DRIFT, SOURCE_DRIFT = "version_drift", "source_drift"


def find_drift(
    manifest: Manifest, ledger: BundleLedger | None, changed_keys: Collection[str]
) -> str:
    """Return how the installed bundle differs from another: by name, version, source or content."""
    if ledger is None:
        return NOT_INSTALLED
    if ledger.bundle_slug != manifest.bundle_slug:
        return WRONG_BUNDLE
    if ledger.bundle_version != manifest.bundle_version:
        return VERSION_DRIFT
    installed_source = (ledger.source_ref, ledger.source_revision)
    is_same_source = installed_source == (manifest.source_ref, manifest.source_revision)
    return CURRENT if is_same_source and not changed_keys else SOURCE_DRIFT


def find_changed_keys(
    target: Mapping[str, Artifact], ledger: BundleLedger | None, waiting_keys: Collection[str]
) -> tuple[str, ...]:
    """List the parts that an upgrade would bring, without those learned, chosen here or waiting."""
    hashes = ledger.hashes() if ledger is not None else {}
    return tuple(
        key
        for key, artifact in target.items()
        if hashes.get(key) != artifact.hash
        and key not in waiting_keys
        and key not in LOCAL_CHOICES
        and not artifact.is_learned
        and artifact.kind not in (SCHEDULE, QUEUE)
    )


# References of flows to credentials: a site of the settings, or a placeholder for a secret.
# A bundle that is shared holds no credentials. A flow with a reference to a credential that
# this workspace lacks cannot run, so its schedule stays paused.


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


# Three-way merges of artifacts: pages by section, JSON by key; in doubt the local side stays.


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


# Rebase: how the bundle's changes would merge into an agent that was changed here; a preview.


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
