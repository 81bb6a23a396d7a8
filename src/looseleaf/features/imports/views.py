"""Import: a source from the visitor's computer or a folder of the server, preview and report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Invalid, LooseleafError
from looseleaf.features.bundles.views import encode_upload
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.features.imports.ledger import ImportReport
    from looseleaf.features.imports.operations import ImportSources
    from looseleaf.plugins.admin_pages import Visit

ADDRESS = "/admin/import"
MOST_SHOWN = 500
PREVIEW, RUN = "looseleaf/preview-import", "looseleaf/run-import"
TAGS = {
    "create": "new",
    "replace": "replaced",
    "merge": "merged",
    "unchanged": "as before",
    "failed": "failed",
}


@value
class ChosenSource:
    """A source that the visitor chose: a path of the server, or an upload with its bytes."""

    path: str = ""
    data: str = ""


def show_import(visit: Visit) -> Document | Redirect:
    """Show the forms; with the path of a folder of the server, the preview of its import."""
    source = ChosenSource((visit.form.get("path") or visit.query.get("path", "")).strip())
    report: ImportReport | None = None
    problem = str(visit.problem) if visit.problem else ""
    if source.path and not problem:
        try:
            report = _run(visit, PREVIEW, source)
        except LooseleafError as error:
            problem = str(error)
    return _build_document(visit, source, report, problem)


def submit_import(visit: Visit) -> Document | Redirect:
    """Preview an upload, or carry out the import that was previewed; show the report."""
    if visit.form.get("action") == "preview":
        if visit.file is None or not visit.file.name:
            raise Invalid("No file was chosen. Choose a zip archive or a file, then press Preview.")
        source = ChosenSource(visit.file.name, encode_upload(visit, visit.file))
        return _build_document(visit, source, _run(visit, PREVIEW, source), "")
    source = ChosenSource(visit.form.get("path", "").strip(), visit.form.get("data", ""))
    return _build_document(visit, source, _run(visit, RUN, source), "")


def _run(visit: Visit, operation: str, source: ChosenSource) -> ImportReport:
    fields = {**visit.query, **visit.form}
    report: ImportReport = visit.run(
        operation,
        path=source.path,
        data=source.data,
        agent=fields.get("agent") or None,
        source_agent=fields.get("source_agent") or None,
    )
    return report


def _build_document(
    visit: Visit, source: ChosenSource, report: ImportReport | None, problem: str
) -> Document:
    sources: ImportSources = visit.run("looseleaf/list-import-sources")
    agents: list[AgentRecord] = visit.run("looseleaf/list-agents")
    fields = {**visit.query, **visit.form}
    data = {
        "sources": sources,
        "agents": [agent.slug for agent in agents],
        "path": source.path,
        "archive": source.data if report is not None and report.is_preview else "",
        "agent": fields.get("agent", ""),
        "source_agent": fields.get("source_agent", ""),
        "report": report,
        "pages": visit.cut(report.pages if report else (), MOST_SHOWN, name="pages"),
        "workflows": visit.cut(report.workflows if report else (), MOST_SHOWN, name="workflows"),
        "left_out": visit.cut(report.left_out if report else (), MOST_SHOWN, name="left_out"),
        "tags": TAGS,
        "refusal": problem,
    }
    return Document("imports/imports.html", "Import", data)
