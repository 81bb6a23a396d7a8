"""Jobs: the list of runs, and one run with its progress, packets, artifacts and actions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from looseleaf.errors import Invalid, InvalidArgument
from looseleaf.errors.features import FlowMissing, JobMissing, PipelineMissing
from looseleaf.features.chat.views import build_rows, describe_value
from looseleaf.features.workflows.jobs.job import ACTIVE, FINAL, SUCCESSES
from looseleaf.features.workflows.pipeline_views import may_change
from looseleaf.features.workflows.steps.texts import MATERIAL
from looseleaf.plugins.admin_pages import Document, Download, Redirect
from looseleaf.times import parse_time
from looseleaf.values import replace, value
from looseleaf.web.admin.views.pages import build_page_link

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.features.workflows.jobs.documents import (
        JobInfo,
        JobList,
        PacketInfo,
        StepInfo,
        WriteInfo,
    )
    from looseleaf.features.workflows.operations.artifacts import ArtifactContent, RunArtifacts
    from looseleaf.plugins.admin_pages import ListPart, Visit


# Jobs and their steps as rows: the status in words, times, tokens and the pages they changed.


STATUS_WORDS = {
    "pending": "waits for a worker",
    "processing": "running",
    "waiting": "waits for a call",
    "paused": "paused",
    "completed": "done",
    "completed_no_items": "done, nothing to do",
    "agent_skipped": "done, the agent chose to do nothing",
    "failed": "failed",
    "cancelled": "cancelled",
}
STEP_WORDS = {
    "pending": "not begun",
    "processing": "running",
    "completed": "done",
    "no_items": "nothing to do",
    "waiting": "waits for a call",
    "skipped": "skipped",
    "failed": "failed",
}
# The color of a status: grey, the accent, or amber if a person should look.
_TONES = {"processing": "today", "waiting": "attention", "failed": "attention"}
_STEP_MARKS = {"completed": "✓", "no_items": "✓", "processing": "▸", "waiting": "…", "failed": "✗"}


@value
class WriteLink:
    """A page that a job changed, and the address of that revision."""

    file: str
    revision: int
    operation: str
    link: str


@value(kw_only=True)
class JobRow:
    """A job as a list shows it."""

    number: int
    label: str
    agent: str
    link: str
    status: str
    tone: str
    reason: str
    created: float
    duration: float | None  # None before its first step
    is_running: bool
    tokens: int
    writes: tuple[WriteLink, ...]


@value(kw_only=True)
class StepRow:
    """A step of a job as its page shows it."""

    id: str
    label: str
    type: str
    status: str
    mark: str
    state: str  # the status as a class of styles
    detail: str
    attempts: int
    duration: float | None
    is_running: bool
    tokens: int
    packets: int
    writes: tuple[WriteLink, ...]


def build_job_address(job: JobInfo) -> str:
    """Return the address of the page of a job."""
    place = f"agents/{quote(job.agent)}/jobs" if job.agent else "jobs"
    return f"/admin/{place}/{job.job_id}"


def build_job_row(job: JobInfo, now: float) -> JobRow:
    """Describe a job for a list."""
    is_final = job.status in FINAL
    is_running = bool(job.started_at) and job.status == "processing"
    return JobRow(
        number=job.job_id,
        label=job.label or f"Job {job.job_id}",
        agent=job.agent,
        link=build_job_address(job),
        status=_describe_status(job),
        tone=_TONES.get(job.status, ""),
        reason=job.reason if job.status != "waiting" else "",
        created=parse_time(job.created_at),
        duration=_measure_duration(job.started_at, job.seconds if is_final else None, now),
        is_running=is_running,
        tokens=job.input_tokens + job.output_tokens,
        writes=link_writes(job.writes, job.agent),
    )


def build_step_rows(job: JobInfo, now: float) -> list[StepRow]:
    """Describe the steps of a job."""
    return [_build_step_row(step, job.agent, now) for step in job.steps]


def _build_step_row(step: StepInfo, agent: str, now: float) -> StepRow:
    is_running = step.status == "processing"
    started_at = step.started_at if step.status != "pending" else ""
    # The address of a gate stands above the steps; the reason would only name the command for it.
    reason = step.reason if step.status != "waiting" else ""
    return StepRow(
        id=step.id,
        label=step.label or step.type.replace("_", " "),
        type=step.type,
        status=STEP_WORDS.get(step.status, step.status),
        mark=_STEP_MARKS.get(step.status, "·"),
        state=step.status,
        detail=step.progress if is_running and step.progress else reason,
        attempts=step.attempts,
        duration=_measure_duration(started_at, step.seconds if step.ended_at else None, now),
        is_running=is_running,
        tokens=step.input_tokens + step.output_tokens,
        packets=step.packets,
        writes=link_writes(step.writes, agent),
    )


def link_writes(writes: tuple[WriteInfo, ...], agent: str) -> tuple[WriteLink, ...]:
    """Return the pages that were changed, each with the address of its revision."""
    return tuple(
        WriteLink(
            write.file,
            write.revision,
            write.operation,
            f"{build_page_link(write.agent or agent, write.layer, write.file, 'history')}"
            f"?revision={write.revision}"
            if write.agent or agent
            else "",
        )
        for write in writes
    )


def _describe_status(job: JobInfo) -> str:
    words = STATUS_WORDS.get(job.status, job.status)
    if job.status == "pending" and job.next_attempt_at:
        time = job.next_attempt_at[:16].replace("T", " ")
        return f"tried again at {time} UTC" if job.attempts else f"begins at {time} UTC"
    return words


def _measure_duration(start: str, seconds: float | None, now: float) -> float | None:
    """Measure the seconds from a start to its end, or until now, or None before the start."""
    if not start:
        return None
    return max(now - parse_time(start), 0.0) if seconds is None else seconds


# Details of a job for people: packets, artifacts, transcripts, and the gate if it waits.


MOST_PACKETS = 20  # shown in full on the page of a job
MOST_CHARACTERS = 2_000  # of one field of a packet
MOST_MESSAGES = 60  # of a transcript, the newest
PACKET_WORDS = {
    "item": "Item",
    "ai_response": "Answer of the model",
    "tool_result": "Result of a tool",
    "memory_update": "Memory written",
    "webhook": "Inbound call",
    "publication": "Publication",
    "task_result": "Result of a system task",
}
ARTIFACT_WORDS = {
    "transcript": "Transcript",
    "tool-trace": "Calls of tools",
    "agent_memory": "Page",
    "agent_daily_memory": "Day of the journal",
}


@value(kw_only=True)
class PacketView:
    """A packet as people read it: names and texts."""

    number: int
    step: str
    kind: str
    time: float
    title: str
    rows: tuple[tuple[str, str], ...]
    metadata: tuple[tuple[str, str], ...]


@value
class ArtifactView:
    """An artifact, and the addresses where it is read."""

    label: str
    name: str
    size: int
    link: str
    transcript: str  # the address where a transcript is read; "" for others


@value
class TranscriptMessage:
    """A message of a transcript."""

    speaker: str
    is_agent: bool
    text: str
    rows: tuple[tuple[str, str], ...]


def read_number(text: str) -> int:
    """Read a number of an address, or 0 for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def find_workflow(visit: Visit, job: JobInfo) -> dict[str, Any]:
    """Find the pipeline and the flow of a job, as far as they still exist."""
    workflow: dict[str, Any] = {"pipeline": None, "flow": None}
    try:
        if job.pipeline_id:
            workflow["pipeline"] = visit.run("looseleaf/show-pipeline", pipeline=job.pipeline_id)
        if job.flow_id:
            workflow["flow"] = visit.run("looseleaf/show-flow", flow=job.flow_id)
    except (PipelineMissing, FlowMissing):
        return workflow
    return workflow


