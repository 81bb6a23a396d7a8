"""The destination of an install: artifacts applied, the undo log, and parts that wait."""

from __future__ import annotations

import json
from contextlib import suppress

from looseleaf.errors import Conflicted, InvalidArgument, LooseleafError, Unavailable
from looseleaf.errors.features import FlowMissing, PipelineMissing
from looseleaf.errors.pages import AgentMissing
from looseleaf.features.bundles.artifacts import (
    AGENT,
    CONFIG,
    EXTRA,
    FLOW,
    MEMORY,
    ORDER,
    PIPELINE,
    PROFILES,
    PROMPT,
    QUEUE,
    SCHEDULE,
    UPLOAD,
    Artifact,
    hold_back,
    list_artifacts,
)
from looseleaf.features.bundles.bundle import MEMORY as MEMORY_FILES
from looseleaf.features.bundles.bundle import (
    PIPELINE_FILES,
    Owner,
    WorkflowRules,
    build_flow,
    build_pipeline,
    format_prompt,
    place_prompt,
)
from looseleaf.features.bundles.export import (
    AgentSource,
    BundleTitle,
    collect_bundle,
    list_workflows,
)
from looseleaf.features.bundles.ledger import list_extras, parse_ledger
from looseleaf.features.bundles.manifest import hash_payload
from looseleaf.features.workflows.definitions import pause
from looseleaf.features.workflows.documents import queue_prompts, read_schedule_fields
from looseleaf.features.workflows.uploads import FileFolder
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import ABSENT, Conflict, Found
from looseleaf.times import format_time
from looseleaf.values import FrozenDict, as_dict, field_names, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentList, AgentRecord
    from looseleaf.features.bundles.bundle import Bundle
    from looseleaf.features.bundles.export import AgentWorkflows, PromptOverrides
    from looseleaf.features.bundles.ledger import Ledgers
    from looseleaf.features.bundles.plan import PlanEntry
    from looseleaf.features.workflows.definitions import Definitions, Flow, Pipeline
    from looseleaf.features.workflows.step import StepTypes
    from looseleaf.features.workflows.uploads import FileLimits, WorkflowFiles
    from looseleaf.files.record_folder import RecordFolder
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Change


# Applying one artifact to an agent, or taking it back: each change is complete or not made.


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
            UPLOAD: self._set_upload,
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

    def _set_upload(self, name: str, text: str | None) -> None:
        kind, slug, file = name.split("/", 2)
        workflows = self._list_workflows()
        if f"{MEMORY_FILES}{kind}/" == PIPELINE_FILES:
            pipeline = workflows.pipelines.get(slug)
            folder = FileFolder(pipeline.id) if pipeline is not None else None
        else:
            flow = workflows.flows.get(slug)
            folder = FileFolder(flow.pipeline_id, flow.id) if flow is not None else None
        uploads = self._destination.uploads()
        if folder is None:
            return  # it was removed with its pipeline or flow
        if text is None:
            uploads.delete(folder, file)
        else:
            content = text.encode(errors="surrogateescape")
            uploads.put(folder, file, (content,), self._destination.limits)

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


# The undo log of an install or upgrade: if it is interrupted, the next process takes it back.
# The log is written before the first change and removed after the last. A log that a killed
# process left behind names every change with its former state. The last step of an install is a
# rename that gives the new agent its folder: if no agent has the id, everything of the install
# is removed.


RECORD = "journal"  # the name of its file, which older versions wrote, too
INSTALL, UPGRADE = "install", "upgrade"
USER_PAGE = "USER.md"


@value(kw_only=True)
class UndoLog:
    """An install or upgrade that is under way.

    Fields:
        kind: install or upgrade.
        agent_id: The agent that is being created or changed.
        changes: For each key the former payload (None if it was not there) and the new hash;
            for an install only those of prompts.
        ledger: The former ledger, as JSON, or None if there was none.
        pending: What waited for approval, as JSON, or None if nothing did.
        user_id: For an install: the user whose USER.md is written, 0 for none.
        user_text: The former text of that page, or None if there was none.
        user_hash: The hash of its new text.
    """

    kind: str
    agent_id: int
    changes: tuple[tuple[str, Any, str], ...] = ()
    ledger: Any = None
    pending: Any = None
    user_id: int = 0
    user_text: str | None = None
    user_hash: str = ""


