"""Heartbeats of workers, and the jobs of workers that died."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.stores.database.jobs.job_rows import to_micros
from looseleaf.workflows import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looseleaf.stores.database.database import Database


class SqlWorkers:
    """The workers of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def beat(self, worker: str, host: str) -> None:
        """Record that a worker is alive."""
        now = to_micros(self._clock())
        condition = tables.workers.c.id == worker
        with self._database.writing(is_relaxed=True) as connection:
            values = {"beat_at": now, "beats": tables.workers.c.beats + 1}
            if not connection.execute(
                tables.workers.update().where(condition).values(**values)
            ).rowcount:
                row = {"id": worker, "host": host, "started_at": now, "beat_at": now, "beats": 1}
                connection.execute(tables.workers.insert().values(**row))

    def leave(self, worker: str) -> None:
        """Record that a worker has stopped."""
        with self._database.writing(is_relaxed=True) as connection:
            connection.execute(tables.workers.delete().where(tables.workers.c.id == worker))

    def beats(self) -> Mapping[str, int]:
        """Return all workers that have not left, each with the number of its heartbeats."""
        query = sa.select(tables.workers.c.id, tables.workers.c.beats)
        with self._database.reading() as connection:
            return {row.id: row.beats for row in connection.execute(query)}

    def take_over(self, dead: str, worker: str) -> tuple[int, ...]:
        """Transfer the jobs of a dead worker to another one, and return them."""
        of_dead = (tables.jobs.c.worker == dead) & (tables.jobs.c.status == "processing")
        with self._database.writing() as connection:
            query = sa.select(tables.jobs.c.id).where(of_dead).order_by(tables.jobs.c.id)
            job_ids = tuple(connection.execute(query.with_for_update()).scalars())
            connection.execute(tables.jobs.update().where(of_dead).values(worker=worker))
            connection.execute(tables.workers.delete().where(tables.workers.c.id == dead))
        return job_ids
