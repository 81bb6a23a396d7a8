"""Plan, install and upgrade agents by bundles: all of it or nothing, with approvals."""

from __future__ import annotations

from looseleaf.agents.config import AgentConfig
from looseleaf.agents.record import AgentRecord
from looseleaf.bundles.installation.install import (
    UpgradeOrder,
    install_agent,
    plan_install,
    plan_upgrade,
    require_installable,
    upgrade_agent,
)
from looseleaf.bundles.installation.new_agent import InstallOrder
from looseleaf.bundles.installation.plan import APPROVAL, PlanEntry, count_buckets
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, user_exists
from looseleaf.catalog.tools.names import check_tool_names
from looseleaf.errors import AgentExists, AgentMissing, UserMissing
from looseleaf.memory.scope import Shelf
from looseleaf.operations.agents import start_pages, update_generated_pages
from looseleaf.operations.bundle_destination import destination_of
from looseleaf.operations.bundles import read_bundle
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from looseleaf.bundles.installation.destination import Destination
    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.catalog.context import Context


@value
class BundlePlan:
    """What an install or upgrade would do, and what it did.

    Fields:
        agent: The agent that is created or upgraded.
        act: install, upgrade or skip.
        bundle_slug: The name of the bundle.
        bundle_version: Its version.
        installed_version: The version that is installed; "" where none is.
        dry_run: Whether nothing was written.
        counts: How many artifacts stand in each bucket of the plan.
        entries: The plan, artifact by artifact.
        applied: Keys of the artifacts that were written.
        waiting: Keys that need approval and do not have it yet.
    """

    agent: str
    act: str
    bundle_slug: str
    bundle_version: str
    installed_version: str
    dry_run: bool
    counts: Mapping[str, int]
    entries: tuple[PlanEntry, ...]
    applied: tuple[str, ...]
    waiting: tuple[str, ...]


@operation("looseleaf/plan-bundle", permission="agents", categories=("agents",), read_only=True)
def plan_bundle(
    context: Context, data: str, *, slug: str = "", reconcile_runtime: bool = False
) -> BundlePlan:
    """Show what installing a bundle would do, or upgrading the agent that has its slug.

    Arguments:
        data: The bundle: the bytes of a zip archive in base64.
        slug: The agent to install or upgrade, by slug; without it, the bundle's own.
        reconcile_runtime: Whether schedules and queues of flows follow the bundle, too.
    """
    context.allow()
    destination, bundle = destination_of(context), read_bundle(data)
    _require_installable(context, destination, bundle)
    record = _find_agent(context, slug or bundle.manifest.agent.slug)
    if record is None:
        entries = plan_install(bundle)
        return _describe(bundle, slug, "install", entries, is_dry=True)
    entries = plan_upgrade(destination, bundle, record, reconcile=reconcile_runtime)
    version = _installed_version(destination, record)
    return _describe(bundle, record.slug, "upgrade", entries, version=version, is_dry=True)


@operation("looseleaf/install-bundle", permission="agents", categories=("agents",))
def install_bundle(
    context: Context,
    data: str,
    *,
    slug: str = "",
    on_conflict: Literal["error", "skip", "upgrade"] = "error",
    owner: int | None = None,
    approve: tuple[str, ...] = (),
    dry_run: bool = False,
) -> BundlePlan:
    """Create the agent of a bundle with its pages and workflows, all or nothing.

    Schedules arrive paused until they are approved.

    Arguments:
        data: The bundle: the bytes of a zip archive in base64.
        slug: The slug of the new agent; without it, the bundle's own.
        on_conflict: What to do where there is an agent of that slug: error, skip or upgrade.
        owner: The id of the user whom the agent belongs to; without it, the user who acts.
        approve: Keys of the plan that need approval and have it, such as schedule:morning; all
            for every key.
        dry_run: Whether only the plan is made, and nothing is written.
    """
    context.allow()
    destination, bundle = destination_of(context), read_bundle(data)
    _require_installable(context, destination, bundle)
    name = slug or bundle.manifest.agent.slug
    record = _find_agent(context, name)
    if record is not None and on_conflict == "upgrade":
        return upgrade_bundle(context, data, agent=record.id, approve=approve, dry_run=dry_run)
    if record is not None and on_conflict == "skip":
        return _describe(bundle, name, "skip", (), is_dry=dry_run)
    if record is not None:
        raise AgentExists(name)
    user = (context.principal.user_id or context.settings.default_user) if owner is None else owner
    if not user_exists(context, user):
        raise UserMissing(user)
    entries = plan_install(bundle)
    if not dry_run:

        def start(record: AgentRecord) -> None:
            start_pages(context, Shelf("user", record.owner))
            start_pages(context, record.shelf, agent_name=record.name)

        order = InstallOrder(name, user, start, frozenset(approve))
        update_generated_pages(context, install_agent(destination, bundle, order))
    return _describe(bundle, name, "install", entries, approve=approve, is_dry=dry_run)


