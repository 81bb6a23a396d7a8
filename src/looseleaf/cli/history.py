"""`looseleaf memory history | diff | restore | purge | prune`: what pages were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import CHANGE, PAGE, Asked, complete_pages, confirmed, shared
from looseleaf.cli.formats import counted, iso, minute, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.memory import if_match_option, tell_saved
from looseleaf.cli.output import say, show
from looseleaf.errors import Invalid
from looseleaf.operations import history as operations
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.memory.history import Revision

file_argument = click.argument("file", shell_complete=complete_pages)


@command(
    "history",
    "looseleaf memory history MEMORY.md",
    "looseleaf memory history SOUL.md --format json",
)
@file_argument
@shared(*PAGE)
def history(asked: Asked, file: str) -> None:
    """List what a page was, newest first.

    When, by whom, through what, and why. Times are UTC.
    """
    revisions = operations.list_revisions(asked.open(), file, where=asked.where)[::-1]
    if asked.json:
        listed = [{**as_dict(one), "time": iso(one.time)} for one in revisions]
        print_document({"file": file, "revisions": listed})
        return
    rows = [
        (one.number, minute(one.time), one.operation, one.bytes, one.actor, one.surface, _why(one))
        for one in revisions
    ]
    headers = ("REVISION", "TIME", "CHANGE", "BYTES", "BY", "THROUGH", "WHY")
    print_table(headers, rows, shrink="WHY")


def _why(revision: Revision) -> str:
    if revision.purged:
        return f"({revision.purged})"
    return revision.reason if revision.kept else f"(no longer kept) {revision.reason}".rstrip()


@command("diff", "looseleaf memory diff MEMORY.md", "looseleaf memory diff MEMORY.md 3 5")
@file_argument
@click.argument("before", default="", metavar="[A]")
@click.argument("after", default="", metavar="[B]")
@click.option("--raw", is_flag=True, help="Exactly the text, on a terminal too.")
@shared(*PAGE)
def diff(asked: Asked, file: str, before: str, after: str, *, raw: bool) -> None:
    """Compare two versions of a page.

    A and B are revisions or times; without B, the present; without both, the last change.
    """
    found = operations.diff(asked.open(), file, before, after, where=asked.where)
    if asked.json:
        fields = as_dict(found)
        print_document(
            {"file": file, "before": found.before, "after": found.after, "diff": fields["text"]}
        )
    elif found.text:
        show(f"{found.text}\n".encode(), exact=raw)
    else:
        say(f"Revisions {found.before} and {found.after} of {file} say the same.")


@command(
    "restore", "looseleaf memory restore MEMORY.md 3", "looseleaf memory restore SOUL.md 2026-04-17"
)
@file_argument
@click.argument("revision", metavar="REVISION|TIME")
@if_match_option
@shared(*CHANGE)
def restore(asked: Asked, file: str, revision: str, if_match: str | None) -> None:
    """Make a page say again what it said.

    At a revision or time; that is itself a new revision, so nothing is lost.
    """
    moment = f"revision {revision}" if revision.isdigit() else revision
    saved = operations.restore(asked.open(), file, revision, where=asked.where, if_match=if_match)
    tell_saved(asked, f"Restored {file} as of {moment}", saved)


@command("purge", 'looseleaf memory purge MEMORY.md 3 --reason "a password was in it"')
@file_argument
@click.argument("revision", type=int)
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared(*CHANGE)
def purge(asked: Asked, file: str, revision: int, *, yes: bool) -> None:
    """Remove one prior version for good.

    The history keeps that it was there, and who had it removed, when and why. Needs --reason.
    """
    if not asked.reason:
        raise Invalid("Say why, for the history: --reason TEXT.")
    context = asked.open()
    confirmed(f"Remove revision {revision} of {file} for good?", yes=yes)
    operations.purge(context, file, revision, where=asked.where)
    if asked.json:
        print_document({"file": file, "revision": revision, "purged": True})
    else:
        say(f"Purged revision {revision} of {file}.")


@command("prune", "looseleaf memory prune", "looseleaf memory prune --days 30 --versions 50")
@click.option("--days", type=float, metavar="N", help="Keep versions so long; else as set.")
@click.option("--versions", type=int, metavar="N", help="Keep at most so many; else as set.")
@shared("format")
def prune(asked: Asked, days: float | None, versions: int | None) -> None:
    """Drop the versions that need not be kept.

    On every shelf; what pages say now always stays. The settings say how long versions are kept.
    """
    dropped = operations.prune(asked.open(), days=days, versions=versions)
    if asked.json:
        print_document({"dropped": dropped})
    else:
        say(f"Dropped {counted(dropped, 'version')}." if dropped else "There was nothing to drop.")
