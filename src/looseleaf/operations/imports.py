"""Imports from other systems: detect a source, preview its import, run it."""

from __future__ import annotations

import os
from contextlib import nullcontext

from looseleaf.bundles.importers.decision import LEFT_OUT, Decision, decide
from looseleaf.bundles.importers.known_systems import choose_importer, detect_systems
from looseleaf.bundles.importers.ledger import Ledger
from looseleaf.bundles.importers.page_import import PageImport
from looseleaf.bundles.importers.report import ImportReport, build_report, report_page
from looseleaf.bundles.importers.selection import Selection, select_pages
from looseleaf.bundles.importers.source_folder import SourceFolder
from looseleaf.catalog.declaration import operation
from looseleaf.errors import FolderRefused, InvalidImport, InvalidName
from looseleaf.memory.provenance import FROM_IMPORT, IMPORT
from looseleaf.memory.scope import check_filename
from looseleaf.operations.import_targets import ImportTargets
from looseleaf.upkeep.record_files import RecordFolder
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.bundles.importers.contract import Importer, SourcePage
    from looseleaf.bundles.importers.report import PageReport
    from looseleaf.catalog.context import Context
    from looseleaf.memory.store import Change

_MOST_SOURCES = 3  # that the history names
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
class _Request:
    """The arguments of an import."""

    path: str
    kind: str
    agent: str | int | None
    user: int | None
    selection: Selection


@operation("looseleaf/detect-import", permission="operate", categories=("import",), read_only=True)
def detect(context: Context, path: str) -> list[DetectedSystem]:
    """Say which systems' memory a folder of this machine holds, and by which files that shows.

    Arguments:
        path: The path of the folder or file, on the machine of the workspace.
    """
    context.allow()
    folder = _open_folder(context, path)
    return [
        DetectedSystem(importer.kind, importer.title, sign)
        for importer, sign in detect_systems(folder)
    ]


@operation("looseleaf/preview-import", permission="operate", categories=("import",), read_only=True)
def preview(
    context: Context,
    path: str,
    *,
    kind: str = "",
    agent: str | int | None = None,
    user: int | None = None,
    source_agent: str = "",
    source_user: int = 0,
) -> ImportReport:
    """Show what an import would do, page by page, and write nothing.

    Arguments:
        path: The path of the folder or file, on the machine of the workspace.
        kind: The system that the source belongs to; without it, the layout of the source decides.
        agent: The agent that gets the pages, by id or slug; without it, the agent of the same name
            as in the source, or the default agent.
        user: The user who gets the pages about a person, by id; without it, the agent's owner.
        source_agent: The only agent of the source to import; without it, all of them.
        source_user: The only user of the source to import; without it, the one that it has.
    """
    context.allow()
    selection = Selection(source_agent, source_user, agent is not None)
    return _import(context, _Request(path, kind, agent, user, selection), is_preview=True)


@operation("looseleaf/run-import", permission="operate", categories=("import",), idempotent=True)
def run(
    context: Context,
    path: str,
    *,
    kind: str = "",
    agent: str | int | None = None,
    user: int | None = None,
    source_agent: str = "",
    source_user: int = 0,
) -> ImportReport:
    """Import the memory of another system; a second import brings only what is new.

    Pages that were changed here are merged and lose no line; the source is never changed.

    Arguments:
        path: The path of the folder or file, on the machine of the workspace.
        kind: The system that the source belongs to; without it, the layout of the source decides.
        agent: The agent that gets the pages, by id or slug; without it, the agent of the same name
            as in the source, created if it is missing, or the default agent.
        user: The user who gets the pages about a person, by id; without it, the agent's owner.
        source_agent: The only agent of the source to import; without it, all of them.
        source_user: The only user of the source to import; without it, the one that it has.
    """
    context.allow()
    selection = Selection(source_agent, source_user, agent is not None)
    return _import(context, _Request(path, kind, agent, user, selection), is_preview=False)


def _import(context: Context, request: _Request, *, is_preview: bool) -> ImportReport:
    folder = _open_folder(context, request.path)
    importer = choose_importer(folder, request.kind)
    reading = select_pages(importer.read(folder), request.selection)
    targets = ImportTargets(context, request.agent, request.user, is_preview=is_preview)
    records = RecordFolder(context.settings.root, "imports")
    with nullcontext() if is_preview else records.lock():
        ledger = Ledger(records, importer.kind, folder.location)
        page_import = _page_import(context, importer, ledger)
        reports = []
        try:
            for number, page in enumerate(reading.pages, 1):
                context.parts.show_progress("Importing", number, len(reading.pages))
                reports.append(_import_page(targets, page_import, page, is_preview=is_preview))
                if number % _SAVE_INTERVAL == 0 and not is_preview:
                    ledger.save()
        finally:
            if not is_preview:
                ledger.save()
    return build_report(
        (importer.kind, importer.title, folder.location),
        reports,
        reading.left_out,
        is_preview=is_preview,
        new_agents=targets.new_agents,
    )


def _page_import(context: Context, importer: Importer, ledger: Ledger) -> PageImport:
    def change(page: SourcePage) -> Change:
        reason = f"imported from {importer.title}: {', '.join(page.sources[:_MOST_SOURCES])}"
        page_change = context.change("import", origin=FROM_IMPORT, reason=context.reason or reason)
        provenance = changed(page_change.provenance, actor_kind=IMPORT)
        return changed(page_change, provenance=provenance)

    return PageImport(context.pages, context.history, ledger, change)


def _import_page(
    targets: ImportTargets, page_import: PageImport, page: SourcePage, *, is_preview: bool
) -> PageReport:
    try:
        check_filename(page.filename)
    except InvalidName as error:
        return report_page(page, "", Decision(LEFT_OUT, str(error), ""))
    shelf = targets.shelf(page)
    if shelf is None:  # of an agent that a run would create
        decision = decide(None, page.text, None)
    else:
        scope = shelf.page(page.filename)
        decision = (
            page_import.preview(scope, page) if is_preview else page_import.apply(scope, page)
        )
    return report_page(page, targets.owner(page), decision)


def _open_folder(context: Context, path: str) -> SourceFolder:
    """Open a source; over a network only below the folders that the operator names."""
    real_path = os.path.realpath(path)
    if not context.principal.is_local:
        roots = [os.path.realpath(root) for root in context.settings.import_folders if root]
        if not any(real_path == root or real_path.startswith(f"{root}/") for root in roots):
            raise FolderRefused(path, "import_folders")
    workspace = os.path.realpath(context.settings.root)
    if os.path.commonpath((real_path, workspace)) in (real_path, workspace):
        raise InvalidImport(
            f"{path} and the workspace {workspace} are one folder, or one is inside the other. "
            "Copy the source to a folder of its own first."
        )
    return SourceFolder(path)