def find_gate(visit: Visit, job: JobInfo) -> str:
    """Return the one-time address that a job waits at, or "" if it waits for nothing."""
    if job.status != "waiting":
        return ""
    try:
        gate = visit.run("looseleaf/show-gate-address", job=job.job_id)
    except InvalidArgument:
        return ""  # the call came in the meantime
    return f"{visit.base}{gate.address}"


LONGEST_DRAFT = 15_000  # characters; the body that opens a gate has at most 64,000 bytes


def find_draft(visit: Visit, job: JobInfo) -> str:
    """Return the text that waits at the gate of a job and goes on when it opens, or ""."""
    if job.status != "waiting":
        return ""
    packets: list[PacketInfo] = visit.run("looseleaf/show-job-packets", job=job.job_id)
    texts = [packet.data.get("content") for packet in packets if packet.type in MATERIAL]
    draft = next((text for text in texts if isinstance(text, str)), "")
    return draft if len(draft) <= LONGEST_DRAFT else ""


def list_packets(visit: Visit, job: JobInfo) -> ListPart:
    """Describe the packets of a job, newest first."""
    packets: list[PacketInfo] = visit.run("looseleaf/show-job-packets", job=job.job_id)
    labels = {step.id: step.label or step.type for step in job.steps}
    views = []
    part = visit.cut(packets, MOST_PACKETS, name="packets")
    for number, packet in enumerate(part, part.first):
        rows = _cut_rows(packet.data)
        title = str(packet.data.get("title") or packet.data.get("tool_name") or "")
        views.append(
            PacketView(
                number=len(packets) - number,
                step=labels.get(packet.step, packet.step),
                kind=PACKET_WORDS.get(packet.type, packet.type.replace("_", " ")),
                time=parse_time(packet.timestamp),
                title=title[:120],
                rows=rows,
                metadata=_cut_rows(packet.metadata),
            )
        )
    return replace(part, entries=tuple(views))


