"""`looseleaf bundles …`: parts that wait for approval, approved or rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, with_shared_options
from looseleaf.cli.commands.bundles import diff_option
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show
from looseleaf.operations import pending_upgrades

if TYPE_CHECKING:
    from looseleaf.operations.pending_upgrades import UpgradeDecision, WaitingUpgrade

keys_argument = click.argument("keys", nargs=-1, metavar="KEY…")


@command("pending", "looseleaf bundles pending", "looseleaf bundles pending ada --diff")
@click.argument("agent", required=False, shell_complete=complete_agents)
@diff_option
@with_shared_options("format")
def pending(options: SharedOptions, agent: str | None, *, diff: bool) -> None:
    """Show the parts that wait for approval.

    Without an agent, list the agents that have such parts.
    """
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
def approve(
    options: SharedOptions, agent: str, keys: tuple[str, ...], *, merge: tuple[str, ...]
) -> None:
    """Apply parts that wait for approval.

    All named parts are applied, or none. Refused if one of them was changed here meanwhile.
    """
    decision = pending_upgrades.approve(options.open(), agent, keys=keys, merge=merge)
    _print_decision(options, decision, "Applied")


@command("reject", "looseleaf bundles reject ada schedule:morning")
@click.argument("agent", shell_complete=complete_agents)
@keys_argument
@with_shared_options("format")
def reject(options: SharedOptions, agent: str, keys: tuple[str, ...]) -> None:
    """Reject parts that wait for approval.

    Nothing of the agent changes, and a paused schedule stays paused.
    """
    _print_decision(options, pending_upgrades.reject(options.open(), agent, keys=keys), "Rejected")


def _print_decision(options: SharedOptions, decision: UpgradeDecision, verb: str) -> None:
    if options.json:
        print_document(to_json_value(decision))
        return
    say(f"{verb} for {decision.agent}: {', '.join(decision.keys)}")
    for key in decision.waiting:
        say(f"Waits for approval: {key}")
