"""Artifacts of a job that really ran: by a worker, with the echo model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import InvalidArgument, Refused
from looseleaf.errors.features import ArtifactBroken, ArtifactMissing
from looseleaf.features.chat.session import chats_of
from looseleaf.features.workflows.definitions import Flow, Pipeline, Step
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.run import Plan, plan_flow_job
from looseleaf.features.workflows.operations.artifacts import (
    get_run_artifacts,
    hydrate_artifact,
    open_gate,
    prune_job_data,
    show_gate,
    show_transcript,
)
from looseleaf.features.workflows.parts import definitions_of, jobs_of
from looseleaf.operations.daily import write_day
from looseleaf.operations.memory import append_page

JOURNAL = '/call agent_daily_memory {"action": "write", "content": "- News published"}'
STEPS = (
    Step("source", "input", "", {"source": "text", "text": "Jazz is back."}),
    Step("draft", "ai", "", {"prompt": JOURNAL}),
    Step("learn", "memory_update", "", {"target": "section", "section": "State"}),
)
POLICY = {"daily_memory": {"egress": ["PR-BODY", "nowhere"], "bundle_relative_path": "/a//b.md"}}


def wait_until(is_true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for an event in the worker's thread."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Open a workspace with the echo model, an open journal and transcripts."""
    root = tmp_path / "workspace"
    Workspace.create(root, agent="ada").close()
    settings = 'default_model = "echo"\ndaily_memory_enabled = true\npipeline_transcripts = true\n'
    (root / "looseleaf.toml").write_text(settings)
    opened = Workspace.open(root)
    yield opened
    opened.close()


def run_job(workspace: Workspace, steps: tuple[Step, ...] = STEPS, until: str = "completed") -> Job:
    """Run a flow with these steps until its job has a status."""
    agent = workspace.agents.resolve("ada")
    definitions = definitions_of(workspace)
    pipeline = definitions.pipelines.add(
        Pipeline(id=0, slug="", name="News", agent_id=agent.id, user_id=1, steps=steps)
    )
    flow = definitions.flows.add(
        Flow(
            id=0,
            pipeline_id=pipeline.id,
            slug="",
            name="Daily",
            agent_id=agent.id,
            user_id=1,
            run_artifacts=POLICY,
        )
    )
    jobs = jobs_of(workspace).jobs
    job, _ = jobs.add(plan_flow_job(Plan(pipeline, flow)))
    jobs_of(workspace).start_worker()
    wait_until(lambda: jobs.find(job.id).status in (until, "failed"))
    job = jobs.find(job.id)
    assert job.status == until, job.status_text
    return job


