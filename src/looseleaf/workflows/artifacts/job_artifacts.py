"""The artifacts that a job leaves for other programs, built from its recorded outcomes."""

from __future__ import annotations

import hashlib

from looseleaf.errors.workflows import ArtifactBroken, ArtifactMissing
from looseleaf.memory.day import day_of
from looseleaf.memory.scope import Scope
from looseleaf.values import value
from looseleaf.workflows.artifacts.artifact import (
    AgentMemoryArtifact,
    ArtifactFile,
    DailyMemoryArtifact,
)
from looseleaf.workflows.artifacts.reference import ArtifactReference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.workflows.job import MemoryWrite
    from looseleaf.workflows.job_list import JobState

    PageReader = Callable[[Scope], str | None]

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
    """Build the artifacts of a job from its recorded outcomes and the pages as they are now."""
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
        content = read_page(Scope("agent", 0, agent_id, filename))
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
        content = read_page(Scope(layer, write.user_id, write.agent_id, filename))  # type: ignore[arg-type]
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
