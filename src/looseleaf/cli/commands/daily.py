"""`looseleaf memory daily …`: the journal, one page a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import SharedOptions, split_content, with_shared_options
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.commands.memory import (
    allow_shrink_option,
    from_file_option,
    if_match_option,
    print_saved,
    raw_option,
)
from looseleaf.cli.commands.search import context_option, print_results
from looseleaf.cli.commands.search import search as search_pages
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import say, show
from looseleaf.errors.pages import AgentAmbiguous, AgentMissing, PageMissing
from looseleaf.memory.day import day_of, resolve_day
from looseleaf.memory.scope import Where
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.memory.search.results import Match


READ_OPTIONS = ("agent", "user", "format")
CHANGE_OPTIONS = (*READ_OPTIONS, "actor", "reason", "origin")
words_argument = click.argument("words", nargs=-1, metavar="[DATE] CONTENT")


@command(
    "list", "looseleaf memory daily list", "looseleaf memory daily list --agent ada --format json"
)
@with_shared_options(*READ_OPTIONS)
def list_days(options: SharedOptions) -> None:
    """List the days that have a page, newest first."""
    from looseleaf.operations import daily

    context, page_owner = _open_journal(options)
    months = daily.list_days(context, where=page_owner)
    days = [
        (f"{month.replace('/', '-')}-{day}", month)
        for month, month_days in months.items()
        for day in reversed(month_days)
    ]
    if options.json:
        documents = [{"date": date, "month": month} for date, month in days]
        print_document({"days": documents, "total": len(days)})
    elif days:
        print_table(("DATE", "MONTH"), days)
        say()
        say(f"{format_count(len(days), 'day')}.")
    else:
        say('The journal is empty. Begin it: looseleaf memory daily append "- what happened"')


@command("read", "looseleaf memory daily read", "looseleaf memory daily read 2026-04-17")
@click.argument("date", default="", metavar="[DATE]")
@click.option("--as-of", metavar="TIME|REVISION", default="", help="The page as it was then.")
@raw_option
@with_shared_options(*READ_OPTIONS)
def read(options: SharedOptions, date: str, as_of: str, *, raw: bool) -> None:
    """Print one day; without a date, today.

    Days are UTC.
    """
    from looseleaf.operations.memory import read_memory

    context, page_owner = _open_journal(options)
    day = resolve_day(date, context.clock())
    try:
        page = read_memory(context, day.filename, where=page_owner, as_of=as_of)
    except PageMissing:
        as_of_note = f" as of {as_of}" if as_of else ""
        raise PageMissing(str(day), f"the journal{as_of_note}") from None
    if options.json:
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
@with_shared_options(*CHANGE_OPTIONS)
def write(
    options: SharedOptions,
    words: tuple[str, ...],
    from_file: str | None,
    if_match: str | None,
    *,
    allow_shrink: bool,
) -> None:
    """Replace one day; without a date, today.

    One argument is the content, even if it looks like a date; of two arguments the first is the
    date.
    """
    from looseleaf.operations import daily

    names, content = split_content(words, from_file, may_be_empty=allow_shrink)
    context, page_owner = _open_journal(options)
    result = daily.write_day(
        context, content(), _take_date(names), mode="write", where=page_owner, if_match=if_match,
        allow_shrink=allow_shrink,
    )  # fmt: skip
    print_saved(options, f"Wrote {_format_date(result.filename)}", result)


@command(
    "append",
    'looseleaf memory daily append "- Moved the shop to PHP 8.4"',
    'looseleaf memory daily append 2026-04-17 "- remembered later"',
)
@words_argument
@from_file_option
@with_shared_options(*CHANGE_OPTIONS)
def append(options: SharedOptions, words: tuple[str, ...], from_file: str | None) -> None:
    """Add to one day; without a date, today.

    A new day begins with its date as title. One argument is the content, even if it looks like a
    date; of two arguments the first is the date.
    """
    from looseleaf.operations import daily

    names, content = split_content(words, from_file)
    context, page_owner = _open_journal(options)
    result = daily.write_day(context, content(), _take_date(names), where=page_owner)
    print_saved(options, f"Appended to {_format_date(result.filename)}", result)


def _take_date(names: tuple[str, ...]) -> str | None:
    if len(names) > 1:
        raise click.UsageError("Too many arguments: a date and the content are enough.")
    return names[0] if names else None


def _format_date(filename: str) -> str:
    return str(day_of(filename) or filename)


@command("delete", "looseleaf memory daily delete 2026-04-17")
@click.argument("date")
@if_match_option
@with_shared_options(*CHANGE_OPTIONS)
def delete(options: SharedOptions, date: str, if_match: str | None) -> None:
    """Delete one day.

    Its text stays in the history.
    """
    from looseleaf.operations import daily

    context, page_owner = _open_journal(options)
    result = daily.delete_day(context, date, where=page_owner, if_match=if_match)
    if options.json:
        print_document({"date": date, **as_dict(result)})
    else:
        say(f"Deleted {date} (revision {result.revision}; its text stays in the history).")


@command(
    "search",
    "looseleaf memory daily search deploy",
    'looseleaf memory daily search "PHP 8" --from 2026-04-01 --to 2026-04-30',
)
@click.argument("query")
@click.option("--from", "since", metavar="DATE", help="The first day.")
@click.option("--to", "until", metavar="DATE", help="The last day.")
@context_option
@with_shared_options(*READ_OPTIONS)
def search(
    options: SharedOptions, query: str, since: str | None, until: str | None, lines: int
) -> None:
    """Find a text in the journal, newest day first.

    Line by line, ignoring case; the first and the last day are included.
    """
    from looseleaf.operations import daily

    context, page_owner = _open_journal(options)
    results = daily.search_days(
        context, query, since=since, until=until, lines=lines, where=page_owner
    )
    print_results(options, query, results, place_of=_day_of)


def _day_of(match: Match) -> str:
    return _format_date(match.filename)


def _open_journal(options: SharedOptions) -> tuple[Context, Where]:
    """Open the workspace and find the journal: of the agent, else of the user's agent."""
    from looseleaf.operations.agents import list_agents

    context = options.open()
    if options.agent is not None or options.user is None:
        return context, Where(options.agent, layer="agent")
    records = list_agents(context)
    slugs = tuple(
        record.slug
        for record in records
        if record.owner == options.user and record.status == "active"
    )
    if not slugs:
        raise AgentMissing("", tuple(record.slug for record in records), user=options.user)
    if len(slugs) > 1:
        raise AgentAmbiguous(slugs)
    return context, Where(slugs[0], layer="agent")


daily_group = Group(
    "daily",
    "The daily journal of an agent: one page a day, in UTC.",
    *(list_days, read, write, append, delete, search),
    summary="The journal: one page a day.",
)
COMMANDS = (search_pages, daily_group)
