"""`looseleaf memory …`: pages and their sections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import (
    CHANGE,
    PAGE,
    SharedOptions,
    Target,
    complete_pages,
    parse_target,
    read_text,
    require_content,
    split_content,
    with_shared_options,
)
from looseleaf.cli.argv import is_page, parse_page_and_section
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import note, say, show, warn
from looseleaf.errors.pages import PageMissing
from looseleaf.files import atomic
from looseleaf.memory.pages import FACTS, MAIN, format_fact
from looseleaf.memory.store import ABSENT
from looseleaf.times import format_microseconds
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.memory.pages import Saved


position_option = click.option(
    "--position", type=int, metavar="N", help="Which section, counted from 1."
)
page_option = click.option("--page", is_flag=True, help="The whole page, not a section of it.")
if_match_option = click.option(
    "--if-match", metavar="HASH", help="Only if the page has this version (or is absent)."
)
allow_shrink_option = click.option(
    "--allow-shrink", is_flag=True, help="Allow that a core page loses most of its text."
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
@click.option("--as-of", metavar="TIME|REVISION", default="", help="The page as it was then.")
@raw_option
@with_shared_options(*PAGE)
def read(
    options: SharedOptions, names: tuple[str, ...], position: int | None, as_of: str, *, raw: bool
) -> None:
    """Print a page, or one section of it.

    Without a name, MEMORY.md. A single name that ends in .md, .markdown or .txt is a page; any
    other name is a section of MEMORY.md.
    """
    from looseleaf.operations import memory

    if len(names) > 2:
        raise click.UsageError(
            "Too many arguments: a page and a section are enough to name a place."
        )
    file, section = parse_page_and_section(names, MAIN)
    page = memory.read_memory(
        options.open(), file, section=section, position=position, where=options.where, as_of=as_of
    )
    if not options.json:
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
            "updated": format_microseconds(page.updated) if page.updated else None,
        }
    )


@command("sections", "looseleaf memory sections", "looseleaf memory sections SOUL.md --format json")
@click.argument("file", required=False, shell_complete=complete_pages)
@click.option("--file", "file_option", metavar="FILE", help="The same as FILE.")
@with_shared_options(*PAGE)
def sections(options: SharedOptions, file: str | None, file_option: str | None) -> None:
    """List the sections of a page.

    Without a name, the sections of MEMORY.md.
    """
    from looseleaf.operations import memory

    if file and file_option and file != file_option:
        raise click.UsageError(f"Which page: {file!r} or {file_option!r}?")
    page = file or file_option or MAIN
    page_sections = memory.list_sections(options.open(), page, where=options.where)
    if options.json:
        documents = [
            {
                "position": section.position,
                "name": section.name,
                "line": section.line,
                "bytes": section.bytes,
            }
            for section in page_sections
        ]
        print_document({"file": page, "sections": documents})
    elif page_sections:
        rows = [
            (section.position, section.name, section.line, section.bytes)
            for section in page_sections
        ]
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
@with_shared_options(*CHANGE)
def write(
    options: SharedOptions,
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

    A missing section is added. Without FILE, MEMORY.md. CONTENT - is standard input, and content
    may begin with a dash. No other section changes. Without --allow-shrink, a core page does not
    shrink to less than a tenth, and empty standard input replaces nothing.
    """
    from looseleaf.operations import memory

    if from_file is None and position is None:
        require_content(words, "memory write")
    names, content = split_content(words, from_file, may_be_empty=allow_shrink)
    change_target = parse_target(names, page=page, position=position)
    if mode == "append":
        if if_match is not None:
            raise click.UsageError("--if-match is for replacing text; appending replaces nothing.")
        _append(options, change_target, content())
    elif change_target.whole:
        result = memory.write_page(
            options.open(), change_target.file, content(), where=options.where, if_match=if_match,
            allow_shrink=allow_shrink,
        )  # fmt: skip
        print_saved(options, f"Wrote {change_target.title}", result)
    else:
        result = memory.update_memory(
            options.open(), change_target.section, content(), mode="set", file=change_target.file,
            position=change_target.position, where=options.where, if_match=if_match,
            allow_shrink=allow_shrink,
        )  # fmt: skip
        print_saved(options, f"Set {change_target.title}", result, section=change_target.section)


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
@with_shared_options(*CHANGE)
def append(
    options: SharedOptions,
    words: tuple[str, ...],
    position: int | None,
    from_file: str | None,
    *,
    page: bool,
) -> None:
    """Add to the end of a section or of a page.

    A missing section or page is created. FILE CONTENT adds to the end of the page; SECTION CONTENT
    adds to a section of MEMORY.md. CONTENT - is standard input.
    """
    if from_file is None and position is None:
        require_content(words, "memory append")
    names, content = split_content(words, from_file)
    is_whole_page = len(names) == 1 and is_page(names[0]) and position is None
    _append(options, parse_target(names, page=page or is_whole_page, position=position), content())