def list_artifacts(visit: Visit, job: JobInfo) -> list[ArtifactView]:
    """Describe the artifacts of a job."""
    artifacts: RunArtifacts = visit.run("datamachine/get-run-artifacts", job=job.job_id)
    address = build_job_address(job)
    views = []
    for file in artifacts.artifact_files:
        step = file.ref.rpartition("/")[2]
        link = f"{address}/artifact?{urlencode({'ref': file.ref})}"
        transcript = f"{address}/transcript?step={quote(step)}" if file.type == "transcript" else ""
        label = ARTIFACT_WORDS.get(file.type, file.type.replace("_", " "))
        views.append(ArtifactView(label, step, file.bytes, link, transcript))
    pages = [(day.type, day.date, day.content) for day in artifacts.daily_memory_artifacts]
    pages += [(page.type, page.file, page.content) for page in artifacts.agent_memory_artifacts]
    for kind, name, content in pages:
        ref = f"datamachine://jobs/{job.job_id}/artifacts/{kind}/{name}"
        link = f"{address}/artifact?{urlencode({'ref': ref})}"
        size = len(content.encode("utf-8", "surrogatepass"))
        views.append(ArtifactView(ARTIFACT_WORDS[kind], name, size, link, ""))
    return views


def download_artifact(visit: Visit) -> Document | Redirect | Download:
    """Return the content of an artifact as a file, verified."""
    artifact: ArtifactContent = visit.run(
        "datamachine/hydrate-job-artifact", ref=visit.query.get("ref", "")
    )
    name = artifact.ref.partition("/artifacts/")[2].replace("/", "-")
    is_page = artifact.type in ("agent_memory", "agent_daily_memory")
    if is_page:
        file_name = name if name.endswith(".md") else f"{name}.md"
        return Download(file_name, "text/markdown", artifact.content)
    return Download(f"{name}.json", "application/json", artifact.content)


def show_transcript(visit: Visit) -> Document | Redirect | Download:
    """Show what a step and its model said to each other."""
    job: JobInfo = visit.run("datamachine/get-job", job=read_number(visit.parameters["job"]))
    step = visit.query.get("step", "")
    artifact: ArtifactContent = visit.run(
        "looseleaf/show-job-transcript", job=job.job_id, step=step
    )
    messages, total = read_transcript(artifact.content)
    label = next((run.label or run.type for run in job.steps if run.id == step), step)
    data = {
        "agent": visit.run("looseleaf/show-agent", agent=job.agent),
        "job": job,
        "address": build_job_address(job),
        "messages": messages,
        "total": total,
        "step": label,
        "download": f"{build_job_address(job)}/artifact?{urlencode({'ref': artifact.ref})}",
    }
    return Document("workflows/transcript.html", f"Transcript of {label}", data)


