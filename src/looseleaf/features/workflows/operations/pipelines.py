"""Pipelines: reusable workflows of an agent, the memory they select, and their files."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors.features import PipelineMissing
from looseleaf.features.workflows import documents
from looseleaf.features.workflows.access import (
    check_policy_names,
    check_step_names,
    check_step_values,
    check_workflow_names,
    find_agent_slug,
    find_pipeline,
    list_agent_ids,
    require_version,
)
from looseleaf.features.workflows.definitions import (
    Pipeline,
    Step,
    check_flow,
    check_pipeline,
    number_steps,
    pause,
)
from looseleaf.features.workflows.documents import PipelineDocument, PipelineFile
from looseleaf.features.workflows.parts import definitions_of, resources_of, step_types_of
from looseleaf.features.workflows.uploads import FileFolder, limits_of
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from looseleaf.catalog.context import Context


@value
class PipelineRemoved:
    """A pipeline that is gone with its flows; the jobs that ran keep what they recorded."""

    id: int
    slug: str
    flows: tuple[str, ...]
    context_files: int
    flow_files: int


@operation("looseleaf/list-pipelines", permission="read", categories=("flows",), read_only=True)
def list_pipelines(context: Context, *, agent: str | int | None = None) -> list[PipelineDocument]:
    """List the pipelines that one may see, by name.

    Arguments:
        agent: The agent whose pipelines are listed, by id or slug; without it, of every agent
            that one may see.
    """
    definitions = definitions_of(context.parts)
    pipelines, _ = definitions.pipelines.list(agents=list_agent_ids(context, agent))
    flows, _ = definitions.flows.list(agents=list_agent_ids(context, agent))
    counts: dict[int, int] = {}
    for flow in flows:
        counts[flow.pipeline_id] = counts.get(flow.pipeline_id, 0) + 1
    return [
        documents.describe_pipeline(
            pipeline,
            find_agent_slug(context, pipeline.agent_id),
            counts.get(pipeline.id, 0),
            step_types_of(context.parts),
        )
        for pipeline in pipelines
    ]


@operation("looseleaf/show-pipeline", permission="read", categories=("flows",), read_only=True)
def show_pipeline(context: Context, pipeline: str | int) -> PipelineDocument:
    """Show one pipeline: its steps, its memory files and its version.

    Arguments:
        pipeline: The pipeline to show, by id, slug, or agent/slug.
    """
    return describe(context, find_pipeline(context, pipeline))


@operation("looseleaf/create-pipeline", permission="flows", categories=("flows",))
def create_pipeline(
    context: Context,
    name: str,
    *,
    agent: str | int | None = None,
    slug: str = "",
    system_prompt: str = "",
    memory_files: tuple[str, ...] = (),
    tool_policy: Mapping[str, Any] | None = None,
    steps: tuple[Step, ...] = (),
) -> PipelineDocument:
    """Create a pipeline of an agent, with its steps in order.

    Arguments:
        name: The name for people, such as Daily Music News.
        agent: The agent that the pipeline runs as, by id or slug; without it, the token's or the
            default agent.
        slug: The short name that never changes; without it, one is made of the name.
        system_prompt: The task of the pipeline, which its AI steps are given.
        memory_files: Pages that its prompts get besides the core files, such as
            content-strategy.md or contexts/x.md; core files are refused.
        tool_policy: The tools of its AI steps, as in an agent's configuration; without it, the
            agent's policy alone counts.
        steps: The steps in order; a step without an id gets one.
    """
    record = agent_of(context, agent)
    user = context.principal.user_id or record.owner
    pipeline = Pipeline(
        id=0,
        slug=slug,
        name=name,
        agent_id=record.id,
        user_id=user,
        system_prompt=system_prompt,
        memory_files=tuple(memory_files),
        tool_policy=tool_policy or {},
        steps=number_steps(steps),
    )
    check_workflow_names(context.parts.operations(), pipeline, ())
    pipeline = check_rules(context, pipeline)
    row = [(step, step.settings) for step in pipeline.steps]
    check_step_values(context, "pipeline", row, is_whole=False)
    return add(context, pipeline)


@operation(
    "looseleaf/update-pipeline",
    permission="flows",
    categories=("flows",),
    idempotent=True,
    changes_page=True,
)
def update_pipeline(  # noqa: PLR0913 - one for each field that can change
    context: Context,
    pipeline: str | int,
    *,
    name: str | None = None,
    slug: str | None = None,
    system_prompt: str | None = None,
    memory_files: tuple[str, ...] | None = None,
    tool_policy: Mapping[str, Any] | None = None,
    steps: tuple[Step, ...] | None = None,
    if_match: str | None = None,
) -> PipelineDocument:
    """Change fields of a pipeline; fields that are not named stay.

    Arguments:
        pipeline: The pipeline to change, by id, slug, or agent/slug.
        name: The new name; the slug stays.
        slug: The new slug; exported files and bundles know the pipeline by it.
        system_prompt: The new task of the pipeline; an empty text takes it away.
        memory_files: The whole new list of pages besides the core files.
        tool_policy: The new tool policy; {} takes it away.
        steps: The whole new row of steps; a step that stays is named by its id, and a secret that
            stays by the [hidden] that stands for it.
        if_match: The hash of the version that is replaced; without it, any version.
    """
    fields: dict[str, object] = {
        field: new
        for field, new in (
            ("name", name),
            ("slug", slug),
            ("system_prompt", system_prompt),
            ("tool_policy", tool_policy),
            ("memory_files", None if memory_files is None else tuple(memory_files)),
        )
        if new is not None
    }

    check_policy_names(context.parts.operations(), tool_policy or {})

    def edit(current: Pipeline) -> Pipeline:
        require_version(context, f"pipeline {current.slug}", current.version, if_match)
        new = dict(fields)
        if steps is not None:
            check_step_names(context.parts.operations(), steps)
            row = number_steps(steps, current.steps)
            types = step_types_of(context.parts)
            new["steps"] = documents.restore_step_secrets(row, current.steps, types)
        changed = check_rules(context, replace(current, **new))
        if steps is not None:
            settings = [(step, step.settings) for step in changed.steps]
            check_step_values(context, "pipeline", settings, is_whole=False)
        return changed

    return edit_pipeline(context, pipeline, edit)


@operation(
    "looseleaf/delete-pipeline",
    permission="flows",
    categories=("flows",),
    destructive=True,
    changes_page=True,
)
def delete_pipeline(
    context: Context, pipeline: str | int, *, if_match: str | None = None
) -> PipelineRemoved:
    """Delete a pipeline with its flows and their files for good; jobs keep what they ran with.

    Arguments:
        pipeline: The pipeline to delete, by id, slug, or agent/slug.
        if_match: The hash of the version that is deleted; without it, any version.
    """
    record = find_pipeline(context, pipeline)

    def check(current: Pipeline) -> None:
        require_version(context, f"pipeline {current.slug}", current.version, if_match)

    flows = definitions_of(context.parts).pipelines.delete(record.id, check)
    if flows is None:
        raise PipelineMissing(pipeline)
    files = resources_of(context.parts).uploads
    flow_files = sum(files.remove_all(FileFolder(record.id, flow.id)) for flow in flows)
    context_files = files.remove_all(FileFolder(record.id))
    slugs = tuple(flow.slug for flow in flows)
    return PipelineRemoved(record.id, record.slug, slugs, context_files, flow_files)


@operation("looseleaf/copy-pipeline", permission="flows", categories=("flows",))
def copy_pipeline(
    context: Context, pipeline: str | int, *, name: str = "", agent: str | int | None = None
) -> PipelineDocument:
    """Copy a pipeline with its context files and without its flows, for the same or another agent.

    Arguments:
        pipeline: The pipeline to copy, by id, slug, or agent/slug.
        name: The name of the copy; without it, the name of the original with "(copy)".
        agent: The agent that the copy belongs to, by id or slug; without it, the same agent.
    """
    original = find_pipeline(context, pipeline)
    owner = agent_of(context, original.agent_id if agent is None else agent)
    fields = {"id": 0, "slug": "", "name": name or f"{original.name} (copy)"}
    fields["user_id"] = context.principal.user_id or owner.owner
    copy = add(context, replace(original, **fields, agent_id=owner.id))
    files, limits = resources_of(context.parts).uploads, limits_of(context.settings)
    for file in files.list(FileFolder(original.id)):
        parts = files.read(FileFolder(original.id), file.name)
        files.put(FileFolder(copy.id), file.name, parts, limits)
    return copy


def add(context: Context, pipeline: Pipeline) -> PipelineDocument:
    """Store a new pipeline that keeps the rules."""
    return describe(
        context, definitions_of(context.parts).pipelines.add(check_rules(context, pipeline))
    )


def describe(context: Context, pipeline: Pipeline) -> PipelineDocument:
    """Describe a pipeline as the operations give it."""
    count = definitions_of(context.parts).flows.list(pipeline=pipeline.id, limit=1)[1]
    agent, types = find_agent_slug(context, pipeline.agent_id), step_types_of(context.parts)
    return documents.describe_pipeline(pipeline, agent, count, types)


def check_rules(context: Context, pipeline: Pipeline) -> Pipeline:
    """Return a pipeline if it keeps the rules of definitions, or raise `InvalidWorkflow`."""
    return check_pipeline(pipeline, context.pages.registry, step_types_of(context.parts))


def edit_pipeline(
    context: Context, reference: str | int, edit: Callable[[Pipeline], Pipeline]
) -> PipelineDocument:
    record = find_pipeline(context, reference)
    pipeline = definitions_of(context.parts).pipelines.change(record.id, edit)
    if pipeline is None:
        raise PipelineMissing(reference)
    return describe(context, pipeline)


# A pipeline with its flows as one JSON file: exported here, imported anywhere.


@operation("looseleaf/export-pipeline", permission="read", categories=("flows",), read_only=True)
def export_pipeline(
    context: Context, pipeline: str | int, *, without_flows: bool = False
) -> PipelineFile:
    """Export a pipeline with its flows as one JSON document that can be imported elsewhere.

    A secret of a step is not in the document: [hidden] stands for it.

    Arguments:
        pipeline: The pipeline to export, by id, slug, or agent/slug.
        without_flows: Whether its flows stay out of the document.
    """
    record = find_pipeline(context, pipeline)
    flows = definitions_of(context.parts).flows
    listed = () if without_flows else flows.list(pipeline=record.id)[0]
    return documents.export_pipeline(record, listed, step_types_of(context.parts))


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
