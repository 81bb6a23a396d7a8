"""Pending upgrades: parts of bundles that wait until a person approves or rejects them."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import PROMPT
from looseleaf.bundles.comparison.merging import is_mergeable
from looseleaf.bundles.comparison.plan import EVERY_KEY, format_diff
from looseleaf.bundles.comparison.rights import TOOLS
from looseleaf.bundles.installation.approvals import (
    approve_upgrade,
    is_outdated,
    reject_upgrade,
    require_pending,
)
from looseleaf.bundles.installation.pending import PendingUpgrade
from looseleaf.catalog.bundles.bundle_destination import install_target_of
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.catalog.tools.names import check_tool_names
from looseleaf.memory.policy import parse_tool_policy
from looseleaf.operations.agents import update_generated_pages
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.comparison.artifacts import Artifact
    from looseleaf.catalog.context import Context


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
