"""What workflows register in a workspace: parts, operations, types of steps and admin pages."""

from __future__ import annotations

import os
from functools import partial

from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.page_checks import Checks
    from looseleaf.catalog.prompt_assembly import WorkflowFields
    from looseleaf.catalog.registry import Operations
    from looseleaf.catalog.services import PartOpeners, WorkspaceServices
    from looseleaf.features.workflows.definitions import Definitions
    from looseleaf.features.workflows.jobs.runtime import JobRuntime
    from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
    from looseleaf.features.workflows.resources import WorkflowResources
    from looseleaf.features.workflows.step import StepTypes
    from looseleaf.operations.files import FollowPage
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints
    from looseleaf.workspace import Workspace


@hookimpl
def register_parts(parts: PartOpeners) -> None:
    """Register pipelines and flows, jobs, and the resources of workflows besides memory."""
    from looseleaf.catalog.prompt_assembly import WORKFLOW_FIELDS
    from looseleaf.features.workflows.parts import DEFINITIONS, JOB_STORE, JOBS, RESOURCES
    from looseleaf.operations.files import PAGE_SELECTIONS

    parts.register(PAGE_SELECTIONS, _open_page_selections)
    parts.register(WORKFLOW_FIELDS, _open_workflow_fields)
    parts.register(DEFINITIONS, _open_definitions)
    parts.register(JOB_STORE, _open_job_store)
    parts.register(JOBS, _open_jobs)
    parts.register(RESOURCES, _open_resources)


def _open_workflow_fields(_parts: WorkspaceServices) -> WorkflowFields:
    from looseleaf.features.workflows.prompt_parts import build_workflow_fields

    return build_workflow_fields


def _open_page_selections(_parts: WorkspaceServices) -> FollowPage:
    from looseleaf.features.workflows.access import follow_page

    return follow_page


def _open_definitions(parts: WorkspaceServices) -> Definitions:
    from looseleaf.features.workflows.sql_definitions import SqlDefinitions

    def has_files(pipeline_id: int) -> bool:
        """Return whether the folder of a pipeline's id exists, as the original plugin leaves it."""
        return os.path.lexists(f"{parts.root_folder.path}/pipeline-{pipeline_id}")

    return SqlDefinitions(parts.database.database(), clock=parts.clock, has_files=has_files)


def _open_job_store(parts: WorkspaceServices) -> SqlJobStore:
    from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore

    return SqlJobStore(parts.database.database(), clock=parts.clock)


def _open_jobs(parts: WorkspaceServices) -> JobRuntime:
    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.jobs.runtime import JobRuntime

    settings = parts.settings
    context = Context(
        parts=parts, settings=settings, pages=parts.pages, actor=settings.actor, surface="pipeline"
    )
    jobs = JobRuntime(context, parts.root_folder.path, parts.database)
    parts.on_close(jobs.close)
    return jobs


def _open_resources(parts: WorkspaceServices) -> WorkflowResources:
    from looseleaf.features.workflows.resources import WorkflowResources

    return WorkflowResources(parts.settings, parts.root_folder, parts.database, parts.clock)


def list_attention(types: set[str], workspace: Workspace) -> None:
    """Add what people should look at: overdue or failing system tasks, and dangerous jobs."""
    from looseleaf.agents.record import list_readable_agents
    from looseleaf.features.workflows.parts import jobs_of, system_tasks_of
    from looseleaf.features.workflows.system_tasks import list_conditions

    agents = list_readable_agents(workspace.agents)
    tasks = system_tasks_of(workspace).all()
    settings = workspace.effective_settings()
    conditions = list_conditions(tasks, agents, settings, workspace.clock())
    types |= {condition.task_type for condition in conditions if condition.needs_attention}
    if workspace.has_accounts():
        types |= {f"job-{job.id}" for job in jobs_of(workspace).jobs.list_dangerous()}


def list_entries(entries: dict[str, list[tuple[str, str]]], parts: WorkspaceServices) -> None:
    """List the schedules, steps, packets and system tasks with their owners."""
    from looseleaf.features.workflows.parts import step_types_of, system_tasks_of, task_schedules_of

    steps = step_types_of(parts)
    entries["schedules"] = [(entry.owner, entry.name) for entry in task_schedules_of(parts).all()]
    entries["steps"] = [(step.owner, step.name) for step in steps.all()]
    entries["packets"] = [(packet.owner, packet.name) for packet in steps.packets.all()]
    entries["system tasks"] = [(task.owner, task.type) for task in system_tasks_of(parts).all()]


