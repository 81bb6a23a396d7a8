"""The durable engine on DBOS: a run of a job is a workflow, and each of its steps a step of it.

DBOS keeps one instance for each process, so that a process runs one engine at a time. Neither its
telemetry nor its scheduler, messages and console are used: nothing is written to standard output,
no port is opened and no server is called. docs/why.md has the reasons.
"""

from __future__ import annotations

import logging
import threading

from dbos import DBOS, DBOSPortableJSONSerializer, SetWorkflowID
from dbos._utils import GlobalParams

from looseleaf.errors import Unavailable
from looseleaf.stores.engine.engine_database import SCHEMA, open_engine_database
from looseleaf.workflows.engine import RunAbandoned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    import sqlalchemy as sa
    from dbos import DBOSConfig

    RunJob = Callable[[str, int, int], None]
    Report = Callable[[str, Exception], None]

# Pending runs belong to the version that began them. Ours stays the same while any version of
# Looseleaf can continue the runs of any other.
APPLICATION_VERSION = "looseleaf-1"
_OPEN_STATUSES = ("PENDING", "ENQUEUED", "DELAYED")
_LONG_SECONDS = 3_600.0
_MOST_RUNS = 500  # at a time
_guard = threading.Lock()
_instance: DbosEngine | None = None


class EngineFailed(Exception):
    """A message that DBOS logged as an error."""


class _ErrorHandler(logging.Handler):
    """Reports the errors that DBOS logs to the operator, and nothing else."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().partition("\n")[0].rstrip(": ")
        error = record.exc_info[1] if record.exc_info else None
        reason = f": {type(error).__name__}: {error}" if error is not None else ""
        self._report("The engine of jobs", EngineFailed(text + reason))


class DbosEngine:
    """The engine of one workspace in this process."""

    def __init__(
        self,
        database_url: str,
        root: str,
        *,
        executor_id: str,
        report: Report,
        file_mode: int = 0o600,
    ) -> None:
        self._place = (database_url, root, file_mode)
        self._executor_id, self._report = executor_id, report
        self._database: sa.Engine | None = None
        self._abandoned_runs: set[str] = set()
        self.run_job: RunJob = _refuse_job

    def launch(self, run_job: RunJob) -> None:
        """Start; threads call `run_job` with a run, its job and the position of its first step."""
        global _instance  # noqa: PLW0603 - DBOS itself has one instance for each process
        with _guard:
            if _instance is not None:
                raise Unavailable("The engine of jobs", "another one runs in this process")
            _instance = self
        self.run_job = run_job
        database_url, root, file_mode = self._place
        try:
            self._database = open_engine_database(database_url, root, file_mode=file_mode)
            _silence_logger(self._report)
            GlobalParams.dbos_cloud = False  # whatever the environment says
            DBOS(config=self._build_config(self._database))
            DBOS.launch()
        except BaseException as error:
            self.close()
            if isinstance(error, Exception):
                raise Unavailable("The engine of jobs", str(error).partition("\n")[0]) from error
            raise

    def _build_config(self, database: sa.Engine) -> DBOSConfig:
        return {
            "name": "looseleaf",
            "system_database_url": database.url.render_as_string(hide_password=False),
            "system_database_engine": database,
            "dbos_system_schema": SCHEMA,
            "application_version": APPLICATION_VERSION,
            "executor_id": self._executor_id,
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "ERROR",
            "enable_otlp": False,
            # Neither messages nor DBOS's own schedules are used.
            "use_listen_notify": False,
            "scheduler_polling_interval_sec": _LONG_SECONDS,
        }

    def start(self, run_id: str, job_id: int, position: int) -> None:
        """Run a job in a thread; a second start with the same id does nothing."""
        with SetWorkflowID(run_id):
            DBOS.start_workflow(_run_workflow, job_id, position)

    def record(self, name: str, part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Within `run_job`: run a part and record its result, or return the recorded one."""

        def run_part() -> dict[str, Any]:
            try:
                return part()
            except Exception as error:
                raise RunAbandoned(error) from error

        try:
            return DBOS.run_step({"name": name}, run_part)
        except RunAbandoned:
            self._abandoned_runs.add(str(DBOS.workflow_id))
            raise
        except Exception as error:
            self._abandoned_runs.add(str(DBOS.workflow_id))
            raise RunAbandoned(error) from error

    def forget_worker(self, executor_id: str) -> None:
        """Forget the runs of a process that died; its jobs are started again."""
        while True:
            runs = DBOS.list_workflows(
                executor_id=executor_id, limit=_MOST_RUNS, load_input=False, load_output=False
            )
            if not runs:
                return
            DBOS.delete_workflows([run.workflow_id for run in runs])

    def discard(self, run_ids: Collection[str]) -> tuple[str, ...]:
        """Forget runs that have ended; return those that the engine has still to finish."""
        if not run_ids:
            return ()
        # A run ends for the worker a moment before DBOS has recorded its end.
        open_runs = DBOS.list_workflows(
            workflow_ids=list(run_ids),
            status=list(_OPEN_STATUSES),
            load_input=False,
            load_output=False,
        )
        unfinished_ids = {run.workflow_id for run in open_runs} - self._abandoned_runs
        ended_runs = [run_id for run_id in run_ids if run_id not in unfinished_ids]
        if ended_runs:
            DBOS.delete_workflows(ended_runs)
        self._abandoned_runs.difference_update(ended_runs)
        return tuple(unfinished_ids)

    def close(self) -> None:
        """Take no more work, and close every connection."""
        global _instance  # noqa: PLW0603 - as in `launch`
        if _instance is self:
            DBOS.destroy()
            _instance = None
        if self._database is not None:
            self._database.dispose()
            self._database = None


@DBOS.workflow(name="looseleaf_job")
def _run_workflow(job_id: int, position: int) -> None:
    """Run a job; DBOS calls this again in another process where the first one died."""
    engine = _instance
    if engine is not None:
        engine.run_job(str(DBOS.workflow_id), job_id, position)


def _refuse_job(_run_id: str, job_id: int, _position: int) -> None:
    raise RunAbandoned(RuntimeError(f"job {job_id} came before the engine was launched"))


def _silence_logger(report: Report) -> None:
    """Report the errors of DBOS, which would write to standard error by itself."""
    logger = logging.getLogger("dbos")
    logger.handlers[:] = [_ErrorHandler(report)]
    logger.propagate = False
