"""Installing a bundle as a new agent, and upgrading an agent by one: all of it or nothing."""

from __future__ import annotations

from looseleaf.bundles.inspection import find_problems
from looseleaf.bundles.installation.artifact_changes import ArtifactChanges
from looseleaf.bundles.installation.artifacts import (
    EXTRA,
    IDENTITY,
    SCHEDULE,
    Artifact,
    list_artifacts,
)
from looseleaf.bundles.installation.journal import (
    INSTALL,
    UPGRADE,
    Journal,
    begin,
    finish,
    recover,
)
from looseleaf.bundles.installation.ledger import format_ledger
from looseleaf.bundles.installation.ledger_entries import LedgerUpdate, build_ledger
from looseleaf.bundles.installation.new_agent import InstallOrder, write_agent
from looseleaf.bundles.installation.plan import (
    APPROVAL,
    AUTO,
    Comparison,
    PlanEntry,
    build_plan,
    is_approved,
)
from looseleaf.bundles.installation.rights import starts_by_itself
from looseleaf.errors import BundleMismatch, InvalidArgument, InvalidBundle
from looseleaf.memory.text.section_merge import compare_sections, merge_sections
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.installation.destination import Destination
    from looseleaf.bundles.installation.ledger import Ledger
    from looseleaf.bundles.layout.bundle import Bundle


@value
class UpgradeOrder:
    """What a person decided about an upgrade.

    Fields:
        approve: Keys of the plan that need approval and have it; `all` for every one.
        merge: Keys whose sections are merged: those edited here stay, the others follow the bundle.
        reconcile_runtime: Whether schedules and queues follow the bundle, too.
    """

    approve: frozenset[str] = frozenset()
    merge: frozenset[str] = frozenset()
    reconcile_runtime: bool = False


def require_installable(destination: Destination, bundle: Bundle) -> None:
    """Raise `InvalidBundle` with the first reason why the bundle could not run here."""
    problems = find_problems(bundle, destination.pages.registry, destination.step_types)
    if problems:
        path, _, reason = problems[0].partition(": ")
        raise InvalidBundle(path, reason.rstrip("."))


def plan_install(bundle: Bundle) -> tuple[PlanEntry, ...]:
    """Plan the install of a bundle as a new agent."""
    return build_plan(Comparison(list_artifacts(bundle), {}, None))


def plan_upgrade(
    destination: Destination, bundle: Bundle, record: AgentRecord, *, reconcile: bool = False
) -> tuple[PlanEntry, ...]:
    """Plan the upgrade of an agent; nothing is written."""
    ledger = require_same_bundle(destination, bundle, record)
    current = destination.current_artifacts(record)
    return build_plan(Comparison(list_artifacts(bundle), current, ledger, reconcile))


def require_same_bundle(
    destination: Destination, bundle: Bundle, record: AgentRecord
) -> Ledger | None:
    """Give the ledger of an agent, or raise `BundleMismatch` where another bundle made it."""
    ledger = destination.ledgers.read(record.id)
    if ledger is not None and ledger.bundle_slug != bundle.manifest.bundle_slug:
        raise BundleMismatch(record.slug, ledger.bundle_slug, bundle.manifest.bundle_slug)
    return ledger


def install_agent(destination: Destination, bundle: Bundle, order: InstallOrder) -> AgentRecord:
    """Create the agent of a bundle with everything that the bundle has, or nothing."""
    require_installable(destination, bundle)
    artifacts = list_artifacts(bundle)
    pending = {
        key
        for key, artifact in artifacts.items()
        if starts_by_itself(artifact) and not is_approved(key, order.approve)
    }
    now = format_time(destination.clock())
    ledger = build_ledger(bundle, LedgerUpdate(artifacts, artifacts.keys(), pending, now), None)
    with destination.ledgers.records.lock():
        recover(destination)

        def start(record: AgentRecord) -> None:
            user_change = order.find_user_change(destination, bundle, record)
            begin(destination, Journal(INSTALL, record.id, **user_change))
            write_agent(destination, bundle, record, order)
            destination.ledgers.write(record.id, ledger)

        agent = bundle.manifest.agent
        try:
            record = destination.agents.create(
                order.slug or agent.slug,
                name=agent.label,
                owner=order.owner,
                config=agent.agent_config,
                start=start,
                highest_id=destination.highest_id,
            )
        except BaseException:
            recover(destination)
            raise
        finish(destination)
    return record


