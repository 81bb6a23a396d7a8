"""`looseleaf memory search`: finds a text in pages, or the pages about some words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import PAGE, SharedOptions, complete_pages, with_shared_options
from looseleaf.cli.command_line import build_shortcut, command
from looseleaf.cli.formats import format_count, highlight, paint, print_document
from looseleaf.cli.output import escape, escape_line, print_text, say, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from looseleaf.memory.search.results import Match, PageHit, RankedPages, SearchResults


_MOST_NAMED = 5
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
@click.option(
    "--limit", type=int, metavar="N", help="At most so many matches; 50, with --words 10."
)
@click.option("--as-of", metavar="TIME", default="", help="Search the pages as they were then.")
@click.option("--words", is_flag=True, help="Rank pages by how well they match the words.")
@click.option(
    "--copies", is_flag=True, help="Also search generated copies of pages, such as AGENTS.md."
)
@with_shared_options(*PAGE)
def search(  # noqa: PLR0913 - one for each option
    options: SharedOptions,
    *,
    query: str,
    file: str,
    section: str,
    lines: int,
    limit: int | None,
    as_of: str,
    words: bool,
    copies: bool,
) -> None:
    """Find a text in pages, or the pages about some words.

    Searches all that a prompt of the agent may show, line by line, ignoring case.
    """
    from looseleaf.operations import search as operations

    if words:
        if file or section:
            raise click.UsageError("--words ranks whole pages: leave out --file and --section.")
        ranked_pages = operations.find(
            options.open(),
            query,
            limit=10 if limit is None else limit,
            where=options.where,
            as_of=as_of,
            copies=copies,
        )
        _print_hits(options, query, ranked_pages)
        return
    results = operations.search(
        options.open(), query, file=file, section=section, lines=lines,
        limit=50 if limit is None else limit, where=options.where, as_of=as_of, copies=copies,
    )  # fmt: skip
    print_results(options, query, results, place_of=_format_place)


search_shortcut = build_shortcut(search)


def _format_place(match: Match) -> str:
    page = format_page(match)
    return f"{page}: {match.section}" if match.section else page


def format_page(hit: Match | PageHit) -> str:
    """Return the name of a page, with its layer unless it is a page of the agent."""
    return hit.filename if hit.layer == "agent" else f"{hit.filename} ({hit.layer})"


def _print_hits(options: SharedOptions, query: str, ranked_pages: RankedPages) -> None:
    if options.json:
        document = {"query": query, "hits": _build_hits(ranked_pages.pages)}
        print_document({**document, **_build_unseen_fields(ranked_pages)})
        return
    _print_pages(ranked_pages.pages)
    if not ranked_pages.pages:
        say(f"No page is about {query!r}.")
    _print_unseen(ranked_pages)


def _print_unseen(results: SearchResults | RankedPages) -> None:
    """Name the pages that were not searched, on standard error."""
    if results.unseen_total:
        names = ", ".join(results.unseen[:_MOST_NAMED])
        rest = results.unseen_total - _MOST_NAMED
        ending = f" and {rest} more" if rest > 0 else ""
        warn(f"Not searched, since versions of that time are no longer kept: {names}{ending}.")


def _build_unseen_fields(results: SearchResults | RankedPages) -> dict[str, object]:
    return {"unseen": list(results.unseen), "unseen_total": results.unseen_total}


def _print_pages(hits: Iterable[PageHit]) -> None:
    for hit in hits:
        heading = f"--- [{format_page(hit)}] score {hit.score:.3g} ---"
        print_text(paint(escape_line(heading), "bold") + "\n")
        print_text(escape(hit.snippet) + "\n\n")


def print_results(
    options: SharedOptions, query: str, results: SearchResults, *, place_of: Callable[[Match], str]
) -> None:
    """Print matches with the lines around them, their number and their freshness."""
    if options.json:
        print_document(_build_document(query, results))
        return
    for window in _merge_windows(results.matches, place_of):
        print_text(paint(escape_line(window.heading), "bold") + "\n")
        print_text(highlight(escape("\n".join(window.text)), query) + "\n\n")
    match_count = len(results.matches)
    total = format_count(results.total, "match")
    if not results.total:
        _print_pages(results.ranked)
        ranked_note = (
            " The pages above are about its words, the best first." if results.ranked else ""
        )
        say(f"No line has {query!r}.{ranked_note}")
    elif match_count < results.total:
        pages = format_count(results.files, "page")
        say(f"{total} on {pages}; the first {match_count:,} are shown.")
    else:
        say(f"{total} on {format_count(results.files, 'page')}.")
    if results.notice and results.total:
        say(results.notice)
    say(f"{results.freshness}.")
    _print_unseen(results)


class _Window:
    """Lines of a page that are shown together, with the numbers of those that match."""

    def __init__(self, match: Match, place: str) -> None:
        self.file, self.places = format_page(match), [place]
        self.matching_lines = [match.line]
        self.text = match.context.split("\n")
        self._next_line = match.context_line + len(self.text)

    @property
    def heading(self) -> str:
        """The places and the matching lines."""
        numbers = ", ".join(map(str, self.matching_lines))
        noun = "line" if len(self.matching_lines) == 1 else "lines"
        return f"--- [{', '.join(self.places)}] {noun} {numbers} ---"

    def add(self, match: Match, place: str) -> bool:
        """Add a match whose lines begin among these or right below, or return False."""
        is_below = format_page(match) == self.file and match.line > self.matching_lines[-1]
        if not (is_below and 0 < match.context_line <= self._next_line):
            return False
        new_lines = match.context.split("\n")[self._next_line - match.context_line :]
        self.places += [place] if place not in self.places else []
        self.matching_lines.append(match.line)
        self.text += new_lines
        self._next_line += len(new_lines)
        return True


def _merge_windows(matches: Iterable[Match], place_of: Callable[[Match], str]) -> list[_Window]:
    """Merge the lines around matches that follow each other, so that none is shown twice."""
    windows: list[_Window] = []
    for match in matches:
        if not (windows and windows[-1].add(match, place_of(match))):
            windows.append(_Window(match, place_of(match)))
    return windows


def _build_hits(hits: Iterable[PageHit]) -> list[dict[str, object]]:
    return [
        {"file": hit.filename, "layer": hit.layer, "score": hit.score, "snippet": hit.snippet}
        for hit in hits
    ]


def _build_document(query: str, results: SearchResults) -> dict[str, object]:
    return {
        "query": query,
        "matches": [
            {
                "file": match.filename,
                "layer": match.layer,
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
        "ranked": _build_hits(results.ranked),
        "notice": results.notice,
        **_build_unseen_fields(results),
    }
