"""`looseleaf retention …`: how long data is kept, and removing older data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, confirm, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.operations import retention as operations
from looseleaf.upkeep.retention.tasks import PREFIX

if TYPE_CHECKING:
    from looseleaf.operations.retention import RetentionReport

kind_argument = click.argument("kind", default="", metavar="[KIND]")


@command("show", "looseleaf retention show")
@with_shared_options("format")
def show(options: SharedOptions) -> None:
    """Say how long each kind of data is kept.

    Each kind has its settings in looseleaf.toml; system_tasks_off switches a task off.
    """
    rules = operations.show_retention(options.open())
    if options.json:
        print_document({"retention": to_json_value(rules)})
        return
    rows = [
        (
            rule.task_type.removeprefix(PREFIX),
            ", ".join(f"{name} = {limit:g}" for name, limit in rule.settings.items()),
            "on" if rule.enabled else "off",
            rule.runs[0].end if rule.runs else "never",
            rule.runs[0].report if rule.runs else "-",
        )
        for rule in rules
    ]
    print_table(("KIND", "KEPT FOR", "TASK", "LAST RUN", "REMOVED"), rows, shrink="REMOVED")


@command("preview", "looseleaf retention preview", "looseleaf retention preview chat_sessions")
@kind_argument
@with_shared_options("format")
def preview(options: SharedOptions, kind: str) -> None:
    """Count the data past its retention; remove nothing.

    For one kind of data, or for all.
    """
    _print_reports(options, operations.preview_retention(options.open(), kind=kind), "Would remove")


@command("run", "looseleaf retention run --dry-run", "looseleaf retention run chat_sessions --yes")
@kind_argument
@click.option("--dry-run", is_flag=True, help="Only count, as preview does.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options("format")
def run(options: SharedOptions, kind: str, *, dry_run: bool, yes: bool) -> None:
    """Remove the data that is past its retention.

    Pages and the journal are never removed. Exits with 1 if a task failed.
    """
    context = options.open()
    if dry_run:
        _print_reports(options, operations.preview_retention(context, kind=kind), "Would remove")
        return
    confirm(f"Remove {kind or 'all data'} that is past its retention?", yes=yes)
    reports = operations.run_retention(context, kind=kind)
    _print_reports(options, reports, "Removed")
    if any(report.is_failure for report in reports):
        raise click.exceptions.Exit(1)


def _print_reports(options: SharedOptions, reports: list[RetentionReport], verb: str) -> None:
    if options.json:
        print_document({"reports": to_json_value(reports)})
        return
    rows = [
        (report.task_type.removeprefix(PREFIX), report.status, report.report) for report in reports
    ]
    print_table(("KIND", "STATUS", "WHAT"), rows, shrink="WHAT")
    total = sum(count for report in reports for count in report.counts.values())
    say(f"{verb} {total:,} in all.")
