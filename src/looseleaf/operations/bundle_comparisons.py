"""Compare an agent with a bundle: has it drifted, and how would the changes of both merge."""

from __future__ import annotations

from looseleaf.bundles.comparison.drift import find_changed_keys, find_drift
from looseleaf.bundles.comparison.rebase import RebaseEntry, preview_rebase
from looseleaf.bundles.installation.upgrade import compare_states
from looseleaf.catalog.bundles.bundle_destination import install_target_of
from looseleaf.catalog.bundles.bundle_reading import read_bundle, require_bundle_fits
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors.agents import AgentMissing
from looseleaf.operations.bundle_installs import authorize_comparison
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context


@value
class BundleRebase:
    """How the changes of a bundle would merge into an agent; nothing is written."""

    agent: str
    bundle_slug: str
    bundle_version: str
    installed_version: str
    entries: tuple[RebaseEntry, ...]


@value(kw_only=True)
class BundleStatus:
    """How the bundle that an agent came from differs from another one.

    Fields:
        agent: The agent.
        status: current, not_installed, wrong_bundle (another name), version_drift (another
            version) or source_drift (the same version from another source, or with other parts).
        bundle_slug: The name of the bundle.
        bundle_version: Its version.
        source_revision: Its version in its source.
        installed_slug: The name of the bundle that is installed, or "" if none is.
        installed_version: Its version.
        installed_revision: Its version in its source.
        changed: The keys of parts that an upgrade would bring.
    """

    agent: str
    status: str
    bundle_slug: str
    bundle_version: str
    source_revision: str
    installed_slug: str
    installed_version: str
    installed_revision: str
    changed: tuple[str, ...]


@operation("looseleaf/rebase-bundle", permission="agents", categories=("agents",), read_only=True)
def rebase_bundle(context: Context, data: str, *, agent: str | int | None = None) -> BundleRebase:
    """Preview how a bundle and the changes made here would merge: pages by section, JSON by key.

    Arguments:
        data: The bundle in base64: a zip archive, or one JSON document.
        agent: The agent, by id or slug; without it, the one that has the bundle's slug.
    """
    record = agent_of(context, agent) if agent is not None else None
    bundle = read_bundle(context, data)
    record = record or agent_of(context, bundle.manifest.agent.slug)
    destination = install_target_of(context)
    require_bundle_fits(context, bundle)
    comparison = compare_states(destination, bundle, record)
    ledger = comparison.ledger
    return BundleRebase(
        record.slug,
        bundle.manifest.bundle_slug,
        bundle.manifest.bundle_version,
        ledger.bundle_version if ledger is not None else "",
        preview_rebase(comparison),
    )


@operation(
    "looseleaf/show-bundle-status", permission="agents", categories=("agents",), read_only=True
)
def show_bundle_status(context: Context, data: str, *, slug: str = "") -> BundleStatus:
    """Check whether an agent is at this version of its bundle.

    Arguments:
        data: The bundle in base64: a zip archive, or one JSON document.
        slug: The agent, by slug; without it, the one that has the bundle's slug.
    """
    authorize_comparison(context, slug)
    destination, bundle = install_target_of(context), read_bundle(context, data)
    manifest = bundle.manifest
    require_bundle_fits(context, bundle)
    try:
        record = context.parts.agents.resolve(slug or manifest.agent.slug)
    except AgentMissing:
        record = None
    ledger = destination.ledgers.read(record.id) if record is not None else None
    pending_upgrade = destination.pending.read(record.id) if record is not None else None
    waiting_keys = tuple(pending_upgrade.artifacts) if pending_upgrade is not None else ()
    changed_keys = find_changed_keys(destination.target_artifacts(bundle), ledger, waiting_keys)
    return BundleStatus(
        agent=slug or manifest.agent.slug,
        status=find_drift(manifest, ledger, changed_keys),
        bundle_slug=manifest.bundle_slug,
        bundle_version=manifest.bundle_version,
        source_revision=manifest.source_revision,
        installed_slug=ledger.bundle_slug if ledger is not None else "",
        installed_version=ledger.bundle_version if ledger is not None else "",
        installed_revision=ledger.source_revision if ledger is not None else "",
        changed=changed_keys,
    )
