"""Upgrading an agent by a bundle, all or nothing; and deciding about parts that wait."""

from __future__ import annotations

from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import BundleMismatch, UpgradeMissing, UpgradeOutdated
from looseleaf.features.bundles.artifacts import (
    EXTRA,
    ORDER,
    PROMPT,
    SCHEDULE,
    Artifact,
    add_dependents,
    find_needed_key,
    pause_schedule,
    require_pipelines,
)
from looseleaf.features.bundles.install import InstallOutcome, require_installable
from looseleaf.features.bundles.install_target import (
    PENDING_UPGRADE,
    UPGRADE,
    ArtifactChanges,
    UndoLog,
    begin,
    build_pending,
    finish,
    format_pending,
    recover,
)
from looseleaf.features.bundles.ledger import (
    LedgerUpdate,
    add_decisions,
    build_ledger,
    format_ledger,
)
from looseleaf.features.bundles.plan import (
    APPROVAL,
    AUTO,
    EVERY_KEY,
    BundleComparison,
    PlanEntry,
    build_plan,
    choose_approved,
    find_unresolved,
    is_mergeable,
    list_waiting_entries,
    merge_artifact,
)
from looseleaf.times import format_time
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from looseleaf.agents.record import AgentRecord
    from looseleaf.features.bundles.bundle import Bundle
    from looseleaf.features.bundles.install_target import InstallTarget, PendingUpgrade
    from looseleaf.features.bundles.ledger import BundleLedger


@value
class UpgradeOrder:
    """What a person decided about an upgrade.

    Fields:
        approve: Keys of the plan that need approval and have it; `all` for every one.
        merge: Keys whose sections are merged: those edited here stay, the others follow the bundle.
        reconcile_runtime: Whether schedules and queues follow the bundle, too.
        planned_hashes: The hashes of parts as the person saw them, by key.
    """

    approve: frozenset[str] = frozenset()
    merge: frozenset[str] = frozenset()
    reconcile_runtime: bool = False
    planned_hashes: Mapping[str, str] = FrozenDict()

    def require_planned(
        self, record: AgentRecord, keys: Collection[str], current: Mapping[str, Artifact]
    ) -> None:
        """Raise `UpgradeOutdated` if an approved part is not as the person saw it."""
        changed_keys = tuple(
            key
            for key, planned_hash in sorted(self.planned_hashes.items())
            if key in keys and (key not in current or current[key].hash != planned_hash)
        )
        if changed_keys:
            raise UpgradeOutdated(record.slug, changed_keys)


def plan_upgrade(
    destination: InstallTarget, bundle: Bundle, record: AgentRecord, *, reconcile: bool = False
) -> tuple[PlanEntry, ...]:
    """Plan the upgrade of an agent; nothing is written."""
    return build_plan(compare_states(destination, bundle, record, reconcile=reconcile))


def compare_states(
    destination: InstallTarget, bundle: Bundle, record: AgentRecord, *, reconcile: bool = False
) -> BundleComparison:
    """Compare an agent as it is, as the bundle has it, and as the last bundle left it."""
    ledger = require_same_bundle(destination, bundle, record)
    target = destination.target_artifacts(bundle)
    missing_refs = find_unresolved(target, destination.sites)
    current = destination.current_artifacts(record)
    builtins = destination.builtin_prompts()
    return BundleComparison(
        target=target,
        current=current,
        ledger=ledger,
        reconcile_runtime=reconcile,
        missing_refs=missing_refs,
        builtins=builtins,
        missing_pages=destination.find_missing_pages(target, record),
    )


def require_same_bundle(
    destination: InstallTarget, bundle: Bundle, record: AgentRecord
) -> BundleLedger | None:
    """Return the ledger of an agent, or raise `BundleMismatch` if another bundle made it."""
    ledger = destination.ledgers.read(record.id)
    if ledger is not None and ledger.bundle_slug != bundle.manifest.bundle_slug:
        raise BundleMismatch(record.slug, ledger.bundle_slug, bundle.manifest.bundle_slug)
    return ledger


