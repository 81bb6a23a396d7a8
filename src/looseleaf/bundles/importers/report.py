"""The report of an import: everything that was taken, mapped and left out, and why."""

from __future__ import annotations

from looseleaf.bundles.importers.decision import CHANGES, FAILED, LEFT_OUT
from looseleaf.bundles.importers.left_out import NotImported
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.bundles.importers.contract import SourcePage
    from looseleaf.bundles.importers.decision import ImportDecision


@value(kw_only=True)
class PageReport:
    """One page of an import.

    Fields:
        action: create, replace, merge, unchanged or failed.
        layer: The layer of the page here.
        owner: The agent or the id of the user whose page it is here; "" for a shared page.
        file: The name of the page here.
        sources: The files of the source that the page is from.
        bytes: The size of the text of the source.
        reason: The reason of the action.
        note: A remark about the page.
    """

    action: str
    layer: str
    owner: str
    file: str
    sources: tuple[str, ...]
    bytes: int
    reason: str
    note: str = ""


@value
class WorkflowReport:
    """A pipeline, flow or uploaded file of an import.

    Fields:
        action: create, replace, unchanged or failed.
        kind: pipeline, flow or file.
        owner: The agent that has it here.
        name: Its slug here, or its place and name.
        source: What it is in the source.
        reason: The reason of the action.
    """

    action: str
    kind: str
    owner: str
    name: str
    source: str
    reason: str = ""


@value(kw_only=True)
class ImportReport:
    """The result of an import: the pages and workflows, the files left out, and the reasons.

    Fields:
        kind: The short name of the system.
        title: The name of the system for people.
        location: The path or address of the source.
        is_preview: Whether nothing was written.
        new_agents: The agents that the import creates.
        pages: The pages of the source.
        left_out: The files of the source that were not imported.
        changed: The number of pages that were or would be changed.
        failed: The number of pages, pipelines, flows and uploaded files that could not be written.
        workflows: The pipelines, flows and uploaded files of the source.
        workflows_changed: The number of these that were or would be changed.
    """

    kind: str
    title: str
    location: str
    is_preview: bool
    new_agents: tuple[str, ...]
    pages: tuple[PageReport, ...]
    left_out: tuple[NotImported, ...]
    changed: int
    failed: int
    workflows: tuple[WorkflowReport, ...] = ()
    workflows_changed: int = 0


def report_page(page: SourcePage, owner: str, decision: ImportDecision) -> PageReport:
    """Return the report of one page."""
    return PageReport(
        action=decision.action,
        layer=page.layer,
        owner=owner,
        file=page.filename,
        sources=page.sources,
        bytes=len(page.text.encode()),
        reason=decision.reason,
        note=page.note,
    )


def build_report(
    names: tuple[str, str, str],
    pages: Iterable[PageReport],
    left_out: Iterable[NotImported],
    *,
    is_preview: bool,
    new_agents: Iterable[str],
    workflows: Iterable[WorkflowReport] = (),
) -> ImportReport:
    """Build the report of a source, by its kind, title and location (`names`).

    Pages and workflows that are left out join the files that are.
    """
    reports, workflow_reports = tuple(pages), tuple(workflows)
    refusals = [
        NotImported(source, report.reason)
        for report in reports
        if report.action == LEFT_OUT
        for source in report.sources
    ]
    refusals += [
        NotImported(report.source, report.reason)
        for report in workflow_reports
        if report.action == LEFT_OUT
    ]
    kind, title, location = names
    return ImportReport(
        kind=kind,
        title=title,
        location=location,
        is_preview=is_preview,
        new_agents=tuple(new_agents),
        pages=tuple(report for report in reports if report.action != LEFT_OUT),
        left_out=tuple(sorted((*left_out, *refusals), key=lambda entry: entry.source)),
        changed=sum(report.action in CHANGES for report in reports),
        failed=sum(report.action == FAILED for report in reports)
        + sum(report.action == FAILED for report in workflow_reports),
        workflows=tuple(report for report in workflow_reports if report.action != LEFT_OUT),
        workflows_changed=sum(report.action in CHANGES for report in workflow_reports),
    )
