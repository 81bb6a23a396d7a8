"""The import of pipelines, flows and their files: decide about each, and store it as a bundle does.

A definition that nobody changed here follows the source; one that was changed here stays. Schedules
arrive paused, and from then on schedules and queues belong to those who run the flow.
"""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import FLOW, PIPELINE, RUNTIME_KEYS
from looseleaf.bundles.export import AgentWorkflows, list_workflows
from looseleaf.bundles.importers.decision import CREATE, FAILED, LEFT_OUT, REPLACE, UNCHANGED
from looseleaf.bundles.importers.ledger import ImportedPart
from looseleaf.bundles.importers.report import WorkflowReport
from looseleaf.bundles.installation.artifact_changes import ArtifactChanges
from looseleaf.bundles.layout.bundle_json import hash_payload
from looseleaf.bundles.layout.workflow_definitions import build_flow, build_pipeline
from looseleaf.bundles.layout.workflow_files import format_flow, format_pipeline
from looseleaf.errors import Invalid, Refused
from looseleaf.values import replace, value
from looseleaf.workflows.flow import MANUAL
from looseleaf.workflows.slug import make_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.importers.contract import SourcePipeline
    from looseleaf.bundles.importers.ledger import ImportLedger
    from looseleaf.bundles.installation.destination import InstallTarget
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline

_DELETED = "it was deleted here after the last import"
_CHANGED_HERE = "it was changed here and in the source since the last import, and stays as it is"
_NAMESAKE = "the agent has another one of this name, which no import brought"


@value
class Hashes:
    """The hashes of a definition: in the source, as it would be here, and as it is here."""

    source: str
    target: str
    current: str  # "" if it is not here

    def result(self, action: str) -> str:
        """Return the hash of the definition here after an action."""
        return self.target if action in (CREATE, REPLACE) else self.current


@value
class _Decision:
    """The outcome for one definition."""

    action: str
    reason: str = ""