@hookimpl
def register_operations(operations: Operations) -> None:
    """Register the operations of pipelines, flows, jobs and schedules."""
    from looseleaf.features.workflows.operations import (
        artifacts,
        files,
        flows,
        jobs,
        pipelines,
        steps,
    )

    operations.add_declared(artifacts, files, flows, jobs, pipelines, steps)


@hookimpl
def register_steps(steps: StepTypes) -> None:
    """Register the types of packets and of steps that every workspace has."""
    from looseleaf.features.workflows.packet import register_core_packets
    from looseleaf.features.workflows.steps.defaults import register_core_steps

    register_core_packets(steps.packets)
    register_core_steps(steps)


@hookimpl
def register_endpoints(endpoints: Endpoints) -> None:
    """Register the endpoints of pipelines, flows, their files, jobs and schedules."""
    _register_workflow_endpoints(endpoints.register)
    _register_job_endpoints(endpoints.register)


def _register_workflow_endpoints(register: Callable[..., object]) -> None:
    from looseleaf.features.workflows import endpoints

    register("GET", "/pipelines", "looseleaf/list-pipelines")
    change = endpoints.change_pipeline
    register("POST", "/pipelines", "looseleaf/create-pipeline", status=201, handler=change)
    register(
        "POST", "/pipelines/import", "looseleaf/import-pipeline", status=201, whole_body="document"
    )
    register("GET", "/pipelines/{pipeline}", "looseleaf/show-pipeline")
    register("PATCH", "/pipelines/{pipeline}", "looseleaf/update-pipeline", handler=change)
    register("PUT", "/pipelines/{pipeline}", "looseleaf/update-pipeline", handler=change)
    register("DELETE", "/pipelines/{pipeline}", "looseleaf/delete-pipeline")
    register("POST", "/pipelines/{pipeline}/copy", "looseleaf/copy-pipeline", status=201)
    register("GET", "/pipelines/{pipeline}/export", "looseleaf/export-pipeline")
    register("GET", "/pipelines/{pipeline}/memory-files", "looseleaf/list-pipeline-memory-files")
    register("PUT", "/pipelines/{pipeline}/memory-files", "looseleaf/set-pipeline-memory-files")
    register("GET", "/pipelines/{pipeline}/flows", "looseleaf/list-flows")
    register("GET", "/steps", "looseleaf/list-step-types")
    register("GET", "/steps/{step_type}", "looseleaf/show-step-type")
    register("GET", "/files", "datamachine/list-flow-files")
    register(
        "POST",
        "/files",
        "datamachine/upload-flow-file",
        handler=endpoints.upload_file,
        body_types=endpoints.BODY_TYPES,
    )
    register("DELETE", "/files/{file}", "datamachine/delete-flow-file")
    register("GET", "/flows", "looseleaf/list-flows")
    register("POST", "/flows", "looseleaf/create-flow", status=201)
    register("GET", "/flows/{flow}", "looseleaf/show-flow")
    register("PATCH", "/flows/{flow}", "looseleaf/update-flow")
    register("PUT", "/flows/{flow}", "looseleaf/update-flow")
    register("DELETE", "/flows/{flow}", "looseleaf/delete-flow")
    register("POST", "/flows/{flow}/copy", "looseleaf/copy-flow", status=201)
    register("POST", "/flows/{flow}/queue", "looseleaf/queue-prompt")
    register("GET", "/flows/{flow}/memory-files", "looseleaf/list-flow-memory-files")
    register("PUT", "/flows/{flow}/memory-files", "looseleaf/set-flow-memory-files")


