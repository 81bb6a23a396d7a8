"""JobArtifacts: the pages that a job wrote as packages take them along, and files by hash."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf.errors.features import ArtifactBroken, ArtifactMissing
from looseleaf.features.workflows.artifacts import ArtifactFile, parse_reference
from looseleaf.features.workflows.jobs.job import Job, MemoryWrite, StepRecord
from looseleaf.features.workflows.jobs.queue import JobState
from looseleaf.features.workflows.operations.artifacts import build_artifacts, verify_content
from looseleaf.features.workflows.packet import Packet
from looseleaf.features.workflows.step import StepOutcome
from looseleaf.memory.scope import Scope
from looseleaf.values import as_dict

DAY = "daily/2026/04/17.md"
WHEN = "2026-04-17T09:30:00Z"


def call(name: str, file: str, revision: int, **arguments: str) -> tuple[Packet, MemoryWrite]:
    """Make the packet of a tool that wrote a page, and the write."""
    layer = "user" if file == "USER.md" else "shared" if file == "SITE.md" else "agent"
    data = {
        "tool_name": name,
        "success": True,
        "content": "done",
        "arguments": arguments,
        "writes": [{"layer": layer, "file": file, "revision": revision}],
    }
    user_id, agent_id = (4, 0) if layer == "user" else (0, 2 if layer == "agent" else 0)
    return Packet("tool_result", WHEN, data, {}), MemoryWrite(
        layer, user_id, agent_id, file, revision, name
    )


def state(*calls: tuple[Packet, MemoryWrite], agent_id: int = 2, **metadata: object) -> JobState:
    """Make a job whose only step made these calls, the first one first."""
    packets = [Packet("ai_response", WHEN, {"content": "answer"}, metadata)]
    packets += [packet for packet, _ in reversed(calls)]
    writes = tuple(write for _, write in calls)
    steps = (StepRecord(id="draft", type="ai", writes=writes),)
    job = Job(id=7, label="News", agent_id=agent_id, user_id=4, status="completed", steps=steps)
    return JobState(job, {}, {"draft": StepOutcome(packets=tuple(packets), writes=writes)})


def test_two_writes_of_a_day_are_one_artifact() -> None:
    """To the letter: the keys, their order, and the whole day as the second write left it."""
    pages = {(DAY, 4): "# 2026-04-17\n\n- one\n- two\n"}
    failed = Packet(
        "tool_result",
        WHEN,
        {"tool_name": "agent_daily_memory", "success": False, "content": "no"},
        {},
    )
    first, second = (call("agent_daily_memory", DAY, number, content="- x") for number in (3, 4))
    job = state(first, second)
    outcome = job.outcomes["draft"]
    job = JobState(
        job.job,
        {},
        {"draft": StepOutcome(packets=(*outcome.packets, failed), writes=outcome.writes)},
    )
    artifacts = build_artifacts(
        job, "ada", lambda scope, revision: pages.get((scope.filename, revision))
    )
    (artifact,) = artifacts.daily_memory_artifacts
    assert list(as_dict(artifact).items()) == [
        ("type", "agent_daily_memory"),
        ("agent_id", 2),
        ("agent_slug", "ada"),
        ("date", "2026-04-17"),
        ("source", "daily-memory"),
        ("bundle_relative_path", "memory/agent/daily/2026/04/17.md"),
        ("content", pages[DAY, 4]),
    ]
    assert [tool.tool_name for tool in artifacts.successful_tool_calls] == [
        "agent_daily_memory"
    ] * 2
    assert artifacts.artifact_refs == (
        "datamachine://jobs/7/artifacts/agent_daily_memory/2026-04-17",
    )


@pytest.mark.parametrize(
    ("content", "artifact"),
    [
        ("  - one \n", "# Daily Memory: 2026-04-17\n\n- one\n"),
        ("# Daily Memory: 2026-04-17\n\n- one", "# Daily Memory: 2026-04-17\n\n- one\n"),
        ("", None),
        (None, None),
    ],
)
def test_a_day_that_cannot_be_read_falls_back_to_what_was_written(
    content: str | None, artifact: str | None
) -> None:
    """Under the heading of the day, once; without a text there is no artifact."""
    arguments = {"content": content} if content is not None else {}
    job = state(call("agent_daily_memory", DAY, 3, **arguments))
    artifacts = build_artifacts(job, "ada", lambda _scope, _revision: None)
    assert [item.content for item in artifacts.daily_memory_artifacts] == (
        [artifact] if artifact else []
    )


def test_pages_have_artifacts_where_a_bundle_has_a_place_for_them() -> None:
    """Those of the agent, and USER.md; a page of another layer is left out."""
    job = state(
        call("agent_memory", "MEMORY.md", 5, section="State", content="- x"),
        call("agent_memory", "USER.md", 6, section="About", content="- y"),
        call("agent_memory", "SITE.md", 7, section="About", content="- z"),
    )
    reads: list[Scope] = []

    def read_page(scope: Scope, _revision: int) -> str | None:
        reads.append(scope)
        return "# Agent Memory\n" if scope.filename == "MEMORY.md" else None

    memory, user = build_artifacts(job, "ada", read_page).agent_memory_artifacts
    assert as_dict(memory) == {
        "type": "agent_memory",
        "agent_id": 2,
        "agent_slug": "ada",
        "file": "MEMORY.md",
        "layer": "agent",
        "section": "State",
        "source": "agent-memory",
        "bundle_relative_path": "memory/agent/MEMORY.md",
        "content": "# Agent Memory\n",
    }
    assert (user.bundle_relative_path, user.content) == ("memory/USER.md", "## About\n- y")
    assert [(scope.layer, scope.user_id, scope.agent_id) for scope in reads] == [
        ("agent", 0, 2),
        ("user", 4, 0),
    ]


def test_a_job_without_an_agent_has_no_artifacts_of_memory() -> None:
    """There is nobody whose memory it would be."""
    job = state(call("agent_daily_memory", DAY, 3, content="- x"), agent_id=0)
    artifacts = build_artifacts(job, "", lambda _scope, _revision: "text")
    assert not artifacts.daily_memory_artifacts
    assert not artifacts.agent_memory_artifacts


def test_files_are_found_by_their_references() -> None:
    """With size and hash as they were when the job left them."""
    entry: dict[str, Any] = {
        "ref": "datamachine://jobs/7/artifacts/transcript/draft",
        "type": "transcript",
        "bytes": 3,
        "sha256": "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356",
    }
    artifacts = build_artifacts(
        state(artifact_files=[entry]), "ada", lambda _scope, _revision: None
    )
    file = artifacts.find_file(parse_reference(entry["ref"]))
    assert file == ArtifactFile(**entry)
    assert artifacts.artifact_refs == (entry["ref"],)
    with pytest.raises(ArtifactMissing):
        artifacts.find_file(parse_reference("datamachine://jobs/7/artifacts/transcript/other"))


def test_content_is_verified_by_size_and_hash() -> None:
    """A file that was cut or changed is not given out."""
    digest = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
    file = ArtifactFile("datamachine://jobs/7/artifacts/transcript", "transcript", 3, digest)
    assert verify_content(file, b"{}\n") == b"{}\n"
    with pytest.raises(ArtifactBroken, match="byte count"):
        verify_content(file, b"{}")
    with pytest.raises(ArtifactBroken, match="sha256"):
        verify_content(file, b"[]\n")
    with pytest.raises(ArtifactMissing):
        verify_content(file, None)