def upgrade_agent(
    destination: InstallTarget, bundle: Bundle, record: AgentRecord, order: UpgradeOrder
) -> InstallOutcome:
    """Apply all parts that are approved or need no approval, or nothing."""
    require_installable(destination, bundle)
    manifest = bundle.manifest
    destination = destination.with_bundle_reason(manifest.bundle_slug, manifest.bundle_version)
    with destination.ledgers.records.lock():
        recover(destination)
        comparison = compare_states(destination, bundle, record, reconcile=order.reconcile_runtime)
        target, current = comparison.target, comparison.current
        entries = build_plan(comparison)
        approved_keys = frozenset(
            add_dependents(choose_approved(entries, order.approve | order.merge), target, current)
        )
        order.require_planned(record, approved_keys, current)
        check_merge(order.merge, target)
        payloads = _choose_payloads(comparison, entries, approved_keys, order.merge)
        require_rights(destination, payloads)
        waiting_entries = list_waiting_entries(entries, approved_keys)
        waiting_keys = tuple(entry.key for entry in waiting_entries)
        update = LedgerUpdate(
            target,
            {key for key in target if key in payloads or _is_same(key, target, current)},
            {key for key in waiting_keys if _is_kept_waiting(target[key], current)},
            format_time(destination.clock()),
        )
        header = destination.describe_pending(PENDING_UPGRADE, bundle)
        pending_upgrade = build_pending(header, waiting_entries, target, new_keys=payloads)
        ledger = build_ledger(bundle, update, comparison.ledger)
        apply_changes(destination, record, (payloads, current), (ledger, pending_upgrade))
    return InstallOutcome(
        record, entries, tuple(key for key in payloads if key not in waiting_keys), waiting_keys
    )


def _is_same(key: str, target: Mapping[str, Artifact], current: Mapping[str, Artifact]) -> bool:
    return key in current and current[key].hash == target[key].hash


def _is_kept_waiting(artifact: Artifact, current: Mapping[str, Artifact]) -> bool:
    """Return whether the ledger keeps an artifact that waits, so that exports have it unchanged."""
    is_new_prompt = artifact.kind == PROMPT and artifact.key not in current
    return artifact.kind == SCHEDULE or is_new_prompt


def check_merge(keys: Collection[str], target: Mapping[str, Artifact]) -> None:
    """Raise `InvalidArgument` if a key has neither sections nor keys to merge."""
    for key in sorted(keys):
        if key not in target or not is_mergeable(target[key]):
            reason = f"only SOUL.md, configuration, pipelines and flows can be merged, not {key}"
            raise InvalidArgument("merge", reason)


def require_rights(destination: InstallTarget, keys: Collection[str]) -> None:
    """Raise `Forbidden` if a key is a prompt of a system task that the actor may not set."""
    if any(key.startswith(f"{PROMPT}:") for key in keys):
        destination.prompts.require_right()


def _choose_payloads(
    comparison: BundleComparison,
    entries: Collection[PlanEntry],
    approved_keys: Collection[str],
    merge: Collection[str],
) -> dict[str, object]:
    """Return the payloads to write, by key: the bundle's, a merged one, a paused schedule."""
    target, current = comparison.target, comparison.current
    payloads: dict[str, object] = {}
    for entry in entries:
        key = entry.key
        is_applied = entry.bucket == AUTO or key in approved_keys
        if is_applied and key in merge:
            merge_result = merge_artifact(target[key], current.get(key), comparison.ledger)
            payloads[key] = merge_result.payload
        elif is_applied:
            payloads[key] = target[key].payload
        elif entry.bucket == APPROVAL and _is_new_schedule(target[key], current, payloads):
            payloads[key] = pause_schedule(target[key]).payload
    require_pipelines(payloads, target, current)
    return payloads