@operation("looseleaf/upgrade-bundle", permission="agents", categories=("agents",))
def upgrade_bundle(
    context: Context,
    data: str,
    *,
    agent: str | int | None = None,
    approve: tuple[str, ...] = (),
    merge: tuple[str, ...] = (),
    reconcile_runtime: bool = False,
    dry_run: bool = False,
) -> BundlePlan:
    """Upgrade an agent by a bundle: what nobody changed here follows it, the rest needs approval.

    Memory that the agent learned is never overwritten.

    Arguments:
        data: The bundle: the bytes of a zip archive in base64.
        agent: The agent to upgrade, by id or slug; without it, the one that has the bundle's slug.
        approve: Keys of the plan that need approval and have it, such as memory:SOUL.md; all for
            every key.
        merge: Keys whose sections are merged: sections edited here stay, the others follow the
            bundle; memory:SOUL.md is the only one.
        reconcile_runtime: Whether schedules and queues of flows follow the bundle, too.
        dry_run: Whether only the plan is made, and nothing is written.
    """
    record = agent_of(context, agent) if agent is not None else None
    bundle = read_bundle(data)
    record = record or agent_of(context, bundle.manifest.agent.slug)
    destination = destination_of(context)
    _require_installable(context, destination, bundle)
    version = _installed_version(destination, record)
    if dry_run:
        entries = plan_upgrade(destination, bundle, record, reconcile=reconcile_runtime)
        return _describe(bundle, record.slug, "upgrade", entries, version=version, is_dry=True)
    order = UpgradeOrder(frozenset(approve), frozenset(merge), reconcile_runtime)
    entries, applied_keys = upgrade_agent(destination, bundle, record, order)
    update_generated_pages(context, record)
    return _describe(
        bundle,
        record.slug,
        "upgrade",
        entries,
        version=version,
        applied_keys=applied_keys,
        approve=(*approve, *merge),
    )


def _require_installable(context: Context, destination: Destination, bundle: Bundle) -> None:
    """Raise where a part of the bundle could not be stored, or names a tool that is not here."""
    require_installable(destination, bundle)
    agent = bundle.manifest.agent
    policy = AgentConfig(agent.slug, agent.agent_config).tool_policy
    check_tool_names(context.parts.operations(), policy)


def _find_agent(context: Context, slug: str) -> AgentRecord | None:
    try:
        return context.parts.agents.resolve(slug)
    except AgentMissing:
        return None


def _installed_version(destination: Destination, record: AgentRecord) -> str:
    ledger = destination.ledgers.read(record.id)
    return ledger.bundle_version if ledger is not None else ""


def _describe(
    bundle: Bundle,
    agent: str,
    act: str,
    entries: tuple[PlanEntry, ...],
    *,
    version: str = "",
    applied_keys: tuple[str, ...] | None = None,
    approve: tuple[str, ...] = (),
    is_dry: bool = False,
) -> BundlePlan:
    waiting_keys = tuple(
        entry.key
        for entry in entries
        if entry.bucket == APPROVAL and entry.key not in approve and "all" not in approve
    )
    if applied_keys is None:
        applied_keys = tuple(entry.key for entry in entries if entry.key not in waiting_keys)
    return BundlePlan(
        agent or bundle.manifest.agent.slug,
        act,
        bundle.manifest.bundle_slug,
        bundle.manifest.bundle_version,
        version,
        is_dry,
        count_buckets(entries),
        entries,
        () if is_dry else applied_keys,
        waiting_keys,
    )
