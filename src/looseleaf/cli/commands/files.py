"""`looseleaf memory files`, `paths` and `compose`: the list of pages and their paths."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.resolution import user_of
from looseleaf.cli.arguments import (
    PAGE,
    SharedOptions,
    complete_pages,
    require_local,
    with_shared_options,
)
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import NotFound
from looseleaf.operations import composed as compose_operations
from looseleaf.operations import files as operations
from looseleaf.times import format_microseconds, format_minute
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.operations.files import PageInfo, PagePath


@command("files", "looseleaf memory files", "looseleaf memory files check --days 30")
@click.argument(
    "action", type=click.Choice(["list", "check"]), default="list", metavar="[list|check]"
)
@click.option("--days", type=float, default=7, metavar="N", help="An older page is stale; 7.")
@click.option("--daily", is_flag=True, help="Include the journal.")
@with_shared_options(*PAGE)
def files(options: SharedOptions, action: str, days: float, *, daily: bool) -> None:
    """List the pages, and say which are stale.

    `check` adds whether a page is OK or STALE: not changed for some days.
    """
    pages = operations.list_files(options.open(), where=options.where, daily=daily)
    is_check = action == "check"
    if options.json:
        documents = [_build_document(page, days if is_check else None) for page in pages]
        print_document({"files": documents, **({"stale_after_days": days} if is_check else {})})
        return
    if not pages:
        say("There are no pages.")
        return
    headers = [
        "FILE",
        "LAYER",
        "KIND",
        "BYTES",
        "CHANGED",
        "AGE",
        *(["STATUS"] if is_check else []),
    ]
    rows = [
        _build_row(page) + ((_format_status(page, days),) if is_check else ()) for page in pages
    ]
    print_table(headers, rows, shrink="FILE")


def _build_row(page: PageInfo) -> tuple[object, ...]:
    change_time, age = format_minute(page.updated), _format_age(page.age_days)
    return (page.file, page.layer, _kind_of(page), page.bytes, change_time, age)


def _build_document(page: PageInfo, days: float | None) -> dict[str, object]:
    fields = {
        **as_dict(page),
        "updated": format_microseconds(page.updated),
        "age_days": round(page.age_days, 3),
    }
    return fields if days is None else {**fields, "status": _format_status(page, days)}


def _kind_of(page: PageInfo) -> str:
    if page.editable is False:
        return "generated"
    return "core" if page.protected else "registered" if page.registered else ""


def _format_age(days: float) -> str:
    return format_count(int(days), "day") if days >= 1 else "today"


def _format_status(page: PageInfo, days: float) -> str:
    return "STALE" if page.age_days > days else "OK"


@command("paths", "looseleaf memory paths", "looseleaf memory paths --relative --format json")
@click.option("--relative", is_flag=True, help="Paths relative to the workspace.")
@with_shared_options("agent", "user", "format")
def paths(options: SharedOptions, *, relative: bool) -> None:
    """Show the paths of the pages of a prompt.

    In the order of the prompt, whether or not the files exist yet.
    """
    require_local(options, "paths mean something only on the machine where the pages lie")
    context = options.open()
    page_paths = operations.list_paths(context, where=options.where)
    root = os.path.realpath(context.settings.root)
    if options.json:
        print_document(_build_paths_document(context, options, page_paths, root))
        return
    rows = [
        (
            page.priority,
            page.file,
            page.layer,
            "yes" if page.exists else "no",
            os.path.relpath(page.path, root) if relative else page.path,
        )
        for page in page_paths
    ]
    print_table(("PRIORITY", "FILE", "LAYER", "EXISTS", "PATH"), rows)


def _build_paths_document(
    context: Context, options: SharedOptions, page_paths: list[PagePath], root: str
) -> dict[str, object]:
    agent = context.parts.agents.resolve(options.agent)
    documents = {}
    for page in page_paths:
        entry = context.pages.registry.get(page.file)
        documents[page.file] = {
            "layer": page.layer,
            "priority": page.priority,
            "path": page.path,
            "relative": os.path.relpath(page.path, root),
            "exists": page.exists,
            "convention_path": entry.convention_path if entry else "",
        }
    return {
        "root": root,
        "agent_id": agent.id,
        "agent_slug": agent.slug,
        "user_id": user_of(context, options.where),
        "files": documents,
        "relative_files": [os.path.relpath(page.path, root) for page in page_paths if page.exists],
    }


@command("compose", "looseleaf memory compose", "looseleaf memory compose SITE.md")
@click.argument("file", default="", shell_complete=complete_pages)
@click.option(
    "--list", "listing", is_flag=True, help="Only list the generated pages, with their sections."
)
@with_shared_options("agent", "user", "format", "actor", "reason")
def compose(options: SharedOptions, file: str, *, listing: bool) -> None:
    """Compose the generated pages again.

    All of them, or only FILE, with the copies that other tools read.
    """
    require_local(
        options, "generated pages have copies in a project's folder; run it where that lies"
    )
    if listing:
        _list_composed(options, file)
        return
    results = compose_operations.compose(options.open(), file, where=options.where)
    if options.json:
        print_document({"composed": [as_dict(result) for result in results]})
        return
    for result in results:
        state = "" if result.changed else ", as before"
        copy = f" Its copy: {result.projected}" if result.projected else ""
        say(f"Composed {result.file} ({format_count(result.bytes, 'byte')}{state}).{copy}")


def _list_composed(options: SharedOptions, file: str) -> None:
    context = options.open()
    sections = [
        (page, section)
        for page in context.pages.registry.files()
        if page.composable and file in ("", page.filename)
        for section in context.parts.composed_sections().for_file(page.filename)
    ]
    if file and not sections:
        raise NotFound(f"{file} is not a generated page.")
    if options.json:
        documents = [
            {
                "file": page.filename,
                "layer": page.layer,
                "section": section.slug,
                "priority": section.priority,
                "label": section.label,
                "owner": section.owner,
                "convention_path": page.convention_path,
            }
            for page, section in sections
        ]
        print_document({"sections": documents})
    else:
        rows = [
            (page.filename, section.priority, section.slug, section.label, section.owner)
            for page, section in sections
        ]
        print_table(("FILE", "PRIORITY", "SECTION", "LABEL", "OWNER"), rows)
