"""The tables of jobs as one group: jobs, their queue, workers, intents and schedules."""

from __future__ import annotations

from looseleaf.stores.database.jobs.intents import SqlIntents
from looseleaf.stores.database.jobs.job_queue import SqlJobQueue
from looseleaf.stores.database.jobs.jobs import SqlJobs
from looseleaf.stores.database.jobs.schedules import SqlScheduleStates
from looseleaf.stores.database.jobs.work_listener import WorkListener
from looseleaf.stores.database.jobs.workers import SqlWorkers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.stores.database.database import Database


class SqlJobStore:
    """All that one database holds of jobs."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database = database
        self.jobs = SqlJobs(database, clock=clock)
        self.queue = SqlJobQueue(database, clock=clock)
        self.workers = SqlWorkers(database, clock=clock)
        self.intents = SqlIntents(database, clock=clock)
        self.schedules = SqlScheduleStates(database, clock=clock)

    def listen(self, wake: Callable[[], None]) -> WorkListener | None:
        """Call a function when any process gives workers something to do.

        SQLite tells of work from this process alone, and needs no listener that is closed.
        """
        self.jobs.on_work(wake)
        is_postgres = self._database.engine.dialect.name == "postgresql"
        return WorkListener(self._database, wake) if is_postgres else None
