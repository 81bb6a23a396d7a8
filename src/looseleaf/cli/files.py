"""`looseleaf memory files`, `paths` and `compose`: which pages there are and where they lie."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import PAGE, Asked, complete_pages, local, shared
from looseleaf.cli.formats import counted, iso, minute, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import NotFound
from looseleaf.operations import composed as compose_operations
from looseleaf.operations import files as operations
from looseleaf.operations.context import user_of
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.operations.context import Context
    from looseleaf.operations.files import PageInfo, PagePath


@command("files", "looseleaf memory files", "looseleaf memory files check --days 30")
@click.argument(
    "what", type=click.Choice(["list", "check"]), default="list", metavar="[list|check]"
)
@click.option("--days", type=float, default=7, metavar="N", help="Older than this is stale; 7.")
@click.option("--daily", is_flag=True, help="The journal too.")
@shared(*PAGE)
def files(asked: Asked, what: str, days: float, *, daily: bool) -> None:
    """List the pages there are, and which are stale.

    `check` adds whether a page is OK or STALE: not changed for some days.
    """
    found = operations.list_files(asked.open(), where=asked.where, daily=daily)
    check = what == "check"
    if asked.json:
        listed = [_page_fields(one, days if check else None) for one in found]
        print_document({"files": listed, **({"stale_after_days": days} if check else {})})
        return
    if not found:
        say("There are no pages.")
        return
    headers = ["FILE", "LAYER", "KIND", "BYTES", "CHANGED", "AGE", *(["STATUS"] if check else [])]
    rows = [_row(one) + ((_status(one, days),) if check else ()) for one in found]
    print_table(headers, rows, shrink="FILE")


def _row(page: PageInfo) -> tuple[object, ...]:
    changed, age = minute(page.updated), _age(page.age_days)
    return (page.file, page.layer, _kind(page), page.bytes, changed, age)


def _page_fields(page: PageInfo, days: float | None) -> dict[str, object]:
    fields = {**as_dict(page), "updated": iso(page.updated), "age_days": round(page.age_days, 3)}
    return fields if days is None else {**fields, "status": _status(page, days)}


def _kind(page: PageInfo) -> str:
    if page.editable is False:
        return "generated"
    return "core" if page.protected else "registered" if page.registered else ""


def _age(days: float) -> str:
    return counted(int(days), "day") if days >= 1 else "today"


def _status(page: PageInfo, days: float) -> str:
    return "STALE" if page.age_days > days else "OK"


@command("paths", "looseleaf memory paths", "looseleaf memory paths --relative --format json")
@click.option("--relative", is_flag=True, help="Paths as seen from the workspace.")
@shared("agent", "user", "format")
def paths(asked: Asked, *, relative: bool) -> None:
    """Show where the pages of a prompt lie on disk.

    In the order they are injected, whether or not they are there yet.
    """
    local(asked, "paths mean something only on the machine where the pages lie")
    context = asked.open()
    found = operations.list_paths(context, where=asked.where)
    root = os.path.realpath(context.settings.root)
    if asked.json:
        print_document(_paths_document(context, asked, found, root))
        return
    rows = [
        (
            one.priority,
            one.file,
            one.layer,
            "yes" if one.exists else "no",
            os.path.relpath(one.path, root) if relative else one.path,
        )
        for one in found
    ]
    print_table(("PRIORITY", "FILE", "LAYER", "EXISTS", "PATH"), rows)


def _paths_document(
    context: Context, asked: Asked, found: list[PagePath], root: str
) -> dict[str, object]:
    agent = context.agents.resolve(asked.agent)
    listed = {}
    for one in found:
        registered = context.pages.registry.get(one.file)
        listed[one.file] = {
            "layer": one.layer,
            "priority": one.priority,
            "path": one.path,
            "relative": os.path.relpath(one.path, root),
            "exists": one.exists,
            "convention_path": registered.convention_path if registered else "",
        }
    return {
        "root": root,
        "agent_id": agent.id,
        "agent_slug": agent.slug,
        "user_id": user_of(context, asked.where),
        "files": listed,
        "relative_files": [os.path.relpath(one.path, root) for one in found if one.exists],
    }


@command("compose", "looseleaf memory compose", "looseleaf memory compose SITE.md")
@click.argument("file", default="", shell_complete=complete_pages)
@click.option("--list", "listing", is_flag=True, help="Only list them, with their sections.")
@shared("agent", "user", "format", "actor", "reason")
def compose(asked: Asked, file: str, *, listing: bool) -> None:
    """Make the generated pages anew.

    All of them, or the one that is named, with the copies that other tools read.
    """
    local(asked, "generated pages have copies in a project's folder; run it where that lies")
    if listing:
        _list_composed(asked, file)
        return
    made = compose_operations.compose(asked.open(), file, where=asked.where)
    if asked.json:
        print_document({"composed": [as_dict(one) for one in made]})
        return
    for one in made:
        state = "" if one.changed else ", as before"
        copy = f" Its copy: {one.projected}" if one.projected else ""
        say(f"Composed {one.file} ({counted(one.bytes, 'byte')}{state}).{copy}")


def _list_composed(asked: Asked, file: str) -> None:
    context = asked.open()
    chosen = [
        (one, section)
        for one in context.pages.registry.files()
        if one.composable and file in ("", one.filename)
        for section in context.composed().for_file(one.filename)
    ]
    if file and not chosen:
        raise NotFound(f"{file} is not a generated page.")
    if asked.json:
        listed = [
            {
                "file": one.filename,
                "layer": one.layer,
                "section": section.slug,
                "priority": section.priority,
                "label": section.label,
                "owner": section.owner,
                "convention_path": one.convention_path,
            }
            for one, section in chosen
        ]
        print_document({"sections": listed})
    else:
        rows = [
            (one.filename, section.priority, section.slug, section.label, section.owner)
            for one, section in chosen
        ]
        print_table(("FILE", "PRIORITY", "SECTION", "LABEL", "OWNER"), rows)