def read_transcript(content: str) -> tuple[list[TranscriptMessage], int]:
    """Read the messages of a transcript, the newest of many, and count all of them."""
    try:
        document = json.loads(content)
        entries = document["messages"]
        messages = [_describe_message(entry) for entry in entries[-MOST_MESSAGES:]]
        return messages, int(document.get("total", len(entries)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Invalid("The transcript is not in a form that this page can read.") from error


def _describe_message(entry: dict[str, Any]) -> TranscriptMessage:
    role = str(entry.get("role", ""))
    text = _describe_text(str(entry.get("content", "")))
    rows: list[tuple[str, str]] = []
    for call in entry.get("tool_calls", ()):
        arguments = describe_value(call.get("arguments", ""))
        rows.append((f"uses {call.get('name', '')}", arguments[:MOST_CHARACTERS]))
    speakers = {
        "user": "The step",
        "assistant": "The model",
        "tool": f"Tool {entry.get('tool_name', '')}",
    }
    return TranscriptMessage(speakers.get(role, role), role == "assistant", text, tuple(rows))


def _describe_text(text: str) -> str:
    """Write packets and results of tools, which models get as JSON, as lines."""
    try:
        document = json.loads(text)
    except ValueError:
        return text
    return describe_value(document) if isinstance(document, dict) else text


def _cut_rows(document: object) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …")
        for name, text in build_rows(document)
        if text
    )


MOST = 25  # jobs on one page of the list
EVENTS = "/datamachine/v1/jobs"
CHOICES = (
    ("", "All", ()),
    ("active", "Under way", ACTIVE),
    ("failed", "Failed", ("failed", "cancelled")),
    ("done", "Done", SUCCESSES),
)
REQUESTS = {
    "cancel": ("looseleaf/cancel-job", "The job is cancelled. A running step is notified."),
    "pause": ("looseleaf/pause-job", "The job pauses; a running step is finished first."),
    "resume": ("looseleaf/resume-job", "The job goes on."),
    "retry": ("looseleaf/retry-job", "The job runs again from the step that did not end well."),
}


@value
class Act:
    """A button of a job: what it asks for, and its label."""

    name: str
    label: str
    is_main: bool = False


def list_jobs(visit: Visit) -> Document | Redirect:
    """List jobs, newest first: those of an agent, or of every agent that one may see."""
    slug = visit.parameters.get("agent")
    agent = visit.run("looseleaf/show-agent", agent=slug) if slug else None
    show = visit.query.get("show", "")
    statuses = next((choice[2] for choice in CHOICES if choice[0] == show), ())
    flow = read_number(visit.query.get("flow", "")) or None
    offset = read_number(visit.query.get("after", ""))
    selection = {
        "agent": agent.slug if agent else None,
        "status": ",".join(statuses),
        "flow": flow,
        "limit": MOST,
        "offset": offset,
    }
    page: JobList = visit.run("datamachine/get-jobs", **selection)
    address = f"/admin/agents/{quote(agent.slug)}/jobs" if agent else "/admin/jobs"
    query = {key: text for key, text in (("show", show), ("flow", flow)) if text}
    following = offset + len(page.jobs)
    data = {
        "agent": agent,
        "rows": [build_job_row(job, visit.context.clock()) for job in page.jobs],
        "total": page.total,
        "address": address,
        "events": _build_events_address(selection),
        "show": show,
        "choices": [choice[:2] for choice in CHOICES],
        "flow": visit.run("looseleaf/show-flow", flow=flow) if flow else None,
        "next": (
            f"{address}?{urlencode({**query, 'after': following})}"
            if following < page.total and page.jobs
            else ""
        ),
        "is_first": not offset,
    }
    return Document("workflows/jobs.html", "Jobs", data)


def _build_events_address(selection: Mapping[str, object]) -> str:
    """Return the address at which the same list sends its changes."""
    query = {name: choice for name, choice in selection.items() if choice}
    return f"{EVENTS}?{urlencode(query)}"


def show_job(visit: Visit) -> Document | Redirect:
    """Show a job; the address of an agent's job is below the agent."""
    job = _find(visit)
    if job.agent and not visit.parameters.get("agent"):
        return Redirect(build_job_address(job))
    agent = visit.run("looseleaf/show-agent", agent=job.agent) if job.agent else None
    row = build_job_row(job, visit.context.clock())
    is_changeable = _may_change(visit, job)
    data = {
        "agent": agent,
        "job": job,
        "row": row,
        "address": build_job_address(job),
        "steps": build_step_rows(job, visit.context.clock()),
        "acts": list_acts(job) if is_changeable else (),
        "may_delete": is_changeable and job.status in FINAL,
        "is_live": job.status not in FINAL,
        "created": parse_time(job.created_at),
        "workflow": find_workflow(visit, job),
        "gate": find_gate(visit, job) if is_changeable else "",
        "draft": find_draft(visit, job) if is_changeable else "",
        "packets": list_packets(visit, job),
        "artifacts": list_artifacts(visit, job),
        "writes": link_writes(job.writes, job.agent),
        "has_worker_hint": job.status == "pending" and not job.next_attempt_at,
    }
    return Document("workflows/job.html", row.label, data)


def change_job(visit: Visit) -> Document | Redirect:
    """Run an action on a job, by the button that was pressed."""
    job, action = _find(visit), visit.form.get("action", "")
    if action == "delete":
        consequence = (
            "The job, its packets and its artifacts are deleted for good. The pages that it "
            "changed stay."
        )
        visit.ask(f"Delete job {job.job_id}?", consequence)
        visit.run("looseleaf/delete-job", job=job.job_id)
        list_address = f"/admin/agents/{quote(job.agent)}/jobs" if job.agent else "/admin/jobs"
        return Redirect(
            list_address, f"Job {job.job_id} is deleted. The pages that it changed stay."
        )
    if action == "run-again":
        target = {"flow": job.flow_id} if job.flow_id else {"pipeline": job.pipeline_id}
        new_job = visit.run("datamachine/execute-workflow", **target)
        return Redirect(build_job_address(new_job), f"Job {new_job.job_id} is started.")
    if action == "open-gate":
        body = {"approved": True, "by": visit.context.principal.name}
        if note := visit.form.get("note", "").strip():
            body["note"] = note
        draft = visit.form.get("draft", "").replace("\r\n", "\n").strip("\n")
        if draft.strip() and draft != find_draft(visit, job).replace("\r\n", "\n").strip("\n"):
            body["content"] = draft
        visit.run("looseleaf/open-gate", job=job.job_id, body=body)
        return Redirect(build_job_address(job), "The gate is open; the job goes on.")
    if action not in REQUESTS:
        raise Invalid("The form does not say what to do. Press one of its buttons.")
    operation, notice = REQUESTS[action]
    visit.run(operation, job=job.job_id)
    return Redirect(build_job_address(job), notice)


def list_acts(job: JobInfo) -> tuple[Act, ...]:
    """List the actions that the status of a job allows."""
    acts = []
    if job.status == "paused":
        acts.append(Act("resume", "Resume", is_main=True))
    if job.status in ("failed", "cancelled"):
        acts.append(Act("retry", "Retry from the failed step", is_main=True))
    if job.status in ("pending", "processing", "waiting"):
        acts.append(Act("pause", "Pause"))
    if job.status in ACTIVE:
        acts.append(Act("cancel", "Cancel"))
    if job.status in SUCCESSES and job.pipeline_id:
        acts.append(Act("run-again", "Run the flow again"))
    return tuple(acts)


def list_recent_jobs(visit: Visit, flow: int, limit: int = 5) -> tuple[list[JobRow], int]:
    """List the newest jobs of a flow, and count all of them."""
    page: JobList = visit.run("datamachine/get-jobs", flow=flow, limit=limit)
    return [build_job_row(job, visit.context.clock()) for job in page.jobs], page.total


def _find(visit: Visit) -> JobInfo:
    number = read_number(visit.parameters["job"])
    job: JobInfo = visit.run("datamachine/get-job", job=number)
    if visit.parameters.get("agent") and not job.agent:
        raise JobMissing(number)
    return job


def _may_change(visit: Visit, job: JobInfo) -> bool:
    return may_change(
        visit, visit.run("looseleaf/show-agent", agent=job.agent) if job.agent else None
    )
