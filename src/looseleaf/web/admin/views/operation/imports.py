"""Import: folders of the server that hold memory of other systems, a preview, and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import LooseleafError
from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.importers.report import ImportReport
    from looseleaf.operations.imports import ImportSources
    from looseleaf.plugins.admin_pages import Visit

ADDRESS = "/admin/import"
MOST_SHOWN = 500
TAGS = {
    "create": "new",
    "replace": "replaced",
    "merge": "merged",
    "unchanged": "as before",
    "failed": "failed",
}


def show_import(visit: Visit) -> Document | Redirect:
    """Show the folders that can be imported; with a path, the preview of its import."""
    path = (visit.form.get("path") or visit.query.get("path", "")).strip()
    report: ImportReport | None = None
    problem = str(visit.problem) if visit.problem else ""
    if path and not problem:
        try:
            report = _run(visit, "looseleaf/preview-import", path)
        except LooseleafError as error:
            problem = str(error)
    return _build_document(visit, path, report, problem)


def run_import(visit: Visit) -> Document | Redirect:
    """Import a folder and show the report."""
    path = visit.form.get("path", "").strip()
    report = _run(visit, "looseleaf/run-import", path)
    return _build_document(visit, path, report, "")


def _run(visit: Visit, operation: str, path: str) -> ImportReport:
    fields = {**visit.query, **visit.form}
    report: ImportReport = visit.run(
        operation,
        path=path,
        agent=fields.get("agent") or None,
        source_agent=fields.get("source_agent") or None,
    )
    return report


def _build_document(visit: Visit, path: str, report: ImportReport | None, problem: str) -> Document:
    sources: ImportSources = visit.run("looseleaf/list-import-sources")
    agents: list[AgentRecord] = visit.run("looseleaf/list-agents")
    fields = {**visit.query, **visit.form}
    data = {
        "sources": sources,
        "agents": [agent.slug for agent in agents],
        "path": path,
        "agent": fields.get("agent", ""),
        "source_agent": fields.get("source_agent", ""),
        "report": report,
        "pages": report.pages[:MOST_SHOWN] if report else (),
        "left_out": report.left_out[:MOST_SHOWN] if report else (),
        "tags": TAGS,
        "refusal": problem,
    }
    return Document("operation/imports.html", "Import", data)
