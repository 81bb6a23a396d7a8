"""Export: an agent with its pages, pipelines and flows as a bundle, by a profile."""

from __future__ import annotations

from looseleaf.features.bundles.artifacts import IDENTITY_PAGE, apply_handler_auth, select_config
from looseleaf.features.bundles.bundle import (
    AGENT_PAGES,
    FLOW_FILES,
    FLOWS,
    PIPELINE_FILES,
    PIPELINES,
    USER_PAGE,
    Bundle,
    find_text_fault,
    format_flow,
    format_pipeline,
)
from looseleaf.features.bundles.manifest import EPOCH, BundleAgent, Manifest
from looseleaf.features.workflows.definitions import make_slug
from looseleaf.features.workflows.uploads import FileFolder
from looseleaf.memory.day import is_in_journal
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Found
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Any, Protocol

    from looseleaf.agents.record import AgentRecord
    from looseleaf.features.bundles.artifacts import Profile
    from looseleaf.features.workflows.definitions import Definitions, Flow, Pipeline
    from looseleaf.features.workflows.uploads import WorkflowFiles
    from looseleaf.memory.pages import MemoryPages
else:
    Protocol = object


# Uploaded files of pipelines and flows that are exported with an agent, within bounds.


LARGEST_FILE = 24_000_000  # in base64 it fits into one file of an archive
LARGEST_TOTAL = 64_000_000  # of all uploads; with their base64 they fit into one archive


@value
class UploadChoice:
    """The uploads to export, each by path, folder and name; and those left out, with the reason."""

    files: tuple[tuple[str, FileFolder, str], ...] = ()
    left_out: tuple[str, ...] = ()


def choose_uploads(
    uploads: WorkflowFiles, pipeline_ids: dict[str, int], flow_ids: dict[str, tuple[int, int]]
) -> UploadChoice:
    """Choose the uploads that fit; ids are those of pipelines, and of flows with their pipeline."""
    chosen_files, left_out, total = [], [], 0
    for prefix, folder in _list_folders(pipeline_ids, flow_ids):
        for file in uploads.list(folder):
            path = f"{prefix}{file.name}"
            if file.size > LARGEST_FILE:
                left_out.append(f"{path}: it has more than {LARGEST_FILE:,} bytes")
            elif total + file.size > LARGEST_TOTAL:
                left_out.append(f"{path}: the uploads have more than {LARGEST_TOTAL:,} bytes")
            else:
                total += file.size
                chosen_files.append((path, folder, file.name))
    return UploadChoice(tuple(chosen_files), tuple(left_out))


def _list_folders(
    pipeline_ids: dict[str, int], flow_ids: dict[str, tuple[int, int]]
) -> Iterator[tuple[str, FileFolder]]:
    for slug, pipeline_id in pipeline_ids.items():
        yield f"{PIPELINE_FILES}{slug}/", FileFolder(pipeline_id)
    for slug, ids in flow_ids.items():
        yield f"{FLOW_FILES}{slug}/", FileFolder(*ids)


def read_uploads(uploads: WorkflowFiles, choice: UploadChoice) -> dict[str, bytes]:
    """Read the chosen uploads, by the path that a text has in the bundle."""
    return {path: b"".join(uploads.read(folder, name)) for path, folder, name in choice.files}


USER = "USER.md"


@value
class AgentSource:
    """The stores of the parts of an agent; `definitions` is None if there is no database yet."""

    pages: MemoryPages
    definitions: Definitions | None
    uploads: Callable[[], WorkflowFiles]
    prompts: PromptOverrides


@value
class AgentWorkflows:
    """The pipelines and flows of an agent, by the names of their files in a bundle."""

    pipelines: Mapping[str, Pipeline]
    flows: Mapping[str, Flow]

    def pipeline_of(self, flow: Flow) -> Pipeline:
        """Return the pipeline that a flow uses."""
        return next(
            pipeline for pipeline in self.pipelines.values() if pipeline.id == flow.pipeline_id
        )


@value
class BundleTitle:
    """The name and version of an export; the same title and content give the same bytes."""

    slug: str
    version: str
    source_ref: str = ""
    source_revision: str = ""
    exported_at: str = EPOCH


def collect_bundle(
    source: AgentSource, record: AgentRecord, profile: Profile, title: BundleTitle
) -> Bundle:
    """Read an agent as a bundle; generated pages are left out, since they are generated again."""
    description = record.configuration.description
    agent = BundleAgent(record.slug, record.name, description, select_config(record.config))
    manifest = Manifest(
        bundle_slug=title.slug,
        bundle_version=title.version,
        agent=agent,
        included={},
        handler_auth=profile.handler_auth,
        source_ref=title.source_ref,
        source_revision=title.source_revision,
        exported_at=title.exported_at,
    )
    pipelines, flows, uploads = _collect_workflows(source, record, profile)
    selected_pages = list_selected_pages(pipelines, flows)
    return Bundle(
        manifest=manifest,
        pages=dict(_collect_pages(source.pages, record, profile, selected_pages)),
        user_page=_read_user_page(source.pages, record) if profile.learned_memory else None,
        pipelines=pipelines,
        flows=flows,
        uploads=uploads,
        prompts=source.prompts.texts(),
    )


