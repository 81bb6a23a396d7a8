"""Retention: how long data is kept, a dry run with counts, and the last reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.upkeep.retention.tasks import PREFIX

if TYPE_CHECKING:
    from looseleaf.operations.retention import RetentionInfo, RetentionReport
    from looseleaf.plugins.admin_pages import Visit

ADDRESS = "/admin/retention"
MOST_REPORTS = 20


def show_retention(visit: Visit) -> Document | Redirect:
    """Show how long each kind of data is kept; with a preview, the data that would be removed."""
    rules: list[RetentionInfo] = visit.run("looseleaf/show-retention")
    reports: list[RetentionReport] = []
    if visit.query.get("preview"):
        reports = visit.run("looseleaf/preview-retention")
    past_runs = [(run, rule) for rule in rules for run in rule.runs]
    past_runs.sort(key=lambda pair: pair[0].end, reverse=True)
    data = {
        "rules": rules,
        "reports": {report.task_type: report for report in reports},
        "is_preview": bool(reports),
        "total": sum(sum(report.counts.values()) for report in reports),
        "past_runs": past_runs[:MOST_REPORTS],
        "prefix": PREFIX,
    }
    return Document("upkeep/retention.html", "Retention", data)


def remove_data(visit: Visit) -> Document | Redirect:
    """Remove data that is past its retention: one kind of data, or all."""
    kind = visit.form.get("kind", "")
    reports: list[RetentionReport] = visit.run("looseleaf/run-retention", kind=kind)
    failures = [report for report in reports if report.is_failure]
    if failures:
        reasons = "; ".join(f"{report.label}: {report.report}" for report in failures)
        return Redirect(ADDRESS, f"Not everything was removed. {reasons}")
    counts = [report.report for report in reports if any(report.counts.values())]
    return Redirect(ADDRESS, f"Removed: {', '.join(counts) or 'nothing'}.")