def begin(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Write the undo log; from now on, an unfinished install or upgrade is taken back."""
    fields: dict[str, Any] = as_dict(undo_log)
    destination.ledgers.records.write(RECORD, fields)


def finish(destination: InstallTarget) -> None:
    """Remove the undo log: everything is done, or everything is taken back."""
    destination.ledgers.records.remove(RECORD)


def is_open(destination: InstallTarget) -> bool:
    """Return whether an install or upgrade is under way, or was cut short."""
    return destination.ledgers.records.read(RECORD) is not None


def recover(destination: InstallTarget) -> None:
    """Undo the changes of a process that died; the caller holds the lock of the records."""
    fields = destination.ledgers.records.read(RECORD)
    if fields is None:
        return
    changes = tuple((key, before, new_hash) for key, before, new_hash in fields["changes"])
    undo_log = UndoLog(**{**fields, "changes": changes})
    if undo_log.kind == INSTALL:
        _undo_install(destination, undo_log)
    else:
        _undo_upgrade(destination, undo_log)
    finish(destination)


def _undo_install(destination: InstallTarget, undo_log: UndoLog) -> None:
    try:
        destination.agents.slug_of(undo_log.agent_id)
    except AgentMissing:
        pass
    else:
        return  # it has its folder: the install was complete but for the end of its undo log
    if destination.has_definitions():
        pipelines, _ = destination.definitions().pipelines.list(agents=[undo_log.agent_id])
        for pipeline in pipelines:
            remove_pipeline(destination, pipeline)
    destination.ledgers.remove(undo_log.agent_id)
    destination.pending.write_fields(undo_log.agent_id, None)
    _restore_prompts(destination, undo_log)
    if undo_log.user_id:
        _restore_user_page(destination, undo_log)


def _restore_prompts(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Restore prompts of system tasks, unless someone has changed them since."""
    current = destination.current_prompts()
    for key, before, new_hash in undo_log.changes:
        if key in current and current[key].hash == new_hash:
            destination.prompts.set(current[key].name, before)


def _restore_user_page(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Restore USER.md, unless someone has changed it since."""
    scope = Shelf("user", undo_log.user_id).page(USER_PAGE)
    store = destination.pages.store_for(scope)
    page = store.read(scope)
    if not isinstance(page, Found) or page.hash != undo_log.user_hash:
        return
    if undo_log.user_text is None:
        store.delete(
            scope, if_match=page.hash, change=replace(destination.change, operation="delete")
        )
    else:
        # An install replaces only a starter text, so the former text is one.
        content = undo_log.user_text.encode(errors="surrogateescape")
        change = replace(destination.change, operation="scaffold")
        store.write(scope, content, if_match=page.hash, change=change)


def _undo_upgrade(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Restore the former state of every changed artifact, the last change first."""
    try:
        record = destination.agents.resolve(undo_log.agent_id)
    except AgentMissing:
        return  # the agent was deleted meanwhile, with all changes
    changes = ArtifactChanges(destination, record)
    current = destination.current_artifacts(record)
    for key, before, new_hash in sorted(undo_log.changes, key=_order_of, reverse=True):
        artifact = current.get(key)
        is_new = artifact is not None and artifact.hash == new_hash
        if is_new and (before is None or hash_payload(before) != new_hash):
            changes.apply(key, before)
    destination.pending.write_fields(record.id, undo_log.pending)
    if undo_log.ledger is None:
        destination.ledgers.remove(record.id)
    else:
        destination.ledgers.write(record.id, parse_ledger(record.id, undo_log.ledger))


def _order_of(change: tuple[str, Any, str]) -> tuple[int, str]:
    return ORDER.index(change[0].partition(":")[0]), change[0]


def recover_if_idle(destination: InstallTarget) -> None:
    """Undo the changes of a dead process, unless a running one has the lock; never wait."""
    try:
        with destination.ledgers.records.lock(seconds=0):
            recover(destination)
    except LooseleafError as error:
        with suppress(OSError):
            destination.report("an interrupted import of a bundle is not taken back yet", error)


# Parts of a bundle that wait for approval, kept with their texts: one record for each agent.
# A person decides later, and without the bundle. A newer upgrade of the agent replaces the
# record.


PENDING_UPGRADE, PENDING_INSTALL = "bundle_upgrade", "bundle_install"
LARGEST_RECORD = 8_000_000  # bytes of one record
_PENDING_PREFIX = "pending-"
_SELECTING = (PIPELINE, FLOW)  # the parts that select pages


@value
class PendingArtifact:
    """An artifact that waits; `current_hash` is that of the one here at the time of the plan."""

    path: str
    reason: str
    current_hash: str
    payload: Any


@value
class PendingUpgrade:
    """The parts that wait for approval for one agent.

    Fields:
        kind: bundle_upgrade or bundle_install, after the operation that left them.
        bundle_slug: The name of the bundle.
        bundle_version: Its version.
        created_at: When it was planned.
        created_by: Who brought the bundle.
        artifacts: The artifacts as the bundle has them, by key.
    """

    kind: str
    bundle_slug: str
    bundle_version: str
    created_at: str
    created_by: str
    artifacts: Mapping[str, PendingArtifact] = FrozenDict()

    def target(self, key: str) -> Artifact:
        """Return an artifact as the bundle has it."""
        entry = self.artifacts[key]
        return Artifact(key, entry.path, entry.payload)

    def without(self, keys: Collection[str]) -> PendingUpgrade | None:
        """Return the parts that still wait once some keys are decided, or None if none do."""
        artifacts = {key: entry for key, entry in self.artifacts.items() if key not in keys}
        return replace(self, artifacts=artifacts) if artifacts else None

    def with_present(self, present: Mapping[str, Artifact]) -> PendingUpgrade:
        """Return the parts that wait, with the hashes of artifacts changed here since the plan."""
        artifacts = {
            key: replace(entry, current_hash=present[key].hash) if key in present else entry
            for key, entry in self.artifacts.items()
        }
        return replace(self, artifacts=artifacts)


class PendingUpgrades:
    """The records of a workspace: `.looseleaf/bundles/pending-{id}.json`."""

    def __init__(self, records: RecordFolder) -> None:
        self._records = records

    def agent_ids(self) -> set[int]:
        """Return the ids of agents for which something waits."""
        names = [
            name.removeprefix(_PENDING_PREFIX)
            for name in self._records.names()
            if _PENDING_PREFIX in name
        ]
        return {int(name) for name in names if name.isdecimal()}

    def read(self, agent_id: int) -> PendingUpgrade | None:
        """Read the parts that wait for an agent, or None if there are none."""
        fields = self.read_fields(agent_id)
        return None if fields is None else _parse(agent_id, fields)

    def read_fields(self, agent_id: int) -> dict[str, Any] | None:
        """Read the record of an agent as it is, for an undo log."""
        return self._records.read(f"{_PENDING_PREFIX}{agent_id}")

    def write_fields(self, agent_id: int, fields: Mapping[str, Any] | None) -> None:
        """Write the record of an agent; None removes it."""
        if fields is None:
            self._records.remove(f"{_PENDING_PREFIX}{agent_id}")
        else:
            self._records.write(f"{_PENDING_PREFIX}{agent_id}", fields)


def build_pending(
    header: PendingUpgrade,
    entries: Iterable[PlanEntry],
    target: Mapping[str, Artifact],
    new_keys: Collection[str],
) -> PendingUpgrade | None:
    """Build the record of the entries that wait, or None if there are none.

    Those among the new keys are written at the same time as they are held back.
    """
    artifacts = {}
    for entry in entries:
        artifact = target[entry.key]
        held = hold_back(artifact) if entry.key in new_keys else None
        current_hash = held.hash if held is not None else entry.current_hash
        artifacts[entry.key] = PendingArtifact(
            artifact.path, entry.reason, current_hash, artifact.payload
        )
    return replace(header, artifacts=artifacts) if artifacts else None


def format_pending(upgrade: PendingUpgrade | None) -> dict[str, Any] | None:
    """Return the parts that wait as a JSON document, or raise if it is too large."""
    if upgrade is None:
        return None
    artifacts = {key: as_dict(entry) for key, entry in upgrade.artifacts.items()}
    fields: dict[str, Any] = {name: getattr(upgrade, name) for name in field_names(PendingUpgrade)}
    fields["artifacts"] = artifacts
    size = len(json.dumps(fields))
    if size > LARGEST_RECORD:
        reason = f"{size:,} bytes would wait for approval, and {LARGEST_RECORD:,} can be kept"
        raise InvalidArgument("data", f"{reason}; approve more of the plan at once")
    return fields


def _parse(agent_id: int, fields: Mapping[str, Any]) -> PendingUpgrade:
    try:
        artifacts = {key: PendingArtifact(**entry) for key, entry in fields["artifacts"].items()}
        return PendingUpgrade(**{**fields, "artifacts": artifacts})
    except (KeyError, TypeError, AttributeError) as error:
        name = f".looseleaf/bundles/{_PENDING_PREFIX}{agent_id}.json"
        raise Unavailable(name, f"it is damaged ({error!r})") from error


@value(kw_only=True)
class InstallTarget:
    """The parts of a workspace that an install changes.

    Fields:
        agents: The list of agents.
        pages: The pages.
        definitions: Opens the pipelines and flows, with their database.
        has_definitions: Whether there is a database already.
        uploads: Gives the uploaded files of workflows.
        limits: The bounds of uploaded files.
        prompts: The prompts of system tasks that people replaced.
        sites: The names of sites that the settings have credentials for.
        step_types: The types of steps that pipelines may have.
        ledgers: What is installed for which agent.
        change: The provenance of the pages that are written.
        is_starter: Says whether a page still has its starter text.
        clock: The time.
        highest_id: Gives the highest agent id that other data refers to.
        report: Tells the operator about a failure after which the changes stay.
        show_progress: Shows the progress of the work.
    """

    agents: AgentList
    pages: MemoryPages
    definitions: Callable[[], Definitions]
    has_definitions: Callable[[], bool]
    uploads: Callable[[], WorkflowFiles]
    limits: FileLimits
    prompts: PromptOverrides
    sites: frozenset[str]
    step_types: StepTypes
    ledgers: Ledgers
    change: Change
    is_starter: Callable[[Scope], bool]
    clock: Callable[[], float]
    highest_id: Callable[[], int]
    report: Callable[[str, Exception], None]
    show_progress: Callable[[str, int, int], None]

    @property
    def source(self) -> AgentSource:
        """The parts of the workspace that an agent is read from."""
        definitions = self.definitions() if self.has_definitions() else None
        return AgentSource(self.pages, definitions, self.uploads, self.prompts)

    @property
    def pending(self) -> PendingUpgrades:
        """The parts that wait for approval."""
        return PendingUpgrades(self.ledgers.records)

    def with_bundle_reason(self, bundle_slug: str, bundle_version: str) -> InstallTarget:
        """Return the same parts, with the bundle as the reason of changes that have no other."""
        provenance = self.change.provenance
        if provenance.reason:
            return self
        reason = f"bundle {bundle_slug} {bundle_version}"
        return replace(
            self, change=replace(self.change, provenance=replace(provenance, reason=reason))
        )

    def describe_pending(self, kind: str, bundle: Bundle) -> PendingUpgrade:
        """Begin the record of what waits: the bundle, the time and the actor."""
        title = (bundle.manifest.bundle_slug, bundle.manifest.bundle_version)
        return PendingUpgrade(kind, *title, format_time(self.clock()), self.change.provenance.actor)

    def rules(self, record: AgentRecord | None = None) -> WorkflowRules:
        """Return the rules by which workflows are checked, for the agent that will own them."""
        ids = (record.id, record.owner) if record is not None else (0, 0)
        return WorkflowRules(self.pages.registry, self.step_types, Owner(*ids, self.clock()))

    def target_artifacts(self, bundle: Bundle) -> dict[str, Artifact]:
        """Return the artifacts of a bundle; prompts of tasks unknown here become extras."""
        unknown_names = {name for name in bundle.prompts if not self.prompts.is_known(name)}
        extras = {
            place_prompt(name): format_prompt(name, bundle.prompts[name]) for name in unknown_names
        }
        prompts = {name: text for name, text in bundle.prompts.items() if name not in unknown_names}
        return list_artifacts(replace(bundle, prompts=prompts, extras={**bundle.extras, **extras}))

    def current_artifacts(self, record: AgentRecord) -> dict[str, Artifact]:
        """Return the artifacts of an agent as it is now."""
        title = BundleTitle(record.slug, "1")
        artifacts = list_artifacts(collect_bundle(self.source, record, PROFILES["backup"], title))
        return artifacts | self._read_kept_extras(record)

    def find_missing_pages(
        self, target: Mapping[str, Artifact], record: AgentRecord | None
    ) -> dict[str, str]:
        """Find the pages that workflows of a bundle select and that nothing here has.

        Each is given with the file that selects it.
        """
        missing: dict[str, str] = {}
        for artifact in target.values():
            names = artifact.payload.get("memory_files", ()) if artifact.kind in _SELECTING else ()
            for name in names:
                is_here = self.pages.registry.get(name) is not None or (
                    record is not None and self.pages.exists(record.shelf.page(name))
                )
                if f"{MEMORY}:{name}" not in target and not is_here:
                    missing.setdefault(name, artifact.path)
        return missing

    def current_prompts(self) -> dict[str, Artifact]:
        """Return the prompts of system tasks that were replaced here."""
        return _list_prompts(self.prompts.texts())

    def builtin_prompts(self) -> dict[str, Artifact]:
        """Return the built-in texts of the prompts of system tasks."""
        return _list_prompts(self.prompts.builtin_texts())

    def _read_kept_extras(self, record: AgentRecord) -> dict[str, Artifact]:
        ledger = self.ledgers.read(record.id)
        return {} if ledger is None else list_extras(ledger)


def _list_prompts(texts: Mapping[str, str]) -> dict[str, Artifact]:
    return {
        f"{PROMPT}:{name}": Artifact(f"{PROMPT}:{name}", place_prompt(name), text)
        for name, text in texts.items()
    }