def list_selected_pages(
    pipelines: Mapping[str, Mapping[str, Any]], flows: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """List the pages that pipelines and flows select, each with the file of the first that does."""
    documents = {f"{PIPELINES}{slug}.json": document for slug, document in pipelines.items()}
    documents |= {f"{FLOWS}{slug}.json": document for slug, document in flows.items()}
    selected: dict[str, str] = {}
    for path, document in documents.items():
        for name in document.get("memory_files", ()):
            selected.setdefault(name, path)
    return selected


def _collect_pages(
    pages: MemoryPages, record: AgentRecord, profile: Profile, selected_pages: Collection[str]
) -> Iterator[tuple[str, bytes]]:
    for entry in pages.list(record.shelf):
        registered_file = pages.registry.get(entry.filename)
        is_generated = registered_file is not None and registered_file.composable
        # A workflow is shared with the pages that it was written with, and no learned memory.
        is_reference = registered_file is None and not is_in_journal(entry.filename)
        is_whole = profile.learned_memory or entry.filename == IDENTITY_PAGE
        if is_generated or not (is_whole or (is_reference and entry.filename in selected_pages)):
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
        pipelines[slug] = format_pipeline(_apply_pipeline_auth(pipeline, profile), slug)
    for slug, flow in workflows.flows.items():
        pipeline = workflows.pipeline_of(flow)
        flows[slug] = format_flow(_apply_flow_auth(flow, profile), slug, pipeline, pipeline.slug)
    if profile.learned_memory:
        uploads = read_uploads(source.uploads(), _choose_uploads(source, workflows))
    return pipelines, flows, uploads


def find_left_out(source: AgentSource, record: AgentRecord, profile: Profile) -> tuple[str, ...]:
    """Name the uploads that are too large for a bundle, each with the reason."""
    if source.definitions is None or not profile.learned_memory:
        return ()
    workflows = list_workflows(source.definitions, record.id)
    return _choose_uploads(source, workflows).left_out


def describe_missing_pages(
    bundle: Bundle, pages: MemoryPages, record: AgentRecord
) -> Iterator[str]:
    """Name the pages that workflows of a bundle select and that the bundle does not have."""
    for name, path in list_selected_pages(bundle.pipelines, bundle.flows).items():
        if name in bundle.pages:
            continue
        is_here = pages.exists(record.shelf.page(name))
        reason = "is learned memory, which stays here" if is_here else "is no page of the agent"
        yield f"{name}: {path} selects it, but it {reason}"


def leave_out_unreadable(bundle: Bundle) -> tuple[Bundle, list[str]]:
    """Remove pages that no bundle can carry; return a sentence for each."""
    reasons = {
        f"{AGENT_PAGES}{name}": find_text_fault(content) for name, content in bundle.pages.items()
    }
    pages = {
        name: content
        for name, content in bundle.pages.items()
        if not reasons[f"{AGENT_PAGES}{name}"]
    }
    user_page = bundle.user_page
    if user_page is not None:
        reasons[USER_PAGE] = find_text_fault(user_page)
        user_page = None if reasons[USER_PAGE] else user_page
    sentences = [f"{path}: {reason}" for path, reason in reasons.items() if reason]
    return replace(bundle, pages=pages, user_page=user_page), sentences


def _choose_uploads(source: AgentSource, workflows: AgentWorkflows) -> UploadChoice:
    pipeline_ids = {slug: pipeline.id for slug, pipeline in workflows.pipelines.items()}
    flow_ids = {slug: (flow.pipeline_id, flow.id) for slug, flow in workflows.flows.items()}
    if not pipeline_ids:
        return UploadChoice()
    return choose_uploads(source.uploads(), pipeline_ids, flow_ids)


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
        pipeline_flows, _ = definitions.flows.list(pipeline=pipeline.id)
        for flow in sorted(pipeline_flows, key=lambda flow: flow.slug):
            flows[make_slug(flow.slug, fallback="flow", used_slugs=flows)] = flow
    return AgentWorkflows(pipelines, flows)


def _apply_pipeline_auth(pipeline: Pipeline, profile: Profile) -> Pipeline:
    """Replace the secrets of the steps of a pipeline, if the profile says so."""
    if profile.handler_auth != "refs":
        return pipeline
    steps = tuple(
        replace(
            step,
            settings=apply_handler_auth(profile, step.settings, f"{pipeline.slug}/{step.id}"),
        )
        for step in pipeline.steps
    )
    return replace(pipeline, steps=steps)


def _apply_flow_auth(flow: Flow, profile: Profile) -> Flow:
    settings = {
        step_id: apply_handler_auth(profile, step, f"{flow.slug}/{step_id}")
        for step_id, step in flow.step_settings.items()
        if profile.handler_auth != "omit"
    }
    return replace(flow, step_settings=settings)


# Prompts of system tasks that people replaced, as bundles read and change them.


class PromptOverrides(Protocol):
    """The prompts of tasks that run for an agent; the name of one is `task/key`.

    They belong to the workspace: a replaced prompt is used for every agent.
    """

    def texts(self) -> dict[str, str]:
        """Return the text of every prompt that was replaced."""

    def builtin_texts(self) -> dict[str, str]:
        """Return the built-in text of every prompt."""

    def is_known(self, name: str) -> bool:
        """Return whether a task here has such a prompt."""

    def check(self, name: str, text: str) -> None:
        """Raise `InvalidPrompt` if the task could not use the text."""

    def require_right(self) -> None:
        """Raise `Forbidden` unless the actor may replace prompts."""

    def set(self, name: str, text: str | None) -> None:
        """Replace a prompt; None goes back to the built-in text."""
