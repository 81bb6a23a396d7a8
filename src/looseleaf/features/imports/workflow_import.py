"""The import of pipelines, flows and their files: decide about each, and store it as a bundle does.

A definition that nobody changed here follows the source; one that was changed here stays. Schedules
arrive paused, and from then on schedules and queues belong to those who run the flow.
"""

from __future__ import annotations

from looseleaf.catalog.resolution import agent_of
from looseleaf.errors import Invalid, Refused
from looseleaf.errors.pages import AgentMissing
from looseleaf.features.bundles.artifacts import FLOW, PIPELINE, RUNTIME_KEYS
from looseleaf.features.bundles.bundle import (
    build_flow,
    build_pipeline,
    format_flow,
    format_pipeline,
)
from looseleaf.features.bundles.export import AgentWorkflows, list_workflows
from looseleaf.features.bundles.install_target import ArtifactChanges
from looseleaf.features.bundles.manifest import hash_payload
from looseleaf.features.bundles.workspace_target import install_target_of
from looseleaf.features.imports.ledger import (
    CREATE,
    FAILED,
    LEFT_OUT,
    REPLACE,
    UNCHANGED,
    ImportedPart,
    WorkflowReport,
    find_parts,
)
from looseleaf.features.workflows.definitions import MANUAL, make_slug
from looseleaf.features.workflows.uploads import FileFolder, check_upload_name
from looseleaf.memory.store import hash_content
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.features.bundles.install_target import InstallTarget
    from looseleaf.features.bundles.source_tree import SourceContent, SourcePipeline, SourceUpload
    from looseleaf.features.imports.ledger import ImportLedger, Records
    from looseleaf.features.imports.sources import ImportTargets
    from looseleaf.features.workflows.definitions import Flow, Pipeline


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


# The import of uploaded files of pipelines and flows.
# A folder has the files, and the database of the site has the definitions, which an import of
# the site brings.


FILE = "file"
SITE_KIND = "datamachine-site"
_NO_DEFINITION = (
    "its definition is in the database of the site: import the site by its address first, then "
    "this folder again"
)
_SEVERAL = "several sites that were imported have {} {}, and a folder does not say whose it is"
_GONE = "{} {} of the site is not here any more"
_NAMESAKE_FILE = "another file of this name is there"


@value
class _Place:
    """The folder of an uploaded file here, or the reason why there is none."""

    folder: FileFolder | None
    owner: str = ""
    name: str = ""
    reason: str = ""


class UploadImport:
    """Imports uploaded files of one source."""

    def __init__(
        self,
        destination: InstallTarget,
        records: Records,
        ledger: ImportLedger,
        find_agent: Callable[[str], AgentRecord | None],
        *,
        is_preview: bool,
    ) -> None:
        self._destination, self._records, self._ledger = destination, records, ledger
        self._find_agent, self._is_preview = find_agent, is_preview

    def import_upload(self, upload: SourceUpload) -> WorkflowReport:
        """Import a file to its pipeline or flow here; a file that was changed here stays."""
        place = self._find_place(upload)
        if place.folder is None:
            return WorkflowReport(LEFT_OUT, FILE, "", upload.name, upload.source, place.reason)
        action, reason = self._decide(place.folder, upload)
        if action in (CREATE, REPLACE) and not self._is_preview:
            try:
                self._destination.uploads().put(
                    place.folder, upload.name, (upload.content,), self._destination.limits
                )
            except (Invalid, Refused) as error:
                action, reason = FAILED, str(error)
        if action not in (LEFT_OUT, FAILED):
            digest = hash_content(upload.content)
            part = ImportedPart(digest, digest, place.owner, upload.name)
            self._ledger.add_part(f"{FILE}:{upload.source}", part)
        name = f"{place.name}: {upload.name}"
        return WorkflowReport(action, FILE, place.owner, name, upload.source, reason)

    def _find_place(self, upload: SourceUpload) -> _Place:
        kind = FLOW if upload.flow else PIPELINE
        source_id = upload.flow or upload.pipeline
        parts = find_parts(self._records, SITE_KIND, f"{kind}:{source_id}")
        if not parts:
            return _Place(None, reason=_NO_DEFINITION)
        if len(parts) > 1:
            return _Place(None, reason=_SEVERAL.format(kind, source_id))
        part, record = parts[0], self._find_agent(parts[0].agent)
        if record is None or not self._destination.has_definitions():
            return _Place(None, reason=_GONE.format(kind, source_id))
        workflows = list_workflows(self._destination.definitions(), record.id)
        pipeline = workflows.pipelines.get(part.pipeline_slug if upload.flow else part.slug)
        if pipeline is None:
            return _Place(None, reason=_GONE.format(kind, source_id))
        if not upload.flow:
            return _Place(FileFolder(pipeline.id), record.slug, pipeline.slug)
        for flow in workflows.flows.values():
            if (flow.pipeline_id, flow.slug) == (pipeline.id, part.slug):
                folder = FileFolder(pipeline.id, flow.id)
                return _Place(folder, record.slug, f"{pipeline.slug}/{flow.slug}")
        return _Place(None, reason=_GONE.format(kind, source_id))

    def _decide(self, folder: FileFolder, upload: SourceUpload) -> tuple[str, str]:
        try:
            check_upload_name(upload.name, self._destination.limits.types)
        except Invalid as error:
            return LEFT_OUT, str(error)
        limit = self._destination.limits.size
        if len(upload.content) > limit:
            return LEFT_OUT, f"it has more than {limit:,} bytes"
        uploads = self._destination.uploads()
        former = self._ledger.find_part(f"{FILE}:{upload.source}")
        if upload.name not in {file.name for file in uploads.list(folder)}:
            if former is not None:
                return LEFT_OUT, "it was deleted here after the last import"
            return CREATE, ""
        current = hash_content(b"".join(uploads.read(folder, upload.name)))
        if current == hash_content(upload.content):
            return UNCHANGED, "it is the same here"
        if former is not None and former.target == current:
            return REPLACE, "the source has changed, and nobody changed it here"
        return LEFT_OUT, _NAMESAKE_FILE


# The pipelines, flows and uploaded files of a source, imported to the agents of this workspace.


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
