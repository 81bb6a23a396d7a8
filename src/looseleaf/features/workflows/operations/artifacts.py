"""Artifacts of jobs: what a run left for other programs, and the address that a gate waits at."""

from __future__ import annotations

import hashlib
import json

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import allow_page
from looseleaf.errors import InvalidArgument, LooseleafError
from looseleaf.errors.features import ArtifactBroken, ArtifactMissing
from looseleaf.features.workflows.access import find_job
from looseleaf.features.workflows.artifacts import (
    AgentMemoryArtifact,
    ArtifactFile,
    ArtifactReference,
    DailyMemoryArtifact,
    hash_text,
    normalize_egress,
    parse_reference,
)
from looseleaf.features.workflows.jobs.documents import JobInfo, describe_job
from looseleaf.features.workflows.jobs.folders import OldFileTimes
from looseleaf.features.workflows.operations import jobs
from looseleaf.features.workflows.parts import jobs_of, resources_of
from looseleaf.features.workflows.steps.webhook_gate import MOST_GATE_BYTES, digest_secret
from looseleaf.memory.day import day_of
from looseleaf.memory.pages import decode_text
from looseleaf.memory.scope import Scope
from looseleaf.times import DAY_SECONDS
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.jobs.job import MemoryWrite
    from looseleaf.features.workflows.jobs.queue import JobState

    PageReader = Callable[[Scope, int], str | None]  # a page as of one of its revisions


# The artifacts that a job leaves for other programs, built from its recorded outcomes.


DAILY, MEMORY = "agent_daily_memory", "agent_memory"
_USER_PAGE = "USER.md"


@value
class ToolSummary:
    """A call of a tool that succeeded.

    Fields:
        tool_name: The tool.
        step_id: The step in which it was called.
        summary: The beginning of its result.
    """

    tool_name: str
    step_id: str
    summary: str


@value(kw_only=True)
class JobArtifacts:
    """The artifacts of a job.

    Fields:
        job_id: The job.
        status: The status of the job.
        agent_id: The agent the job acts as.
        agent_slug: The slug of that agent.
        successful_tool_calls: The calls of tools that succeeded.
        artifact_files: Transcripts and tool traces, with size and hash.
        artifact_refs: The references of everything that can be read.
        agent_memory_artifacts: The pages that the job wrote.
        daily_memory_artifacts: The days of the journal that the job wrote.
    """

    job_id: int
    status: str
    agent_id: int
    agent_slug: str
    successful_tool_calls: tuple[ToolSummary, ...] = ()
    artifact_files: tuple[ArtifactFile, ...] = ()
    artifact_refs: tuple[str, ...] = ()
    agent_memory_artifacts: tuple[AgentMemoryArtifact, ...] = ()
    daily_memory_artifacts: tuple[DailyMemoryArtifact, ...] = ()

    def find_page(self, reference: ArtifactReference) -> str | None:
        """Find the content of a page by its reference, or None if there is none."""
        for day in self.daily_memory_artifacts:
            if (day.type, day.date) == (reference.type, reference.qualifier):
                return day.content
        for page in self.agent_memory_artifacts:
            if (page.type, page.file) == (reference.type, reference.qualifier):
                return page.content
        return None

    def find_file(self, reference: ArtifactReference) -> ArtifactFile:
        """Find a file by its reference, or raise `ArtifactMissing`."""
        for file in self.artifact_files:
            if file.ref == str(reference):
                return file
        raise ArtifactMissing(str(reference))


def build_artifacts(state: JobState, agent_slug: str, read_page: PageReader) -> JobArtifacts:
    """Build the artifacts of a job from its recorded outcomes and the revisions that it made."""
    job = state.job
    tools = list(_list_tool_results(state))
    writes = _list_writes(state, tools)
    daily: list[DailyMemoryArtifact] = []
    memory: list[AgentMemoryArtifact] = []
    if job.agent_id:
        daily = list(_build_daily_artifacts(job.agent_id, agent_slug, writes, read_page))
        memory = list(_build_memory_artifacts(job.agent_id, agent_slug, writes, read_page))
    files = tuple(_list_artifact_files(state))
    names = [(day.type, day.date) for day in daily] + [(page.type, page.file) for page in memory]
    pages = [str(ArtifactReference(job.id, kind, qualifier)) for kind, qualifier in names]
    return JobArtifacts(
        job_id=job.id,
        status=job.status,
        agent_id=job.agent_id,
        agent_slug=agent_slug if job.agent_id else "",
        successful_tool_calls=tuple(
            ToolSummary(data["tool_name"], step, data.get("content", "")[:200])
            for step, data in tools
            if data.get("success")
        ),
        artifact_files=files,
        artifact_refs=(*(file.ref for file in files), *pages),
        agent_memory_artifacts=tuple(memory),
        daily_memory_artifacts=tuple(daily),
    )


