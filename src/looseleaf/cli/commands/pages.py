"""`looseleaf memory files | paths | compose | history …`: the pages as files and as versions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.resolution import user_of
from looseleaf.cli.arguments import (
    CHANGE,
    PAGE,
    SharedOptions,
    complete_pages,
    confirm,
    require_local,
    with_shared_options,
)
from looseleaf.cli.command_line import command
from looseleaf.cli.commands.memory import if_match_option, print_saved
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import format_actor, format_count, print_document, print_table
from looseleaf.cli.output import note, say, show
from looseleaf.errors import Invalid, NotFound
from looseleaf.memory.pages import MAIN
from looseleaf.times import format_microseconds, format_minute
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import Revision
    from looseleaf.operations.files import PageInfo, PagePath
    from looseleaf.operations.history import PackReport, PageBlame


@command("files", "looseleaf memory files", "looseleaf memory files check --days 30")
@click.argument(
    "action", type=click.Choice(["list", "check"]), default="list", metavar="[list|check]"
)
@click.option("--days", type=float, default=7, metavar="N", help="An older page is stale; 7.")
@click.option("--daily", is_flag=True, help="Include the journal.")
@with_shared_options(*PAGE)
def list_files(options: SharedOptions, action: str, days: float, *, daily: bool) -> None:
    """List the pages, and say which are stale.

    `check` adds whether a page is OK or STALE: not changed for some days.
    """
    _show_pages(options, days, daily=daily, is_check=action == "check")


@command("list", "looseleaf memory list", "looseleaf memory list --daily --format json")
@click.option("--daily", is_flag=True, help="Include the journal.")
@with_shared_options(*PAGE)
def list_pages(options: SharedOptions, *, daily: bool) -> None:
    """List the pages."""
    _show_pages(options, daily=daily)


def _show_pages(
    options: SharedOptions, days: float = 0.0, *, daily: bool, is_check: bool = False
) -> None:
    from looseleaf.operations import files

    pages = files.list_files(options.open(), where=options.where, daily=daily)
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
def list_paths(options: SharedOptions, *, relative: bool) -> None:
    """Show the paths of the pages of a prompt.

    In the order of the prompt, whether or not the files exist yet.
    """
    from looseleaf.operations import files as history

    require_local(options, "paths mean something only on the machine where the pages lie")
    context = options.open()
    page_paths = history.list_paths(context, where=options.where)
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
def compose_pages(options: SharedOptions, file: str, *, listing: bool) -> None:
    """Compose the generated pages again.

    All of them, or only FILE, with the copies that other tools read.
    """
    from looseleaf.operations import composed

    require_local(
        options, "generated pages have copies in a project's folder; run it where that lies"
    )
    if listing:
        _list_composed(options, file)
        return
    results = composed.compose(options.open(), file, where=options.where)
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


file_argument = click.argument("file", shell_complete=complete_pages)


_history = Derivation("memory", "looseleaf.operations.history")


def _format_reason(revision: Revision) -> str:
    if revision.purged:
        return f"({revision.purged})"
    notes = "" if revision.kept else "(no longer kept) "
    notes += "(completed after a crash) " if revision.recovered else ""
    return f"{notes}{revision.reason}".rstrip()


def _build_history(revisions: list[Revision]) -> dict[str, object]:
    documents = [
        {**as_dict(revision), "time": format_microseconds(revision.time)}
        for revision in reversed(revisions)
    ]
    return {"file": click.get_current_context().params["file"], "revisions": documents}


_REVISIONS = ResultTable(
    "revision=number time change=operation bytes by through=surface from=origin why",
    cells={
        "time": lambda revision: format_minute(revision.time),
        "by": lambda revision: format_actor(revision.actor, revision.actor_kind),
        "why": _format_reason,
    },
    shrink="WHY",
)


_MAIN_FILE = {"file": click.Argument(["file"], default=MAIN, shell_complete=complete_pages)}


def _show_revisions(revisions: list[Revision]) -> None:
    """List the revisions of a page, newest first.

    Without a name, those of MEMORY.md. Each with its time, actor, surface, origin and reason. Times
    are UTC. With --format json also the session, job or request of each change.
    """
    _REVISIONS(revisions[::-1])


list_revisions, log_page = (
    _history.shown(
        name, "list_revisions", *examples, parameters=_MAIN_FILE, document=_build_history
    )(_show_revisions)
    for name, *examples in (
        ("history", "MEMORY.md", "SOUL.md --format json"),
        ("log", "", "SOUL.md"),
    )
)


_LINES = ResultTable(
    "line time by through=surface from=origin revision text",
    cells={
        "time": lambda line: format_minute(line.time),
        "by": lambda line: format_actor(line.actor, line.actor_kind),
        "text": lambda line: line.text or " ",  # an empty line is no missing text
    },
    shrink="TEXT",
)


@_history.shown("blame", "blame", "MEMORY.md", "MEMORY.md --as-of 2026-04-17")
def blame_page(blamed: PageBlame) -> None:
    """Show who wrote each line of a page, when, and where its text is from.

    A line that was moved, re-indented or restored keeps its writer. With --format json also the
    reason, and the session, job or request.
    """
    _LINES(list(blamed.lines))
    shown = len(blamed.lines)
    if shown < blamed.total:
        note(f"{shown:,} of {blamed.total:,} lines. Others: --offset and --limit.")


@command("diff", "looseleaf memory diff MEMORY.md", "looseleaf memory diff MEMORY.md 3 5")
@file_argument
@click.argument("before", default="", metavar="[A]")
@click.argument("after", default="", metavar="[B]")
@click.option("--raw", is_flag=True, help="Exactly the text, on a terminal too.")
@with_shared_options(*PAGE)
def diff_page(options: SharedOptions, file: str, before: str, after: str, *, raw: bool) -> None:
    """Compare two versions of a page.

    A and B are revisions or times. Without B, A is compared with the present page; without both,
    the last change is shown.
    """
    from looseleaf.operations import history

    comparison = history.diff(options.open(), file, before, after, where=options.where)
    if options.json:
        fields = as_dict(comparison)
        print_document(
            {
                "file": file,
                "before": comparison.before,
                "after": comparison.after,
                "diff": fields["text"],
            }
        )
    elif comparison.text:
        show(f"{comparison.text}\n".encode(), exact=raw)
    else:
        say(f"Revisions {comparison.before} and {comparison.after} of {file} say the same.")


@command(
    "restore", "looseleaf memory restore MEMORY.md 3", "looseleaf memory restore SOUL.md 2026-04-17"
)
@file_argument
@click.argument("revision", metavar="REVISION|TIME")
@if_match_option
@with_shared_options(*CHANGE)
def restore_page(options: SharedOptions, file: str, revision: str, if_match: str | None) -> None:
    """Restore an earlier version of a page.

    The version of a revision or time becomes a new revision, so nothing is lost.
    """
    from looseleaf.operations import history

    version = f"revision {revision}" if revision.isdigit() else revision
    result = history.restore(options.open(), file, revision, where=options.where, if_match=if_match)
    print_saved(options, f"Restored {file} as of {version}", result)


@command("purge", 'looseleaf memory purge MEMORY.md 3 --reason "a password was in it"')
@file_argument
@click.argument("revision", type=int)
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_shared_options(*CHANGE)
def purge_revision(options: SharedOptions, file: str, revision: int, *, yes: bool) -> None:
    """Remove one prior version for good.

    The history still lists the revision, and who removed its text, when and why. Needs --reason.
    """
    from looseleaf.operations import history

    if not options.reason:
        raise Invalid("Say why, for the history: --reason TEXT.")
    context = options.open()
    confirm(f"Remove revision {revision} of {file} for good?", yes=yes)
    history.purge(context, file, revision, where=options.where)
    if options.json:
        print_document({"file": file, "revision": revision, "purged": True})
    else:
        say(f"Purged revision {revision} of {file}.")


@_history.shown("prune", "prune", "", "--days 30 --versions 50", key="dropped", ask="")
def prune_history(dropped: int) -> None:
    """Drop versions that retention does not keep.

    Of all pages; the present text of a page always stays. The settings say how long versions are
    kept.
    """
    count = format_count(dropped, "version")
    say(f"Dropped {count}." if dropped else "There was nothing to drop.")


@_history.shown(
    "pack",
    "pack",
    "",
    "--dry-run",
    parameters={"dry_run": "--dry-run: Only say how much space it would save."},
    failed=lambda report: bool(report.problem_count),
)
def pack_history(report: PackReport) -> None:
    """Put old versions into compressed files.

    One file for each page; every version stays readable. The newest 16 versions of a page keep
    files of their own. The server packs every night by itself.
    """
    say(_format_report(report))
    for problem in report.problems:
        note(f"Could not be packed: {problem}")


def _format_report(report: PackReport) -> str:
    if not report.versions:
        return "There was nothing to pack."
    verb = "Would pack" if report.dry_run else "Packed"
    versions = format_count(report.versions, "version")
    sizes = f"{report.file_bytes:,} bytes of files into {report.pack_bytes:,} bytes"
    return f"{verb} {versions} of {format_count(report.pages, 'page')}, {sizes}."


COMMANDS = (
    *(list_pages, list_files, list_paths, compose_pages),
    *(list_revisions, log_page, blame_page, diff_page, restore_page, purge_revision),
)
