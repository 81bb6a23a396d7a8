"""Bundles: an agent as files, exported with a preview of what leaves, and inspected."""

from __future__ import annotations

from base64 import b64encode

from looseleaf.bundles.export import (
    AgentSource,
    collect_bundle,
    find_left_out,
    leave_out_unreadable,
)
from looseleaf.bundles.inspection import BundleFile, BundleReport, describe_files
from looseleaf.bundles.inspection import inspect_bundle as inspect_parts
from looseleaf.bundles.installation.installed_title import (
    add_installed_parts,
    choose_title,
    leave_out_starters,
)
from looseleaf.bundles.installation.ledger import Ledgers
from looseleaf.bundles.layout.archive import find_excess, pack_files
from looseleaf.bundles.layout.bundle import format_bundle, list_readable_files
from looseleaf.bundles.layout.manifest import check_bundle_slug
from looseleaf.bundles.profiles import find_profile
from looseleaf.bundles.secret_scan import SecretFinding, scan_files
from looseleaf.catalog.bundles.bundle_destination import install_target_of
from looseleaf.catalog.bundles.bundle_reading import (
    find_misfits,
    may_read_user_page,
    read_bundle,
)
from looseleaf.catalog.bundles.task_prompts import WorkspacePrompts
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors.bundles import InvalidExport, SecretsFound
from looseleaf.memory.store import hash_content
from looseleaf.values import replace, value
from looseleaf.workflows.parts import definitions_of, resources_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.catalog.context import Context

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
        profile: What leaves: share takes SOUL.md, the configuration, pipelines and flows; backup
            also all other pages, the journal, USER.md and uploaded files; fork leaves the settings
            of flows out.
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
        profile: What leaves: share takes SOUL.md, the configuration, pipelines and flows; backup
            also all other pages, the journal, USER.md and uploaded files; fork leaves the settings
            of flows out.
        slug: The name of the bundle; without it, that of the bundle it came from, or the agent.
        version: The version of the bundle; without it, that of the bundle it came from, or 1.
        allow_secrets: Whether files with lines that look like secrets may leave.
    """
    bundle, left_out = _collect(context, agent, profile, slug, version)
    files = _format_files(bundle)
    findings = scan_files(sorted(list_readable_files(bundle).items()))
    if findings and not allow_secrets:
        raise SecretsFound(tuple(finding.place for finding in findings), ALLOW_SECRETS)
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
    if bundle.user_page is not None and not may_read_user_page(context, record):
        reason = "memory/USER.md: only its user, or a principal with manage_options, may export it"
        bundle = replace(bundle, user_page=None)
        left_out.append(reason)
    if bundle.prompts and not context.principal.can("manage_settings"):
        left_out.append("prompts: only a principal with manage_settings may export them")
        bundle = replace(bundle, prompts={})
    return bundle, tuple(left_out)
