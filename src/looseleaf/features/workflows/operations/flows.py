"""Flows: configured and scheduled uses of a pipeline, with memory and prompts of their own."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.errors.features import FlowMissing, PipelineMissing
from looseleaf.features.workflows import documents
from looseleaf.features.workflows.access import (
    check_flow_names,
    check_flow_values,
    find_agent_slug,
    find_flow,
    find_pipeline,
    list_agent_ids,
    require_version,
)
from looseleaf.features.workflows.artifacts import check_egress
from looseleaf.features.workflows.definitions import Flow, check_flow, pause
from looseleaf.features.workflows.documents import FlowDocument, ScheduleFields
from looseleaf.features.workflows.operations import pipelines
from looseleaf.features.workflows.parts import definitions_of, resources_of, step_types_of
from looseleaf.features.workflows.uploads import FileFolder
from looseleaf.files.folders import casefold_name
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.definitions import Pipeline


@value
class FlowRemoved:
    """A flow that is gone; the jobs that ran keep what they recorded."""

    id: int
    slug: str
    pipeline: str
    files: int


@operation("looseleaf/list-flows", permission="read", categories=("flows",), read_only=True)
def list_flows(
    context: Context, *, pipeline: str | int | None = None, agent: str | int | None = None
) -> list[FlowDocument]:
    """List the flows that one may see, by name.

    Arguments:
        pipeline: The pipeline whose flows are listed, by id, slug, or agent/slug; without it, of
            every pipeline.
        agent: The agent whose flows are listed, by id or slug; without it, of every agent that
            one may see.
    """
    definitions = definitions_of(context.parts)
    parent = find_pipeline(context, pipeline).id if pipeline is not None else 0
    agents = list_agent_ids(context, agent)
    flows, _ = definitions.flows.list(pipeline=parent, agents=agents)
    parents = {
        parent_pipeline.id: parent_pipeline
        for parent_pipeline in definitions.pipelines.list(agents=agents)[0]
    }
    types = step_types_of(context.parts)
    return [
        documents.describe_flow(
            flow, find_agent_slug(context, flow.agent_id), parents.get(flow.pipeline_id), types
        )
        for flow in flows
    ]


@operation("looseleaf/show-flow", permission="read", categories=("flows",), read_only=True)
def show_flow(context: Context, flow: str | int) -> FlowDocument:
    """Show one flow: its schedule, its memory files, its queue and its version.

    Arguments:
        flow: The flow to show, by id, slug, or pipeline/slug.
    """
    return describe(context, find_flow(context, flow))


@operation("looseleaf/create-flow", permission="flows", categories=("flows",))
def create_flow(  # noqa: PLR0913 - one for each field of a flow
    context: Context,
    pipeline: str | int,
    name: str,
    *,
    slug: str = "",
    memory_files: tuple[str, ...] = (),
    step_settings: Mapping[str, Any] | None = None,
    prompt_queue: tuple[str, ...] = (),
    queue_mode: Literal["static", "drain", "loop"] = "static",
    schedule: ScheduleFields | str = "",
    run_artifacts: Mapping[str, Any] | None = None,
) -> FlowDocument:
    """Create a flow of a pipeline.

    Arguments:
        pipeline: The pipeline that the flow uses, by id, slug, or agent/slug.
        name: The name for people, such as Morning edition.
        slug: The short name that never changes; without it, one is made of the name.
        memory_files: Pages that its prompts get after those of the pipeline; core files are
            refused.
        step_settings: Settings of steps in this flow, by the id of the step, such as
            {"input": {"url": "https://…"}}; each overrides the same setting of the step.
        prompt_queue: Prompts for the AI step, each for one run.
        queue_mode: The use of the queue: static gives the first prompt to every run, drain takes
            prompts away, loop puts them at the end again.
        schedule: When the flow runs: its fields, or a short text such as daily, 6h, 0 6 * * *, or a
            UTC time for once; without it, only when someone runs it.
        run_artifacts: The egress policy of the artifacts of its runs, by kind, such as
            {"daily_memory": {"egress": ["bundle-file"]}}.
    """
    parent = find_pipeline(context, pipeline)
    flow = Flow(
        id=0,
        pipeline_id=parent.id,
        slug=slug,
        name=name,
        agent_id=parent.agent_id,
        user_id=context.principal.user_id or parent.user_id,
        memory_files=tuple(memory_files),
        step_settings=step_settings or {},
        prompt_queue=documents.queue_prompts(prompt_queue, context.clock()),
        queue_mode=queue_mode,
        schedule=documents.read_schedule(schedule),
        run_artifacts=run_artifacts or {},
    )
    checked_flow = check_rules(context, flow)
    check_flow_names(context.parts.operations(), checked_flow)
    check_flow_values(context, checked_flow)
    check_egress(run_artifacts)
    return describe(context, definitions_of(context.parts).flows.add(checked_flow))


@operation(
    "looseleaf/update-flow",
    permission="flows",
    categories=("flows",),
    idempotent=True,
    changes_page=True,
)
def update_flow(  # noqa: PLR0913 - one for each field that can change
    context: Context,
    flow: str | int,
    *,
    name: str | None = None,
    slug: str | None = None,
    memory_files: tuple[str, ...] | None = None,
    step_settings: Mapping[str, Any] | None = None,
    prompt_queue: tuple[str, ...] | None = None,
    queue_mode: Literal["static", "drain", "loop"] | None = None,
    schedule: ScheduleFields | str | None = None,
    run_artifacts: Mapping[str, Any] | None = None,
    if_match: str | None = None,
) -> FlowDocument:
    """Change fields of a flow; fields that are not named stay.

    Arguments:
        flow: The flow to change, by id, slug, or pipeline/slug.
        name: The new name; the slug stays.
        slug: The new slug; exported files and bundles know the flow by it.
        memory_files: The whole new list of pages besides those of the pipeline.
        step_settings: The whole new settings of steps in this flow, by the id of the step; a secret
            that stays is named by the [hidden] that stands for it.
        prompt_queue: The whole new queue of prompts.
        queue_mode: The new use of the queue: static, drain or loop.
        schedule: The whole new schedule, as its fields or as a short text such as daily or
            0 6 * * *; manual takes it away.
        run_artifacts: The new egress policy; {} takes it away.
        if_match: The hash of the version that is replaced; without it, any version.
    """
    fields: dict[str, object] = {
        field: new
        for field, new in (
            ("name", name),
            ("slug", slug),
            ("queue_mode", queue_mode),
            ("step_settings", step_settings),
            ("run_artifacts", run_artifacts),
            ("memory_files", None if memory_files is None else tuple(memory_files)),
            ("schedule", None if schedule is None else documents.read_schedule(schedule)),
        )
        if new is not None
    }

    def edit(current: Flow) -> Flow:
        require_version(context, f"flow {current.slug}", current.version, if_match)
        new = dict(fields)
        if prompt_queue is not None:
            queue = current.prompt_queue
            new["prompt_queue"] = documents.queue_prompts(prompt_queue, context.clock(), queue)
        parent = definitions_of(context.parts).pipelines.find(current.pipeline_id)
        if step_settings is not None and parent is not None:
            types = step_types_of(context.parts)
            restored = documents.restore_flow_secrets(step_settings, current, parent, types)
            new["step_settings"] = restored
        new_flow = check_rules(context, replace(current, **new))
        if step_settings is not None:
            check_flow_names(context.parts.operations(), new_flow)
        if step_settings is not None or schedule is not None:
            check_flow_values(context, new_flow)
        return new_flow

    check_egress(run_artifacts)

    return describe(context, edit_flow(context, flow, edit))


@operation("looseleaf/queue-prompt", permission="flows", categories=("flows",))
def queue_prompt(context: Context, flow: str | int, prompt: str) -> FlowDocument:
    """Add a prompt to the end of the queue of a flow.

    Arguments:
        flow: The flow whose queue gets the prompt, by id, slug, or pipeline/slug.
        prompt: The prompt that a later run gives to the AI step.
    """

    def edit(current: Flow) -> Flow:
        queue = (*current.prompt_queue, *documents.queue_prompts((prompt,), context.clock()))
        return check_rules(context, replace(current, prompt_queue=queue))

    return describe(context, edit_flow(context, flow, edit))


@operation(
    "looseleaf/delete-flow",
    permission="flows",
    categories=("flows",),
    destructive=True,
    changes_page=True,
)
def delete_flow(context: Context, flow: str | int, *, if_match: str | None = None) -> FlowRemoved:
    """Delete a flow with its files for good; its pipeline stays, and jobs keep what they ran with.

    Arguments:
        flow: The flow to delete, by id, slug, or pipeline/slug.
        if_match: The hash of the version that is deleted; without it, any version.
    """
    record = find_flow(context, flow)

    def check(current: Flow) -> None:
        require_version(context, f"flow {current.slug}", current.version, if_match)

    parent = describe(context, record).pipeline
    if not definitions_of(context.parts).flows.delete(record.id, check):
        raise FlowMissing(flow)
    files = resources_of(context.parts).uploads.remove_all(
        FileFolder(record.pipeline_id, record.id)
    )
    return FlowRemoved(record.id, record.slug, parent, files)


@operation("looseleaf/copy-flow", permission="flows", categories=("flows",))
def copy_flow(context: Context, flow: str | int, *, name: str = "") -> FlowDocument:
    """Copy a flow inside its pipeline; the schedule of the copy is paused.

    Arguments:
        flow: The flow to copy, by id, slug, or pipeline/slug.
        name: The name of the copy; without it, the name of the original with "(copy)".
    """
    original = find_flow(context, flow)
    new = replace(
        pause(original),
        id=0,
        slug="",
        name=name or f"{original.name} (copy)",
        user_id=context.principal.user_id or original.user_id,
    )
    return describe(context, definitions_of(context.parts).flows.add(check_rules(context, new)))


def describe(context: Context, flow: Flow) -> FlowDocument:
    """Describe a flow as the operations give it."""
    pipeline = definitions_of(context.parts).pipelines.find(flow.pipeline_id)
    agent, types = find_agent_slug(context, flow.agent_id), step_types_of(context.parts)
    return documents.describe_flow(flow, agent, pipeline, types)


def check_rules(context: Context, flow: Flow) -> Flow:
    """Return a flow if it keeps the rules of definitions, or raise `InvalidWorkflow`."""
    pipeline = definitions_of(context.parts).pipelines.find(flow.pipeline_id)
    if pipeline is None:
        raise PipelineMissing(flow.pipeline_id)
    return check_flow(flow, pipeline, context.pages.registry, step_types_of(context.parts))


def edit_flow(context: Context, reference: str | int, edit: Callable[[Flow], Flow]) -> Flow:
    record = find_flow(context, reference)
    flow = definitions_of(context.parts).flows.change(record.id, edit)
    if flow is None:
        raise FlowMissing(reference)
    return flow


# The pages that pipelines and flows select besides the core files.


@value
class FlowMemoryFiles:
    """The pages that a flow selects after those of its pipeline."""

    memory_files: tuple[str, ...]


@operation(
    "looseleaf/list-pipeline-memory-files",
    permission="read",
    categories=("flows",),
    read_only=True,
)
def list_pipeline_memory_files(context: Context, pipeline: str | int) -> list[str]:
    """List the pages that a pipeline selects besides the core files.

    Arguments:
        pipeline: The pipeline that selects them, by id, slug, or agent/slug.
    """
    return list(find_pipeline(context, pipeline).memory_files)


@operation(
    "looseleaf/set-pipeline-memory-files",
    permission="flows",
    categories=("flows",),
    idempotent=True,
    changes_page=True,
)
def set_pipeline_memory_files(
    context: Context,
    pipeline: str | int,
    *,
    memory_files: tuple[str, ...] | None = None,
    add: tuple[str, ...] = (),
    remove: tuple[str, ...] = (),
    if_match: str | None = None,
) -> list[str]:
    """Choose the pages that a pipeline selects besides the core files; give the new list.

    Arguments:
        pipeline: The pipeline that selects them, by id, slug, or agent/slug.
        memory_files: The whole new list; without it, the present list is changed.
        add: Pages to add; a page that is there already stays where it is.
        remove: Pages to take out; a page that is not there is no error.
        if_match: The hash of the version that is replaced; without it, any version.
    """

    def edit(current: Pipeline) -> Pipeline:
        require_version(context, f"pipeline {current.slug}", current.version, if_match)
        files = _edit_files(current.memory_files, memory_files, add, remove)
        return pipelines.check_rules(context, replace(current, memory_files=files))

    return list(pipelines.edit_pipeline(context, pipeline, edit).memory_files)


@operation(
    "looseleaf/list-flow-memory-files", permission="read", categories=("flows",), read_only=True
)
def list_flow_memory_files(context: Context, flow: str | int) -> FlowMemoryFiles:
    """List the pages that a flow selects after those of its pipeline.

    Arguments:
        flow: The flow that selects them, by id, slug, or pipeline/slug.
    """
    return FlowMemoryFiles(find_flow(context, flow).memory_files)


@operation(
    "looseleaf/set-flow-memory-files",
    permission="flows",
    categories=("flows",),
    idempotent=True,
    changes_page=True,
)
def set_flow_memory_files(
    context: Context,
    flow: str | int,
    *,
    memory_files: tuple[str, ...] | None = None,
    add: tuple[str, ...] = (),
    remove: tuple[str, ...] = (),
    if_match: str | None = None,
) -> FlowMemoryFiles:
    """Choose the pages that a flow selects after those of its pipeline; give the new list.

    Arguments:
        flow: The flow that selects them, by id, slug, or pipeline/slug.
        memory_files: The whole new list; without it, the present list is changed.
        add: Pages to add; a page that is there already stays where it is.
        remove: Pages to take out; a page that is not there is no error.
        if_match: The hash of the version that is replaced; without it, any version.
    """

    def edit(current: Flow) -> Flow:
        require_version(context, f"flow {current.slug}", current.version, if_match)
        files = _edit_files(current.memory_files, memory_files, add, remove)
        return check_rules(context, replace(current, memory_files=files))

    return FlowMemoryFiles(edit_flow(context, flow, edit).memory_files)


def _edit_files(
    current: tuple[str, ...],
    replacement: tuple[str, ...] | None,
    additions: Iterable[str],
    removals: Iterable[str],
) -> tuple[str, ...]:
    """Return a list of pages after a change of it."""
    removed_names = {casefold_name(name) for name in removals}
    files = current if replacement is None else tuple(replacement)
    return tuple(name for name in (*files, *additions) if casefold_name(name) not in removed_names)
