"""Applying one artifact to an agent, or taking it back: each change is complete or not made."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import (
    AGENT,
    CONFIG,
    EXTRA,
    FLOW,
    MEMORY,
    PIPELINE,
    PROMPT,
    QUEUE,
    SCHEDULE,
)
from looseleaf.bundles.export import list_workflows
from looseleaf.bundles.layout.workflow_definitions import build_flow, build_pipeline
from looseleaf.errors import Conflicted
from looseleaf.errors.workflows import FlowMissing, PipelineMissing
from looseleaf.memory.store import ABSENT, Conflict
from looseleaf.values import replace
from looseleaf.workflows.documents import queue_prompts, read_schedule_fields
from looseleaf.workflows.flow import pause
from looseleaf.workflows.uploads.file_store import FileFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.export import AgentWorkflows
    from looseleaf.bundles.installation.destination import InstallTarget
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline


class ArtifactChanges:
    """Changes of one agent, by the keys of artifacts; a payload of None removes the artifact.

    A page is replaced only if it has the expected hash of its key; "" means no page.
    """

    def __init__(
        self,
        destination: InstallTarget,
        record: AgentRecord,
        expected_hashes: Mapping[str, str] | None = None,
    ) -> None:
        self._destination, self._record = destination, record
        self._expected_hashes = expected_hashes or {}
        self._by_kind: dict[str, Callable[[str, Any], None]] = {
            AGENT: self._set_name,
            CONFIG: self._set_config,
            MEMORY: self._write_page,
            PIPELINE: self._set_pipeline,
            FLOW: self._set_flow,
            SCHEDULE: self._set_schedule,
            QUEUE: self._set_queue,
            PROMPT: destination.prompts.set,
            EXTRA: lambda _name, _payload: None,  # the ledger keeps it
        }

    def apply(self, key: str, payload: Any) -> None:  # noqa: ANN401 - a text, or JSON
        """Set an artifact to a payload."""
        kind, _, name = key.partition(":")
        self._by_kind[kind](name, payload)

    def _set_name(self, _name: str, label: str) -> None:
        self._destination.agents.rename(self._record.id, self._record.slug, name=label)

    def _set_config(self, name: str, setting: object) -> None:
        self._destination.agents.configure(self._record.id, {name: setting})

    def _write_page(self, name: str, text: str | None) -> None:
        pages, scope = self._destination.pages, self._record.shelf.page(name)
        change = replace(self._destination.change, allow_shrink=True)
        if text is None:
            # By the store, since pages refuse to delete a core page; here it did not exist before.
            pages.store_for(scope).delete(scope, change=replace(change, operation="delete"))
            return
        expected_hash = self._expected_hashes.get(f"{MEMORY}:{name}")
        version = None if expected_hash is None else expected_hash or ABSENT
        outcome = pages.write(scope, text, change=change, if_match=version)
        if isinstance(outcome, Conflict):
            raise Conflicted(name, outcome.expected, outcome.actual)

    def _list_workflows(self) -> AgentWorkflows:
        return list_workflows(self._destination.definitions(), self._record.id)

    def _set_pipeline(self, slug: str, document: Mapping[str, Any] | None) -> None:
        definitions = self._destination.definitions()
        current = self._list_workflows().pipelines.get(slug)
        if document is None:
            if current is not None:
                remove_pipeline(self._destination, current)
            return
        new = build_pipeline(slug, document, self._destination.rules(self._record))
        if current is None:
            definitions.pipelines.add(new)
            return
        fields = {
            name: getattr(new, name)
            for name in ("name", "system_prompt", "memory_files", "tool_policy", "steps")
        }
        definitions.pipelines.change(current.id, lambda pipeline: replace(pipeline, **fields))

    def _set_flow(self, slug: str, document: Mapping[str, Any] | None) -> None:
        definitions = self._destination.definitions()
        workflows = self._list_workflows()
        current = workflows.flows.get(slug)
        if document is None:
            if current is not None:
                definitions.flows.delete(current.id, lambda _flow: None)
                folder = FileFolder(current.pipeline_id, current.id)
                self._destination.uploads().remove_all(folder)
            return
        pipeline = workflows.pipelines.get(document["pipeline_slug"])
        if pipeline is None:
            raise PipelineMissing(document["pipeline_slug"])
        new = pause(build_flow(slug, document, pipeline, self._destination.rules(self._record)))
        if current is None:
            definitions.flows.add(new)
            return
        fields = {
            name: getattr(new, name)
            for name in ("pipeline_id", "name", "memory_files", "step_settings", "run_artifacts")
        }
        definitions.flows.change(current.id, lambda flow: replace(flow, **fields))
        if pipeline.id != current.pipeline_id:
            self._move_uploads(FileFolder(current.pipeline_id, current.id), pipeline.id)

    def _move_uploads(self, folder: FileFolder, pipeline_id: int) -> None:
        """Move the files of a flow to its new pipeline; the undo log moves them back on failure."""
        uploads = self._destination.uploads()
        new_folder = replace(folder, pipeline_id=pipeline_id)
        for file in uploads.list(folder):
            content = uploads.read(folder, file.name)
            uploads.put(new_folder, file.name, content, self._destination.limits)
            uploads.delete(folder, file.name)
        uploads.remove_all(folder)  # also the files that a killed move left

    def _set_schedule(self, slug: str, fields: Mapping[str, Any] | None) -> None:
        if fields is None:
            return  # it was removed with its flow
        schedule = read_schedule_fields(dict(fields))
        self._change_flow(slug, lambda flow: replace(flow, schedule=schedule))

    def _set_queue(self, slug: str, fields: Mapping[str, Any] | None) -> None:
        document = fields or {}
        prompts = tuple(document.get("prompt_queue", ()))
        mode = document.get("queue_mode", "static")
        now = self._destination.clock()

        def edit(flow: Flow) -> Flow:
            queue = queue_prompts(prompts, now, flow.prompt_queue)
            return replace(flow, prompt_queue=queue, queue_mode=mode)

        self._change_flow(slug, edit)

    def _change_flow(self, slug: str, edit: Callable[[Flow], Flow]) -> None:
        flow = self._list_workflows().flows.get(slug)
        if flow is None:
            raise FlowMissing(slug)
        self._destination.definitions().flows.change(flow.id, edit)


def remove_pipeline(destination: InstallTarget, pipeline: Pipeline) -> None:
    """Delete a pipeline with its flows and their files."""
    flows = destination.definitions().pipelines.delete(pipeline.id, lambda _pipeline: None)
    for flow in flows or ():
        destination.uploads().remove_all(FileFolder(pipeline.id, flow.id))
    destination.uploads().remove_all(FileFolder(pipeline.id))