def test_a_job_leaves_its_artifacts(workspace: Workspace) -> None:
    """The day and the page that it wrote, the transcript, the tool trace, and the policy."""
    job = run_job(workspace)
    artifacts = get_run_artifacts(workspace.context, job.id)
    (day,) = artifacts.daily_memory_artifacts
    date = day.date
    year, month, number = date.split("-")
    assert day.type == "agent_daily_memory"
    assert day.source == "daily-memory"
    assert day.bundle_relative_path == f"memory/agent/daily/{year}/{month}/{number}.md"
    assert day.content == f"# {date}\n\n- News published\n"
    (page,) = artifacts.agent_memory_artifacts
    assert page.bundle_relative_path == "memory/agent/MEMORY.md"
    assert "agent_daily_memory said" in page.content
    assert [tool.tool_name for tool in artifacts.successful_tool_calls] == ["agent_daily_memory"]
    assert artifacts.run_artifact_egress_policy == {
        "daily_memory": {"egress": ["pr-body"], "bundle_relative_path": "a/b.md"}
    }
    assert artifacts.policy_provenance.source == "flow_snapshot"
    contents = [hydrate_artifact(workspace.context, ref).content for ref in artifacts.artifact_refs]
    assert all(contents)
    # Whatever is written after the job, its artifacts are what it left.
    write_day(workspace.context, "- a later run", date)
    append_page(workspace.context, "MEMORY.md", "- a later fact")
    assert get_run_artifacts(workspace.context, job.id) == artifacts
    assert contents == [
        hydrate_artifact(workspace.context, ref).content for ref in artifacts.artifact_refs
    ]
    transcript = json.loads(show_transcript(workspace.context, job.id).content)
    assert [entry["role"] for entry in transcript["messages"]] == [
        "user",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_the_packets_of_the_job_lie_in_its_folder(workspace: Workspace) -> None:
    """Newest first, as the seeds have it; the conversation of the step is gone."""
    job = run_job(workspace)
    folder = f"pipeline-{job.pipeline_id}/flow-{job.flow_id}/jobs/job-{job.id}"
    packets = json.loads((Path(workspace.root) / folder / "data.json").read_bytes())
    kinds = [packet["type"] for packet in packets]
    assert kinds == ["memory_update", "ai_response", "tool_result", "item"]
    wait_until(lambda: not chats_of(workspace).sessions.list()[0])


def test_an_artifact_that_was_changed_is_not_given_out(workspace: Workspace) -> None:
    """By size, then by hash; one that is gone is missing."""
    job = run_job(workspace)
    ref = f"datamachine://jobs/{job.id}/artifacts/transcript/draft"
    file = Path(workspace.root, f".looseleaf/artifacts/job-{job.id}/transcript+draft.json")
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(ArtifactBroken, match="byte count"):
        hydrate_artifact(workspace.context, ref)
    file.write_bytes(b"[" + content[1:])
    with pytest.raises(ArtifactBroken, match="sha256"):
        hydrate_artifact(workspace.context, ref)
    file.unlink()
    with pytest.raises(ArtifactMissing):
        hydrate_artifact(workspace.context, ref)


def test_a_job_waits_at_an_address_that_works_once(workspace: Workspace) -> None:
    """The operator is shown the address; the call wakes the job, and its body is remembered."""
    steps = (
        Step("gate", "webhook_gate"),
        Step("learn", "memory_update", "", {"target": "section", "section": "State"}),
    )
    job = run_job(workspace, steps, until="waiting")
    address = show_gate(workspace.context, job.id).address
    assert address.startswith(f"/datamachine/v1/webhooks/{job.id}/gate/")
    assert address.rpartition("/")[2] not in job.reason


def test_an_operator_opens_a_gate_once(workspace: Workspace) -> None:
    """As the call would; a body that is too large, and a second time, are refused."""
    job = run_job(workspace, (Step("gate", "webhook_gate"),), until="waiting")
    with pytest.raises(InvalidArgument, match="64000"):
        open_gate(workspace.context, job.id, body={"text": "x" * 64_000})
    assert open_gate(workspace.context, job.id, body={"approved": True}).status == "pending"
    state = jobs_of(workspace).jobs.state(job.id)
    assert state.signals == {"gate": {"approved": True}}
    with pytest.raises((Refused, InvalidArgument)):  # by whether a worker has seen the first call
        open_gate(workspace.context, job.id)


def test_a_job_that_does_not_wait_has_no_address(workspace: Workspace) -> None:
    """The error says so."""
    job = run_job(workspace)
    with pytest.raises(InvalidArgument, match="does not wait"):
        show_gate(workspace.context, job.id)


def test_old_data_is_pruned(workspace: Workspace) -> None:
    """Jobs and pages stay; what is not that old stays, too."""
    job = run_job(workspace)
    assert prune_job_data(workspace.context, days=1).job_folders == 0
    workspace.clock = lambda: job.completed_at + 3 * 86_400
    assert prune_job_data(workspace.context, days=2, dry_run=True).artifact_folders == 1
    counts = prune_job_data(workspace.context, days=2)
    assert (counts.job_folders, counts.artifact_folders) == (1, 1)
    assert jobs_of(workspace).jobs.find(job.id).status == "completed"
    with pytest.raises(InvalidArgument):
        prune_job_data(workspace.context, days=0)
