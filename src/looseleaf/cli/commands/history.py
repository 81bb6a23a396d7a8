"""`looseleaf memory history | diff | restore | purge | prune | pack`: prior versions of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import (
    CHANGE,
    PAGE,
    SharedOptions,
    complete_pages,
    confirm,
    with_shared_options,
)
from looseleaf.cli.commands.memory import if_match_option, print_saved
from looseleaf.cli.formats import format_actor, format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import note, say, show
from looseleaf.errors import Invalid
from looseleaf.operations import history as operations
from looseleaf.times import format_microseconds, format_minute
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.memory.history import Revision
    from looseleaf.upkeep.retention.versions import PackReport

file_argument = click.argument("file", shell_complete=complete_pages)


@command(
    "history",
    "looseleaf memory history MEMORY.md",
    "looseleaf memory history SOUL.md --format json",
)
@file_argument
@with_shared_options(*PAGE)
def history(options: SharedOptions, file: str) -> None:
    """List the revisions of a page, newest first.

    Each with its time, actor, surface, origin and reason. Times are UTC. With --format json also
    the session, job or request of each change.
    """
    revisions = operations.list_revisions(options.open(), file, where=options.where)[::-1]
    if options.json:
        documents = [
            {**as_dict(revision), "time": format_microseconds(revision.time)}
            for revision in revisions
        ]
        print_document({"file": file, "revisions": documents})
        return
    rows = [
        (
            revision.number,
            format_minute(revision.time),
            revision.operation,
            revision.bytes,
            format_actor(revision.actor, revision.actor_kind),
            revision.surface,
            revision.origin or "-",
            _format_reason(revision),
        )
        for revision in revisions
    ]
    headers = ("REVISION", "TIME", "CHANGE", "BYTES", "BY", "THROUGH", "FROM", "WHY")
    print_table(headers, rows, shrink="WHY")


def _format_reason(revision: Revision) -> str:
    if revision.purged:
        return f"({revision.purged})"
    return revision.reason if revision.kept else f"(no longer kept) {revision.reason}".rstrip()


@command("diff", "looseleaf memory diff MEMORY.md", "looseleaf memory diff MEMORY.md 3 5")
@file_argument
@click.argument("before", default="", metavar="[A]")
@click.argument("after", default="", metavar="[B]")
@click.option("--raw", is_flag=True, help="Exactly the text, on a terminal too.")
@with_shared_options(*PAGE)
def diff(options: SharedOptions, file: str, before: str, after: str, *, raw: bool) -> None:
    """Compare two versions of a page.

    A and B are revisions or times. Without B, A is compared with the present page; without both,
    the last change is shown.
    """
    comparison = operations.diff(options.open(), file, before, after, where=options.where)
    if options.json:
        fields = as_dict(comparison)
        print_document(
            {
                "file": file,
                "before": comparison.before,
                "after": comparison.after,
                "diff": fields["text"],
            }
        )
    elif comparison.text:
        show(f"{comparison.text}\n".encode(), exact=raw)
    else:
        say(f"Revisions {comparison.before} and {comparison.after} of {file} say the same.")


@command(
    "restore", "looseleaf memory restore MEMORY.md 3", "looseleaf memory restore SOUL.md 2026-04-17"
)
@file_argument
@click.argument("revision", metavar="REVISION|TIME")
@if_match_option
@with_shared_options(*CHANGE)
def restore(options: SharedOptions, file: str, revision: str, if_match: str | None) -> None:
    """Restore an earlier version of a page.

    The version of a revision or time becomes a new revision, so nothing is lost.
    """
    version = f"revision {revision}" if revision.isdigit() else revision
    result = operations.restore(
        options.open(), file, revision, where=options.where, if_match=if_match
    )
    print_saved(options, f"Restored {file} as of {version}", result)


@command("purge", 'looseleaf memory purge MEMORY.md 3 --reason "a password was in it"')
@file_argument
@click.argument("revision", type=int)
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options(*CHANGE)
def purge(options: SharedOptions, file: str, revision: int, *, yes: bool) -> None:
    """Remove one prior version for good.

    The history still lists the revision, and who removed its text, when and why. Needs --reason.
    """
    if not options.reason:
        raise Invalid("Say why, for the history: --reason TEXT.")
    context = options.open()
    confirm(f"Remove revision {revision} of {file} for good?", yes=yes)
    operations.purge(context, file, revision, where=options.where)
    if options.json:
        print_document({"file": file, "revision": revision, "purged": True})
    else:
        say(f"Purged revision {revision} of {file}.")


@command("prune", "looseleaf memory prune", "looseleaf memory prune --days 30 --versions 50")
@click.option("--days", type=float, metavar="N", help="Keep versions so many days; else as set.")
@click.option(
    "--versions", type=int, metavar="N", help="Keep at most so many versions; else as set."
)
@with_shared_options("format")
def prune(options: SharedOptions, days: float | None, versions: int | None) -> None:
    """Drop versions that retention does not keep.

    Of all pages; the present text of a page always stays. The settings say how long versions are
    kept.
    """
    dropped_count = operations.prune(options.open(), days=days, versions=versions)
    if options.json:
        print_document({"dropped": dropped_count})
    else:
        say(
            f"Dropped {format_count(dropped_count, 'version')}."
            if dropped_count
            else "There was nothing to drop."
        )


@command("pack", "looseleaf memory pack", "looseleaf memory pack --dry-run")
@click.option("--dry-run", is_flag=True, help="Only say how much space it would save.")
@with_shared_options("format")
def pack(options: SharedOptions, *, dry_run: bool) -> None:
    """Put old versions into compressed files.

    One file for each page; every version stays readable. The newest 16 versions of a page keep
    files of their own. The server packs every night by itself.
    """
    report = operations.pack(options.open(), dry_run=dry_run)
    if options.json:
        print_document(as_dict(report))
    else:
        say(_format_report(report))
        for problem in report.problems:
            note(f"Could not be packed: {problem}")
    if report.problem_count:
        raise click.exceptions.Exit(1)


def _format_report(report: PackReport) -> str:
    if not report.versions:
        return "There was nothing to pack."
    verb = "Would pack" if report.dry_run else "Packed"
    versions = format_count(report.versions, "version")
    sizes = f"{report.file_bytes:,} bytes of files into {report.pack_bytes:,} bytes"
    return f"{verb} {versions} of {format_count(report.pages, 'page')}, {sizes}."
