"""The tables of jobs as one group: jobs, their queue, workers, intents and schedules."""

from __future__ import annotations

from looseleaf.stores.database.jobs.intents import SqlIntents
from looseleaf.stores.database.jobs.job_queue import SqlJobQueue
from looseleaf.stores.database.jobs.jobs import SqlJobs
from looseleaf.stores.database.jobs.schedules import SqlScheduleStates
from looseleaf.stores.database.jobs.workers import SqlWorkers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.stores.database.database import Database


class SqlJobStore:
    """All that one database holds of jobs."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self.jobs = SqlJobs(database, clock=clock)
        self.queue = SqlJobQueue(database, clock=clock)
        self.workers = SqlWorkers(database, clock=clock)
        self.intents = SqlIntents(database, clock=clock)
        self.schedules = SqlScheduleStates(database, clock=clock)
