"""`looseleaf recent`: what was learned lately, across pages and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.cli.command_line import build_shortcut
from looseleaf.cli.derived_commands import Derivation
from looseleaf.cli.formats import format_actor, format_count, paint
from looseleaf.cli.output import escape_line, print_text, say
from looseleaf.times import format_minute

if TYPE_CHECKING:
    from looseleaf.operations.recent import RecentChange, RecentChanges


_recent = Derivation("memory", "looseleaf.operations.recent")


@_recent.shown(
    "recent",
    "list_recent",
    "",
    "--since 7d --agent ada",
    "--since 2026-04-17 --format json",
)
def list_recent(recent: RecentChanges) -> None:
    """List what was learned lately, newest first.

    On all pages of all agents, with the lines that each change added and that are still there.
    Times are UTC. `looseleaf memory diff` shows all of a change.
    """
    for change in recent.changes:
        print_text(paint(escape_line(_format_heading(change)), "bold") + "\n")
        for line in change.lines:
            say(f"  {line}")
        if change.line_count > len(change.lines):
            say(f"  … and {format_count(change.line_count - len(change.lines), 'line')} more")
    if not recent.changes:
        say(f"Nothing was learned since {format_minute(recent.since)}.")
    elif recent.has_more:
        say("There is more: --limit 100 shows up to 100 changes, and --since a shorter time.")


def _format_heading(change: RecentChange) -> str:
    owner = f"agent {change.agent}" if change.agent else change.layer
    actor = format_actor(change.actor, change.actor_kind) or "unknown"
    reason = f": {change.reason}" if change.reason else ""
    return f"{format_minute(change.time)}  {owner}, {change.file}, by {actor}{reason}"


COMMANDS = (list_recent,)
recent_shortcut = build_shortcut(list_recent)
