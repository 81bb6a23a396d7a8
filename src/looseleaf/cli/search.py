"""`looseleaf memory search`: a text in pages, or the pages about some words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import PAGE, Asked, complete_pages, shared
from looseleaf.cli.colors import highlight, paint
from looseleaf.cli.formats import counted, print_document
from looseleaf.cli.groups import command
from looseleaf.cli.output import escaped, escaped_line, print_text, say
from looseleaf.operations import search as operations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from looseleaf.memory.find import Hit
    from looseleaf.memory.matches import Match
    from looseleaf.memory.search import Results

context_option = click.option(
    "--context", "lines", type=int, default=2, metavar="N", help="Lines around a match; 2."
)


@command(
    "search",
    'looseleaf memory search "cache"',
    "looseleaf memory search deploy --file MEMORY.md --section State --context 0",
    'looseleaf memory search --words "payment gateway rollback"',
)
@click.argument("query")
@click.option("--file", default="", help="Only this page.", shell_complete=complete_pages)
@click.option("--section", default="", help="Only sections of this name.")
@context_option
@click.option("--limit", type=int, metavar="N", help="Show at most so many; 50, with --words 10.")
@click.option("--as-of", metavar="TIME", default="", help="Search what pages said then.")
@click.option("--words", is_flag=True, help="Rank pages by how much they are about the words.")
@shared(*PAGE)
def search(
    asked: Asked,
    *,
    query: str,
    file: str,
    section: str,
    lines: int,
    limit: int | None,
    as_of: str,
    words: bool,
) -> None:
    """Find a text in pages, or the pages about some words.

    Looks through all pages of the agent, its journal too, line by line, whatever the case.
    """
    if words:
        if file or section:
            raise click.UsageError("--words ranks whole pages: leave out --file and --section.")
        hits = operations.find(
            asked.open(),
            query,
            limit=10 if limit is None else limit,
            where=asked.where,
            as_of=as_of,
        )
        _tell_hits(asked, query, hits)
        return
    results = operations.search(
        asked.open(), query, file=file, section=section, lines=lines,
        limit=50 if limit is None else limit, where=asked.where, as_of=as_of,
    )  # fmt: skip
    tell_results(asked, query, results, place_of=_place)


def _place(match: Match) -> str:
    return f"{match.filename}: {match.section}" if match.section else match.filename


def _tell_hits(asked: Asked, query: str, hits: list[Hit]) -> None:
    if asked.json:
        print_document({"query": query, "hits": _listed(hits)})
    elif hits:
        _print_pages(hits)
    else:
        say(f"No page is about {query!r}.")


def _print_pages(hits: Iterable[Hit]) -> None:
    for hit in hits:
        heading = f"--- [{hit.filename}] score {hit.score:.3g} ---"
        print_text(paint(escaped_line(heading), "bold") + "\n")
        print_text(escaped(hit.snippet) + "\n\n")


def tell_results(
    asked: Asked, query: str, results: Results, *, place_of: Callable[[Match], str]
) -> None:
    """Print matches with the lines around them, how many there are, and how that is known."""
    if asked.json:
        print_document(_document(query, results))
        return
    for match in results.matches:
        heading = f"--- [{place_of(match)}] line {match.line} ---"
        print_text(paint(escaped_line(heading), "bold") + "\n")
        print_text(highlight(escaped(match.context), query) + "\n\n")
    shown = len(results.matches)
    found = counted(results.total, "match")
    if not results.total:
        _print_pages(results.ranked)
        about = " The pages above are about its words, the best first." if results.ranked else ""
        say(f"No line has {query!r}.{about}")
    elif shown < results.total:
        say(f"{found} on {counted(results.files, 'page')}; the first {shown:,} are shown.")
    else:
        say(f"{found} on {counted(results.files, 'page')}.")
    if results.notice and results.total:
        say(results.notice)
    say(f"{results.freshness}.")


def _listed(hits: Iterable[Hit]) -> list[dict[str, object]]:
    return [{"file": one.filename, "score": one.score, "snippet": one.snippet} for one in hits]


def _document(query: str, results: Results) -> dict[str, object]:
    return {
        "query": query,
        "matches": [
            {
                "file": match.filename,
                "section": match.section,
                "line": match.line,
                "content": match.content,
                "context": match.context,
            }
            for match in results.matches
        ],
        "total": results.total,
        "files": results.files,
        "freshness": results.freshness,
        "ranked": _listed(results.ranked),
        "notice": results.notice,
    }
