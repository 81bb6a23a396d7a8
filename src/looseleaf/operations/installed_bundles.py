"""Installed bundles: which agents came from one, and what was changed since."""

from __future__ import annotations

from looseleaf.catalog.bundles.bundle_destination import install_target_of
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.errors.bundles import BundleMissing
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.installation.destination import InstallTarget
    from looseleaf.catalog.context import Context


@value
class ArtifactState:
    """The state of an installed artifact: clean, modified, waiting or missing."""

    key: str
    source_path: str
    status: str
    installed_hash: str
    current_hash: str


@value(kw_only=True)
class InstalledBundle:
    """The bundle that an agent came from, and what was changed since."""

    agent: str
    bundle_slug: str
    bundle_version: str
    source_ref: str
    source_revision: str
    installed_at: str
    updated_at: str
    waiting: tuple[str, ...]
    artifacts: tuple[ArtifactState, ...]


@operation("looseleaf/list-bundles", permission="agents", categories=("agents",), read_only=True)
def list_bundles(context: Context) -> list[InstalledBundle]:
    """List the agents that came from bundles, without their artifacts, by slug."""
    context.allow()
    destination = install_target_of(context)
    return [
        bundle
        for record in list_visible_agents(context)
        if (bundle := _describe_installed(destination, record, with_artifacts=False)) is not None
    ]


@operation("looseleaf/show-bundle", permission="agents", categories=("agents",), read_only=True)
def show_bundle(context: Context, agent: str | int | None = None) -> InstalledBundle:
    """Show the bundle that an agent came from, and which of its parts were changed here.

    Arguments:
        agent: The agent, by id or slug; without it, the token's or the default agent.
    """
    record = agent_of(context, agent)
    bundle = _describe_installed(install_target_of(context), record, with_artifacts=True)
    if bundle is None:
        raise BundleMissing(record.slug)
    return bundle


def _describe_installed(
    destination: InstallTarget, record: AgentRecord, *, with_artifacts: bool
) -> InstalledBundle | None:
    ledger = destination.ledgers.read(record.id)
    if ledger is None:
        return None
    states = []
    if with_artifacts:
        current = destination.current_artifacts(record)
        for key, entry in ledger.artifacts.items():
            artifact = current.get(key)
            actual = artifact.hash if artifact is not None else ""
            status = "clean" if actual == entry.hash else "modified" if actual else "missing"
            if status != "clean" and key in ledger.pending:
                status = "waiting"
            states.append(ArtifactState(key, entry.path, status, entry.hash, actual))
    pending_upgrade = destination.pending.read(record.id)
    return InstalledBundle(
        agent=record.slug,
        bundle_slug=ledger.bundle_slug,
        bundle_version=ledger.bundle_version,
        source_ref=ledger.source_ref,
        source_revision=ledger.source_revision,
        installed_at=ledger.installed_at,
        updated_at=ledger.updated_at,
        waiting=tuple(pending_upgrade.artifacts) if pending_upgrade is not None else (),
        artifacts=tuple(states),
    )
