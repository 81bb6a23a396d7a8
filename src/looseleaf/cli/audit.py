"""`looseleaf audit …`: who did what."""

from __future__ import annotations

import click

from looseleaf.cli.arguments import Asked, shared
from looseleaf.cli.formats import iso, minute, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Unavailable
from looseleaf.operations import audit as operations
from looseleaf.operations.schema import plain


@command("list", "looseleaf audit list", "looseleaf audit list --limit 200 --format json")
@click.option("--limit", type=int, default=50, metavar="N", help="At most so many; 50.")
@click.option("--before", type=int, default=0, metavar="N", help="Entries of lower numbers.")
@shared("format")
def list_audit(asked: Asked, limit: int, before: int) -> None:
    """List what was done, newest first.

    By people and agents on the network, and every change of accounts. Times are UTC.
    """
    found = operations.list_audit(asked.open(), limit=limit, number=before)
    if asked.json:
        listed = [
            {"number": one.number, "time": iso(one.time), **plain(one.event), "hash": one.hash}
            for one in found
        ]
        print_document({"entries": listed})
        return
    rows = [
        (
            one.number,
            minute(one.time),
            one.event.actor or "-",
            one.event.surface,
            one.event.action.partition("/")[2] or one.event.action,
            one.event.outcome,
            one.event.target,
        )
        for one in found
    ]
    headers = ("NUMBER", "TIME", "BY", "THROUGH", "WHAT", "OUTCOME", "OF")
    print_table(headers, rows, shrink="OF")


@command("verify", "looseleaf audit verify")
@shared("format")
def verify(asked: Asked) -> None:
    """Check that nothing in the audit was changed.

    Each entry holds the hash of the one before; a change, a gap or a lost end is found.
    """
    found = operations.verify_audit(asked.open())
    if found.fault:
        raise Unavailable("The audit", f"{found.fault} (checked {found.entries})")
    if asked.json:
        print_document(plain(found))
    else:
        say(f"The audit is whole, from entry 1 to entry {found.entries}.")
