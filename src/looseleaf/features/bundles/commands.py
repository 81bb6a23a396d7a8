"""`looseleaf bundles …`: an agent as files, to export, inspect, install and upgrade."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, with_shared_options
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import say, show
from looseleaf.features.bundles.bundle_files import (
    read_archive,
    read_folder,
    write_archive,
    write_folder,
)
from looseleaf.features.bundles.zip_archive import pack_files, unpack_files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from looseleaf.features.bundles.inspection import BundleReport
    from looseleaf.features.bundles.install_operations import BundlePlan, UpgradeDecision
    from looseleaf.features.bundles.operations import (
        BundlePreview,
        BundleRebase,
        BundleStatus,
        InstalledBundle,
    )


_bundles = Derivation("bundles", "looseleaf.features.bundles.operations")
_installs = Derivation("bundles", "looseleaf.features.bundles.install_operations")
_comparisons = Derivation("bundles", "looseleaf.features.bundles.operations")
_installed = Derivation("bundles", "looseleaf.features.bundles.operations")
_pending = Derivation("bundles", "looseleaf.features.bundles.install_operations")


def read_source(path: str) -> str:
    """Read a folder, a zip archive or a JSON document of this machine, as operations take it."""
    content = pack_files(read_folder(path)) if os.path.isdir(path) else read_archive(path)
    return b64encode(content).decode()


def _take_source(ctx: click.Context, _param: click.Parameter, path: str) -> str:
    ctx.meta[_PATH] = path  # as it was typed, for a message
    return read_source(path)


_PATH = "looseleaf.features.bundles.path"
Parameters = dict[str, str | click.Parameter | None]
_SOURCE: Parameters = {
    "data": click.Argument(
        ["data"], metavar="FOLDER|ZIP|JSON", type=click.Path(), callback=_take_source
    )
}
_SLUG: Parameters = {**_SOURCE, "slug": "--slug SLUG: The agent's slug here."}
_DIFF: Parameters = {
    **_SOURCE,
    "diff": click.Option(["--diff"], is_flag=True, help="Show every change as lines."),
}
_RUNTIME = "--reconcile-runtime: Set schedules and queues to those of the bundle, too."
_APPROVE = "--approve KEY: Approve a key of the plan, or all; repeat."
_DRY_RUN = "--dry-run: Print the plan and write nothing."


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
    from looseleaf.features.bundles import operations

    context = options.open()
    title = {"slug": slug, "version": bundle_version}
    if preview:
        listing = operations.preview_bundle(
            context,
            options.agent,
            profile=profile,  # type: ignore[arg-type]
            **title,
        )
        _print_preview(options, listing)
        return
    if not target:
        raise click.UsageError("Name a folder or a zip file, or give --preview.")
    archive = operations.export_bundle(
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


def _print_plan(plan: BundlePlan) -> None:
    from looseleaf.features.bundles.plan import APPROVAL

    verb = {"install": "Install", "upgrade": "Upgrade", "skip": "Skip"}[plan.act]
    versions = f"{plan.installed_version} → " if plan.installed_version else ""
    title = f"{plan.bundle_slug} {versions}{plan.bundle_version}"
    say(f"{verb} {plan.agent} from {title}{' (nothing is written)' if plan.dry_run else ''}")
    if plan.entries:
        ResultTable("key plan=bucket reason", rows="entries")(plan)
    # What a person is asked to approve is shown, whether or not its diff was asked for.
    asked = [entry for entry in plan.entries if plan.dry_run and entry.bucket == APPROVAL]
    _print_differences(plan.entries, asked)
    if not plan.dry_run and plan.act != "skip":
        say(f"Applied {format_count(len(plan.applied), 'part')}.")
    for key in plan.waiting:
        say(f"Waits for approval: {key}")
    if plan.waiting and not plan.dry_run:
        say(f"Look at it: looseleaf bundles pending {plan.agent} --diff")


def _print_differences(entries: Iterable[Any], always: Iterable[Any] = ()) -> None:
    for entry in entries if click.get_current_context().params.get("diff") else always:
        if entry.diff:
            show(f"\n{entry.key}\n{entry.diff}\n".encode())


plan_bundle = _installs.derive(
    "plan",
    "plan_bundle",
    "ada.zip",
    "ada.zip --diff",
    parameters={**_SLUG, **_DIFF, "reconcile_runtime": _RUNTIME},
    show=_print_plan,
)
install_bundle = _installs.derive(
    "install",
    "install_bundle",
    "ada.zip",
    "ada.zip --slug ada-2 --approve schedule:morning",
    "ada.zip --dry-run",
    parameters={
        **_SLUG,
        "approve": _APPROVE,
        "dry_run": _DRY_RUN,
        "on_conflict": "--on-conflict: If the agent exists; error.",
        "owner": "--owner ID",
    },
    show=_print_plan,
)
upgrade_bundle = _installs.derive(
    "upgrade",
    "upgrade_bundle",
    "ada.zip",
    "ada.zip --dry-run --diff",
    "ada.zip --merge memory:SOUL.md",
    help="""Bring an agent to a newer version of its bundle.

    Parts that nobody changed here are upgraded. Changed parts wait for --approve, and memory that
    the agent learned is never overwritten.
    """,
    parameters={
        **_DIFF,
        "approve": _APPROVE,
        "dry_run": _DRY_RUN,
        "reconcile_runtime": _RUNTIME,
        "planned_hashes": None,
        "merge": "--merge KEY: Keep sections edited here: memory:SOUL.md.",
    },
    show=_print_plan,
)
list_bundles = _installed.derive(
    "list",
    "list_bundles",
    "",
    key="bundles",
    show=ResultTable(
        "agent bundle=bundle_slug version=bundle_version updated=updated_at",
        empty="No agent came from a bundle. Install one: looseleaf bundles install FOLDER|ZIP",
    ),
)


@_installed.shown("show", "show_bundle", "ada")
def show_bundle(bundle: InstalledBundle) -> None:
    """Show the bundle of an agent, and its parts that were changed here."""
    say(f"{bundle.agent}: {bundle.bundle_slug} {bundle.bundle_version}, {bundle.updated_at}")
    ResultTable("key status", rows="artifacts")(bundle)


COMPATIBILITY = (
    *("compatible", "status", "problems", "required_capabilities", "host_capabilities"),
    *("unsupported_capabilities", "unknown_artifact_types", "unsupported_artifacts"),
)


@_bundles.shown(
    "inspect",
    "inspect_bundle",
    "ada.zip",
    "ada-bundle",
    parameters=_SOURCE,
    failed=lambda report: not report.compatible,
)
def inspect_bundle(report: BundleReport) -> None:
    """Show the content of a bundle, and whether it fits here.

    Exits with 1 if the bundle cannot be installed.
    """
    say(f"{report.bundle_slug} {report.bundle_version}: agent {report.agent} ({report.label})")
    ResultTable("path bytes", rows="files")(report)
    for problem in report.problems:
        say(f"It cannot be installed here: {problem}")
    if report.compatible:
        path = click.get_current_context().meta[_PATH]
        say(f"It can be installed here: looseleaf bundles install {path}")


@command("validate", "looseleaf bundles validate ada.zip")
@click.argument("source", metavar="FOLDER|ZIP|JSON", type=click.Path())
@with_shared_options("format")
def validate_bundle(options: SharedOptions, source: str) -> None:
    """Check whether a bundle can run here.

    Exits with 1 if it cannot.
    """
    from looseleaf.features.bundles import operations

    report = operations.inspect_bundle(options.open(), read_source(source))
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


@_comparisons.shown("rebase", "rebase_bundle", "ada.zip --diff", parameters=_DIFF)
def rebase_bundle(rebase: BundleRebase) -> None:
    """Preview how a bundle and local changes would merge.

    Pages merge by section, JSON by key. If both sides changed the same part, the local side
    stays.
    """
    if not rebase.entries:
        say(f"{rebase.agent} has nothing to merge with {rebase.bundle_slug}.")
        return
    cells = {"conflicts": lambda entry: ", ".join(entry.conflicts)}
    ResultTable("key state conflicts", cells=cells, rows="entries")(rebase)
    _print_differences(rebase.entries)


@_comparisons.shown(
    "status",
    "show_bundle_status",
    "ada.zip",
    parameters=_SLUG,
    failed=lambda result: result.status != "current",
)
def show_bundle_status(result: BundleStatus) -> None:
    """Check whether an agent has a bundle's version.

    Exits with 1 if it does not.
    """
    installed_title = f"{result.installed_slug} {result.installed_version}".strip() or "no bundle"
    say(f"{result.agent}: {result.status} ({installed_title} is installed)")
    for key in result.changed if result.installed_slug else ():
        say(f"Differs: {key}")


@command("pending", "looseleaf bundles pending", "looseleaf bundles pending ada --diff")
@click.argument("agent", required=False, shell_complete=complete_agents)
@click.option("--diff", is_flag=True, help="Show each change as lines.")
@with_shared_options("format")
def list_pending(options: SharedOptions, agent: str | None, **_shown: bool) -> None:
    """Show the parts that wait for approval.

    Without an agent, list the agents that have such parts.
    """
    from looseleaf.features.bundles import install_operations

    context = options.open()
    if agent is None:
        upgrades = install_operations.list_pending_upgrades(context)
        if options.json:
            print_document({"upgrades": to_json_value(upgrades)})
        else:
            _WAITING(upgrades)
        return
    upgrade = install_operations.show_pending_upgrade(context, agent)
    if options.json:
        print_document(to_json_value(upgrade))
        return
    say(f"{upgrade.agent}: {upgrade.bundle_slug} {upgrade.bundle_version}, {upgrade.created_at}")
    rows = [
        (part.key, part.reason, "changed since" if part.outdated else "") for part in upgrade.parts
    ]
    print_table(("KEY", "REASON", "HERE"), rows)
    _print_differences(upgrade.parts)
    say(f"Decide: looseleaf bundles approve {upgrade.agent} KEY, or bundles reject")


_WAITING = ResultTable(
    "agent bundle planned=created_at waiting",
    cells={"bundle": lambda upgrade: f"{upgrade.bundle_slug} {upgrade.bundle_version}"},
    empty="Nothing waits for approval.",
)


def _print_decision(decision: UpgradeDecision, verb: str) -> None:
    say(f"{verb} for {decision.agent}: {', '.join(decision.keys)}")
    for key in decision.waiting:
        say(f"Waits for approval: {key}")


_DECISION = {
    "agent": click.Argument(["agent"], shell_complete=complete_agents),
    "keys": click.Argument(["keys"], nargs=-1, metavar="KEY…"),
}
approve_parts = _pending.derive(
    "approve",
    "approve",
    "ada memory:SOUL.md schedule:morning",
    "ada all",
    "ada --merge memory:SOUL.md",
    help="""Apply parts that wait for approval.

    All named parts are applied, or none. Refused if one of them was changed here meanwhile.
    """,
    parameters={**_DECISION, "merge": "--merge KEY: Merge this part: local changes stay; repeat."},
    show=lambda decision: _print_decision(decision, "Applied"),
)
reject_parts = _pending.derive(
    "reject",
    "reject",
    "ada schedule:morning",
    help="""Reject parts that wait for approval.

    Nothing of the agent changes, and a paused schedule stays paused.
    """,
    parameters=_DECISION,
    show=lambda decision: _print_decision(decision, "Rejected"),
)


bundles_group = Group(
    "bundles",
    "An agent as files: export, inspect, install, upgrade.",
    *(export_bundle, inspect_bundle, plan_bundle, install_bundle, upgrade_bundle),
    *(validate_bundle, rebase_bundle, show_bundle_status, list_pending, approve_parts),
    *(reject_parts, list_bundles, show_bundle),
)
