"""How the jobs of a workspace run: schedules, and the worker."""

from __future__ import annotations

import os
from _thread import allocate_lock
from functools import partial

from looseleaf.agents.record import list_readable_agents
from looseleaf.errors import Locked
from looseleaf.errors.features import FlowMissing, InvalidSchedule
from looseleaf.features.workflows.jobs.run import Plan, plan_flow_job, plan_task_job
from looseleaf.features.workflows.parts import (
    definitions_of,
    job_store_of,
    step_types_of,
    task_schedules_of,
)
from looseleaf.features.workflows.schedules import (
    FLOW,
    TASK,
    ScheduleEntry,
    compute_stagger,
    read_timing,
)
from looseleaf.files import atomic
from looseleaf.files.folders import GROUP, PRIVATE, OsErrorContext, open_folder
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.services import WorkspaceServices
    from looseleaf.features.workflows.definitions import Flow
    from looseleaf.features.workflows.jobs.job import Job
    from looseleaf.features.workflows.jobs.queue import JobLease, Jobs
    from looseleaf.features.workflows.jobs.run import JobParts
    from looseleaf.features.workflows.jobs.sql_jobs import SqlJobs, WorkListener
    from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore, SqlScheduleStates
    from looseleaf.features.workflows.jobs.worker import JobEvent, Worker, WorkerOptions
    from looseleaf.features.workflows.schedules import ScheduleFiring, TaskSchedule
    from looseleaf.settings import Settings
    from looseleaf.stores.database.open_database import OpenDatabase


WORKER_LOCKS = ".looseleaf/workers"


class JobRuntime:
    """Jobs, schedules and the worker of one workspace in this process."""

    def __init__(self, context: Context, root: str, database: OpenDatabase) -> None:
        self._context, self._root, self._database = context, root, database
        self._firing: ScheduleFiring | None = None
        self._worker: Worker | None = None
        self._listener: WorkListener | None = None
        self._opening = allocate_lock()

    @property
    def store(self) -> SqlJobStore:
        """The tables of jobs, opened when they are first needed."""
        return job_store_of(self._context.parts)

    @property
    def jobs(self) -> SqlJobs:
        """The jobs."""
        return self.store.jobs

    @property
    def schedule_states(self) -> SqlScheduleStates:
        """The state of each schedule: its last and next times."""
        return self.store.schedules

    @property
    def schedule_firing(self) -> ScheduleFiring:
        """The object that starts the jobs of flows and plugins when they are due."""
        if self._firing is None:
            from looseleaf.features.workflows.schedules import ScheduleFiring

            parts = self._context.parts
            scheduled_jobs = ScheduledJobs(parts, self.jobs, self._database.settings)
            self._firing = ScheduleFiring(
                self.schedule_states,
                scheduled_jobs.list_entries,
                scheduled_jobs.start_jobs,
                clock=parts.clock,
                report=parts.report,
            )
        return self._firing

    def start_worker(self, log: Callable[[JobEvent], None] | None = None) -> Worker:
        """Start the worker of this process, or return the one that runs.

        `log` is given an event for each job that the worker starts, takes over or ends.
        """
        with self._opening:
            if self._worker is None:
                worker = self._open_worker(log)
                worker.start()
                self._listener = self.store.listen(worker.wake)
                self._worker = worker
            return self._worker

    def close(self) -> None:
        """Stop the worker of this process, if there is one."""
        with self._opening:
            worker, self._worker = self._worker, None
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        if worker is not None:
            worker.stop()

    def has_live_worker(self) -> bool:
        """Return whether a worker of any process runs on this machine."""

        locks = LockFiles(self._root, WORKER_LOCKS)
        return any(locks.is_free(name) is False for name in self.store.workers.beats())

    def run_leased(self, lease: JobLease, is_stopping: Callable[[], bool]) -> None:
        """Run the rest of a job in this process, under the lease of the worker that started it."""
        from looseleaf.features.workflows.jobs.worker import run_leased

        run_leased(self._open_job_parts(), lease, is_stopping)

    def _open_job_parts(self) -> JobParts:
        from looseleaf.features.workflows.artifacts import SecretMask, list_secrets
        from looseleaf.features.workflows.jobs.job_process import COMMAND, run_in_process
        from looseleaf.features.workflows.jobs.run import JobParts
        from looseleaf.features.workflows.jobs.services import JobMemory, JobStepServices

        context, store = self._context, self.store
        mask = SecretMask(list_secrets(context.settings))
        return JobParts(
            queue=store.queue,
            step_types=step_types_of(context.parts),
            open_parts=lambda job: JobStepServices(
                replace(context, settings=self._database.settings()), job, store.intents
            ),
            observer=JobMemory(context, store.jobs),
            run_apart=partial(run_in_process, (*COMMAND, self._root)),
            mask=mask.mask_text,
            clock=context.clock,
            report=context.parts.report,
        )

    def _open_worker(self, log: Callable[[JobEvent], None] | None) -> Worker:
        from looseleaf.features.workflows.jobs.worker import Worker, create_worker_id

        store, settings = self.store, self._context.settings
        modes = GROUP if settings.group_writable else PRIVATE
        parts = self._open_job_parts()
        locks = LockFiles(self._root, WORKER_LOCKS, modes=modes)
        firing = self.schedule_firing
        options = _read_options(settings)
        return Worker(
            create_worker_id(), parts, store.workers, locks, firing, options=options, log=log
        )


def _read_options(settings: Settings) -> WorkerOptions:
    from looseleaf.features.workflows.jobs.queue import Limits
    from looseleaf.features.workflows.jobs.worker import WorkerOptions

    limits = Limits(settings.jobs_per_agent, settings.jobs_per_model)
    return WorkerOptions(jobs_at_once=max(1, settings.jobs_at_once), limits=limits)