def _is_new_schedule(
    artifact: Artifact, current: Collection[str], payloads: Collection[str]
) -> bool:
    """Return whether a schedule that waits belongs to a flow that has none yet."""
    has_flow = find_needed_key(artifact) in {*current, *payloads}
    is_new = artifact.kind == SCHEDULE and artifact.key not in current
    return is_new and has_flow


def apply_changes(
    destination: InstallTarget,
    record: AgentRecord,
    states: tuple[Mapping[str, object], Mapping[str, Artifact]],
    records: tuple[BundleLedger, PendingUpgrade | None],
) -> None:
    """Write new payloads over the present artifacts, and the records; take all back on failure."""
    payloads, current = states
    ledger, pending_upgrade = records
    pending_fields = format_pending(pending_upgrade)
    former_ledger = destination.ledgers.read(record.id)
    changes = tuple(
        (key, current[key].payload if key in current else None, Artifact(key, "", payload).hash)
        for key, payload in payloads.items()
    )
    former_fields = None if former_ledger is None else format_ledger(former_ledger)
    former_pending = destination.pending.read_fields(record.id)
    begin(
        destination,
        UndoLog(
            kind=UPGRADE,
            agent_id=record.id,
            changes=changes,
            ledger=former_fields,
            pending=former_pending,
        ),
    )
    hashes = {key: current[key].hash if key in current else "" for key in payloads}
    artifact_changes = ArtifactChanges(destination, record, hashes)
    try:
        for count, (key, payload) in enumerate(payloads.items(), 1):
            if not key.startswith(f"{EXTRA}:"):
                artifact_changes.apply(key, payload)
            destination.show_progress("Upgrading", count, len(payloads))
        if pending_fields != former_pending:
            destination.pending.write_fields(record.id, pending_fields)
        destination.ledgers.write(record.id, ledger)
        finish(destination)
    except BaseException:
        recover(destination)
        raise


# Deciding about parts that wait for approval: approved keys are applied, rejected ones dropped.


def require_pending(destination: InstallTarget, record: AgentRecord) -> PendingUpgrade:
    """Return the parts that wait for an agent, or raise `UpgradeMissing`."""
    upgrade = destination.pending.read(record.id)
    if upgrade is None:
        raise UpgradeMissing(record.slug)
    return upgrade


def approve_upgrade(
    destination: InstallTarget,
    record: AgentRecord,
    approve: Collection[str],
    merge: Collection[str] = (),
) -> tuple[tuple[str, ...], PendingUpgrade | None]:
    """Apply the approved keys, all of them or nothing; return these keys, and what still waits."""
    with destination.ledgers.records.lock():
        recover(destination)
        upgrade = require_pending(destination, record)
        destination = destination.with_bundle_reason(upgrade.bundle_slug, upgrade.bundle_version)
        current = destination.current_artifacts(record)
        keys = _choose_keys(upgrade, {*approve, *merge})
        keys = _leave_unresolved(destination, keys, (upgrade, current), approve)
        waiting_targets = {key: upgrade.target(key) for key in upgrade.artifacts}
        keys = _order_keys(add_dependents(keys, waiting_targets, current))
        require_pipelines(keys, waiting_targets, current)
        targets = {key: waiting_targets[key] for key in keys}
        check_merge(merge, targets)
        _require_unchanged(record, upgrade, targets, current)
        require_rights(destination, keys)
        ledger = destination.ledgers.read(record.id)
        if ledger is None:
            raise UpgradeMissing(record.slug)
        payloads = {
            key: merge_artifact(target, current.get(key), ledger).payload
            if key in merge
            else target.payload
            for key, target in targets.items()
        }
        now = format_time(destination.clock())
        paused_schedules = _pause_schedules(waiting_targets, keys, current)
        payloads |= {key: artifact.payload for key, artifact in paused_schedules.items()}
        remainder = upgrade.without(keys)
        if remainder is not None:
            remainder = remainder.with_present(paused_schedules)
        records = (add_decisions(ledger, targets, (keys, now)), remainder)
        apply_changes(destination, record, (payloads, current), records)
    return tuple(keys), records[1]