class WorkflowImport:
    """Imports pipelines of one source with their flows."""

    def __init__(
        self, destination: InstallTarget, ledger: ImportLedger, *, is_preview: bool
    ) -> None:
        self._destination, self._ledger, self._is_preview = destination, ledger, is_preview
        self._new_slugs: dict[str, list[str]] = {}  # of flows that a run would create, by agent

    def import_pipeline(
        self, source: SourcePipeline, record: AgentRecord | None, owner: str
    ) -> list[WorkflowReport]:
        """Import a pipeline and its flows; `record` is None if a run would create the agent."""
        source_id = source.pipeline.id
        key = f"{PIPELINE}:{source_id}"
        former = self._ledger.find_part(key)
        slug = former.slug if former is not None else source.pipeline.slug
        current = self._list_workflows(record).pipelines.get(slug)
        document = format_pipeline(source.pipeline, slug)
        try:
            pipeline = build_pipeline(slug, document, self._destination.rules(record))
        except Invalid as error:
            decision = _Decision(LEFT_OUT, str(error))
            return [_build_report(PIPELINE, slug, source_id, owner, decision)]
        hashes = Hashes(
            hash_payload(document),
            hash_payload(format_pipeline(pipeline, slug)),
            hash_payload(format_pipeline(current, slug)) if current is not None else "",
        )
        decision = _decide(hashes, former)
        decision = self._apply(record, f"{PIPELINE}:{slug}", document, decision)
        if decision.action not in (LEFT_OUT, FAILED):
            part = ImportedPart(hashes.source, hashes.result(decision.action), owner, slug)
            self._ledger.add_part(key, part)
        reports = [_build_report(PIPELINE, slug, source_id, owner, decision)]
        if not self._is_preview:
            current = self._list_workflows(record).pipelines.get(slug)
        elif decision.action in (CREATE, REPLACE):
            current = replace(pipeline, id=current.id if current is not None else 0)
        if current is not None:
            for flow in source.flows:
                # Steps of a flow are placed as in the source, also if they were changed here.
                file = format_flow(flow, flow.slug, source.pipeline, current.slug)
                reports.append(self._import_flow(flow, file, current, record, owner))
        return reports

    def _import_flow(
        self,
        source: Flow,
        file: Mapping[str, Any],
        pipeline: Pipeline,
        record: AgentRecord | None,
        owner: str,
    ) -> WorkflowReport:
        key = f"{FLOW}:{source.id}"
        former = self._ledger.find_part(key)
        flows = self._list_workflows(record).flows
        name, current = _find_flow(flows, pipeline, source, former)
        if former is None and current is None:
            new_slugs = self._new_slugs.setdefault(owner, [])
            name = make_slug(name, fallback=FLOW, used_slugs=[*flows, *new_slugs])
            new_slugs.append(name)
        document = {**file, "slug": name}
        title = f"{pipeline.slug}/{current.slug if current is not None else name}"
        try:
            flow = build_flow(name, document, pipeline, self._destination.rules(record))
        except Invalid as error:
            return _build_report(FLOW, title, source.id, owner, _Decision(LEFT_OUT, str(error)))
        hashes = Hashes(
            _hash_flow(document),
            _hash_flow(format_flow(flow, name, pipeline, pipeline.slug)),
            _hash_flow(format_flow(current, name, pipeline, pipeline.slug)) if current else "",
        )
        decision = _decide(hashes, former)
        decision = self._apply(record, f"{FLOW}:{name}", document, decision)
        if decision.action not in (LEFT_OUT, FAILED):
            slug = current.slug if current is not None else name
            result = hashes.result(decision.action)
            part = ImportedPart(hashes.source, result, owner, slug, pipeline.slug)
            self._ledger.add_part(key, part)
        if decision.action == CREATE and flow.schedule.interval != MANUAL:
            interval = flow.schedule.interval
            decision = _Decision(CREATE, f"its schedule ({interval}) is paused until it is enabled")
        return _build_report(FLOW, title, source.id, owner, decision)

    def _apply(
        self,
        record: AgentRecord | None,
        key: str,
        document: Mapping[str, Any],
        decision: _Decision,
    ) -> _Decision:
        if self._is_preview or record is None or decision.action not in (CREATE, REPLACE):
            return decision
        try:
            ArtifactChanges(self._destination, record).apply(key, document)
        except (Invalid, Refused) as error:
            return _Decision(FAILED, str(error))
        return decision

    def _list_workflows(self, record: AgentRecord | None) -> AgentWorkflows:
        if record is None or not self._destination.has_definitions():
            return AgentWorkflows({}, {})
        return list_workflows(self._destination.definitions(), record.id)


def _find_flow(
    flows: Mapping[str, Flow], pipeline: Pipeline, source: Flow, former: ImportedPart | None
) -> tuple[str, Flow | None]:
    """Find the flow here that a flow of the source became, and its name among those of the agent.

    A flow that is not in the ledger is found by its name: a killed import may have brought it.
    """
    slug = former.slug if former is not None else source.slug
    siblings = [(name, flow) for name, flow in flows.items() if flow.pipeline_id == pipeline.id]
    for name, flow in siblings:
        if flow.slug == slug:
            return name, flow
    if former is None:
        for name, flow in siblings:
            if flow.name == source.name:
                return name, flow
    return slug, None


def _decide(hashes: Hashes, former: ImportedPart | None) -> _Decision:
    """Decide about a definition, as about a page; a definition that was changed here stays."""
    if not hashes.current:
        return _Decision(CREATE) if former is None else _Decision(LEFT_OUT, _DELETED)
    if hashes.current == hashes.target:
        return _Decision(UNCHANGED, "it is the same here")
    if former is None:
        return _Decision(LEFT_OUT, _NAMESAKE)
    if former.source == hashes.source:
        return _Decision(UNCHANGED, "the source has not changed since the last import")
    if former.target == hashes.current:
        return _Decision(REPLACE, "the source has changed, and nobody changed it here")
    return _Decision(LEFT_OUT, _CHANGED_HERE)


def _hash_flow(document: Mapping[str, Any]) -> str:
    """Return the hash of a flow without its slug, schedule and queue."""
    return hash_payload(
        {key: field for key, field in document.items() if key not in (*RUNTIME_KEYS, "slug")}
    )


def _build_report(
    kind: str, name: str, source_id: int, owner: str, decision: _Decision
) -> WorkflowReport:
    source = f"{kind} {source_id}"
    return WorkflowReport(decision.action, kind, owner, name, source, decision.reason)