def verify_content(file: ArtifactFile, content: bytes | None) -> bytes:
    """Return the content of a file, or raise if it is not what the job left."""
    if content is None:
        raise ArtifactMissing(file.ref)
    if len(content) != file.bytes:
        raise ArtifactBroken(file.ref, f"its byte count is {len(content)}, not {file.bytes}")
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ArtifactBroken(file.ref, "its sha256 is not the one that the job recorded")
    return content


@value
class _PageWrite:
    """A write to a page, and the text that was written, as far as it is known."""

    write: MemoryWrite
    content: str = ""
    section: str = ""


def _list_tool_results(state: JobState) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls of tools in their order, each with its step."""
    for step in state.job.steps:
        outcome = state.outcomes.get(step.id)
        for packet in reversed(outcome.packets if outcome else ()):
            if packet.type == "tool_result":
                yield step.id, packet.data


def _list_writes(state: JobState, tools: list[tuple[str, Mapping[str, Any]]]) -> list[_PageWrite]:
    """List the writes of all steps; those of tools with the text they were given."""
    arguments_by_write: dict[tuple[str, int], Mapping[str, Any]] = {}
    for _, data in tools:
        for write in data.get("writes", ()) if data.get("success") else ():
            arguments_by_write[write["file"], write["revision"]] = data.get("arguments", {})
    writes = []
    for outcome in (state.outcomes.get(step.id) for step in state.job.steps):
        for write in outcome.writes if outcome else ():
            arguments = arguments_by_write.get((write.filename, write.revision), {})
            texts = (_as_text(arguments.get("content")), _as_text(arguments.get("section")))
            writes.append(_PageWrite(write, *texts))
    return writes


def _build_daily_artifacts(
    agent_id: int, slug: str, writes: list[_PageWrite], read_page: PageReader
) -> Iterator[DailyMemoryArtifact]:
    """Build one artifact for each day of the agent's journal that was written."""
    by_file: dict[str, list[_PageWrite]] = {}
    for entry in writes:
        is_own = entry.write.layer == "agent" and entry.write.agent_id == agent_id
        if is_own and day_of(entry.write.filename) is not None:
            by_file.setdefault(entry.write.filename, []).append(entry)
    for filename, entries in by_file.items():
        day = day_of(filename)
        revision = entries[-1].write.revision
        content = read_page(Scope("agent", 0, agent_id, filename), revision)
        if content is None:
            content = _format_day(str(day), "\n".join(entry.content for entry in entries))
        if content:
            place = f"memory/agent/{filename}"
            yield DailyMemoryArtifact(
                type=DAILY,
                agent_id=agent_id,
                agent_slug=slug,
                date=str(day),
                source="daily-memory",
                bundle_relative_path=place,
                content=content,
            )


def _format_day(date: str, text: str) -> str:
    """Return the text that was written, under the heading of its day, or "" if it is unknown."""
    text = text.strip()
    heading = f"# Daily Memory: {date}"
    if not text:
        return ""
    return f"{text}\n" if text.startswith(heading) else f"{heading}\n\n{text}\n"


def _build_memory_artifacts(
    agent_id: int, slug: str, writes: list[_PageWrite], read_page: PageReader
) -> Iterator[AgentMemoryArtifact]:
    """Build one artifact for each other page that a bundle has a place for."""
    by_page: dict[tuple[str, str], list[_PageWrite]] = {}
    for entry in writes:
        if day_of(entry.write.filename) is None:
            by_page.setdefault((entry.write.layer, entry.write.filename), []).append(entry)
    for (layer, filename), entries in by_page.items():
        write = entries[-1].write
        place = f"memory/agent/{filename}" if layer == "agent" else ""
        if layer == "user" and filename == _USER_PAGE:
            place = f"memory/{_USER_PAGE}"
        if not place:
            continue
        scope = Scope(layer, write.user_id, write.agent_id, filename)  # type: ignore[arg-type]
        content = read_page(scope, write.revision)
        if content is None:
            parts = [f"## {e.section}\n{e.content}" if e.section else e.content for e in entries]
            content = "\n".join(parts).strip()
        if content:
            yield AgentMemoryArtifact(
                type=MEMORY,
                agent_id=agent_id,
                agent_slug=slug,
                file=filename,
                layer=layer,
                section=entries[-1].section,
                source="agent-memory",
                bundle_relative_path=place,
                content=content,
            )