# The schedules of flows and plugins, and the jobs that they start.


class ScheduledJobs:
    """Lists the schedules of flows and plugins, and starts the jobs of a schedule."""

    def __init__(
        self, parts: WorkspaceServices, jobs: Jobs, read_settings: Callable[[], Settings]
    ) -> None:
        self._parts, self._jobs, self._read_settings = parts, jobs, read_settings

    def list_entries(self) -> Iterator[ScheduleEntry]:
        """Return the schedules of all flows and plugins."""
        settings = self._read_settings()
        for schedule in task_schedules_of(self._parts).all():
            yield _describe_task(schedule, settings)
        flows, _ = definitions_of(self._parts).flows.list()
        for flow in flows:
            entry = _describe_flow(flow, settings.timezone)
            if entry is not None:
                yield entry

    def start_jobs(self, entry: ScheduleEntry, due: float, key: str) -> Iterator[Job]:
        """Start the jobs of a schedule; `key` makes a second start find the first jobs."""
        if entry.flow_id:
            yield self._start_flow(entry, key)
            return
        if not entry.per_agent:
            job = plan_task_job(entry.task_type, entry.params, label=entry.label, key=key)
            yield self._jobs.add(job)[0]
            return
        for agent in list_readable_agents(self._parts.agents):
            if agent.status != "active":
                continue
            # Spread out, since the jobs of all agents may ask the same provider.
            wait = compute_stagger(agent.id, entry.timing.seconds or 3_600) if key else 0
            job = plan_task_job(
                entry.task_type,
                entry.params,
                label=entry.label,
                agent_id=agent.id,
                user_id=agent.owner,
                key=f"{key}#{agent.id}" if key else "",
                not_before=due + wait if wait else 0.0,
            )
            yield self._jobs.add(job)[0]

    def _start_flow(self, entry: ScheduleEntry, key: str) -> Job:
        definitions = definitions_of(self._parts)
        flow = definitions.flows.find(entry.flow_id)
        pipeline = definitions.pipelines.find(flow.pipeline_id) if flow else None
        if flow is None or pipeline is None:
            raise FlowMissing(entry.flow_id)
        model = self._parts.model_for(flow.agent_id, "pipeline") or ""
        return self._jobs.add(plan_flow_job(Plan(pipeline, flow), model=model, key=key))[0]


def _describe_task(schedule: TaskSchedule, settings: Settings) -> ScheduleEntry:
    is_enabled = schedule.enabled
    if schedule.setting:
        is_enabled = bool(getattr(settings, schedule.setting))
    is_enabled = is_enabled and schedule.task not in settings.system_tasks_off
    return ScheduleEntry(
        id=f"{TASK}:{schedule.name}",
        label=schedule.label or schedule.name.replace("_", " ").replace("-", " ").capitalize(),
        timing=read_timing(schedule.when),
        zone=schedule.zone or settings.timezone,
        task_type=schedule.task,
        params=schedule.params,
        per_agent=schedule.per_agent,
        is_enabled=is_enabled,
        owner=schedule.owner,
    )


def _describe_flow(flow: Flow, zone: str) -> ScheduleEntry | None:
    """Describe the schedule of a flow, or None if the schedule is invalid."""
    schedule = flow.schedule
    try:
        timing = read_timing(schedule.interval, cron=schedule.cron, at=schedule.at)
    except InvalidSchedule:
        return None
    return ScheduleEntry(
        id=f"{FLOW}:{flow.id}",
        label=flow.name,
        timing=timing,
        zone=zone,
        flow_id=flow.id,
        agent_id=flow.agent_id,
        is_enabled=schedule.enabled,
    )


# Lock files: a running process holds each, so that other processes notice when it has died.


_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class LockFiles:
    """A folder of lock files below a root folder."""

    def __init__(self, root: str, path: str, *, modes: tuple[int, int] = (0o600, 0o700)) -> None:
        self._root, self._path = root, path
        self._file_mode, self._folder_mode = modes

    def hold(self, name: str) -> HeldFile:
        """Create a lock file and hold it until it is closed, or the process dies."""
        with OsErrorContext(name):
            folder = self._open()
            try:
                file, _inode = atomic.stage(folder, name, b"", mode=self._file_mode)
            except BaseException:
                os.close(folder)
                raise
            held_file = HeldFile(folder, file, name)
            try:
                atomic.lock(file, name, seconds=0.0)
            except BaseException:
                os.close(file)
                os.close(folder)
                raise
            return held_file

    def is_free(self, name: str) -> bool | None:
        """Return whether no process holds a lock file, or None if there is no such file."""
        with OsErrorContext(name):
            folder = self._open()
            try:
                file = os.open(name, _READ, dir_fd=folder)
            except FileNotFoundError:
                return None
            finally:
                os.close(folder)
            try:
                atomic.lock(file, name, seconds=0.0)
            except Locked:
                return False
            finally:
                os.close(file)
            return True

    def remove(self, name: str) -> None:
        """Remove a lock file that nobody holds."""
        with OsErrorContext(name):
            folder = self._open()
            try:
                atomic.remove(folder, name)
            finally:
                os.close(folder)

    def _open(self) -> int:
        root = os.open(self._root, atomic.FOLDER)
        try:
            return open_folder(root, self._path.split("/"), create=self._folder_mode)
        finally:
            os.close(root)


class HeldFile:
    """A lock file that this process holds."""

    def __init__(self, folder: int, file: int, name: str) -> None:
        self._folder, self._file, self._name = folder, file, name

    def close(self) -> None:
        """Remove the file and release the lock."""
        if self._file >= 0:
            atomic.remove(self._folder, self._name)
            os.close(self._file)
            os.close(self._folder)
            self._file = -1
