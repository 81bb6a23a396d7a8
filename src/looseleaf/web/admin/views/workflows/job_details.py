"""Details of a job for people: packets, artifacts, transcripts, and the gate if it waits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from looseleaf.errors import Invalid, InvalidArgument
from looseleaf.errors.workflows import FlowMissing, PipelineMissing
from looseleaf.plugins.admin_pages import Document, Download
from looseleaf.times import parse_time
from looseleaf.values import value
from looseleaf.web.admin.views.chat.transcript import build_rows, describe_value
from looseleaf.web.admin.views.workflows.job_rows import build_job_address

if TYPE_CHECKING:
    from typing import Any

    from looseleaf.catalog.workflows.job_documents import JobInfo, PacketInfo
    from looseleaf.operations.artifacts import ArtifactContent, RunArtifacts
    from looseleaf.plugins.admin_pages import Redirect, Visit

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


def list_packets(visit: Visit, job: JobInfo) -> list[PacketView]:
    """Describe the packets of a job, newest first."""
    packets: list[PacketInfo] = visit.run("looseleaf/show-job-packets", job=job.job_id)
    labels = {step.id: step.label or step.type for step in job.steps}
    views = []
    for number, packet in enumerate(packets[:MOST_PACKETS]):
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
    return views


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