def _list_artifact_files(state: JobState) -> Iterator[ArtifactFile]:
    for step in state.job.steps:
        outcome = state.outcomes.get(step.id)
        for packet in outcome.packets if outcome else ():
            for entry in packet.metadata.get("artifact_files", ()):
                yield ArtifactFile(**entry)


def _as_text(entry: object) -> str:
    return entry if isinstance(entry, str) else ""


SCHEMA_VERSION = 1

MOST_DAYS = 36_500  # an earlier time cannot be written


@value
class PolicyProvenance:
    """Where the egress policy of a job is from.

    Fields:
        source: flow_snapshot, or none if the flow has no policy.
        path: The place of the policy in the snapshot of the job.
        normalized: Whether unknown parts were taken out.
    """

    source: str
    path: str
    normalized: bool


@value(kw_only=True)
class RunArtifacts:
    """The artifacts of a job.

    Fields:
        schema_version: The version of this form, 1.
        job_id: The number of the job.
        status: The status of the job.
        agent_id: The agent the job acts as, or 0 if none.
        agent_slug: The slug of that agent.
        successful_tool_calls: The calls of tools that succeeded.
        artifact_files: Transcripts and tool traces, each with its reference, size and hash.
        artifact_refs: The references of everything that can be read.
        agent_memory_artifacts: The pages that the job wrote, as a bundle takes them.
        daily_memory_artifacts: The days of the journal that the job wrote, as a bundle takes them.
        run_artifact_egress_policy: The egress policy of the flow, normalized.
        policy_provenance: Where the policy is from.
    """

    schema_version: int
    job_id: int
    status: str
    agent_id: int
    agent_slug: str
    successful_tool_calls: tuple[ToolSummary, ...]
    artifact_files: tuple[ArtifactFile, ...]
    artifact_refs: tuple[str, ...]
    agent_memory_artifacts: tuple[AgentMemoryArtifact, ...]
    daily_memory_artifacts: tuple[DailyMemoryArtifact, ...]
    run_artifact_egress_policy: Mapping[str, Any] = FrozenDict()
    policy_provenance: PolicyProvenance = PolicyProvenance("none", "", normalized=True)


@value
class ArtifactContent:
    """The content of an artifact, verified.

    Fields:
        ref: The reference.
        type: The type of the artifact.
        bytes: The size of the content.
        sha256: The hash of the content.
        content: The content.
    """

    ref: str
    type: str
    bytes: int
    sha256: str
    content: str


@value
class GateAddress:
    """The one-time address that a job waits at.

    Fields:
        job_id: The number of the job.
        step: The id of the step that waits.
        address: The path of the address on this server, to be called with POST.
    """

    job_id: int
    step: str
    address: str


@value
class PrunedJobData:
    """What was removed, or would be.

    Fields:
        flow_files: Uploaded files of flows.
        job_folders: Folders with the packets of a job.
        artifact_folders: Folders with the artifacts of a job.
        processed_items: Items of sources that are forgotten, and may be taken again.
    """

    flow_files: int
    job_folders: int
    artifact_folders: int
    processed_items: int


@operation("datamachine/get-run-artifacts", permission="read", categories=("jobs",), read_only=True)
def get_run_artifacts(context: Context, job: int) -> RunArtifacts:
    """Show what a job left: the pages that it wrote, transcripts, tool traces, egress policy.

    Arguments:
        job: The number of the job.
    """
    state, artifacts = _open_artifacts(context, job)
    flow = state.snapshot.get("flow", {})
    policy = normalize_egress(flow.get("run_artifacts"))
    provenance = PolicyProvenance("none", "", normalized=True)
    if policy:
        provenance = PolicyProvenance("flow_snapshot", "flow.run_artifacts", normalized=True)
    return RunArtifacts(
        schema_version=SCHEMA_VERSION,
        job_id=artifacts.job_id,
        status=artifacts.status,
        agent_id=artifacts.agent_id,
        agent_slug=artifacts.agent_slug,
        successful_tool_calls=artifacts.successful_tool_calls,
        artifact_files=artifacts.artifact_files,
        artifact_refs=artifacts.artifact_refs,
        agent_memory_artifacts=artifacts.agent_memory_artifacts,
        daily_memory_artifacts=artifacts.daily_memory_artifacts,
        run_artifact_egress_policy=policy,
        policy_provenance=provenance,
    )


