"""`looseleaf bundles …`: an agent as files, to export, inspect, install and upgrade."""

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
from looseleaf.cli.groups import Group, command
from looseleaf.cli.output import say, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.operations.bundle_installs import BundlePlan
    from looseleaf.operations.bundles import BundlePreview

    Function = Callable[..., object]
    from looseleaf.operations.pending_upgrades import UpgradeDecision, WaitingUpgrade


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
def export_bundle(
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
    from looseleaf.operations import bundles

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
def plan_bundle(
    options: SharedOptions, source: str, *, slug: str, diff: bool, reconcile_runtime: bool
) -> None:
    """Show the changes that a bundle would make."""
    from looseleaf.operations import bundle_installs

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
def install_bundle(
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
    from looseleaf.operations import bundle_installs

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
def upgrade_bundle(
    options: SharedOptions,
    source: str,
    *,
    approve: tuple[str, ...],
    merge: tuple[str, ...],
    reconcile_runtime: bool,
    dry_run: bool,
    diff: bool,
) -> None:
    """Upgrade an agent to a newer version of its bundle.

    Parts that nobody changed here are upgraded. Changed parts wait for --approve, and memory that
    the agent learned is never overwritten.
    """
    from looseleaf.operations import bundle_installs

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
    from looseleaf.operations import installed_bundles

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
    from looseleaf.operations import installed_bundles

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


COMPATIBILITY = (
    *("compatible", "status", "problems", "required_capabilities", "host_capabilities"),
    *("unsupported_capabilities", "unknown_artifact_types", "unsupported_artifacts"),
)


@command("inspect", "looseleaf bundles inspect ada.zip", "looseleaf bundles inspect ada-bundle")
@source_argument
@with_shared_options("format")
def inspect_bundle(options: SharedOptions, source: str) -> None:
    """Show the content of a bundle, and whether it fits here.

    Exits with 1 if the bundle cannot be installed.
    """
    from looseleaf.operations import bundles

    report = bundles.inspect_bundle(options.open(), read_source(source))
    if options.json:
        print_document(to_json_value(report))
    else:
        say(f"{report.bundle_slug} {report.bundle_version}: agent {report.agent} ({report.label})")
        print_table(("PATH", "BYTES"), [(file.path, file.bytes) for file in report.files])
        for problem in report.problems:
            say(f"It cannot be installed here: {problem}")
        if report.compatible:
            say("It can be installed here: looseleaf bundles install " + source)
    if not report.compatible:
        raise click.exceptions.Exit(1)


@command("validate", "looseleaf bundles validate ada.zip")
@source_argument
@with_shared_options("format")
def validate_bundle(options: SharedOptions, source: str) -> None:
    """Check whether a bundle can run here.

    Exits with 1 if it cannot.
    """
    from looseleaf.operations import bundles

    report = bundles.inspect_bundle(options.open(), read_source(source))
    if options.json:
        print_document(to_json_value({name: getattr(report, name) for name in COMPATIBILITY}))
    else:
        say(f"{report.bundle_slug} {report.bundle_version} is {report.status}.")
        for problem in report.problems:
            say(problem)
        for name in report.unknown_artifact_types:
            say(f"Kept and not used here: {name}/")
    if not report.compatible:
        raise click.exceptions.Exit(1)


@command("rebase", "looseleaf bundles rebase ada.zip --diff")
@source_argument
@diff_option
@with_shared_options("agent", "format")
def rebase_bundle(options: SharedOptions, source: str, *, diff: bool) -> None:
    """Preview how a bundle and local changes would merge.

    Pages merge by section, JSON by key. If both sides changed the same part, the local side
    stays.
    """
    from looseleaf.operations import bundle_comparisons

    result = bundle_comparisons.rebase_bundle(
        options.open(), read_source(source), agent=options.agent
    )
    if options.json:
        print_document(to_json_value(result))
        return
    if not result.entries:
        say(f"{result.agent} has nothing to merge with {result.bundle_slug}.")
        return
    rows = [(entry.key, entry.state, ", ".join(entry.conflicts)) for entry in result.entries]
    print_table(("KEY", "STATE", "CONFLICTS"), rows)
    for entry in result.entries:
        if diff and entry.diff:
            show(f"\n{entry.key}\n{entry.diff}\n".encode())


@command("status", "looseleaf bundles status ada.zip")
@source_argument
@slug_option
@with_shared_options("format")
def show_bundle_status(options: SharedOptions, source: str, *, slug: str) -> None:
    """Check whether an agent has a bundle's version.

    Exits with 1 if it does not.
    """
    from looseleaf.operations import bundle_comparisons

    result = bundle_comparisons.show_bundle_status(options.open(), read_source(source), slug=slug)
    if options.json:
        print_document(to_json_value(result))
    else:
        installed_title = (
            f"{result.installed_slug} {result.installed_version}".strip() or "no bundle"
        )
        say(f"{result.agent}: {result.status} ({installed_title} is installed)")
        for key in result.changed if result.installed_slug else ():
            say(f"Differs: {key}")
    if result.status != "current":
        raise click.exceptions.Exit(1)


keys_argument = click.argument("keys", nargs=-1, metavar="KEY…")


@command("pending", "looseleaf bundles pending", "looseleaf bundles pending ada --diff")
@click.argument("agent", required=False, shell_complete=complete_agents)
@diff_option
@with_shared_options("format")
def list_pending(options: SharedOptions, agent: str | None, *, diff: bool) -> None:
    """Show the parts that wait for approval.

    Without an agent, list the agents that have such parts.
    """
    from looseleaf.operations import pending_upgrades

    context = options.open()
    if agent is None:
        _print_list(options, pending_upgrades.list_pending_upgrades(context))
        return
    upgrade = pending_upgrades.show_pending_upgrade(context, agent)
    if options.json:
        print_document(to_json_value(upgrade))
        return
    say(f"{upgrade.agent}: {upgrade.bundle_slug} {upgrade.bundle_version}, {upgrade.created_at}")
    rows = [
        (part.key, part.reason, "changed since" if part.outdated else "") for part in upgrade.parts
    ]
    print_table(("KEY", "REASON", "HERE"), rows)
    for part in upgrade.parts:
        if diff and part.diff:
            show(f"\n{part.key}\n{part.diff}\n".encode())
    say(f"Decide: looseleaf bundles approve {upgrade.agent} KEY, or bundles reject")


def _print_list(options: SharedOptions, upgrades: list[WaitingUpgrade]) -> None:
    if options.json:
        print_document({"upgrades": to_json_value(upgrades)})
    elif upgrades:
        rows = [
            (
                upgrade.agent,
                f"{upgrade.bundle_slug} {upgrade.bundle_version}",
                upgrade.created_at,
                ", ".join(upgrade.waiting),
            )
            for upgrade in upgrades
        ]
        print_table(("AGENT", "BUNDLE", "PLANNED", "WAITING"), rows)
    else:
        say("Nothing waits for approval.")


@command(
    "approve",
    "looseleaf bundles approve ada memory:SOUL.md schedule:morning",
    "looseleaf bundles approve ada all",
    "looseleaf bundles approve ada --merge memory:SOUL.md",
)
@click.argument("agent", shell_complete=complete_agents)
@keys_argument
@click.option(
    "--merge", multiple=True, metavar="KEY", help="Merge this part: local changes stay; repeat."
)
@with_shared_options("format")
def approve_parts(
    options: SharedOptions, agent: str, keys: tuple[str, ...], *, merge: tuple[str, ...]
) -> None:
    """Apply parts that wait for approval.

    All named parts are applied, or none. Refused if one of them was changed here meanwhile.
    """
    from looseleaf.operations import pending_upgrades

    decision = pending_upgrades.approve(options.open(), agent, keys=keys, merge=merge)
    _print_decision(options, decision, "Applied")


@command("reject", "looseleaf bundles reject ada schedule:morning")
@click.argument("agent", shell_complete=complete_agents)
@keys_argument
@with_shared_options("format")
def reject_parts(options: SharedOptions, agent: str, keys: tuple[str, ...]) -> None:
    """Reject parts that wait for approval.

    Nothing of the agent changes, and a paused schedule stays paused.
    """
    from looseleaf.operations import pending_upgrades

    _print_decision(options, pending_upgrades.reject(options.open(), agent, keys=keys), "Rejected")


def _print_decision(options: SharedOptions, decision: UpgradeDecision, verb: str) -> None:
    if options.json:
        print_document(to_json_value(decision))
        return
    say(f"{verb} for {decision.agent}: {', '.join(decision.keys)}")
    for key in decision.waiting:
        say(f"Waits for approval: {key}")


bundles_group = Group(
    "bundles",
    "An agent as files: export, inspect, install, upgrade.",
    *(export_bundle, inspect_bundle, plan_bundle, install_bundle, upgrade_bundle),
    *(validate_bundle, rebase_bundle, show_bundle_status, list_pending, approve_parts),
    *(reject_parts, list_bundles, show_bundle),
)
