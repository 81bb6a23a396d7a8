"""Jobs are started from flows and steps, looked at and directed by operations."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.catalog import tool_access
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.registry import Operations
from looseleaf.errors import InvalidArgument, Refused
from looseleaf.errors.features import FlowMissing, InvalidWorkflow, JobMissing
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.operations import flows, jobs, pipelines
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.values import replace

TEXT = Step("in", "input", "Read", {"source": "text", "text": "Hello"})


@pytest.fixture
def prepared_workspace(workspace: Workspace) -> Workspace:
    """Return a workspace with the flow news/morning."""
    pipelines.create_pipeline(workspace.context, "News", steps=(TEXT,))
    flows.create_flow(workspace.context, "news", "Morning")
    return workspace


def test_a_flow_becomes_a_job_with_its_steps(prepared_workspace: Workspace) -> None:
    """It waits for a worker, and keeps the configuration of its start."""
    job = jobs.execute(prepared_workspace.context, flow="morning")
    assert (job.job_id, job.label, job.status, job.agent) == (1, "News: Morning", "pending", "ada")
    assert [(step.id, step.label) for step in job.steps] == [("in", "Read")]
    pipelines.update_pipeline(prepared_workspace.context, "news", steps=())
    snapshot = jobs_of(prepared_workspace).jobs.state(1).snapshot
    assert snapshot["pipeline"]["steps"][0]["settings"]["text"] == "Hello"


def test_the_same_request_starts_one_job(prepared_workspace: Workspace) -> None:
    """A caller that does not know whether it was heard asks again."""
    first = jobs.execute(prepared_workspace.context, flow=1, request="r-1")
    assert jobs.execute(prepared_workspace.context, flow=1, request="r-1") == first
    assert jobs.execute(prepared_workspace.context, flow=1, request="r-2").job_id > first.job_id


def test_steps_run_without_a_pipeline(prepared_workspace: Workspace) -> None:
    """They are checked like those of a pipeline; a time makes them wait."""
    job = jobs.execute(
        prepared_workspace.context, steps=(TEXT,), timestamp="2190-01-01T00:00Z", label="Try"
    )
    assert (job.label, job.source, job.pipeline_id) == ("Try", "direct", 0)
    assert job.next_attempt_at == "2190-01-01T00:00:00Z"
    with pytest.raises(InvalidWorkflow, match="source is missing"):
        jobs.execute(prepared_workspace.context, steps=(Step(type="input"),))


def test_the_tools_of_all_operations_are_listed_once(
    prepared_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all steps that name tools, and for every job; steps that name none list none."""
    lists: list[int] = []
    list_names = tool_access.list_tool_names

    def count(operations: Operations) -> list[str]:
        lists.append(1)
        return list_names(operations)

    monkeypatch.setattr(tool_access, "list_tool_names", count)
    steps = (TEXT, TEXT, TEXT)
    jobs.execute(prepared_workspace.context, steps=tuple(replace(step, id="") for step in steps))
    assert not lists
    ask = Step(type="ai", settings={"prompt": "Hi", "enabled_tools": ["agent_memory"]})
    for _ in range(2):
        jobs.execute(prepared_workspace.context, steps=(ask, ask, ask))
    assert lists == [1]


def test_a_start_that_makes_no_sense_is_refused(prepared_workspace: Workspace) -> None:
    """Neither or both, an unknown flow, an odd time."""
    with pytest.raises(InvalidArgument, match="one of them alone"):
        jobs.execute(prepared_workspace.context)
    with pytest.raises(InvalidArgument, match="one of them alone"):
        jobs.execute(prepared_workspace.context, flow=1, steps=(TEXT,))
    with pytest.raises(FlowMissing):
        jobs.execute(prepared_workspace.context, flow="evening")
    with pytest.raises(InvalidArgument, match="soon"):
        jobs.execute(prepared_workspace.context, flow=1, timestamp="soon")
    assert jobs.list_jobs(prepared_workspace.context).total == 0


def test_jobs_are_listed_by_what_they_are(prepared_workspace: Workspace) -> None:
    """By status, flow and pipeline; an unknown status is named."""
    jobs.execute(prepared_workspace.context, flow=1)
    jobs.execute(prepared_workspace.context, steps=(TEXT,))
    jobs.cancel_job(prepared_workspace.context, 2)
    assert [job.job_id for job in jobs.list_jobs(prepared_workspace.context).jobs] == [2, 1]
    assert [
        job.job_id for job in jobs.list_jobs(prepared_workspace.context, flow="morning").jobs
    ] == [1]
    page = jobs.list_jobs(prepared_workspace.context, status="cancelled, failed", pipeline=None)
    assert [job.job_id for job in page.jobs] == [2]
    with pytest.raises(InvalidArgument, match="'done' is none of pending"):
        jobs.list_jobs(prepared_workspace.context, status="done")


def test_a_job_is_directed(prepared_workspace: Workspace) -> None:
    """Each act fits the status, or is refused."""
    jobs.execute(prepared_workspace.context, flow=1)
    assert jobs.pause_job(prepared_workspace.context, 1).status == "paused"
    assert jobs.resume_job(prepared_workspace.context, 1).status == "pending"
    with pytest.raises(Refused, match="pending; it cannot retry"):
        jobs.retry_job(prepared_workspace.context, 1)
    with pytest.raises(InvalidArgument, match="cancel it first"):
        jobs.delete_job(prepared_workspace.context, 1)
    assert jobs.cancel_job(prepared_workspace.context, 1).status == "cancelled"
    assert jobs.retry_job(prepared_workspace.context, 1).status == "pending"
    jobs.cancel_job(prepared_workspace.context, 1)
    assert jobs.delete_job(prepared_workspace.context, 1).deleted == 1
    with pytest.raises(JobMissing):
        jobs.show_job(prepared_workspace.context, 1)


def test_a_model_starts_jobs_by_name(prepared_workspace: Workspace) -> None:
    """The operation takes the names of the reference, too."""
    job = invoke(prepared_workspace.context, "datamachine/execute-workflow", {"flow_id": 1})
    assert (
        invoke(prepared_workspace.context, "datamachine/get-job", {"job_id": job["job_id"]}) == job
    )
