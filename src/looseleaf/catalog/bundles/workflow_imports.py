"""The pipelines, flows and uploaded files of a source, imported to the agents of this workspace."""

from __future__ import annotations

from looseleaf.bundles.importers.workflows.upload_import import UploadImport
from looseleaf.bundles.importers.workflows.workflow_import import WorkflowImport
from looseleaf.catalog.bundles.bundle_destination import install_target_of
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors.agents import AgentMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.importers.contract import SourceContent
    from looseleaf.bundles.importers.ledger import ImportLedger, Records
    from looseleaf.bundles.importers.report import WorkflowReport
    from looseleaf.catalog.bundles.import_targets import ImportTargets
    from looseleaf.catalog.context import Context


def import_workflows(
    context: Context,
    content: SourceContent,
    targets: ImportTargets,
    ledgers: tuple[Records, ImportLedger],
    *,
    is_preview: bool,
) -> Iterator[WorkflowReport]:
    """Import the pipelines of a source with their flows, then uploaded files; yield the reports.

    `ledgers` are the records of all imports, and the ledger of this source.
    """
    if not content.pipelines and not content.uploads:
        return
    destination = install_target_of(context)
    records, ledger = ledgers
    workflow_import = WorkflowImport(destination, ledger, is_preview=is_preview)
    for pipeline in content.pipelines:
        record, owner = targets.find_agent(pipeline.agent), targets.name_agent(pipeline.agent)
        yield from workflow_import.import_pipeline(pipeline, record, owner)

    def find_agent(slug: str) -> AgentRecord | None:
        try:
            return agent_of(context, slug)
        except AgentMissing:
            return None

    upload_import = UploadImport(destination, records, ledger, find_agent, is_preview=is_preview)
    for upload in content.uploads:
        yield upload_import.import_upload(upload)
