"""The pages that pipelines and flows select besides the core files."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.workflows.workflow_access import find_flow, find_pipeline, require_version
from looseleaf.files.folders import casefold_name
from looseleaf.operations import flows, pipelines
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.catalog.context import Context
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline


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
        return flows.check_rules(context, replace(current, memory_files=files))

    return FlowMemoryFiles(flows.edit_flow(context, flow, edit).memory_files)


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
