"""Deciding about parts that wait for approval: approved keys are applied, rejected ones dropped."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import ORDER, SCHEDULE, pause_schedule
from looseleaf.bundles.comparison.auth_refs import find_unresolved
from looseleaf.bundles.comparison.dependencies import (
    add_dependents,
    find_needed_key,
    require_pipelines,
)
from looseleaf.bundles.comparison.merging import merge_artifact
from looseleaf.bundles.comparison.plan import EVERY_KEY
from looseleaf.bundles.installation.ledger_entries import add_decisions
from looseleaf.bundles.installation.undo_log import recover
from looseleaf.bundles.installation.upgrade import apply_changes, check_merge, require_rights
from looseleaf.errors import InvalidArgument
from looseleaf.errors.bundles import UpgradeMissing, UpgradeOutdated
from looseleaf.times import format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.comparison.artifacts import Artifact
    from looseleaf.bundles.installation.destination import InstallTarget
    from looseleaf.bundles.installation.pending import PendingUpgrade


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
