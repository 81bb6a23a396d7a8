"""Bundles: an agent as files, exported with a preview of what leaves, and inspected."""

from __future__ import annotations

from base64 import b64encode

from looseleaf.catalog.context import build_event
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.errors.features import BundleMissing, InvalidExport, SecretsFound
from looseleaf.errors.pages import AgentMissing
from looseleaf.features.bundles.artifacts import find_profile
from looseleaf.features.bundles.bundle import format_bundle, list_readable_files
from looseleaf.features.bundles.export import (
    AgentSource,
    collect_bundle,
    describe_missing_pages,
    find_left_out,
    leave_out_unreadable,
)
from looseleaf.features.bundles.inspection import (
    BundleFile,
    BundleReport,
    describe_files,
    find_misfits,
    may_read_user_page,
    read_bundle,
    require_bundle_fits,
)
from looseleaf.features.bundles.inspection import (
    inspect_bundle as inspect_parts,
)
from looseleaf.features.bundles.install import add_installed_parts, choose_title, leave_out_starters
from looseleaf.features.bundles.install_operations import authorize_comparison
from looseleaf.features.bundles.ledger import Ledgers
from looseleaf.features.bundles.manifest import check_bundle_slug
from looseleaf.features.bundles.plan import (
    RebaseEntry,
    find_changed_keys,
    find_drift,
    preview_rebase,
)
from looseleaf.features.bundles.secret_scan import SecretFinding, scan_files
from looseleaf.features.bundles.upgrade import compare_states
from looseleaf.features.bundles.workspace_target import WorkspacePrompts, install_target_of
from looseleaf.features.bundles.zip_archive import find_excess, pack_files
from looseleaf.features.workflows.parts import definitions_of, resources_of
from looseleaf.memory.store import hash_content
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.features.bundles.bundle import Bundle
    from looseleaf.features.bundles.install_target import InstallTarget


ALLOW_SECRETS = "say that they may leave (--allow-secrets, or allow_secrets)"


@value(kw_only=True)
class BundlePreview:
    """What would leave with an export: each file, and each place that looks like a secret."""

    agent: str
    profile: str
    bundle_slug: str
    bundle_version: str
    files: tuple[BundleFile, ...]
    bytes: int
    secrets: tuple[SecretFinding, ...]
    left_out: tuple[str, ...]
    hash: str


@value(kw_only=True)
class BundleArchive:
    """An exported bundle; `data` is a zip archive in base64, and `hash` the sha256 of it."""

    agent: str
    profile: str
    bundle_slug: str
    bundle_version: str
    files: tuple[BundleFile, ...]
    left_out: tuple[str, ...]
    hash: str
    data: str


@operation("looseleaf/preview-bundle", permission="agents", categories=("agents",), read_only=True)
def preview_bundle(
    context: Context,
    agent: str | int | None = None,
    *,
    profile: Literal["share", "backup", "fork"] = "share",
    slug: str = "",
    version: str = "",
) -> BundlePreview:
    """List what an export of an agent would include, and which lines look like secrets.

    Arguments:
        agent: The agent to export, by id or slug; without it, the token's or the default agent.
        profile: What leaves: share takes SOUL.md, the configuration, pipelines and flows with the
            pages they select; backup also all other pages, the journal, USER.md and uploads; fork
            no settings of flows.
        slug: The name of the bundle; without it, that of the bundle it came from, or the agent.
        version: The version of the bundle; without it, that of the bundle it came from, or 1.
    """
    bundle, left_out = _collect(context, agent, profile, slug, version)
    files = _format_files(bundle)
    return BundlePreview(
        agent=bundle.manifest.agent.slug,
        profile=profile,
        bundle_slug=bundle.manifest.bundle_slug,
        bundle_version=bundle.manifest.bundle_version,
        files=describe_files(files),
        bytes=sum(map(len, files.values())),
        secrets=tuple(scan_files(sorted(list_readable_files(bundle).items()))),
        left_out=left_out,
        hash=hash_content(pack_files(files)),
    )


