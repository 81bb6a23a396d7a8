"""The items that steps of flows have taken, each by one job."""

from __future__ import annotations

import time

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from looseleaf.stores.database.workflows.rows import MICRO
from looseleaf.times import DAY_SECONDS
from looseleaf.workflows.tables import processed_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sqlalchemy.sql.dml import ReturningInsert

    from looseleaf.stores.database.database import Database

_BATCH = 500  # keys in one statement


class SqlProcessedItems:
    """The processed items of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database, self._clock = database, clock

    def claim(
        self, flow_id: int, step_id: str, keys: tuple[str, ...], *, job_id: int, limit: int
    ) -> tuple[str, ...]:
        """Claim items that no other job has, in their order, and return those of this job."""
        is_step = (processed_items.c.flow_id == flow_id) & (processed_items.c.step_id == step_id)
        with self._database.writing() as connection:
            owners: dict[str, int] = {}
            for start in range(0, len(keys), _BATCH):
                batch = keys[start : start + _BATCH]
                query = sa.select(processed_items.c.item_key, processed_items.c.job_id).where(
                    is_step, processed_items.c.item_key.in_(batch)
                )
                owners |= {row.item_key: row.job_id for row in connection.execute(query)}
                self._renew(connection, is_step & processed_items.c.item_key.in_(batch))
            own_keys = [key for key in keys if owners.get(key) == job_id]
            if own_keys:
                return tuple(own_keys)  # the same job, once more
            new = [key for key in keys if key not in owners]
            return tuple(self._insert(connection, (flow_id, step_id, job_id), new, limit))

    def _renew(self, connection: sa.Connection, is_offered: sa.ColumnElement[bool]) -> None:
        """Record that a source still offers items: a forgotten item would be taken again."""
        now = self._clock()
        is_older = processed_items.c.time < round((now - DAY_SECONDS) * MICRO)
        update = processed_items.update().where(is_offered, is_older)
        connection.execute(update.values(time=round(now * MICRO)))

    def _insert(
        self, connection: sa.Connection, owner: tuple[int, str, int], keys: list[str], limit: int
    ) -> list[str]:
        """Insert rows up to a limit; a key that another process takes meanwhile is left out."""
        flow_id, step_id, job_id = owner
        new_keys: list[str] = []
        for key in keys:
            if len(new_keys) >= limit:
                break
            row = {
                "flow_id": flow_id,
                "step_id": step_id,
                "item_key": key,
                "job_id": job_id,
                "time": round(self._clock() * MICRO),
            }
            if connection.execute(_build_insert(connection).values(row)).first() is not None:
                new_keys.append(key)
        return new_keys

    def release(self, job_id: int) -> int:
        """Release the items of a failed job, for the next job; return how many."""
        is_job = processed_items.c.job_id == job_id
        with self._database.writing() as connection:
            return connection.execute(processed_items.delete().where(is_job)).rowcount

    def prune(self, *, before: float, dry_run: bool = False) -> int:
        """Delete items that no source has offered since a time; return how many."""
        is_old = processed_items.c.time < round(before * MICRO)
        if dry_run:
            query = sa.select(sa.func.count()).select_from(processed_items).where(is_old)
            with self._database.reading() as connection:
                return connection.execute(query).scalar_one()
        with self._database.writing() as connection:
            return connection.execute(processed_items.delete().where(is_old)).rowcount


def _build_insert(connection: sa.Connection) -> ReturningInsert[Any]:
    """Build an insert that leaves an existing row as it is, and then returns nothing."""
    if connection.dialect.name == "sqlite":
        sqlite_insert = sqlite.insert(processed_items).on_conflict_do_nothing()
        return sqlite_insert.returning(processed_items.c.item_key)
    insert = postgresql.insert(processed_items).on_conflict_do_nothing()
    return insert.returning(processed_items.c.item_key)