def _append(options: SharedOptions, place: Target, content: str) -> None:
    from looseleaf.operations import memory

    if place.whole:
        result = memory.append_page(options.open(), place.file, content, where=options.where)
    else:
        result = memory.update_memory(
            options.open(), place.section, content, file=place.file, mode="append",
            position=place.position, where=options.where,
        )  # fmt: skip
    print_saved(options, f"Appended to {place.title}", result, section=place.section)


@command(
    "remember",
    'looseleaf remember "The shop runs PHP 8.4"',
    'looseleaf remember "Deploys are on Friday" --section "Site Knowledge"',
    "git log -1 --format=%s | looseleaf remember -",
)
@click.argument("words", nargs=-1, required=True, metavar="FACT")
@click.option("--section", default=FACTS, metavar="NAME", help=f"The section; else {FACTS}.")
@with_shared_options(*CHANGE)
def remember(options: SharedOptions, words: tuple[str, ...], section: str) -> None:
    """Write a fact into MEMORY.md.

    The fact becomes a line of the section Facts. Several words need no quotes, and - is standard
    input.
    """
    _, content = split_content((" ".join(words),), None)
    fact = content().strip()
    if not fact:
        raise click.UsageError("The fact is empty.")
    _append(options, Target(MAIN, section, None), format_fact(fact))


@command(
    "edit",
    "looseleaf memory edit",
    "looseleaf memory edit SOUL.md --agent ada",
    'looseleaf memory edit notes.md --reason "spelling"',
)
@click.argument("file", default=MAIN, metavar="[FILE]", shell_complete=complete_pages)
@with_shared_options(*CHANGE)
def edit(options: SharedOptions, file: str) -> None:
    """Edit a page in your editor.

    Without a name, MEMORY.md. The editor is that of VISUAL or EDITOR. A page that has changed
    meanwhile is not overwritten: your text is kept in a file, whose name is printed.
    """
    from looseleaf.operations import memory

    context = options.open()
    try:
        page = memory.read_memory(context, file, where=options.where)
        text, version = page.content, page.hash
    except PageMissing:
        text, version = "", ABSENT
    copy = _create_copy(os.path.basename(file), text)
    is_done = False
    try:
        click.edit(filename=copy)
        new_text = read_text(f"@{copy}")
        if new_text == text or not new_text.strip():
            is_empty = " The text is empty; to empty a page: looseleaf memory clear"
            say(f"Nothing was changed.{'' if new_text == text else is_empty}")
        else:
            result = memory.write_page(
                context, file, new_text, where=options.where, if_match=version, allow_shrink=True
            )
            print_saved(options, f"Wrote {file}", result)
        is_done = True
    finally:
        if is_done:
            _remove_copy(copy)
        else:
            note(f"Your text is in {copy}")


def _create_copy(name: str, text: str) -> str:
    """Write a text to a new file that only this user can read; return its path."""
    import tempfile

    folder = tempfile.mkdtemp(prefix="looseleaf-")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        atomic.create_durably(descriptor, name, text.encode())
    finally:
        os.close(descriptor)
    return f"{folder}/{name}"


