"""A pipeline with its flows as one JSON file: exported here, imported anywhere."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.workflows.workflow_access import find_pipeline
from looseleaf.catalog.workflows.workflow_tools import check_workflow_names
from looseleaf.operations.pipelines import describe
from looseleaf.values import replace
from looseleaf.workflows import documents
from looseleaf.workflows.definition_checks import check_flow, check_pipeline, number_steps
from looseleaf.workflows.documents import PipelineDocument, PipelineFile
from looseleaf.workflows.flow import Flow
from looseleaf.workflows.pipeline import Pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.workflows.documents import FlowFile


@operation("looseleaf/export-pipeline", permission="read", categories=("flows",), read_only=True)
def export_pipeline(
    context: Context, pipeline: str | int, *, without_flows: bool = False
) -> PipelineFile:
    """Give a pipeline with its flows as one JSON document that can be imported elsewhere.

    Arguments:
        pipeline: The pipeline to export, by id, slug, or agent/slug.
        without_flows: Whether its flows stay out of the document.
    """
    record = find_pipeline(context, pipeline)
    flows = context.parts.definitions().flows
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
    file = documents.read_pipeline_file(document)
    user = context.principal.user_id or record.owner
    registry, types = context.pages.registry, context.parts.step_types()
    pipeline = Pipeline(
        0,
        file.slug,
        name or file.name,
        record.id,
        user,
        file.system_prompt,
        file.memory_files,
        file.tool_policy,
        number_steps(documents.read_steps(file.steps)),
    )
    valid_pipeline = check_pipeline(pipeline, registry, types)
    flows = [
        check_flow(_read_flow(context, fields, valid_pipeline), valid_pipeline, registry, types)
        for fields in file.flows
    ]
    check_workflow_names(context.parts.operations(), valid_pipeline, flows)
    pipelines = context.parts.definitions().pipelines
    slugs = {
        namesake.slug
        for namesake in pipelines.list(agents=[record.id], slug=valid_pipeline.slug)[0]
    }
    new = replace(valid_pipeline, slug="") if valid_pipeline.slug in slugs else valid_pipeline
    return describe(context, pipelines.add(new, flows))


def _read_flow(context: Context, fields: FlowFile, pipeline: Pipeline) -> Flow:
    """Read a flow of a document; its schedule is paused."""
    schedule = documents.read_schedule(fields.schedule)
    return Flow(
        0,
        0,
        fields.slug,
        fields.name,
        pipeline.agent_id,
        pipeline.user_id,
        fields.memory_files,
        fields.step_settings,
        documents.queue_prompts(fields.prompt_queue, context.clock()),
        fields.queue_mode,  # type: ignore[arg-type]  # checked with the flow
        replace(schedule, enabled=False),
        fields.run_artifacts,
    )
