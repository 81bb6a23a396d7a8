"""How the jobs of a workspace run: schedules, and the worker."""

from __future__ import annotations

from _thread import allocate_lock

from looseleaf.files.folders import GROUP, PRIVATE
from looseleaf.workflows.parts import job_store_of, step_types_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context
    from looseleaf.settings import Settings
    from looseleaf.stores.database.jobs.job_store import SqlJobStore
    from looseleaf.stores.database.jobs.jobs import SqlJobs
    from looseleaf.stores.database.jobs.schedules import SqlScheduleStates
    from looseleaf.stores.database.jobs.work_listener import WorkListener
    from looseleaf.stores.database.open_database import OpenDatabase
    from looseleaf.workflows.execution.job_event import JobEvent
    from looseleaf.workflows.execution.worker import Worker, WorkerOptions
    from looseleaf.workflows.schedules.firing import ScheduleFiring

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
            from looseleaf.upkeep.scheduled_jobs import ScheduledJobs
            from looseleaf.workflows.schedules.firing import ScheduleFiring

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
        from looseleaf.files.lock_files import LockFiles

        locks = LockFiles(self._root, WORKER_LOCKS)
        return any(locks.is_free(name) is False for name in self.store.workers.beats())

    def _open_worker(self, log: Callable[[JobEvent], None] | None) -> Worker:
        from looseleaf.files.lock_files import LockFiles
        from looseleaf.job_runtime.job_memory import JobMemory
        from looseleaf.job_runtime.step_parts import JobStepServices
        from looseleaf.workflows.execution.job_run import JobParts
        from looseleaf.workflows.execution.worker import Worker, create_worker_id

        context, store, settings = self._context, self.store, self._context.settings
        modes = GROUP if settings.group_writable else PRIVATE
        parts = JobParts(
            queue=store.queue,
            step_types=step_types_of(context.parts),
            open_parts=lambda job: JobStepServices(context, job, store.intents),
            observer=JobMemory(context, store.jobs),
            clock=context.clock,
            report=context.parts.report,
        )
        locks = LockFiles(self._root, WORKER_LOCKS, modes=modes)
        firing = self.schedule_firing
        options = _read_options(settings)
        return Worker(
            create_worker_id(), parts, store.workers, locks, firing, options=options, log=log
        )


def _read_options(settings: Settings) -> WorkerOptions:
    from looseleaf.workflows.execution.queue import Limits
    from looseleaf.workflows.execution.worker import WorkerOptions

    limits = Limits(settings.jobs_per_agent, settings.jobs_per_model)
    return WorkerOptions(jobs_at_once=max(1, settings.jobs_at_once), limits=limits)
