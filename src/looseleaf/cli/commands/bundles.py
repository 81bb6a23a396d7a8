"""`looseleaf bundles …`: an agent as files: export, inspect, plan, install, upgrade."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

import click

from looseleaf.bundles.layout.archive import pack_files, unpack_files
from looseleaf.bundles.layout.bundle_folder import (
    read_archive,
    read_folder,
    write_archive,
    write_folder,
)
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, with_shared_options
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show
from looseleaf.operations import bundle_installs, bundles, installed_bundles

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.operations.bundle_installs import BundlePlan
    from looseleaf.operations.bundles import BundlePreview

    Function = Callable[..., object]

source_argument = click.argument("source", metavar="FOLDER|ZIP|JSON", type=click.Path())
approve_option = click.option(
    "--approve", multiple=True, metavar="KEY", help="Approve a key of the plan, or all; repeat."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print the plan and write nothing.")
slug_option = click.option("--slug", default="", metavar="SLUG", help="The agent's slug here.")
diff_option = click.option("--diff", is_flag=True, help="Show each change as lines.")
runtime_option = click.option(
    "--reconcile-runtime",
    is_flag=True,
    help="Set schedules and queues to those of the bundle, too.",
)


@command(
    "export",
    "looseleaf bundles export ada.zip --agent ada",
    "looseleaf bundles export ada-bundle --agent ada --profile backup",
    "looseleaf bundles export --agent ada --preview",
)
@click.argument("target", metavar="[FOLDER|ZIP]", default="", type=click.Path())
@click.option(
    "--profile",
    type=click.Choice(["share", "backup", "fork"]),
    default="share",
    help="Which parts are exported; share.",
)
@click.option("--name", "slug", default="", metavar="SLUG", help="The name of the bundle.")
@click.option("--bundle-version", default="", metavar="TEXT", help="The version of the bundle.")
@click.option("--preview", is_flag=True, help="List the files of the bundle, and write nothing.")
@click.option("--allow-secrets", is_flag=True, help="Export lines that look like secrets.")
@click.option("--force", is_flag=True, help="Replace an existing bundle.")
@with_shared_options("agent", "format")
def export(
    options: SharedOptions,
    target: str,
    *,
    profile: str,
    slug: str,
    bundle_version: str,
    preview: bool,
    allow_secrets: bool,
    force: bool,
) -> None:
    """Write an agent as a folder or a zip archive.

    A target that ends in .zip becomes an archive. If a line looks like a secret, nothing is
    written, unless --allow-secrets is given.
    """
    context = options.open()
    title = {"slug": slug, "version": bundle_version}
    if preview:
        listing = bundles.preview_bundle(
            context,
            options.agent,
            profile=profile,  # type: ignore[arg-type]
            **title,
        )
        _print_preview(options, listing)
        return
    if not target:
        raise click.UsageError("Name a folder or a zip file, or give --preview.")
    archive = bundles.export_bundle(
        context,
        options.agent,
        profile=profile,  # type: ignore[arg-type]
        **title,
        allow_secrets=allow_secrets,
    )
    content = b64decode(archive.data)
    if target.lower().endswith(".zip"):
        write_archive(target, content, replace=force)
    else:
        write_folder(target, unpack_files(content), replace=force)
    if options.json:
        fields = to_json_value(archive)
        print_document({name: field for name, field in fields.items() if name != "data"})
        return
    title_text = f"{archive.bundle_slug} {archive.bundle_version} ({profile})"
    say(f"Exported {archive.agent} as {title_text}: {target}")
    say(f"{format_count(len(archive.files), 'file')}, sha256 {archive.hash}")
    for reason in archive.left_out:
        say(f"Left out: {reason}")


def _print_preview(options: SharedOptions, preview: BundlePreview) -> None:
    if options.json:
        print_document(to_json_value(preview))
        return
    print_table(("PATH", "BYTES"), [(file.path, file.bytes) for file in preview.files])
    count = format_count(len(preview.files), "file")
    say(f"{count}, {preview.bytes:,} bytes would leave with {preview.agent} ({preview.profile}).")
    for reason in preview.left_out:
        say(f"Left out: {reason}")
    for finding in preview.secrets:
        say(f"Looks like a secret: {finding.place}")


@command("plan", "looseleaf bundles plan ada.zip", "looseleaf bundles plan ada.zip --diff")
@source_argument
@slug_option
@diff_option
@runtime_option
@with_shared_options("format")
def plan(
    options: SharedOptions, source: str, *, slug: str, diff: bool, reconcile_runtime: bool
) -> None:
    """Show the changes that a bundle would make."""
    result = bundle_installs.plan_bundle(
        options.open(), read_source(source), slug=slug, reconcile_runtime=reconcile_runtime
    )
    _print_plan(options, result, with_diff=diff)


@command(
    "install",
    "looseleaf bundles install ada.zip",
    "looseleaf bundles install ada.zip --slug ada-2 --approve schedule:morning",
    "looseleaf bundles install ada.zip --dry-run",
)
@source_argument
@slug_option
@click.option(
    "--on-conflict",
    type=click.Choice(["error", "skip", "upgrade"]),
    default="error",
    help="If the agent exists; error.",
)
@click.option("--owner", type=int, metavar="ID", help="The user who owns the agent.")
@approve_option
@dry_run_option
@with_shared_options("format")
def install(
    options: SharedOptions,
    source: str,
    *,
    slug: str,
    on_conflict: str,
    owner: int | None,
    approve: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Create the agent of a bundle, whole or not at all.

    Schedules arrive paused, unless they are approved.
    """
    result = bundle_installs.install_bundle(
        options.open(),
        read_source(source),
        slug=slug,
        on_conflict=on_conflict,  # type: ignore[arg-type]
        owner=owner,
        approve=approve,
        dry_run=dry_run,
    )
    _print_plan(options, result)