def _pause_schedules(
    waiting_targets: Mapping[str, Artifact], keys: Collection[str], current: Mapping[str, Artifact]
) -> dict[str, Artifact]:
    """Pause the schedules of new flows, which need an approval of their own."""
    return {
        key: pause_schedule(artifact)
        for key, artifact in waiting_targets.items()
        if artifact.kind == SCHEDULE
        and key not in keys
        and find_needed_key(artifact) in keys
        and find_needed_key(artifact) not in current
    }


def reject_upgrade(
    destination: InstallTarget, record: AgentRecord, reject: Collection[str]
) -> tuple[tuple[str, ...], PendingUpgrade | None]:
    """Drop keys that wait; return them, and what still waits. Paused schedules stay paused."""
    with destination.ledgers.records.lock():
        recover(destination)
        upgrade = require_pending(destination, record)
        keys = _choose_keys(upgrade, reject)
        ledger = destination.ledgers.read(record.id)
        if ledger is None:
            raise UpgradeMissing(record.slug)
        records = (add_decisions(ledger, {}, (keys, ledger.updated_at)), upgrade.without(keys))
        apply_changes(destination, record, ({}, {}), records)
    return tuple(keys), records[1]


def _choose_keys(upgrade: PendingUpgrade, keys: Collection[str]) -> list[str]:
    """Return the chosen keys in the order in which they are applied; no key at all is an error."""
    if not keys:
        waiting_keys = ", ".join(upgrade.artifacts)
        raise InvalidArgument("keys", f"it names no key, and these wait: {waiting_keys}")
    for key in sorted(keys):
        if key not in upgrade.artifacts and key != EVERY_KEY:
            raise InvalidArgument("keys", f"{key!r} does not wait for approval")
    return _order_keys(key for key in upgrade.artifacts if key in keys or EVERY_KEY in keys)


def _order_keys(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: (ORDER.index(key.partition(":")[0]), key))


def _leave_unresolved(
    destination: InstallTarget,
    keys: list[str],
    states: tuple[PendingUpgrade, Mapping[str, Artifact]],
    approve: Collection[str],
) -> list[str]:
    """Omit schedules whose flow lacks a credential; a schedule that is named is an error."""
    upgrade, current = states
    new_artifacts = {key: upgrade.target(key) for key in keys}
    missing_refs = find_unresolved({**current, **new_artifacts}, destination.sites)
    blocked_keys = {f"{SCHEDULE}:{slug}": names for slug, names in missing_refs.items()}
    left_keys = [key for key in keys if key not in blocked_keys]
    for key in keys:
        if key in blocked_keys and (key in approve or not left_keys):
            names = ", ".join(blocked_keys[key])
            raise InvalidArgument("keys", f"{key} needs a credential that is not here: {names}")
    return left_keys


def _require_unchanged(
    record: AgentRecord,
    upgrade: PendingUpgrade,
    targets: Mapping[str, Artifact],
    current: Mapping[str, Artifact],
) -> None:
    """Raise `UpgradeOutdated` if an artifact is neither as planned nor as in the bundle."""
    changed_keys = tuple(
        key
        for key, target in targets.items()
        if is_outdated(upgrade, key, current)
        and (key not in current or current[key].hash != target.hash)
    )
    if changed_keys:
        raise UpgradeOutdated(record.slug, changed_keys)


def is_outdated(upgrade: PendingUpgrade, key: str, current: Mapping[str, Artifact]) -> bool:
    """Return whether an artifact was changed here since it waits for approval."""
    present_hash = current[key].hash if key in current else ""
    return present_hash != upgrade.artifacts[key].current_hash
