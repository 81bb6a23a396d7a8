"""Imports from other systems: detect a source, preview its import, run it."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from itertools import islice
from unicodedata import normalize

from looseleaf.catalog.declaration import operation
from looseleaf.errors import InvalidName
from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.ledger import (
    LEFT_OUT,
    ImportDecision,
    ImportLedger,
    ImportReport,
    NoRecords,
    build_report,
    report_page,
)
from looseleaf.features.imports.page_import import PageImport, PageNames, merge_same_pages
from looseleaf.features.imports.sources import (
    IMPORTERS,
    ImportTargets,
    Selection,
    detect_systems,
    list_folders,
    open_tree,
    read_source,
    select_pages,
)
from looseleaf.features.imports.workflow_import import import_workflows
from looseleaf.features.workflows.system_tasks import UpkeepRecords
from looseleaf.memory.scope import check_filename
from looseleaf.operations.agents import create_agent, find_starter_text
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
    from looseleaf.features.imports.ledger import PageReport, WorkflowReport
    from looseleaf.memory.store import Change

_MOST_FOLDERS = 200  # in which sources are searched for
_MOST_SOURCES = 3  # files that the history names
_SAVE_INTERVAL = 200  # pages after which the ledger is written


@value
class DetectedSystem:
    """A system whose layout a folder has.

    Fields:
        kind: The short name of the system.
        title: The name of the system for people.
        sign: The files by which the layout was recognized.
    """

    kind: str
    title: str
    sign: str


@value
class KnownSystem:
    """A system that memory can be imported from.

    Fields:
        kind: The short name of the system.
        title: The name of the system for people.
        example: A usual path of its memory.
    """

    kind: str
    title: str
    example: str


@value
class SourceInfo:
    """A folder of the setting `import_folders` with the memory of a known system.

    Fields:
        path: The path of the folder.
        kind: The short name of the system.
        title: The name of the system for people.
        sign: The files by which the layout was recognized.
    """

    path: str
    kind: str
    title: str
    sign: str


@value
class ImportSources:
    """The systems that are known, and the folders that can be imported.

    Fields:
        systems: The systems that memory can be imported from.
        folders: The folders of the setting `import_folders`.
        sources: The folders among them and directly in them that hold memory of a known system.
        sites: The addresses of the setting `wordpress_sites`.
    """

    systems: tuple[KnownSystem, ...]
    folders: tuple[str, ...]
    sources: tuple[SourceInfo, ...]
    sites: tuple[str, ...] = ()


@value
class _Request:
    """The arguments of an import."""

    path: str
    data: str
    kind: str
    agent: str | int | None
    user: int | None
    selection: Selection


@operation(
    "looseleaf/list-import-sources", permission="operate", categories=("import",), read_only=True
)
def list_sources(context: Context) -> ImportSources:
    """List the systems that memory can be imported from, and folders and sites that hold some."""
    context.allow()
    sources = []
    for path in list_folders(context)[:_MOST_FOLDERS]:
        for importer, sign in islice(detect_systems(SourceFolder(path)), 1):
            sources.append(SourceInfo(path, importer.kind, importer.title, sign))
    systems = [KnownSystem(entry.kind, entry.title, entry.example) for entry in IMPORTERS]
    sites = [site.url.rstrip("/") for site in context.settings.wordpress_sites]
    folders = context.settings.import_folders
    return ImportSources(tuple(systems), folders, tuple(sources), tuple(sites))


@operation("looseleaf/detect-import", permission="operate", categories=("import",), read_only=True)
def detect(context: Context, path: str, *, data: str = "") -> list[DetectedSystem]:
    """Detect which systems' memory a folder or an upload holds, and by which files that shows.

    Arguments:
        path: The path of the folder, file or zip archive, on the machine of the workspace; with
            data, the name of the uploaded file.
        data: The bytes of an uploaded zip archive or file, in base64.
    """
    context.allow()
    folder = SourceFolder(open_tree(context, path, data=data))
    return [
        DetectedSystem(importer.kind, importer.title, sign)
        for importer, sign in detect_systems(folder)
    ]


@operation("looseleaf/preview-import", permission="operate", categories=("import",), read_only=True)
def preview(
    context: Context,
    path: str,
    *,
    data: str = "",
    kind: str = "",
    agent: str | int | None = None,
    user: int | None = None,
    source_agent: str = "",
    source_user: int = 0,
) -> ImportReport:
    """Show what an import would do, page by page, and write nothing.

    Arguments:
        path: The path of the folder, file or zip archive, on the machine of the workspace; with
            data, the name of the uploaded file.
        data: The bytes of an uploaded zip archive or file, in base64.
        kind: The system that the source belongs to; without it, the layout of the source decides.
        agent: The agent that gets the pages, by id or slug; without it, the agent of the same name
            as in the source, or the default agent.
        user: The user who gets the pages about a person, by id; without it, the agent's owner.
        source_agent: The only agent of the source to import; without it, all of them.
        source_user: The only user of the source to import; without it, the one that it has.
    """
    context.allow()
    selection = Selection(source_agent, source_user, agent is not None)
    return _import(context, _Request(path, data, kind, agent, user, selection), is_preview=True)


@operation("looseleaf/run-import", permission="operate", categories=("import",), idempotent=True)
def run(
    context: Context,
    path: str,
    *,
    data: str = "",
    kind: str = "",
    agent: str | int | None = None,
    user: int | None = None,
    source_agent: str = "",
    source_user: int = 0,
) -> ImportReport:
    """Import the memory of another system; a second import brings only what is new.

    Pages that were changed here are merged and lose no line; the source is never changed.

    Arguments:
        path: The path of the folder, file or zip archive, on the machine of the workspace; with
            data, the name of the uploaded file.
        data: The bytes of an uploaded zip archive or file, in base64.
        kind: The system that the source belongs to; without it, the layout of the source decides.
        agent: The agent that gets the pages, by id or slug; without it, the agent of the same name
            as in the source, created if it is missing, or the default agent.
        user: The user who gets the pages about a person, by id; without it, the agent's owner.
        source_agent: The only agent of the source to import; without it, all of them.
        source_user: The only user of the source to import; without it, the one that it has.
    """
    context.allow()
    selection = Selection(source_agent, source_user, agent is not None)
    return _import(context, _Request(path, data, kind, agent, user, selection), is_preview=False)


def _import(context: Context, request: _Request, *, is_preview: bool) -> ImportReport:
    source = read_source(context, request.path, request.kind, request.data)
    content = select_pages(source.content, request.selection)
    targets = ImportTargets(
        context,
        request.agent,
        request.user,
        None if is_preview else partial(create_agent, context),
    )
    records = UpkeepRecords(context.settings.root, "imports")
    workflows: list[WorkflowReport] = []
    with nullcontext() if is_preview else records.lock():
        ledger_records = NoRecords() if source.is_upload else records
        ledger = ImportLedger(ledger_records, source.kind, source.location)
        page_import = _build_page_import(context, source.title, ledger)
        pages, reports = _place_pages(targets, content)
        next_save = _SAVE_INTERVAL
        try:
            for number, page in enumerate(pages, 1):
                context.parts.show_progress("Importing", number, len(pages))
                reports.append(_import_page(targets, page_import, page, is_preview=is_preview))
                if number >= next_save and not is_preview:
                    ledger.save()
                    next_save += max(_SAVE_INTERVAL, number // 4)  # the ledger grows with the pages
            workflows += import_workflows(
                context, content, targets, (records, ledger), is_preview=is_preview
            )
        finally:
            if not is_preview:
                ledger.save()
    return build_report(
        (source.kind, source.title, source.location),
        reports,
        content.left_out,
        is_preview=is_preview,
        new_agents=targets.new_agents,
        workflows=workflows,
    )


def _build_page_import(context: Context, title: str, ledger: ImportLedger) -> PageImport:
    def change(page: SourcePage) -> Change:
        reason = f"imported from {title}: {', '.join(page.sources[:_MOST_SOURCES])}"
        return context.import_change("import", reason)

    def start_page(filename: str, agent: str) -> str | None:
        return find_starter_text(context, "agent", filename, agent)

    names = PageNames(context.pages)
    return PageImport(context.pages, context.history, ledger, names, start_page, change)


def _place_pages(
    targets: ImportTargets, content: SourceContent
) -> tuple[list[SourcePage], list[PageReport]]:
    """Return the pages under names that pages can have, each once, and a report of the others."""
    pages, reports = [], []
    for source_page in content.pages:
        # A Mac may write a name as NFD.
        page = replace(source_page, filename=normalize("NFC", source_page.filename))
        try:
            check_filename(page.filename)
        except InvalidName as error:
            reports.append(report_page(page, "", ImportDecision(LEFT_OUT, str(error), "")))
        else:
            pages.append(page)
    # Agents that the import creates must not make the default agent ambiguous.
    pages_by_agent = sorted(pages, key=lambda page: page.agent != "")
    owners = {id(page): targets.owner(page) for page in pages_by_agent}
    placed_pages = merge_same_pages(
        pages, lambda page: (page.layer, owners[id(page)], page.filename)
    )
    return placed_pages, reports


def _import_page(
    targets: ImportTargets, page_import: PageImport, page: SourcePage, *, is_preview: bool
) -> PageReport:
    shelf = targets.shelf(page)
    if shelf is None:  # of an agent that a run would create
        decision = page_import.preview_new(page.agent, page)
    else:
        scope = shelf.page(page.filename)
        decision = (
            page_import.preview(scope, page) if is_preview else page_import.apply(scope, page)
        )
    return report_page(page, targets.owner(page), decision)