@operation("looseleaf/export-bundle", permission="agents", categories=("agents",), read_only=True)
def export_bundle(
    context: Context,
    agent: str | int | None = None,
    *,
    profile: Literal["share", "backup", "fork"] = "share",
    slug: str = "",
    version: str = "",
    allow_secrets: bool = False,
) -> BundleArchive:
    """Export an agent as one zip archive; the same content gives the same bytes.

    Arguments:
        agent: The agent to export, by id or slug; without it, the token's or the default agent.
        profile: What leaves: share takes SOUL.md, the configuration, pipelines and flows with the
            pages they select; backup also all other pages, the journal, USER.md and uploads; fork
            no settings of flows.
        slug: The name of the bundle; without it, that of the bundle it came from, or the agent.
        version: The version of the bundle; without it, that of the bundle it came from, or 1.
        allow_secrets: Whether files with lines that look like secrets may leave.
    """
    bundle, left_out = _collect(context, agent, profile, slug, version)
    files = _format_files(bundle)
    findings = scan_files(sorted(list_readable_files(bundle).items()))
    if findings and not allow_secrets:
        raise SecretsFound(tuple(finding.place for finding in findings), ALLOW_SECRETS)
    if findings:
        # On every surface, and before anything leaves: an export without its entry is refused.
        target = f"agent={bundle.manifest.agent.slug} profile={profile} secrets={len(findings)}"
        context.parts.add_event(build_event(context, "looseleaf/export-bundle", target))
    content = pack_files(files)
    return BundleArchive(
        agent=bundle.manifest.agent.slug,
        profile=profile,
        bundle_slug=bundle.manifest.bundle_slug,
        bundle_version=bundle.manifest.bundle_version,
        files=describe_files(files),
        left_out=left_out,
        hash=hash_content(content),
        data=b64encode(content).decode(),
    )


@operation("looseleaf/inspect-bundle", permission="agents", categories=("agents",), read_only=True)
def inspect_bundle(context: Context, data: str) -> BundleReport:
    """Show what a bundle holds, and whether it could be installed here; nothing is changed.

    Arguments:
        data: The bundle in base64: a zip archive, or one JSON document.
    """
    context.allow()
    bundle = read_bundle(context, data)
    return inspect_parts(bundle, find_misfits(context, bundle))


def _format_files(bundle: Bundle) -> dict[str, bytes]:
    """Return the files of a bundle, or refuse one that could not be installed again."""
    files = format_bundle(bundle)
    if excess := find_excess(files):
        raise InvalidExport(
            f"{bundle.manifest.agent.slug} is too large for a bundle: {excess}. Take the profile "
            "share, or back up the whole workspace: looseleaf backup."
        )
    return files


def source_of(context: Context) -> AgentSource:
    """Return the stores of an agent's parts; a workspace without a database has none."""
    return AgentSource(
        context.pages,
        definitions_of(context.parts) if context.parts.has_accounts() else None,
        lambda: resources_of(context.parts).uploads,
        WorkspacePrompts(context),
    )


def _collect(
    context: Context, agent: str | int | None, profile_name: str, slug: str, version: str
) -> tuple[Bundle, tuple[str, ...]]:
    """Collect the bundle of an agent; name what is left out for want of a right to read it."""
    record = agent_of(context, agent)
    profile = find_profile(profile_name)
    ledger = Ledgers(context.settings.root).read(record.id)
    title = choose_title(record.slug, slug, version, ledger)
    check_bundle_slug(title.slug)
    source = source_of(context)
    bundle = collect_bundle(source, record, profile, title)
    left_out = list(find_left_out(source, record, profile))
    if ledger is not None:
        bundle = add_installed_parts(bundle, ledger)
        bundle = leave_out_starters(bundle, ledger, record, install_target_of(context).is_starter)
    bundle, unreadable = leave_out_unreadable(bundle)
    left_out += unreadable
    left_out += describe_missing_pages(bundle, context.pages, record)
    if bundle.user_page is not None and not may_read_user_page(context, record):
        reason = "memory/USER.md: only its user, or a principal with manage_options, may export it"
        bundle = replace(bundle, user_page=None)
        left_out.append(reason)
    if bundle.prompts and not context.principal.can("manage_settings"):
        left_out.append("prompts: only a principal with manage_settings may export them")
        bundle = replace(bundle, prompts={})
    return bundle, tuple(left_out)


# Compare an agent with a bundle: has it drifted, and how would the changes of both merge.


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


# Installed bundles: which agents came from one, and what was changed since.


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
