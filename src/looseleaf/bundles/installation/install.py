"""Installing a bundle as a new agent: all of it or nothing."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import PROMPT
from looseleaf.bundles.comparison.auth_refs import find_unresolved
from looseleaf.bundles.comparison.plan import (
    BundleComparison,
    PlanEntry,
    build_plan,
    choose_approved,
    list_waiting_entries,
)
from looseleaf.bundles.inspection import find_problems
from looseleaf.bundles.installation.ledger_entries import LedgerUpdate, build_ledger
from looseleaf.bundles.installation.new_agent import write_agent
from looseleaf.bundles.installation.pending import INSTALL as PENDING_INSTALL
from looseleaf.bundles.installation.pending import build_pending, format_pending
from looseleaf.bundles.installation.undo_log import INSTALL, UndoLog, begin, finish, recover
from looseleaf.errors import LooseleafError
from looseleaf.errors.bundles import InvalidBundle
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.comparison.artifacts import Artifact
    from looseleaf.bundles.installation.destination import InstallTarget
    from looseleaf.bundles.installation.new_agent import InstallOrder
    from looseleaf.bundles.layout.bundle import Bundle


@value
class InstallOutcome:
    """The result of an install or upgrade: the plan, the keys applied, and those that wait."""

    record: AgentRecord
    entries: tuple[PlanEntry, ...]
    applied_keys: tuple[str, ...]
    waiting_keys: tuple[str, ...]


def require_installable(destination: InstallTarget, bundle: Bundle) -> None:
    """Raise `InvalidBundle` with the first reason why the bundle could not run here."""
    problems = find_problems(bundle, destination.rules(), destination.prompts, destination.limits)
    if problems:
        path, _, reason = problems[0].partition(": ")
        raise InvalidBundle(path, reason.rstrip("."))


def plan_install(destination: InstallTarget, bundle: Bundle) -> tuple[PlanEntry, ...]:
    """Plan the install of a bundle as a new agent."""
    return _plan(destination, destination.target_artifacts(bundle))


def _plan(destination: InstallTarget, target: Mapping[str, Artifact]) -> tuple[PlanEntry, ...]:
    missing_refs = find_unresolved(target, destination.sites)
    return build_plan(
        BundleComparison(
            target=target,
            current=destination.current_prompts(),
            ledger=None,
            missing_refs=missing_refs,
            is_new_agent=True,
            builtins=destination.builtin_prompts(),
        )
    )


def install_agent(
    destination: InstallTarget, bundle: Bundle, order: InstallOrder
) -> InstallOutcome:
    """Create the agent of a bundle with everything that the bundle has, or nothing."""
    require_installable(destination, bundle)
    manifest = bundle.manifest
    destination = destination.with_bundle_reason(manifest.bundle_slug, manifest.bundle_version)
    target = destination.target_artifacts(bundle)
    with destination.ledgers.records.lock():
        recover(destination)
        entries = _plan(destination, target)
        approved_keys = choose_approved(entries, order.approve)
        prompts = {key: target[key] for key in approved_keys if target[key].kind == PROMPT}
        if prompts:
            destination.prompts.require_right()
        waiting_entries = list_waiting_entries(entries, approved_keys)
        waiting_keys = tuple(entry.key for entry in waiting_entries)
        now = format_time(destination.clock())
        ledger = build_ledger(bundle, LedgerUpdate(target, target.keys(), waiting_keys, now), None)
        header = destination.describe_pending(PENDING_INSTALL, bundle)
        pending_fields = format_pending(
            build_pending(header, waiting_entries, target, new_keys=waiting_keys)
        )

        def start(record: AgentRecord) -> None:
            user_change = order.find_user_change(destination, bundle, record)
            former = destination.current_prompts()
            changes = tuple(
                (key, former[key].payload if key in former else None, prompt.hash)
                for key, prompt in prompts.items()
            )
            begin(
                destination,
                UndoLog(kind=INSTALL, agent_id=record.id, changes=changes, **user_change),
            )
            write_agent(destination, bundle, record, (order, approved_keys))
            for prompt in prompts.values():
                destination.prompts.set(prompt.name, prompt.payload)
            if pending_fields is not None:
                destination.pending.write_fields(record.id, pending_fields)
            destination.ledgers.write(record.id, ledger)

        agent = manifest.agent
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
        _finish_install(destination)
    applied_keys = tuple(key for key in target if key not in waiting_keys)
    return InstallOutcome(record, entries, applied_keys, waiting_keys)


def _finish_install(destination: InstallTarget) -> None:
    """Remove the undo log; on failure the agent stays, and the next process removes the log."""
    try:
        finish(destination)
    except (OSError, LooseleafError) as error:
        destination.report("the undo log of an install is not removed yet", error)
