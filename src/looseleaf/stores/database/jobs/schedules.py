"""The states of schedules in the database; a compare-and-swap decides which server fires them."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.stores.database.jobs.job_rows import MICRO, to_micros
from looseleaf.values import as_dict
from looseleaf.workflows import tables
from looseleaf.workflows.schedules.schedule import ScheduleState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from looseleaf.stores.database.database import Database
    from looseleaf.workflows.schedules.schedule import Ensured, ScheduleEntry

_SCHEDULES = tables.schedules
_LONGEST_PROBLEM = 500


class SqlScheduleStates:
    """The states of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def ensure(self, entry: ScheduleEntry, first_run: float | None) -> Ensured:
        """Keep the state of an unchanged schedule; otherwise begin with a first run."""
        timing = json.dumps([as_dict(entry.timing), entry.zone], sort_keys=True)
        condition = _SCHEDULES.c.id == entry.id
        query = sa.select(_SCHEDULES.c.timing).where(condition)
        with self._database.reading() as connection:
            if connection.execute(query).scalar() == timing:
                return "preserved"
        next_run = None if first_run is None else to_micros(first_run)
        values: dict[str, Any] = {"timing": timing, "next_run": next_run, "problem": ""}
        with self._database.writing() as connection:
            stored_timing = connection.execute(query.with_for_update()).scalar()
            if stored_timing == timing:
                return "preserved"
            if stored_timing is not None:
                connection.execute(
                    _SCHEDULES.update().where(condition).values(**values, rejections=0)
                )
                return "replaced"
            values |= {"last_run": 0, "last_job": 0, "is_paused": False, "rejections": 0}
            is_new = _insert_unless_there(connection, {"id": entry.id, **values})
            return "created" if is_new else "preserved"

    def keep_only(self, ids: Collection[str]) -> int:
        """Delete all other schedules; return how many there were."""
        foreign = _SCHEDULES.c.id.notin_(list(ids))
        with self._database.reading() as connection:
            if (
                connection.execute(sa.select(_SCHEDULES.c.id).where(foreign).limit(1)).first()
                is None
            ):
                return 0
        with self._database.writing() as connection:
            return connection.execute(_SCHEDULES.delete().where(foreign)).rowcount

    def due(self, now: float) -> list[ScheduleState]:
        """Return the schedules that are due and not paused, the longest due first."""
        is_due = (_SCHEDULES.c.next_run <= to_micros(now)) & _SCHEDULES.c.is_paused.is_(False)
        query = sa.select(_SCHEDULES).where(is_due).order_by(_SCHEDULES.c.next_run)
        with self._database.reading() as connection:
            return [_build_state(row) for row in connection.execute(query)]

    def advance(self, schedule_id: str, due: float, next_run: float | None) -> bool:
        """Set the next run after a time that was due; return False if another server was faster."""
        condition = (_SCHEDULES.c.id == schedule_id) & (_SCHEDULES.c.next_run == to_micros(due))
        values = {
            "next_run": None if next_run is None else to_micros(next_run),
            "last_run": to_micros(self._clock()),
        }
        with self._database.writing() as connection:
            update = _SCHEDULES.update().where(condition & _SCHEDULES.c.is_paused.is_(False))
            return bool(connection.execute(update.values(**values)).rowcount)

    def note_result(self, schedule_id: str, *, job_id: int = 0, problem: str = "") -> int:
        """Record a started job, or why there is none; return the rejections in a row."""
        condition = _SCHEDULES.c.id == schedule_id
        values: dict[str, Any] = {"problem": problem[:_LONGEST_PROBLEM]}
        if problem:
            values["rejections"] = _SCHEDULES.c.rejections + 1
        else:
            values |= {"rejections": 0, "last_job": job_id}
        with self._database.writing() as connection:
            connection.execute(_SCHEDULES.update().where(condition).values(**values))
            count = connection.execute(sa.select(_SCHEDULES.c.rejections).where(condition)).scalar()
        return int(count or 0)

    def pause(self, schedule_id: str, *, is_paused: bool) -> bool:
        """Pause a schedule or resume it; return False if there is none."""
        condition = _SCHEDULES.c.id == schedule_id
        with self._database.writing() as connection:
            update = _SCHEDULES.update().where(condition).values(is_paused=is_paused)
            return bool(connection.execute(update).rowcount)

    def list(self) -> dict[str, ScheduleState]:
        """Return every state, by id."""
        query = sa.select(_SCHEDULES).order_by(_SCHEDULES.c.id)
        with self._database.reading() as connection:
            return {row.id: _build_state(row) for row in connection.execute(query)}


def _build_state(row: Any) -> ScheduleState:  # noqa: ANN401 - a row
    return ScheduleState(
        id=row.id,
        next_run=None if row.next_run is None else row.next_run / MICRO,
        last_run=row.last_run / MICRO,
        last_job=row.last_job,
        is_paused=row.is_paused,
        rejections=row.rejections,
        problem=row.problem,
    )


def _insert_unless_there(connection: sa.Connection, row: dict[str, Any]) -> bool:
    try:
        with connection.begin_nested():
            connection.execute(_SCHEDULES.insert().values(**row))
    except sa.exc.IntegrityError:
        return False  # another server was faster
    return True
