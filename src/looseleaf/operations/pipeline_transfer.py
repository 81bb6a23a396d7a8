"""A pipeline with its flows as one JSON file: exported here, imported anywhere."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.workflows.workflow_access import find_pipeline
from looseleaf.catalog.workflows.workflow_tools import check_workflow_names
from looseleaf.operations.pipelines import describe
from looseleaf.values import replace
from looseleaf.workflows import documents
from looseleaf.workflows.definition_checks import check_flow, check_pipeline
from looseleaf.workflows.documents import PipelineDocument, PipelineFile
from looseleaf.workflows.flow import pause
from looseleaf.workflows.parts import definitions_of, step_types_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context


@operation("looseleaf/export-pipeline", permission="read", categories=("flows",), read_only=True)
def export_pipeline(
    context: Context, pipeline: str | int, *, without_flows: bool = False
) -> PipelineFile:
    """Export a pipeline with its flows as one JSON document that can be imported elsewhere.

    Arguments:
        pipeline: The pipeline to export, by id, slug, or agent/slug.
        without_flows: Whether its flows stay out of the document.
    """
    record = find_pipeline(context, pipeline)
    flows = definitions_of(context.parts).flows
    return documents.export_pipeline(
        record, () if without_flows else flows.list(pipeline=record.id)[0]
    )


@operation("looseleaf/import-pipeline", permission="flows", categories=("flows",))
def import_pipeline(
    context: Context,
    document: Mapping[str, Any],
    *,
    agent: str | int | None = None,
    name: str = "",
) -> PipelineDocument:
    """Create a pipeline and its flows from an exported document, all or nothing.

    Schedules arrive paused, so that nothing runs before someone has looked at it. A slug that
    another pipeline of the agent has gets a number.

    Arguments:
        document: The document, as exporting a pipeline gives it.
        agent: The agent that the pipeline runs as, by id or slug; without it, the token's or the
            default agent.
        name: Another name for the pipeline; without it, the name in the document.
    """
    record = agent_of(context, agent)
    file, file_flows = documents.read_pipeline_file(document, now=context.clock())
    owner = {"agent_id": record.id, "user_id": context.principal.user_id or record.owner}
    registry, types = context.pages.registry, step_types_of(context.parts)
    pipeline = check_pipeline(replace(file, **owner, name=name or file.name), registry, types)
    flows = [
        check_flow(replace(pause(flow), **owner), pipeline, registry, types) for flow in file_flows
    ]
    check_workflow_names(context.parts.operations(), pipeline, flows)
    pipelines = definitions_of(context.parts).pipelines
    namesakes, _ = pipelines.list(agents=[record.id], slug=pipeline.slug)
    if pipeline.slug in {namesake.slug for namesake in namesakes}:
        pipeline = replace(pipeline, slug="")
    return describe(context, pipelines.add(pipeline, flows))