@operation(
    "datamachine/hydrate-job-artifact", permission="read", categories=("jobs",), read_only=True
)
def hydrate_artifact(context: Context, ref: str) -> ArtifactContent:
    """Read the content of an artifact, verified by its size and hash.

    Arguments:
        ref: The reference, such as datamachine://jobs/7/artifacts/transcript/draft.
    """
    reference = parse_reference(ref)
    _, artifacts = _open_artifacts(context, reference.job_id)
    page = artifacts.find_page(reference)
    if page is not None:
        size = len(page.encode("utf-8", "surrogatepass"))
        return ArtifactContent(ref, reference.type, size, hash_text(page), page)
    file = artifacts.find_file(reference)
    content = resources_of(context.parts).files.read_artifact(reference)
    text = verify_content(file, content).decode()
    return ArtifactContent(ref, file.type, file.bytes, file.sha256, text)


@operation("looseleaf/show-job-transcript", permission="read", categories=("jobs",), read_only=True)
def show_transcript(context: Context, job: int, *, step: str = "") -> ArtifactContent:
    """Show the transcript of a job, if transcripts are kept.

    Arguments:
        job: The number of the job.
        step: The id of the step; without it, the last one that left a transcript.
    """
    _, artifacts = _open_artifacts(context, job)
    refs = [
        file.ref
        for file in artifacts.artifact_files
        if file.type == "transcript" and (not step or file.ref.endswith(f"/{step}"))
    ]
    if not refs:
        raise ArtifactMissing(f"datamachine://jobs/{job}/artifacts/transcript")
    return hydrate_artifact(context, refs[-1])


@operation("looseleaf/show-gate-address", permission="flows", categories=("jobs",), read_only=True)
def show_gate(context: Context, job: int, *, step: str = "") -> GateAddress:
    """Show the one-time address that a waiting job is called at.

    Arguments:
        job: The number of the job.
        step: The id of the step that waits; without it, the one that does.
    """
    record = find_job(context, job)
    waiting_ids = [run.id for run in record.steps if run.status == "waiting"]
    step_id = step or next(iter(waiting_ids), "")
    if step_id not in waiting_ids:
        raise InvalidArgument("job", f"the job {job} does not wait for a call")
    address = resources_of(context.parts).files.read_gate(record, step_id)
    return GateAddress(job, step_id, address)


@operation("looseleaf/open-gate", permission="flows", categories=("jobs",))
def open_gate(
    context: Context,
    job: int,
    *,
    step: str = "",
    body: Mapping[str, Any] = FrozenDict(),
) -> JobInfo:
    """Continue a job that waits for a call, as the call would; the gate opens once.

    Arguments:
        job: The number of the job.
        step: The id of the step that waits; without it, the one that does.
        body: What the call would bring, which becomes the packet of the step.
    """
    if len(json.dumps(body)) > MOST_GATE_BYTES:
        raise InvalidArgument("body", f"it has more than {MOST_GATE_BYTES} characters of JSON")
    gate = show_gate(context, job, step=step)
    digest = digest_secret(gate.address.rpartition("/")[2])
    record = jobs_of(context.parts).jobs.signal(job, gate.step, body, gate=digest)
    return describe_job(context, record)


@operation("looseleaf/prune-job-data", permission="operate", categories=("jobs",), destructive=True)
def prune_job_data(
    context: Context, *, days: int = 30, flow_files: bool = False, dry_run: bool = False
) -> PrunedJobData:
    """Remove old data of jobs: their packets, artifacts, and the list of items taken before.

    Arguments:
        days: How many days old the data must be; jobs, and the pages they wrote, stay.
        flow_files: Whether uploaded files of flows go, too.
        dry_run: Whether it only counts.
    """
    context.allow()
    if not 1 <= days <= MOST_DAYS:
        raise InvalidArgument("days", f"it must be from 1 to {MOST_DAYS}")
    before = context.clock() - days * DAY_SECONDS
    times = OldFileTimes(before if flow_files else 0.0, before, before)
    counts = jobs.remove_files(context.parts, times, dry_run=dry_run)
    items = jobs.forget_items(context.parts, before, dry_run=dry_run)
    return PrunedJobData(counts.flow_files, counts.job_folders, counts.artifact_folders, items)


def _open_artifacts(context: Context, job_id: int) -> tuple[JobState, JobArtifacts]:
    """Build the artifacts of a job, if its agent is allowed for this operation."""
    job = find_job(context, job_id)
    state = jobs_of(context.parts).jobs.state(job.id)
    slug = context.parts.agents.resolve(job.agent_id).slug if job.agent_id else ""

    def read_page(scope: Scope, revision: int) -> str | None:
        return _read_page(context, scope, revision)

    return state, build_artifacts(state, slug, read_page)


def _read_page(context: Context, scope: Scope, revision: int) -> str | None:
    """Read a page as the job left it and the principal may, or None if that is not possible."""
    try:
        if not context.principal.is_local:
            allow_page(context, scope)
        return decode_text(scope.filename, context.read_past(scope, str(revision)))
    except LooseleafError:
        return None
