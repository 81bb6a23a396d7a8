"""`looseleaf import`, and the ways out: `memory export`, `memory publish`, `backup commit`."""

from __future__ import annotations

import os
from base64 import b64encode
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.command_line import command
from looseleaf.cli.derived_commands import Derivation
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import FAILED, say
from looseleaf.errors.features import InvalidImport
from looseleaf.features.imports.export_operations import KEPT
from looseleaf.features.imports.ledger import CHANGES
from looseleaf.features.imports.sources import IMPORTERS, LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.features.imports.export_operations import FolderExport, PageCommit
    from looseleaf.features.imports.ledger import ImportReport, PageReport, WorkflowReport
    from looseleaf.features.imports.operations import DetectedSystem, ImportSources


_SOURCES_IN_LINE = 2


@command(
    "import",
    "looseleaf import ~/.openclaw/workspace --dry-run",
    "looseleaf import ~/.openclaw/workspace --agent ada",
    "looseleaf import wp-content/uploads/datamachine-files",
)
@click.argument("path", default="", metavar="[PATH]", type=click.Path())
@click.option(
    "--from",
    "kind",
    default="",
    metavar="KIND",
    help=f"The system: {', '.join(importer.kind for importer in IMPORTERS)}; else detected.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option("--detect", is_flag=True, help="Only detect the system.")
@click.option("--source-agent", default="", metavar="SLUG", help="Only this agent of the source.")
@click.option("--source-user", type=int, default=0, metavar="ID", help="This user of the source.")
@with_shared_options("agent", "user", "format", "actor", "reason")
def import_memory(
    options: SharedOptions,
    path: str,
    *,
    kind: str,
    dry_run: bool,
    detect: bool,
    source_agent: str,
    source_user: int,
) -> None:
    """Import the memory of another system.

    PATH is a folder, a file, a zip archive or the address of a site; with --remote, a file or zip
    archive is uploaded. Without a path, the command lists the systems. The source is never changed.
    A second import adds only new text; a page that was changed here is merged and loses no line.
    """
    from looseleaf.features.imports import operations

    context = options.open()
    if not path:
        _print_sources(options, operations.list_sources(context))
        return
    source, data = _read_upload(path) if options.server and os.path.isfile(path) else (path, "")
    if detect:
        _print_systems(options, path, operations.detect(context, source, data=data))
        return
    run = operations.preview if dry_run else operations.run
    report = run(
        context,
        source,
        data=data,
        kind=kind,
        agent=options.agent,
        user=options.user,
        source_agent=source_agent,
        source_user=source_user,
    )
    if options.json:
        print_document(to_json_value(report))
    else:
        _print_report(report)
    if report.failed:
        raise click.exceptions.Exit(FAILED)


def _read_upload(path: str) -> tuple[str, str]:
    """Read a file to upload it to a server: give its name, and its bytes in base64."""
    try:
        with open(path, "rb") as file:
            content = file.read(LIMITS.archive_bytes + 1)
    except OSError as error:
        raise InvalidImport(f"{path} cannot be read: {error.strerror}.") from None
    return os.path.basename(path), b64encode(content).decode()


def _print_sources(options: SharedOptions, sources: ImportSources) -> None:
    if options.json:
        print_document(to_json_value(sources))
        return
    rows = [(system.kind, system.title, system.example) for system in sources.systems]
    print_table(("KIND", "SYSTEM", "USUAL PATH"), rows)
    for source in sources.sources:
        say(f"{source.path}: {source.title}, by {source.sign}")
    for address in sources.sites:
        say(f"{address}: a site of the settings")


def _print_systems(options: SharedOptions, path: str, systems: list[DetectedSystem]) -> None:
    if options.json:
        print_document({"systems": to_json_value(systems)})
        return
    for system in systems:
        say(f"{system.kind}: {system.title}, by {system.sign}")
    if not systems:
        say(f"{path} has the layout of no known system.")
        raise click.exceptions.Exit(FAILED)


def _print_report(report: ImportReport) -> None:
    say(f"{report.title}: {report.location}")
    for slug in report.new_agents:
        say(f"New agent: {slug}")
    if report.pages:
        rows = [row for page in report.pages for row in _format_rows(page)]
        print_table(("ACTION", "PAGE", "SOURCE", "REMARK"), rows, shrink="REMARK")
    if report.workflows:
        if report.pages:
            say()
        rows = [_format_workflow(workflow) for workflow in report.workflows]
        print_table(("ACTION", "WORKFLOW", "SOURCE", "REMARK"), rows, shrink="REMARK")
    if report.left_out:
        say()
        refusals = [(entry.source, entry.reason) for entry in report.left_out]
        print_table(("LEFT OUT", "REASON"), refusals, shrink="REASON")
    pointers = [page.next for page in report.pages if page.next]
    if pointers:
        say()
        say("Search finds pages that are not in prompts by themselves. To name one in MEMORY.md:")
        say(f"  {pointers[0]}")
    say()
    say(_summarize(report))


def _format_rows(page: PageReport) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of a page; rows after the first name further files of the source."""
    owner = page.owner if page.layer in ("agent", "principal") else page.layer
    place = f"{owner}: {page.file}"
    note = page.note if page.action in CHANGES else ""
    remark = "; ".join(text for text in (page.reason, note) if text)
    lines = [
        ", ".join(page.sources[start : start + _SOURCES_IN_LINE])
        for start in range(0, len(page.sources), _SOURCES_IN_LINE)
    ]
    yield page.action, place, lines[0], remark
    yield from (("", "", line, "") for line in lines[1:])


def _format_workflow(workflow: WorkflowReport) -> tuple[str, str, str, str]:
    place = f"{workflow.owner}: {workflow.kind} {workflow.name}"
    return workflow.action, place, workflow.source, workflow.reason


def _summarize(report: ImportReport) -> str:
    verb = "would change" if report.is_preview else "changed"
    parts = [f"{format_count(report.changed, 'page')} {verb}"]
    entries = len(report.pages) + len(report.workflows)
    if report.workflows:
        count = format_count(report.workflows_changed, "part")
        parts.append(f"{count} of workflows {verb}")
    unchanged_count = entries - report.changed - report.workflows_changed - report.failed
    if unchanged_count:
        parts.append(f"{unchanged_count:,} as before")
    if report.left_out:
        parts.append(f"{len(report.left_out):,} left out")
    if report.failed:
        parts.append(f"{report.failed:,} failed")
    end = " Nothing was written." if report.is_preview else ""
    return f"{', '.join(parts)}.{end}"


_exports = Derivation("memory", "looseleaf.features.imports.export_operations")
_commits = Derivation("backup", "looseleaf.features.imports.export_operations")
_SECRETS = "--allow-secrets: Export pages that hold secrets, too."


@_exports.shown(
    "export",
    "export_pages",
    "~/ada-pages --agent ada",
    parameters={
        "replace": "--replace: Replace files that have another text.",
        "allow_secrets": _SECRETS,
    },
    failed=lambda result: bool(result.kept),
)
def export_pages(result: FolderExport) -> None:
    """Write the pages as files to a folder.

    In one direction: Looseleaf does not read the files back. A file that has another text stays,
    and the command exits with 1; --replace replaces such files.
    """
    for page in result.pages:
        if page.action == KEPT:
            say(f"Kept as it is: {page.file} (it has another text; --replace replaces it)")
    total = format_count(len(result.pages), "page")
    say(f"{total} of {result.agent} in {result.folder}, {result.written} written.")


publish_memory = _exports.derive(
    "publish",
    "export_block",
    "~/project/CLAUDE.md --agent ada",
    help="""Put memory into AGENTS.md or CLAUDE.md.

    The text goes into a managed block; all other text of the file stays.
    """,
    parameters={"path": "FILE", "allow_secrets": _SECRETS},
    show="{path} has the memory of {agent} ({bytes} bytes).",
)


@_commits.shown("commit", "commit_pages", "", "--format json")
def commit_pages(result: PageCommit) -> None:
    """Commit the pages that changed to git.

    To the repository that contains the workspace; the message says who changed what and why. Other
    files and staged changes stay as they are.
    """
    if not result.commit:
        say("No page has changed since the last commit.")
    else:
        branch = f" on {result.branch}" if result.branch else ""
        say(f"Committed {result.commit[:12]}{branch}: {result.subject}")