def upgrade_agent(
    destination: Destination, bundle: Bundle, record: AgentRecord, order: UpgradeOrder
) -> tuple[tuple[PlanEntry, ...], tuple[str, ...]]:
    """Apply what may be applied and what was approved; give the plan and the keys applied."""
    require_installable(destination, bundle)
    with destination.ledgers.records.lock():
        recover(destination)
        ledger = require_same_bundle(destination, bundle, record)
        target, current = list_artifacts(bundle), destination.current_artifacts(record)
        entries = build_plan(Comparison(target, current, ledger, order.reconcile_runtime))
        _check_order(entries, order)
        payloads = _choose_payloads(entries, target, current, (ledger, order))
        waiting = _waiting_schedules(entries, order)
        update = LedgerUpdate(
            target,
            {key for key in target if key in payloads or _is_same(key, target, current)},
            waiting,
            format_time(destination.clock()),
        )
        _apply(destination, record, payloads, current)
        _finish_upgrade(destination, record, build_ledger(bundle, update, ledger))
    return entries, tuple(key for key in payloads if key not in waiting)


def _is_same(key: str, target: Mapping[str, Artifact], current: Mapping[str, Artifact]) -> bool:
    return key in current and current[key].hash == target[key].hash


def _check_order(entries: Sequence[PlanEntry], order: UpgradeOrder) -> None:
    """Refuse keys that nothing in the plan has, so that a mistyped approval is not lost."""
    keys = {entry.key for entry in entries} | {"all"}
    for name, chosen_keys in (("approve", order.approve), ("merge", order.merge)):
        for key in sorted(chosen_keys - keys):
            raise InvalidArgument(name, f"the plan has no {key!r}")
    if order.merge - {IDENTITY}:
        raise InvalidArgument("merge", f"only {IDENTITY} has sections to merge")


def _choose_payloads(
    entries: Sequence[PlanEntry],
    target: Mapping[str, Artifact],
    current: Mapping[str, Artifact],
    decision: tuple[Ledger | None, UpgradeOrder],
) -> dict[str, object]:
    """Give what is written, by key: the bundle's payload, a merged page, a paused schedule."""
    ledger, order = decision
    payloads: dict[str, object] = {}
    for entry in entries:
        key = entry.key
        is_applied = entry.bucket == AUTO or (
            entry.bucket == APPROVAL and is_approved(key, order.approve | order.merge)
        )
        if is_applied and key in order.merge:
            payloads[key] = _merge_page(target[key], current.get(key), ledger)
        elif is_applied:
            payloads[key] = target[key].payload
        elif entry.bucket == APPROVAL and key not in current and target[key].kind == SCHEDULE:
            payloads[key] = {**target[key].payload, "enabled": False}
    return payloads


def _merge_page(target: Artifact, current: Artifact | None, ledger: Ledger | None) -> str:
    """Merge a page by sections: those that were edited here stay, the others follow the bundle."""
    if current is None:
        return str(target.payload)
    entry = ledger.artifacts.get(target.key) if ledger is not None else None
    base = entry.payload if entry is not None and isinstance(entry.payload, str) else None
    parts = compare_sections(base, current.payload, target.payload)
    choices = {number: "mine" for number, part in enumerate(parts) if part.state == "both"}
    return merge_sections(parts, choices)


def _waiting_schedules(entries: Sequence[PlanEntry], order: UpgradeOrder) -> Collection[str]:
    return {
        entry.key
        for entry in entries
        if entry.bucket == APPROVAL
        and entry.key.startswith(f"{SCHEDULE}:")
        and not is_approved(entry.key, order.approve)
    }


def _apply(
    destination: Destination,
    record: AgentRecord,
    payloads: Mapping[str, object],
    current: Mapping[str, Artifact],
) -> None:
    ledger = destination.ledgers.read(record.id)
    journal = Journal(
        UPGRADE,
        record.id,
        tuple(
            (
                key,
                current[key].payload if key in current else None,
                Artifact(key, "", payload).hash,
            )
            for key, payload in payloads.items()
        ),
        None if ledger is None else format_ledger(ledger),
    )
    begin(destination, journal)
    changes = ArtifactChanges(destination, record)
    try:
        for count, (key, payload) in enumerate(payloads.items(), 1):
            if not key.startswith(f"{EXTRA}:"):
                changes.apply(key, payload)
            destination.show_progress("Upgrading", count, len(payloads))
    except BaseException:
        recover(destination)
        raise


def _finish_upgrade(destination: Destination, record: AgentRecord, ledger: Ledger) -> None:
    try:
        destination.ledgers.write(record.id, ledger)
    except BaseException:
        recover(destination)
        raise
    finish(destination)
