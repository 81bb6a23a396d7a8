"""Plan, install and upgrade agents by bundles: all of it or nothing, with approvals."""

from __future__ import annotations

from looseleaf.agents.record import AgentRecord
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, has_user, list_visible_agents
from looseleaf.catalog.tool_access import check_tool_names
from looseleaf.errors.operations import UserMissing
from looseleaf.errors.pages import AgentExists, AgentMissing
from looseleaf.features.bundles.artifacts import PROMPT, TOOLS, USER
from looseleaf.features.bundles.inspection import (
    may_read_user_page,
    read_bundle,
    require_bundle_fits,
)
from looseleaf.features.bundles.install import (
    InstallOrder,
    InstallOutcome,
    install_agent,
    plan_install,
)
from looseleaf.features.bundles.install_target import PendingUpgrade
from looseleaf.features.bundles.plan import (
    APPROVAL,
    EVERY_KEY,
    PlanEntry,
    count_buckets,
    format_diff,
    is_mergeable,
)
from looseleaf.features.bundles.upgrade import (
    UpgradeOrder,
    approve_upgrade,
    is_outdated,
    plan_upgrade,
    reject_upgrade,
    require_pending,
    upgrade_agent,
)
from looseleaf.features.bundles.workspace_target import install_target_of
from looseleaf.memory.policy import parse_tool_policy
from looseleaf.memory.scope import Shelf
from looseleaf.operations.agents import start_pages, update_generated_pages
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from looseleaf.catalog.context import Context
    from looseleaf.features.bundles.artifacts import Artifact
    from looseleaf.features.bundles.bundle import Bundle
    from looseleaf.features.bundles.install_target import InstallTarget