@command(
    "upgrade",
    "looseleaf bundles upgrade ada.zip",
    "looseleaf bundles upgrade ada.zip --dry-run --diff",
    "looseleaf bundles upgrade ada.zip --merge memory:SOUL.md",
)
@source_argument
@approve_option
@click.option(
    "--merge", multiple=True, metavar="KEY", help="Keep sections edited here: memory:SOUL.md."
)
@runtime_option
@dry_run_option
@diff_option
@with_shared_options("agent", "format")
def upgrade(
    options: SharedOptions,
    source: str,
    *,
    approve: tuple[str, ...],
    merge: tuple[str, ...],
    reconcile_runtime: bool,
    dry_run: bool,
    diff: bool,
) -> None:
    """Bring an agent to a newer version of its bundle.

    Parts that nobody changed here are upgraded. Changed parts wait for --approve, and memory that
    the agent learned is never overwritten.
    """
    result = bundle_installs.upgrade_bundle(
        options.open(),
        read_source(source),
        agent=options.agent,
        approve=approve,
        merge=merge,
        reconcile_runtime=reconcile_runtime,
        dry_run=dry_run,
    )
    _print_plan(options, result, with_diff=diff)


@command("list", "looseleaf bundles list")
@with_shared_options("format")
def list_bundles(options: SharedOptions) -> None:
    """List the agents that came from bundles."""
    entries = installed_bundles.list_bundles(options.open())
    if options.json:
        print_document({"bundles": to_json_value(entries)})
    elif entries:
        rows = [
            (bundle.agent, bundle.bundle_slug, bundle.bundle_version, bundle.updated_at)
            for bundle in entries
        ]
        print_table(("AGENT", "BUNDLE", "VERSION", "UPDATED"), rows)
    else:
        say("No agent came from a bundle. Install one: looseleaf bundles install FOLDER|ZIP")


@command("show", "looseleaf bundles show ada")
@click.argument("agent", required=False, shell_complete=complete_agents)
@with_shared_options("format")
def show_bundle(options: SharedOptions, agent: str | None) -> None:
    """Show the bundle of an agent, and its parts that were changed here."""
    bundle = installed_bundles.show_bundle(options.open(), agent)
    if options.json:
        print_document(to_json_value(bundle))
        return
    say(f"{bundle.agent}: {bundle.bundle_slug} {bundle.bundle_version}, {bundle.updated_at}")
    print_table(("KEY", "STATUS"), [(part.key, part.status) for part in bundle.artifacts])


def read_source(path: str) -> str:
    """Read a folder, a zip archive or a JSON document of this machine, as operations take it."""
    content = pack_files(read_folder(path)) if os.path.isdir(path) else read_archive(path)
    return b64encode(content).decode()


def _print_plan(options: SharedOptions, plan: BundlePlan, *, with_diff: bool = False) -> None:
    if options.json:
        print_document(to_json_value(plan))
        return
    verb = {"install": "Install", "upgrade": "Upgrade", "skip": "Skip"}[plan.act]
    versions = f"{plan.installed_version} → " if plan.installed_version else ""
    title = f"{plan.bundle_slug} {versions}{plan.bundle_version}"
    say(f"{verb} {plan.agent} from {title}{' (nothing is written)' if plan.dry_run else ''}")
    if plan.entries:
        print_table(
            ("KEY", "PLAN", "REASON"),
            [(entry.key, entry.bucket, entry.reason) for entry in plan.entries],
        )
    for entry in plan.entries:
        if with_diff and entry.diff:
            show(f"\n{entry.key}\n{entry.diff}\n".encode())
    if not plan.dry_run and plan.act != "skip":
        say(f"Applied {format_count(len(plan.applied), 'part')}.")
    for key in plan.waiting:
        say(f"Waits for approval: {key}")
    if plan.waiting and not plan.dry_run:
        say(f"Look at it: looseleaf bundles pending {plan.agent} --diff")