def _register_job_endpoints(register: Callable[..., object]) -> None:
    from looseleaf.features.workflows import endpoints

    register("POST", "/execute", "datamachine/execute-workflow", status=201)
    register("GET", "/jobs", "datamachine/get-jobs", handler=endpoints.list_jobs)
    register("GET", "/jobs/artifact", "datamachine/hydrate-job-artifact")
    register("POST", "/jobs/prune", "looseleaf/prune-job-data")
    register("GET", "/jobs/{job}", "datamachine/get-job", handler=endpoints.show_job)
    register("DELETE", "/jobs/{job}", "looseleaf/delete-job")
    register("GET", "/jobs/{job}/packets", "looseleaf/show-job-packets")
    register("GET", "/jobs/{job}/artifacts", "datamachine/get-run-artifacts")
    register("GET", "/jobs/{job}/transcript", "looseleaf/show-job-transcript")
    register("GET", "/jobs/{job}/gate", "looseleaf/show-gate-address")
    register("POST", "/jobs/{job}/gate", "looseleaf/open-gate")
    register("POST", "/jobs/{job}/cancel", "looseleaf/cancel-job")
    register("POST", "/jobs/{job}/pause", "looseleaf/pause-job")
    register("POST", "/jobs/{job}/resume", "looseleaf/resume-job")
    register("POST", "/jobs/{job}/retry", "looseleaf/retry-job")
    register("GET", "/schedules", "looseleaf/list-schedules")
    register("POST", "/schedules/{schedule}/run", "looseleaf/run-schedule")
    register("POST", "/schedules/{schedule}/pause", "looseleaf/pause-schedule")
    register("POST", "/schedules/{schedule}/resume", "looseleaf/resume-schedule")
    register(
        "POST",
        "/webhooks/{job}/{step}/{secret}",
        handler=endpoints.receive_call,
        summary="Wake the job that waits at this one-time address; the secret is the credential.",
        is_public=True,
    )


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the pages of pipelines, flows, jobs and schedules."""
    from looseleaf.features.workflows import flow_views, pipeline_views
    from looseleaf.plugins.admin_pages import AGENT

    pages.register(
        "pipelines", "agents/{agent}/pipelines", pipeline_views.list_pipelines,
        submit=pipeline_views.create_pipeline, label="Workflows", section=AGENT, priority=50,
        group="work",
    )  # fmt: skip
    pages.register(
        "pipeline", "agents/{agent}/pipelines/{pipeline}", pipeline_views.show_pipeline,
        submit=pipeline_views.change_pipeline, section=AGENT, parent="pipelines", takes_file=True,
    )  # fmt: skip
    pages.register(
        "flow", "agents/{agent}/flows/{flow}", flow_views.show_flow, submit=flow_views.change_flow,
        section=AGENT, parent="pipelines", takes_file=True,
    )  # fmt: skip
    pages.register(
        "schedules", "schedules", flow_views.list_schedules, submit=flow_views.change_schedule,
        label="Schedules", priority=67,
    )  # fmt: skip
    _register_job_pages(pages)


def _register_job_pages(pages: AdminPages) -> None:
    from looseleaf.features.workflows import job_views
    from looseleaf.plugins.admin_pages import AGENT

    pages.register("jobs", "jobs", job_views.list_jobs, label="Jobs", priority=66)
    pages.register(
        "job-link", "jobs/{job}", job_views.show_job, submit=job_views.change_job, parent="jobs"
    )
    pages.register(
        "agent-jobs", "agents/{agent}/jobs", job_views.list_jobs, label="Jobs", section=AGENT,
        group="work", priority=52,
    )  # fmt: skip
    register_below = partial(pages.register, section=AGENT, parent="agent-jobs")
    address = "agents/{agent}/jobs/{job}"
    register_below("job", address, job_views.show_job, submit=job_views.change_job)
    register_below("job-artifact", f"{address}/artifact", job_views.download_artifact)
    register_below("job-transcript", f"{address}/transcript", job_views.show_transcript)


@hookimpl
def register_commands(commands: Commands) -> None:
    """Register the commands of pipelines, flows, jobs and schedules."""
    commands.register(
        "pipelines",
        "looseleaf.features.workflows.commands:pipelines_group",
        "Reusable workflows of an agent.",
        priority=15,
    )
    commands.register(
        "flows",
        "looseleaf.features.workflows.commands:flows_group",
        "Configured and scheduled uses of a pipeline.",
        priority=15,
    )
    commands.register(
        "steps",
        "looseleaf.features.workflows.step_commands:steps_group",
        "Types of steps, and their settings.",
        priority=15,
    )
    commands.register(
        "jobs",
        "looseleaf.features.workflows.job_commands:jobs_group",
        "Durable runs of flows and tasks.",
        priority=15,
    )
    commands.register(
        "schedules",
        "looseleaf.features.workflows.job_commands:schedules_group",
        "The schedules of flows and tasks.",
        priority=15,
    )
    commands.register(
        "work",
        "looseleaf.features.workflows.job_commands:work",
        "Run jobs and schedules without a server.",
        priority=41,
    )


@hookimpl
def register_checks(checks: Checks) -> None:
    """Register the checks of pipelines and flows, and of jobs."""
    from looseleaf.features.workflows.access import check_workflows
    from looseleaf.features.workflows.jobs.documents import check_jobs

    checks.register("workflows", check_workflows)
    checks.register("jobs", check_jobs)


@hookimpl
def on_server_started(context: Context) -> None:
    """Start the worker of this server, which runs jobs and schedules."""
    if not context.settings.serve_jobs:
        return
    from looseleaf.errors import LooseleafError
    from looseleaf.features.workflows import endpoints
    from looseleaf.features.workflows.parts import jobs_of

    try:
        jobs_of(context.parts).start_worker(endpoints.log_event)
    except LooseleafError as error:
        context.parts.report("Jobs and schedules do not run in this server", error)