@value(kw_only=True)
class BundlePlan:
    """What an install or upgrade would do, and what it did.

    Fields:
        agent: The agent that is created or upgraded.
        act: install, upgrade or skip.
        bundle_slug: The name of the bundle.
        bundle_version: Its version.
        installed_version: The version that is installed, or "" if none is.
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
        data: The bundle in base64: a zip archive, or one JSON document.
        slug: The agent to install or upgrade, by slug; without it, the bundle's own.
        reconcile_runtime: Whether schedules and queues of flows follow the bundle, too.
    """
    authorize_comparison(context, slug)
    destination, bundle = install_target_of(context), read_bundle(context, data)
    require_bundle_fits(context, bundle)
    record = _find_agent(context, slug or bundle.manifest.agent.slug)
    if record is None:
        entries = plan_install(destination, bundle)
        return _describe_plan(context, bundle, (slug, "install"), entries)
    entries = plan_upgrade(destination, bundle, record, reconcile=reconcile_runtime)
    entries = _hide_user_page(context, record, entries)
    plan = _describe_plan(context, bundle, (record.slug, "upgrade"), entries)
    return replace(plan, installed_version=_read_installed_version(destination, record))


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
        data: The bundle in base64: a zip archive, or one JSON document.
        slug: The slug of the new agent; without it, the bundle's own.
        on_conflict: What to do if there is an agent of that slug: error, skip or upgrade.
        owner: The id of the user whom the agent belongs to; without it, the user who acts.
        approve: Keys of the plan that need approval and have it, such as schedule:morning; all
            for every key.
        dry_run: Whether only the plan is made, and nothing is written.
    """
    context.allow()
    destination, bundle = install_target_of(context), read_bundle(context, data)
    require_bundle_fits(context, bundle)
    name = slug or bundle.manifest.agent.slug
    record = _find_agent(context, name)
    if record is not None and on_conflict == "upgrade":
        return upgrade_bundle(context, data, agent=record.id, approve=approve, dry_run=dry_run)
    if record is not None and on_conflict == "skip":
        return replace(_describe_plan(context, bundle, (name, "skip"), ()), dry_run=dry_run)
    if record is not None:
        raise AgentExists(name)
    user = (context.principal.user_id or context.settings.default_user) if owner is None else owner
    if not has_user(context, user):
        raise UserMissing(user)
    if dry_run:
        entries = plan_install(destination, bundle)
        return _describe_plan(context, bundle, (name, "install"), entries)

    def start(record: AgentRecord) -> None:
        start_pages(context, Shelf("user", record.owner))
        start_pages(context, record.shelf, agent_name=record.name)

    order = InstallOrder(name, user, start, frozenset(approve))
    outcome = install_agent(destination, bundle, order)
    update_generated_pages(context, outcome.record)
    return _describe_outcome(context, bundle, "install", outcome)


@operation("looseleaf/upgrade-bundle", permission="agents", categories=("agents",))
def upgrade_bundle(
    context: Context,
    data: str,
    *,
    agent: str | int | None = None,
    approve: tuple[str, ...] = (),
    merge: tuple[str, ...] = (),
    reconcile_runtime: bool = False,
    planned_hashes: Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> BundlePlan:
    """Upgrade an agent by a bundle: parts that were changed here need approval, others follow it.

    Memory that the agent learned is never overwritten.

    Arguments:
        data: The bundle in base64: a zip archive, or one JSON document.
        agent: The agent to upgrade, by id or slug; without it, the one that has the bundle's slug.
        approve: Keys of the plan that need approval and have it, such as memory:SOUL.md; all for
            every key.
        merge: Keys that are merged: sections of SOUL.md, or keys of a configuration, pipeline or
            flow, that were changed here stay, and the others follow the bundle.
        reconcile_runtime: Whether schedules and queues of flows follow the bundle, too.
        planned_hashes: The current_hash of parts as a plan showed them, by key; if one that is
            approved was changed since, nothing is written.
        dry_run: Whether only the plan is made, and nothing is written.
    """
    record = agent_of(context, agent) if agent is not None else None
    bundle = read_bundle(context, data)
    record = record or agent_of(context, bundle.manifest.agent.slug)
    destination = install_target_of(context)
    require_bundle_fits(context, bundle)
    version = _read_installed_version(destination, record)
    if dry_run:
        entries = plan_upgrade(destination, bundle, record, reconcile=reconcile_runtime)
        entries = _hide_user_page(context, record, entries)
        plan = _describe_plan(context, bundle, (record.slug, "upgrade"), entries)
        return replace(plan, installed_version=version)
    keys = (frozenset(approve), frozenset(merge))
    order = UpgradeOrder(*keys, reconcile_runtime, planned_hashes or {})
    outcome = upgrade_agent(destination, bundle, record, order)
    update_generated_pages(context, record)
    plan = _describe_outcome(context, bundle, "upgrade", outcome)
    return replace(plan, installed_version=version)


def authorize_comparison(context: Context, slug: str) -> None:
    """Require the role admin on the agent of a slug; without such an agent, manage_agents."""
    try:
        if slug:
            agent_of(context, slug)
            return
    except AgentMissing:
        pass  # a missing and an invisible agent must look the same
    context.allow()


def _find_agent(context: Context, slug: str) -> AgentRecord | None:
    try:
        return context.parts.agents.resolve(slug)
    except AgentMissing:
        return None


def _read_installed_version(destination: InstallTarget, record: AgentRecord) -> str:
    ledger = destination.ledgers.read(record.id)
    return ledger.bundle_version if ledger is not None else ""


def _describe_plan(
    context: Context, bundle: Bundle, title: tuple[str, str], entries: tuple[PlanEntry, ...]
) -> BundlePlan:
    """Describe a plan of which nothing is done; the title is the agent and the act."""
    agent, act = title
    return BundlePlan(
        agent=agent or bundle.manifest.agent.slug,
        act=act,
        bundle_slug=bundle.manifest.bundle_slug,
        bundle_version=bundle.manifest.bundle_version,
        installed_version="",
        dry_run=True,
        counts=count_buckets(entries),
        entries=tuple(_hide_prompt(context, entry) for entry in entries),
        applied=(),
        waiting=tuple(entry.key for entry in entries if entry.bucket == APPROVAL),
    )


def _describe_outcome(
    context: Context, bundle: Bundle, act: str, outcome: InstallOutcome
) -> BundlePlan:
    entries = _hide_user_page(context, outcome.record, outcome.entries)
    plan = _describe_plan(context, bundle, (outcome.record.slug, act), entries)
    return replace(plan, dry_run=False, applied=outcome.applied_keys, waiting=outcome.waiting_keys)


def _hide_user_page(
    context: Context, record: AgentRecord, entries: tuple[PlanEntry, ...]
) -> tuple[PlanEntry, ...]:
    """Omit the text of USER.md for principals who may not export it either."""
    if may_read_user_page(context, record):
        return entries
    return tuple(
        replace(entry, diff="") if entry.key.startswith(f"{USER}:") else entry for entry in entries
    )


def _hide_prompt(context: Context, entry: PlanEntry) -> PlanEntry:
    """Omit the text of a prompt for principals who may not read the prompts of this place."""
    is_prompt = entry.key.startswith(f"{PROMPT}:")
    is_hidden = is_prompt and not context.principal.can("manage_settings")
    return replace(entry, diff="") if is_hidden else entry


# Pending upgrades: parts of bundles that wait until a person approves or rejects them.


@value(kw_only=True)
class WaitingPart:
    """A part of a bundle that waits.

    Fields:
        key: The kind and name, by which it is approved or rejected: memory:SOUL.md.
        reason: Why it waits, as in a plan: local_modified, widens_rights, starts_by_itself …
        source_path: The file of the bundle.
        target_hash: The hash of it in the bundle.
        current_hash: The hash of it as it is here, or "" if it is not.
        outdated: Whether it was changed here since it was planned, so that it cannot be approved.
        mergeable: Whether it has sections or keys, so that a merge keeps those changed here.
        diff: The change as lines, with values of secrets masked.
    """

    key: str
    reason: str
    source_path: str
    target_hash: str
    current_hash: str
    outdated: bool
    mergeable: bool
    diff: str


@value(kw_only=True)
class WaitingUpgrade:
    """What waits for one agent.

    Fields:
        agent: The agent.
        kind: bundle_upgrade or bundle_install, by what brought it.
        bundle_slug: The name of the bundle.
        bundle_version: Its version.
        created_at: When it was planned.
        created_by: Who brought the bundle.
        waiting: The keys that wait.
        parts: What they are; empty in a list.
    """

    agent: str
    kind: str
    bundle_slug: str
    bundle_version: str
    created_at: str
    created_by: str
    waiting: tuple[str, ...]
    parts: tuple[WaitingPart, ...] = ()


@value
class UpgradeDecision:
    """A decision about an agent: the keys that were approved or rejected, and what still waits."""

    agent: str
    act: str
    keys: tuple[str, ...]
    waiting: tuple[str, ...]


@operation(
    "looseleaf/list-pending-upgrades", permission="agents", categories=("agents",), read_only=True
)
def list_pending_upgrades(context: Context) -> list[WaitingUpgrade]:
    """List the agents for which parts of a bundle wait for approval, by slug."""
    context.allow()
    upgrades = install_target_of(context).pending
    ids = upgrades.agent_ids()
    return [
        _describe(record, upgrade)
        for record in list_visible_agents(context)
        if record.id in ids and (upgrade := upgrades.read(record.id)) is not None
    ]


@operation(
    "looseleaf/show-pending-upgrade", permission="agents", categories=("agents",), read_only=True
)
def show_pending_upgrade(context: Context, agent: str | int | None = None) -> WaitingUpgrade:
    """Show what waits for approval for an agent, each part as a diff against what is here.

    Arguments:
        agent: The agent, by id or slug; without it, the token's or the default agent.
    """
    record = agent_of(context, agent)
    destination = install_target_of(context)
    upgrade = require_pending(destination, record)
    current = destination.current_artifacts(record)
    builtins = destination.builtin_prompts()
    can_read_prompts = context.principal.can("manage_settings")
    parts = tuple(
        _describe_part(upgrade, key, current, builtins)
        if can_read_prompts or not key.startswith(f"{PROMPT}:")
        else replace(_describe_part(upgrade, key, current, builtins), diff="")
        for key in upgrade.artifacts
    )
    return replace(_describe(record, upgrade), parts=parts)


@operation("looseleaf/approve-upgrade", permission="agents", categories=("agents",))
def approve(
    context: Context,
    agent: str | int | None = None,
    *,
    keys: tuple[str, ...] = (),
    merge: tuple[str, ...] = (),
) -> UpgradeDecision:
    """Apply parts of a bundle that wait for approval, all of the named ones or nothing.

    Refused if one of them was changed here since it was planned.

    Arguments:
        agent: The agent, by id or slug; without it, the token's or the default agent.
        keys: What is approved, such as memory:SOUL.md; all for every key.
        merge: Keys that are merged: sections or keys changed here stay, the others follow the
            bundle.
    """
    record = agent_of(context, agent)
    destination = install_target_of(context)
    _check_tools(context, require_pending(destination, record), {*keys, *merge})
    approved_keys, rest = approve_upgrade(destination, record, keys, merge)
    update_generated_pages(context, record)
    return _decide(record, "approve", approved_keys, rest)


@operation("looseleaf/reject-upgrade", permission="agents", categories=("agents",))
def reject(
    context: Context, agent: str | int | None = None, *, keys: tuple[str, ...] = ()
) -> UpgradeDecision:
    """Reject parts of a bundle that wait for approval; nothing of the agent changes.

    Arguments:
        agent: The agent, by id or slug; without it, the token's or the default agent.
        keys: What is rejected, such as schedule:morning; all for every key.
    """
    record = agent_of(context, agent)
    rejected_keys, rest = reject_upgrade(install_target_of(context), record, keys)
    return _decide(record, "reject", rejected_keys, rest)


def _check_tools(context: Context, upgrade: PendingUpgrade, keys: set[str]) -> None:
    """Raise if an approved policy names a tool that is no longer here."""
    if TOOLS in upgrade.artifacts and not keys.isdisjoint((TOOLS, EVERY_KEY)):
        policy = parse_tool_policy(upgrade.artifacts[TOOLS].payload or None)
        check_tool_names(context.parts.operations(), policy)


def _describe(record: AgentRecord, upgrade: PendingUpgrade) -> WaitingUpgrade:
    return WaitingUpgrade(
        agent=record.slug,
        kind=upgrade.kind,
        bundle_slug=upgrade.bundle_slug,
        bundle_version=upgrade.bundle_version,
        created_at=upgrade.created_at,
        created_by=upgrade.created_by,
        waiting=tuple(upgrade.artifacts),
    )


def _describe_part(
    upgrade: PendingUpgrade,
    key: str,
    current: Mapping[str, Artifact],
    builtins: Mapping[str, Artifact],
) -> WaitingPart:
    target, present = upgrade.target(key), current.get(key)
    return WaitingPart(
        key=key,
        reason=upgrade.artifacts[key].reason,
        source_path=target.path,
        target_hash=target.hash,
        current_hash=present.hash if present is not None else "",
        outdated=is_outdated(upgrade, key, current),
        mergeable=is_mergeable(target),
        diff=format_diff(present or builtins.get(key), target),
    )


def _decide(
    record: AgentRecord, act: str, keys: tuple[str, ...], rest: PendingUpgrade | None
) -> UpgradeDecision:
    return UpgradeDecision(record.slug, act, keys, tuple(rest.artifacts) if rest else ())
