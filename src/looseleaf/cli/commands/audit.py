"""`looseleaf audit …`: the record of who did what."""

from __future__ import annotations

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import format_actor, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Unavailable
from looseleaf.memory.provenance import ACTOR_KINDS
from looseleaf.operations import audit as operations
from looseleaf.times import format_microseconds, format_minute


@command("list", "looseleaf audit list", "looseleaf audit list --limit 200 --format json")
@click.option("--limit", type=int, default=50, metavar="N", help="At most so many entries; 50.")
@click.option("--before", type=int, default=0, metavar="N", help="Entries of lower numbers.")
@click.option("--actor-kind", type=click.Choice(ACTOR_KINDS), help="Only actors of this kind.")
@click.option("--by", "actor", default="", metavar="NAME", help="Only this actor.")
@click.option("--action", default="", metavar="TEXT", help="Only actions with this in the name.")
@click.option("--since", default="", metavar="TIME", help="From this day or time on.")
@click.option("--until", default="", metavar="TIME", help="Up to this time, or the day's end.")
@with_shared_options("format")
def list_audit(options: SharedOptions, limit: int, before: int, **only: str | None) -> None:
    """List the entries of the audit, newest first.

    The audit records the acts of people and agents on the network, and every change of accounts.
    Times are UTC.
    """
    entries = operations.list_audit(
        options.open(),
        limit=limit,
        number=before,
        **{name: text or "" for name, text in only.items()},  # type: ignore[arg-type] # click knows
    )
    if options.json:
        documents = [
            {
                "number": entry.number,
                "time": format_microseconds(entry.time),
                **to_json_value(entry.event),
                "hash": entry.hash,
            }
            for entry in entries
        ]
        print_document({"entries": documents})
        return
    rows = [
        (
            entry.number,
            format_minute(entry.time),
            format_actor(entry.event.actor or "-", entry.event.actor_kind),
            entry.event.surface,
            entry.event.action.partition("/")[2] or entry.event.action,
            entry.event.outcome,
            entry.event.target,
        )
        for entry in entries
    ]
    headers = ("NUMBER", "TIME", "BY", "THROUGH", "WHAT", "OUTCOME", "OF")
    print_table(headers, rows, shrink="OF")


@command("verify", "looseleaf audit verify")
@with_shared_options("format")
def verify(options: SharedOptions) -> None:
    """Check that nothing in the audit was changed.

    Each entry holds the hash of the entry before; the check finds a change, a gap or a lost end.
    """
    result = operations.verify_audit(options.open())
    if result.fault:
        raise Unavailable("The audit", f"{result.fault} (checked {result.entries})")
    if options.json:
        print_document(to_json_value(result))
    else:
        first, last = result.removed + 1, result.removed + result.entries
        say(f"The audit is whole, from entry {first} to entry {last}.")
        if result.removed:
            say(f"Retention has removed entries 1 to {result.removed}, as the audit records.")
