"""`looseleaf memory …`: pages and their sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import (
    CHANGE,
    PAGE,
    Asked,
    complete_pages,
    shared,
    target,
    with_content,
)
from looseleaf.cli.formats import counted, iso, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show, warn
from looseleaf.cli.words import is_page, named
from looseleaf.operations import memory as operations
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.cli.arguments import Target
    from looseleaf.memory.pages import Saved

position_option = click.option(
    "--position", type=int, metavar="N", help="Which section, counted from 1."
)
page_option = click.option("--page", is_flag=True, help="The whole page, not a section of it.")
if_match_option = click.option(
    "--if-match", metavar="HASH", help="Only this version of the page (or absent)."
)
allow_shrink_option = click.option(
    "--allow-shrink", is_flag=True, help="Even if a core page loses most of its text."
)
from_file_option = click.option(
    "--from-file", type=click.Path(), metavar="PATH", help="Take the content from a file."
)
raw_option = click.option("--raw", is_flag=True, help="Exactly the bytes, on a terminal too.")


@command(
    "read",
    "looseleaf memory read",
    'looseleaf memory read "Lessons Learned"',
    "looseleaf memory read SOUL.md Identity --agent ada",
    "looseleaf memory read MEMORY.md --as-of 2026-04-17",
)
@click.argument(
    "names", nargs=-1, metavar="[FILE|SECTION] [SECTION]", shell_complete=complete_pages
)
@position_option
@click.option("--as-of", metavar="TIME|REVISION", default="", help="What it said then.")
@raw_option
@shared(*PAGE)
def read(
    asked: Asked, names: tuple[str, ...], position: int | None, as_of: str, *, raw: bool
) -> None:
    """Print a page, or one section of it.

    Without a name, MEMORY.md. A single name that ends in .md, .markdown or .txt is a page; any
    other is a section of MEMORY.md.
    """
    if len(names) > 2:
        raise click.UsageError(
            "Too many arguments: a page and a section are enough to name a place."
        )
    file, section = named(names, operations.MAIN)
    page = operations.read_memory(
        asked.open(), file, section=section, position=position, where=asked.where, as_of=as_of
    )
    if not asked.json:
        show(page.raw, exact=raw)
        return
    print_document(
        {
            "file": page.file,
            "layer": page.layer,
            "section": page.section,
            "position": position,
            "as_of": as_of or None,
            "content": page.content,
            "hash": page.hash,
            "bytes": page.size,
            "updated": iso(page.updated) if page.updated else None,
        }
    )


@command("sections", "looseleaf memory sections", "looseleaf memory sections SOUL.md --format json")
@click.argument("file", required=False, shell_complete=complete_pages)
@click.option("--file", "same", metavar="FILE", help="The same as FILE.")
@shared(*PAGE)
def sections(asked: Asked, file: str | None, same: str | None) -> None:
    """List the sections of a page.

    Without a name, those of MEMORY.md.
    """
    if file and same and file != same:
        raise click.UsageError(f"Which page: {file!r} or {same!r}?")
    page = file or same or operations.MAIN
    found = operations.list_sections(asked.open(), page, where=asked.where)
    if asked.json:
        listed = [
            {"position": one.position, "name": one.name, "line": one.line, "bytes": one.bytes}
            for one in found
        ]
        print_document({"file": page, "sections": listed})
    elif found:
        rows = [(one.position, one.name, one.line, one.bytes) for one in found]
        print_table(("POSITION", "NAME", "LINE", "BYTES"), rows, shrink="NAME")
    else:
        say(f"{page} has no sections.")


@command(
    "write",
    'looseleaf memory write "Site Knowledge" "- PHP 8.4, one server"',
    'looseleaf memory write RULES.md Safety --from-file safety.md --reason "after the review"',
    "looseleaf memory write notes.md --page - < notes.md",
)
@click.argument(
    "words", nargs=-1, metavar="[FILE] [SECTION] CONTENT", shell_complete=complete_pages
)
@click.option(
    "--mode", type=click.Choice(["set", "append"]), default="set", help="Replace (set) or add."
)
@page_option
@position_option
@from_file_option
@if_match_option
@allow_shrink_option
@shared(*CHANGE)
def write(
    asked: Asked,
    *,
    words: tuple[str, ...],
    mode: str,
    position: int | None,
    from_file: str | None,
    if_match: str | None,
    allow_shrink: bool,
    page: bool,
) -> None:
    """Set one section of a page, or a whole page.

    A section that is not there is added. Without FILE, MEMORY.md. CONTENT - is standard input, and
    content may begin with a dash. No other section changes. A core page does not shrink to less
    than a tenth, and standard input that has nothing replaces nothing, without --allow-shrink.
    """
    names, content = with_content(words, from_file, may_be_empty=allow_shrink)
    place = target(names, page=page, position=position)
    if mode == "append":
        if if_match is not None:
            raise click.UsageError(
                "--if-match guards what is replaced; appending replaces nothing."
            )
        _append(asked, place, content())
    elif place.whole:
        saved = operations.write_page(
            asked.open(), place.file, content(), where=asked.where, if_match=if_match,
            allow_shrink=allow_shrink,
        )  # fmt: skip
        tell_saved(asked, f"Wrote {place.title}", saved)
    else:
        saved = operations.update_memory(
            asked.open(), place.section, content(), mode="set", file=place.file,
            position=place.position, where=asked.where, if_match=if_match,
            allow_shrink=allow_shrink,
        )  # fmt: skip
        tell_saved(asked, f"Set {place.title}", saved, section=place.section)


@command(
    "append",
    'looseleaf memory append "Lessons Learned" "- Purge the cache after a deploy"',
    'looseleaf memory append notes.md "One more line at the end of the page"',
    "git log -1 --format=%s | looseleaf memory append State -",
)
@click.argument(
    "words", nargs=-1, metavar="[FILE] [SECTION] CONTENT", shell_complete=complete_pages
)
@page_option
@position_option
@from_file_option
@shared(*CHANGE)
def append(
    asked: Asked,
    words: tuple[str, ...],
    position: int | None,
    from_file: str | None,
    *,
    page: bool,
) -> None:
    """Add to the end of a section or of a page.

    A section or page that is not there is made. FILE with CONTENT alone adds to the end of the
    page; SECTION with CONTENT adds to a section of MEMORY.md. CONTENT - is standard input.
    """
    names, content = with_content(words, from_file)
    alone = len(names) == 1 and is_page(names[0]) and position is None
    _append(asked, target(names, page=page or alone, position=position), content())


def _append(asked: Asked, place: Target, content: str) -> None:
    if place.whole:
        saved = operations.append_page(asked.open(), place.file, content, where=asked.where)
    else:
        saved = operations.update_memory(
            asked.open(), place.section, content, file=place.file, mode="append",
            position=place.position, where=asked.where,
        )  # fmt: skip
    tell_saved(asked, f"Appended to {place.title}", saved, section=place.section)


@command("delete", "looseleaf memory delete State", "looseleaf memory delete notes.md --page")
@click.argument("names", nargs=-1, metavar="[FILE] [SECTION]", shell_complete=complete_pages)
@page_option
@position_option
@if_match_option
@shared(*CHANGE)
def delete(
    asked: Asked,
    names: tuple[str, ...],
    position: int | None,
    if_match: str | None,
    *,
    page: bool,
) -> None:
    """Delete one section of a page, or a whole page.

    What it said stays in the history. Core pages cannot be deleted; clear them instead.
    """
    place = target(names, page=page, position=position)
    if not place.whole:
        saved = operations.delete_section(
            asked.open(), place.section, file=place.file, position=place.position,
            where=asked.where, if_match=if_match,
        )  # fmt: skip
        tell_saved(asked, f"Deleted {place.title}", saved, section=place.section)
        return
    gone = operations.delete_page(asked.open(), place.file, where=asked.where, if_match=if_match)
    if asked.json:
        print_document({"file": place.file, **as_dict(gone)})
    else:
        say(f"Deleted {place.file} (revision {gone.revision}; its text stays in the history).")


@command(
    "clear",
    "looseleaf memory clear MEMORY.md",
    'looseleaf memory clear SOUL.md --reason "starting over"',
)
@click.argument("file", shell_complete=complete_pages)
@if_match_option
@shared(*CHANGE)
def clear(asked: Asked, file: str, if_match: str | None) -> None:
    """Empty a page, core pages too.

    What it said stays in the history.
    """
    saved = operations.clear_page(asked.open(), file, where=asked.where, if_match=if_match)
    tell_saved(asked, f"Cleared {file}", saved)


def tell_saved(asked: Asked, done: str, saved: Saved, *, section: str | None = None) -> None:
    """Say what a change came to, and what should be known about the page now."""
    if asked.json:
        fields = as_dict(saved)
        file = fields.pop("filename")
        print_document({"file": file, "section": section, **fields})
        return
    size = counted(saved.bytes, "byte")
    if saved.changed:
        say(f"{done} (revision {saved.revision}, {size}).")
    else:
        say(f"{saved.filename} says so already; nothing changed ({size}).")
    for warning in saved.warnings:
        warn(warning)
