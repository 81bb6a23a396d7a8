"""Artifacts of jobs: what a run left for other programs, and the address that a gate waits at."""

from __future__ import annotations

import json

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import allow_page
from looseleaf.catalog.workflows.job_documents import JobInfo, describe_job
from looseleaf.catalog.workflows.workflow_access import find_job
from looseleaf.errors import InvalidArgument, LooseleafError
from looseleaf.errors.workflows import ArtifactMissing
from looseleaf.memory.pages import decode_text
from looseleaf.memory.store import Missing
from looseleaf.times import DAY_SECONDS
from looseleaf.values import FrozenDict, value
from looseleaf.workflows import removal
from looseleaf.workflows.artifacts.artifact import (
    AgentMemoryArtifact,
    ArtifactFile,
    DailyMemoryArtifact,
    hash_text,
)
from looseleaf.workflows.artifacts.egress import normalize_egress
from looseleaf.workflows.artifacts.job_artifacts import (
    ToolSummary,
    build_artifacts,
    verify_content,
)
from looseleaf.workflows.artifacts.job_data import OldFileTimes
from looseleaf.workflows.artifacts.reference import parse_reference
from looseleaf.workflows.parts import jobs_of, resources_of
from looseleaf.workflows.steps.webhook_gate import MOST_GATE_BYTES, digest_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Scope
    from looseleaf.workflows.artifacts.job_artifacts import JobArtifacts
    from looseleaf.workflows.job_list import JobState

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
    counts = removal.remove_files(context.parts, times, dry_run=dry_run)
    items = removal.forget_items(context.parts, before, dry_run=dry_run)
    return PrunedJobData(counts.flow_files, counts.job_folders, counts.artifact_folders, items)


def _open_artifacts(context: Context, job_id: int) -> tuple[JobState, JobArtifacts]:
    """Build the artifacts of a job, if its agent is allowed for this operation."""
    job = find_job(context, job_id)
    state = jobs_of(context.parts).jobs.state(job.id)
    slug = context.parts.agents.resolve(job.agent_id).slug if job.agent_id else ""
    return state, build_artifacts(state, slug, lambda scope: _read_page(context, scope))


def _read_page(context: Context, scope: Scope) -> str | None:
    """Read a page as the principal may, or None if that is not possible."""
    try:
        if not context.principal.is_local:
            allow_page(context, scope)
        page = context.pages.read(scope)
        return None if isinstance(page, Missing) else decode_text(scope.filename, page.content)
    except LooseleafError:
        return None
