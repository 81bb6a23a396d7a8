"""`looseleaf memory daily …`: the journal, one page a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import Asked, shared, with_content
from looseleaf.cli.formats import counted, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.memory import (
    allow_shrink_option,
    from_file_option,
    if_match_option,
    raw_option,
    tell_saved,
)
from looseleaf.cli.output import say, show
from looseleaf.cli.search import context_option, tell_results
from looseleaf.errors import AgentAmbiguous, AgentMissing, PageMissing
from looseleaf.memory.day import day_named, day_of
from looseleaf.operations import daily as operations
from looseleaf.operations.agents import list_agents
from looseleaf.operations.context import Where
from looseleaf.operations.memory import read_memory
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.memory.matches import Match
    from looseleaf.operations.context import Context

READING = ("agent", "user", "format")
CHANGING = (*READING, "actor", "reason")
words_argument = click.argument("words", nargs=-1, metavar="[DATE] CONTENT")


@command(
    "list", "looseleaf memory daily list", "looseleaf memory daily list --agent ada --format json"
)
@shared(*READING)
def list_days(asked: Asked) -> None:
    """List the days that have a page, newest first."""
    context, where = _opened(asked)
    months = operations.list_days(context, where=where)
    days = [
        (f"{month.replace('/', '-')}-{day}", month)
        for month, found in months.items()
        for day in reversed(found)
    ]
    if asked.json:
        listed = [{"date": date, "month": month} for date, month in days]
        print_document({"days": listed, "total": len(days)})
    elif days:
        print_table(("DATE", "MONTH"), days)
        say()
        say(f"{counted(len(days), 'day')}.")
    else:
        say('The journal is empty. Begin it: looseleaf memory daily append "- what happened"')


@command("read", "looseleaf memory daily read", "looseleaf memory daily read 2026-04-17")
@click.argument("date", default="", metavar="[DATE]")
@click.option("--as-of", metavar="TIME|REVISION", default="", help="What it said then.")
@raw_option
@shared(*READING)
def read(asked: Asked, date: str, as_of: str, *, raw: bool) -> None:
    """Print one day; without a date, today.

    Days are UTC.
    """
    context, where = _opened(asked)
    day = day_named(date, context.clock())
    try:
        page = read_memory(context, day.filename, where=where, as_of=as_of)
    except PageMissing:
        when = f" as of {as_of}" if as_of else ""
        raise PageMissing(str(day), f"the journal{when}") from None
    if asked.json:
        print_document(
            {
                "date": str(day),
                "file": day.filename,
                "content": page.content,
                "hash": page.hash,
            }
        )
    else:
        show(page.raw, exact=raw)


@command(
    "write",
    'looseleaf memory daily write "# A quiet day"',
    "looseleaf memory daily write 2026-04-17 --from-file day.md",
)
@words_argument
@from_file_option
@if_match_option
@allow_shrink_option
@shared(*CHANGING)
def write(
    asked: Asked,
    words: tuple[str, ...],
    from_file: str | None,
    if_match: str | None,
    *,
    allow_shrink: bool,
) -> None:
    """Replace one day; without a date, today.

    One argument is the content, even if it looks like a date; of two the first is the date.
    """
    names, content = with_content(words, from_file, may_be_empty=allow_shrink)
    context, where = _opened(asked)
    saved = operations.write_day(
        context, content(), _only_date(names), mode="write", where=where, if_match=if_match,
        allow_shrink=allow_shrink,
    )  # fmt: skip
    tell_saved(asked, f"Wrote {_date(saved.filename)}", saved)


@command(
    "append",
    'looseleaf memory daily append "- Moved the shop to PHP 8.4"',
    'looseleaf memory daily append 2026-04-17 "- remembered later"',
)
@words_argument
@from_file_option
@shared(*CHANGING)
def append(asked: Asked, words: tuple[str, ...], from_file: str | None) -> None:
    """Add to one day; without a date, today.

    A new day begins with its date as title. One argument is the content, even if it looks like a
    date; of two the first is the date.
    """
    names, content = with_content(words, from_file)
    context, where = _opened(asked)
    saved = operations.write_day(context, content(), _only_date(names), where=where)
    tell_saved(asked, f"Appended to {_date(saved.filename)}", saved)


def _only_date(names: tuple[str, ...]) -> str | None:
    if len(names) > 1:
        raise click.UsageError("Too many arguments: a date and the content are enough.")
    return names[0] if names else None


def _date(filename: str) -> str:
    return str(day_of(filename) or filename)


@command("delete", "looseleaf memory daily delete 2026-04-17")
@click.argument("date")
@if_match_option
@shared(*CHANGING)
def delete(asked: Asked, date: str, if_match: str | None) -> None:
    """Delete one day.

    What it said stays in the history.
    """
    context, where = _opened(asked)
    gone = operations.delete_day(context, date, where=where, if_match=if_match)
    if asked.json:
        print_document({"date": date, **as_dict(gone)})
    else:
        say(f"Deleted {date} (revision {gone.revision}; its text stays in the history).")


@command(
    "search",
    "looseleaf memory daily search deploy",
    'looseleaf memory daily search "PHP 8" --from 2026-04-01 --to 2026-04-30',
)
@click.argument("query")
@click.option("--from", "since", metavar="DATE", help="The first day.")
@click.option("--to", "until", metavar="DATE", help="The last day.")
@context_option
@shared(*READING)
def search(asked: Asked, query: str, since: str | None, until: str | None, lines: int) -> None:
    """Find a text in the journal, newest day first.

    Line by line, whatever the case; the first and the last day are included.
    """
    context, where = _opened(asked)
    results = operations.search_days(
        context, query, since=since, until=until, lines=lines, where=where
    )
    tell_results(asked, query, results, place_of=_day_of)


def _day_of(match: Match) -> str:
    return _date(match.filename)


def _opened(asked: Asked) -> tuple[Context, Where]:
    """Open the workspace and find whose journal is meant: the agent's, else the user's agent's."""
    context = asked.open()
    if asked.agent is not None or asked.user is None:
        return context, Where(asked.agent, layer="agent")
    records = list_agents(context)
    owned = tuple(one.slug for one in records if one.owner == asked.user and one.status == "active")
    if not owned:
        raise AgentMissing("", tuple(one.slug for one in records), user=asked.user)
    if len(owned) > 1:
        raise AgentAmbiguous(owned)
    return context, Where(owned[0], layer="agent")
