"""What workflows register in a workspace: operations, types of steps and admin pages."""

from __future__ import annotations

from functools import partial

from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.registry import Operations
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.workflows.step import StepTypes


@hookimpl
def register_operations(operations: Operations) -> None:
    """Register the operations of pipelines, flows, jobs and schedules."""
    from looseleaf.operations import (
        artifacts,
        flows,
        jobs,
        pipeline_transfer,
        pipelines,
        schedules,
        workflow_files,
        workflow_memory,
    )

    operations.add_declared(
        artifacts,
        flows,
        jobs,
        pipeline_transfer,
        pipelines,
        schedules,
        workflow_files,
        workflow_memory,
    )


@hookimpl
def register_steps(steps: StepTypes) -> None:
    """Register the types of packets and of steps that every workspace has."""
    from looseleaf.workflows.packet import register_core_packets
    from looseleaf.workflows.steps.defaults import register_core_steps

    register_core_packets(steps.packets)
    register_core_steps(steps)


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the pages of pipelines, flows, jobs and schedules."""
    from looseleaf.plugins.admin_pages import AGENT
    from looseleaf.web.admin.views.workflows import flows, pipelines, schedules

    pages.register(
        "pipelines", "agents/{agent}/pipelines", pipelines.list_pipelines,
        submit=pipelines.create_pipeline, label="Workflows", section=AGENT, priority=50,
    )  # fmt: skip
    pages.register(
        "pipeline", "agents/{agent}/pipelines/{pipeline}", pipelines.show_pipeline,
        submit=pipelines.change_pipeline, section=AGENT, parent="pipelines", takes_file=True,
    )  # fmt: skip
    pages.register(
        "flow", "agents/{agent}/flows/{flow}", flows.show_flow, submit=flows.change_flow,
        section=AGENT, parent="pipelines", takes_file=True,
    )  # fmt: skip
    pages.register(
        "schedules", "schedules", schedules.list_schedules, submit=schedules.change_schedule,
        label="Schedules", priority=67,
    )  # fmt: skip
    _register_job_pages(pages)


def _register_job_pages(pages: AdminPages) -> None:
    from looseleaf.plugins.admin_pages import AGENT
    from looseleaf.web.admin.views.workflows import job_details, jobs

    pages.register("jobs", "jobs", jobs.list_jobs, label="Jobs", priority=66)
    pages.register("job-link", "jobs/{job}", jobs.show_job, submit=jobs.change_job, parent="jobs")
    pages.register(
        "agent-jobs", "agents/{agent}/jobs", jobs.list_jobs, label="Jobs", section=AGENT,
        priority=52,
    )  # fmt: skip
    register_below = partial(pages.register, section=AGENT, parent="agent-jobs")
    address = "agents/{agent}/jobs/{job}"
    register_below("job", address, jobs.show_job, submit=jobs.change_job)
    register_below("job-artifact", f"{address}/artifact", job_details.download_artifact)
    register_below("job-transcript", f"{address}/transcript", job_details.show_transcript)