def _remove_copy(path: str) -> None:
    folder = os.path.dirname(path)
    descriptor = os.open(os.path.dirname(folder), os.O_RDONLY | os.O_DIRECTORY)
    try:
        atomic.remove_tree(descriptor, os.path.basename(folder))
    finally:
        os.close(descriptor)


@command("delete", "looseleaf memory delete State", "looseleaf memory delete notes.md --page")
@click.argument("names", nargs=-1, metavar="[FILE] [SECTION]", shell_complete=complete_pages)
@page_option
@position_option
@if_match_option
@allow_shrink_option
@with_shared_options(*CHANGE)
def delete(
    options: SharedOptions,
    names: tuple[str, ...],
    position: int | None,
    if_match: str | None,
    *,
    page: bool,
    allow_shrink: bool,
) -> None:
    """Delete one section of a page, or a whole page.

    The text stays in the history. Core pages cannot be deleted; clear them instead. Without
    --allow-shrink, no section is deleted that is nearly all of a core page.
    """
    from looseleaf.operations import memory

    place = parse_target(names, page=page, position=position)
    if not place.whole:
        result = memory.delete_section(
            options.open(), place.section, file=place.file, position=place.position,
            where=options.where, if_match=if_match, allow_shrink=allow_shrink,
        )  # fmt: skip
        print_saved(options, f"Deleted {place.title}", result, section=place.section)
        return
    deletion = memory.delete_page(
        options.open(), place.file, where=options.where, if_match=if_match
    )
    if options.json:
        print_document({"file": place.file, **as_dict(deletion)})
    else:
        say(f"Deleted {place.file} (revision {deletion.revision}; its text stays in the history).")


@command(
    "clear",
    "looseleaf memory clear MEMORY.md",
    'looseleaf memory clear SOUL.md --reason "starting over"',
)
@click.argument("file", shell_complete=complete_pages)
@if_match_option
@with_shared_options(*CHANGE)
def clear(options: SharedOptions, file: str, if_match: str | None) -> None:
    """Empty a page, core pages too.

    The text stays in the history.
    """
    from looseleaf.operations import memory

    result = memory.clear_page(options.open(), file, where=options.where, if_match=if_match)
    print_saved(options, f"Cleared {file}", result)


@command(
    "move",
    "looseleaf memory move notes.md projects/garden.md",
    'looseleaf memory move style.md style-guide.md --reason "one name for all"',
)
@click.argument("file", shell_complete=complete_pages)
@click.argument("to")
@if_match_option
@with_shared_options(*CHANGE)
def move(options: SharedOptions, file: str, to: str, if_match: str | None) -> None:
    """Rename a page, or move it to another folder.

    Pipelines and flows that select the page follow. Core pages keep their names.
    """
    from looseleaf.operations.files import move_page

    moved = move_page(options.open(), file, to, where=options.where, if_match=if_match)
    if options.json:
        print_document({"file": moved.filename, **as_dict(moved)})
        return
    say(f"Moved {file} to {to} (revision {moved.revision}; the history of {file} stays).")
    if moved.followed:
        say(f"Followed by {', '.join(moved.followed)}.")
    if moved.outdated:
        warn(f"{file} is still named by {', '.join(moved.outdated)}.")


def print_saved(
    options: SharedOptions, sentence: str, result: Saved, *, section: str | None = None
) -> None:
    """Print the result of a change, and the warnings about the page."""
    if options.json:
        fields = as_dict(result)
        file = fields.pop("filename")
        print_document({"file": file, "section": section, **fields})
        return
    size = format_count(result.bytes, "byte")
    if result.changed:
        say(f"{sentence} (revision {result.revision}, {size}).")
    else:
        say(f"{result.filename} says so already; nothing changed ({size}).")
    for warning in result.warnings:
        warn(warning)


memory_group = Group(
    "memory",
    "Read, change and search an agent's memory.",
    *(read, sections, write, append, edit, delete, clear, move),
    more=(
        "looseleaf.cli.commands.daily:COMMANDS",
        "looseleaf.cli.commands.recent:COMMANDS",
        "looseleaf.cli.commands.pages:COMMANDS",
    ),
)
