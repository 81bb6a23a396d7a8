"""The parts that workflows add to a workspace, and the registries that plugins fill."""

from __future__ import annotations

from looseleaf.settings import Settings
from looseleaf.values import field_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.catalog.services import WorkspaceServices
    from looseleaf.features.workflows.definitions import Definitions
    from looseleaf.features.workflows.jobs.queue import JobLease
    from looseleaf.features.workflows.jobs.sql_jobs import SqlJobs
    from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore, SqlScheduleStates
    from looseleaf.features.workflows.jobs.worker import JobEvent, Worker
    from looseleaf.features.workflows.resources import WorkflowResources
    from looseleaf.features.workflows.schedules import ScheduleFiring, TaskSchedules
    from looseleaf.features.workflows.step import StepTypes
    from looseleaf.features.workflows.system_tasks import SystemTasks

    class WorkflowJobs(Protocol):
        """The jobs and schedules of a workspace, and the worker of this process."""

        @property
        def store(self) -> SqlJobStore: ...
        @property
        def jobs(self) -> SqlJobs: ...
        @property
        def schedule_states(self) -> SqlScheduleStates: ...
        @property
        def schedule_firing(self) -> ScheduleFiring: ...
        def start_worker(self, log: Callable[[JobEvent], None] | None = None) -> Worker: ...
        def close(self) -> None: ...
        def run_leased(self, lease: JobLease, is_stopping: Callable[[], bool]) -> None: ...
        def has_live_worker(self) -> bool: ...


DEFINITIONS, JOBS, JOB_STORE = "definitions", "jobs", "job store"
RESOURCES = "workflow resources"


def definitions_of(parts: WorkspaceServices) -> Definitions:
    """Return the pipelines and flows of a workspace, from the database of the accounts."""
    definitions: Definitions = parts.part(DEFINITIONS)
    return definitions


def jobs_of(parts: WorkspaceServices) -> WorkflowJobs:
    """Return the jobs of a workspace: their list, schedules, and the worker of this process."""
    jobs: WorkflowJobs = parts.part(JOBS)
    return jobs


def job_store_of(parts: WorkspaceServices) -> SqlJobStore:
    """Return the tables of jobs, their queue, workers and schedules."""
    store: SqlJobStore = parts.part(JOB_STORE)
    return store


def resources_of(parts: WorkspaceServices) -> WorkflowResources:
    """Return the resources of workflows: other servers, files, and the items taken before."""
    resources: WorkflowResources = parts.part(RESOURCES)
    return resources


def step_types_of(parts: WorkspaceServices) -> StepTypes:
    """Return the types of steps, with the types of packets that they hand on."""
    from looseleaf.features.workflows.step import StepTypes

    return parts.registry_for("register_steps", steps=StepTypes)


def system_tasks_of(parts: WorkspaceServices) -> SystemTasks:
    """Return all system tasks."""
    from looseleaf.features.workflows.system_tasks import SystemTasks

    return parts.registry_for(
        "register_system_tasks", tasks=lambda: SystemTasks(field_names(Settings))
    )


def task_schedules_of(parts: WorkspaceServices) -> TaskSchedules:
    """Return the schedules of system tasks and operations."""
    from looseleaf.features.workflows.schedules import TaskSchedules

    def build() -> TaskSchedules:
        names = {task.type for task in system_tasks_of(parts).all()}
        names |= {operation.name for operation in parts.operations().all()}
        return TaskSchedules(names, field_names(Settings))

    return parts.registry_for("register_schedules", schedules=build)
