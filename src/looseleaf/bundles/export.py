"""Export: an agent with its pages, pipelines and flows as a bundle, by a profile."""

from __future__ import annotations

from looseleaf.bundles.layout.bundle import FLOW_FILES, PIPELINE_FILES, Bundle
from looseleaf.bundles.layout.manifest import EPOCH, BundleAgent, Manifest
from looseleaf.bundles.layout.workflow_files import format_flow, format_pipeline
from looseleaf.bundles.profiles import (
    IDENTITY_PAGE,
    apply_handler_auth,
    select_config,
)
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Found
from looseleaf.values import changed, value
from looseleaf.workflows.slug import make_slug
from looseleaf.workflows.uploads.file_store import FileFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.profiles import Profile
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.workflows.definitions import Definitions
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline
    from looseleaf.workflows.uploads.file_store import WorkflowFiles

UPLOADED_TEXTS = (".md", ".txt", ".json", ".yaml", ".yml", ".csv")
USER = "USER.md"


@value
class AgentSource:
    """Where the parts of an agent lie; `definitions` is None where there is no database yet."""

    pages: MemoryPages
    definitions: Definitions | None
    uploads: Callable[[], WorkflowFiles]


@value
class AgentWorkflows:
    """The pipelines and flows of an agent, by the names of their files in a bundle."""

    pipelines: Mapping[str, Pipeline]
    flows: Mapping[str, Flow]

    def pipeline_of(self, flow: Flow) -> Pipeline:
        """Give the pipeline that a flow uses."""
        return next(
            pipeline for pipeline in self.pipelines.values() if pipeline.id == flow.pipeline_id
        )


@value
class BundleTitle:
    """What an export is called; the same title and content give the same bytes."""

    slug: str
    version: str
    source_ref: str = ""
    source_revision: str = ""
    exported_at: str = EPOCH


def collect_bundle(
    source: AgentSource, record: AgentRecord, profile: Profile, title: BundleTitle
) -> Bundle:
    """Read an agent as it is now as a bundle; generated pages stay, since they are made anew."""
    config = select_config(record.config)
    description = config.get("description", "")
    agent = BundleAgent(
        record.slug, record.name, description if isinstance(description, str) else "", config
    )
    manifest = Manifest(
        title.slug,
        title.version,
        agent,
        {},
        profile.handler_auth,
        title.source_ref,
        title.source_revision,
        title.exported_at,
    )
    pipelines, flows, uploads = _collect_workflows(source, record, profile)
    return Bundle(
        manifest,
        dict(_collect_pages(source.pages, record, profile)),
        _read_user_page(source.pages, record) if profile.learned_memory else None,
        pipelines,
        flows,
        uploads,
    )


def _collect_pages(
    pages: MemoryPages, record: AgentRecord, profile: Profile
) -> Iterator[tuple[str, bytes]]:
    for entry in pages.list(record.shelf):
        registered_file = pages.registry.get(entry.filename)
        is_generated = registered_file is not None and registered_file.composable
        if is_generated or not (profile.learned_memory or entry.filename == IDENTITY_PAGE):
            continue
        page = pages.read(record.shelf.page(entry.filename))
        if isinstance(page, Found):
            yield entry.filename, page.content


def _read_user_page(pages: MemoryPages, record: AgentRecord) -> bytes | None:
    page = pages.read(Shelf("user", record.owner).page(USER))
    return page.content if isinstance(page, Found) else None


def _collect_workflows(
    source: AgentSource, record: AgentRecord, profile: Profile
) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]], dict[str, bytes]]:
    pipelines: dict[str, Mapping[str, Any]] = {}
    flows: dict[str, Mapping[str, Any]] = {}
    uploads: dict[str, bytes] = {}
    if source.definitions is None:
        return pipelines, flows, uploads
    workflows = list_workflows(source.definitions, record.id)
    for slug, pipeline in workflows.pipelines.items():
        pipelines[slug] = format_pipeline(_shareable(pipeline, profile), slug)
        uploads |= _read_uploads(
            source, FileFolder(pipeline.id), f"{PIPELINE_FILES}{slug}/", profile
        )
    for slug, flow in workflows.flows.items():
        pipeline = workflows.pipeline_of(flow)
        flows[slug] = format_flow(_shareable_flow(flow, profile), slug, pipeline, pipeline.slug)
        folder = FileFolder(pipeline.id, flow.id)
        uploads |= _read_uploads(source, folder, f"{FLOW_FILES}{slug}/", profile)
    return pipelines, flows, uploads


def list_workflows(definitions: Definitions, agent_id: int) -> AgentWorkflows:
    """List the pipelines and flows of an agent by the names of their files.

    Slugs of flows are unique in a pipeline, and their files lie in one folder: a second flow of
    the same slug gets a number.
    """
    pipelines = {
        pipeline.slug: pipeline
        for pipeline in sorted(
            definitions.pipelines.list(agents=[agent_id])[0], key=lambda pipeline: pipeline.slug
        )
    }
    flows: dict[str, Flow] = {}
    for pipeline in pipelines.values():
        of_pipeline, _ = definitions.flows.list(pipeline=pipeline.id)
        for flow in sorted(of_pipeline, key=lambda flow: flow.slug):
            flows[make_slug(flow.slug, fallback="flow", taken=flows)] = flow
    return AgentWorkflows(pipelines, flows)


def _shareable(pipeline: Pipeline, profile: Profile) -> Pipeline:
    """Give a pipeline whose steps hold no secrets, where the profile says so."""
    if profile.handler_auth != "refs":
        return pipeline
    steps = tuple(
        changed(
            step,
            settings=apply_handler_auth(profile, step.settings, f"{pipeline.slug}/{step.id}"),
        )
        for step in pipeline.steps
    )
    return changed(pipeline, steps=steps)


def _shareable_flow(flow: Flow, profile: Profile) -> Flow:
    settings = {
        step_id: apply_handler_auth(profile, step, f"{flow.slug}/{step_id}")
        for step_id, step in flow.step_settings.items()
        if profile.handler_auth != "omit"
    }
    return changed(flow, step_settings=settings)


def _read_uploads(
    source: AgentSource, folder: FileFolder, prefix: str, profile: Profile
) -> dict[str, bytes]:
    """Read the uploaded texts of a pipeline or flow; other files do not travel in a bundle."""
    if not profile.learned_memory:
        return {}
    files = source.uploads()
    texts = {}
    for file in files.list(folder):
        if file.name.lower().endswith(UPLOADED_TEXTS):
            content = b"".join(files.read(folder, file.name))
            if b"\0" not in content:
                texts[f"{prefix}{file.name}"] = content
    return texts
