"""The queue of jobs in the database: workers claim, run and leave jobs under a lease."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.errors.features import JobLost
from looseleaf.features.workflows import tables
from looseleaf.features.workflows.jobs.job import FINAL
from looseleaf.features.workflows.jobs.queue import JobLease, Limits
from looseleaf.features.workflows.jobs.sql_jobs import (
    MICRO,
    UNCLEARED,
    SqlIntents,
    SqlJobs,
    WorkListener,
    decode_outcome,
    encode_outcome,
    read_state,
    select_job,
    to_micros,
)
from looseleaf.features.workflows.schedules import ScheduleState
from looseleaf.models.model import Usage
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from looseleaf.features.workflows.jobs.job import Job
    from looseleaf.features.workflows.jobs.queue import JobOutcome, JobState
    from looseleaf.features.workflows.schedules import Ensured, ScheduleEntry
    from looseleaf.features.workflows.step import StepOutcome
    from looseleaf.stores.database.database import Database


_CLAIM_LOCK = 0x6C6F6F73656A6F62  # "loosejob", for PostgreSQL's advisory locks
_NO_LIMITS = Limits()
_LONGEST_REASON = 2_000
_LONGEST_PROGRESS = 200
_MOST_UNCLEARED = 100  # at a time
_JOBS, _STEPS = tables.jobs, tables.job_steps
# The status of a step in the words of its outcome; a waiting step has not ended.
_ENDED = ("completed", "no_items", "skipped", "failed")


_ONE_MORE = {"interruptions": _STEPS.c.interruptions + 1}


# The statements of every step are built once; building them takes longer than running them.
_OF_STEP = (_STEPS.c.job_id == sa.bindparam("job")) & (_STEPS.c.step_id == sa.bindparam("step"))
_SELECT_HELD = (
    sa.select(_JOBS.c.id)
    .where(
        _JOBS.c.id == sa.bindparam("job"),
        _JOBS.c.worker == sa.bindparam("holder"),
        _JOBS.c.run == sa.bindparam("run_number"),
        _JOBS.c.status == "processing",
    )
    .with_for_update()
)
_SELECT_ATTEMPTS = sa.select(_STEPS.c.attempts, _STEPS.c.started_at).where(_OF_STEP)
_SELECT_OUTCOME = sa.select(_STEPS.c.outcome).where(_OF_STEP)
_BEGIN_STEP = (
    _STEPS.update()
    .where(_OF_STEP)
    .values(
        status="processing",
        attempts=sa.bindparam("attempt"),
        started_at=sa.bindparam("start"),
        progress="",
    )
)
_NOTE_PROGRESS = (
    _STEPS.update()
    .where(_OF_STEP & (_STEPS.c.status == "processing"))
    .values(progress=sa.bindparam("text"))
)
_END_STEP = (
    _STEPS.update()
    .where(_OF_STEP)
    .values(
        status=sa.bindparam("new_status"),
        reason=sa.bindparam("why"),
        outcome=sa.bindparam("result"),
        ended_at=sa.bindparam("end"),
        progress="",
    )
)


class SqlJobQueue:
    """Jobs as workers take, run and leave them."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def claim(self, worker: str, limits: Limits) -> JobLease | None:
        """Claim the oldest job that is due and within the limits."""
        now = to_micros(self._clock())
        due = (_JOBS.c.status == "pending") & (_JOBS.c.not_before <= now)
        with self._database.reading() as connection:
            if connection.execute(sa.select(_JOBS.c.id).where(due).limit(1)).first() is None:
                return None  # the usual case, which takes no lock
        query = sa.select(_JOBS.c.id, _JOBS.c.run, _JOBS.c.started_at).where(due)
        query = query.order_by(_JOBS.c.id).limit(1).with_for_update(skip_locked=True)
        with self._database.writing(is_relaxed=True) as connection:
            if limits != _NO_LIMITS:
                if connection.dialect.name == "postgresql":
                    # Two workers that count at once would both find a place free.
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CLAIM_LOCK)))
                query = query.where(_build_limit_condition(connection, limits))
            row = connection.execute(query).first()
            if row is None:
                return None
            values = {"status": "processing", "worker": worker, "run": row.run + 1, "reason": ""}
            values["started_at"] = row.started_at or now
            connection.execute(_JOBS.update().where(_JOBS.c.id == row.id).values(**values))
            return JobLease(row.id, worker, row.run + 1)

    def take(self, job_id: int, worker: str) -> tuple[JobLease, JobState]:
        """Return the lease of a job that the worker has claimed or taken over, and its state."""
        is_held = (_JOBS.c.id == job_id) & (_JOBS.c.worker == worker)
        is_held &= _JOBS.c.status == "processing"
        with self._database.reading() as connection:
            run = connection.execute(sa.select(_JOBS.c.run).where(is_held)).scalar()
            if run is None:
                raise JobLost(job_id)
            return JobLease(job_id, worker, run), read_state(connection, job_id)

    def find(self, job_id: int) -> Job:
        """Return a job, whoever runs it, or raise `JobMissing`."""
        with self._database.reading() as connection:
            return select_job(connection, job_id)

    def begin_step(self, lease: JobLease, step_id: str) -> int:
        """Record that a step begins, and return the number of the attempt."""
        place = {"job": lease.job_id, "step": step_id}
        with self._database.writing(is_relaxed=True) as connection:
            _require_lease(connection, lease)
            row = connection.execute(_SELECT_ATTEMPTS, place).one()
            attempt = int(row.attempts) + 1
            start = row.started_at or to_micros(self._clock())
            connection.execute(_BEGIN_STEP, {**place, "attempt": attempt, "start": start})
            return attempt

    def end_step(self, lease: JobLease, step_id: str, outcome: StepOutcome) -> StepOutcome:
        """Record an outcome once; return the one that was recorded first."""
        place = {"job": lease.job_id, "step": step_id}
        state = {"new_status": outcome.status, "why": _shorten(outcome.reason)}
        with self._database.writing() as connection:
            _require_lease(connection, lease)
            outcome_text = connection.execute(_SELECT_OUTCOME, place).scalar_one()
            if outcome_text is not None:
                return decode_outcome(outcome_text)
            if outcome.status in _ENDED:
                end = to_micros(self._clock())
                result = encode_outcome(outcome)
                connection.execute(_END_STEP, {**place, **state, "result": result, "end": end})
                _add_usage(connection, lease.job_id, outcome.usage)
            else:
                update = _STEPS.update().where(_build_step_condition(lease.job_id, step_id))
                values = {"status": outcome.status, "reason": state["why"], "gate": outcome.gate}
                connection.execute(update.values(**values))
            return outcome

    def count_interruption(self, lease: JobLease, step_id: str) -> int:
        """Count that the process that ran a step died; return how often that happened."""
        condition = _build_step_condition(lease.job_id, step_id)
        with self._database.writing() as connection:
            _require_lease(connection, lease)
            connection.execute(_STEPS.update().where(condition).values(**_ONE_MORE))
            count = connection.execute(sa.select(_STEPS.c.interruptions).where(condition))
            return int(count.scalar_one())

    def report_progress(self, lease: JobLease, step_id: str, text: str) -> None:
        """Record how far a step is."""
        progress = {"job": lease.job_id, "step": step_id, "text": text[:_LONGEST_PROGRESS]}
        with self._database.writing(is_relaxed=True) as connection:
            connection.execute(_NOTE_PROGRESS, progress)

    def release(self, lease: JobLease, outcome: JobOutcome) -> Job:
        """Leave a job in a state that needs no worker, and return it."""
        values: dict[str, object] = {
            "status": outcome.status,
            "reason": _shorten(outcome.reason),
            "not_before": to_micros(outcome.not_before),
            "worker": "",
            "wish": "",
        }
        if outcome.status in FINAL:
            values |= {"completed_at": to_micros(self._clock()), "not_before": UNCLEARED}
        if outcome.is_retry:
            values["attempts"] = _JOBS.c.attempts + 1
        with self._database.writing() as connection:
            _require_lease(connection, lease)
            condition = _JOBS.c.id == lease.job_id
            connection.execute(_JOBS.update().where(condition).values(**values))
            begun_steps = (_STEPS.c.job_id == lease.job_id) & (_STEPS.c.status == "processing")
            step_values = {"status": "pending", "reason": _shorten(outcome.reason), "progress": ""}
            connection.execute(_STEPS.update().where(begun_steps).values(**step_values))
            return select_job(connection, lease.job_id)

    def expire(self) -> int:
        """Mark jobs as failed that waited too long for a call; return how many."""
        now = to_micros(self._clock())
        late = (_JOBS.c.status == "waiting") & (_JOBS.c.not_before > 0)
        late &= _JOBS.c.not_before <= now
        with self._database.reading() as connection:
            if connection.execute(sa.select(_JOBS.c.id).where(late).limit(1)).first() is None:
                return 0
        failed_values = {"status": "failed", "reason": "no call came in time", "completed_at": now}
        failed_values["not_before"] = UNCLEARED
        with self._database.writing() as connection:
            return connection.execute(_JOBS.update().where(late).values(**failed_values)).rowcount

    def list_uncleared(self) -> tuple[Job, ...]:
        """Return jobs that have ended and whose memory is still to be cleared."""
        condition = _JOBS.c.status.in_(FINAL) & (_JOBS.c.not_before == UNCLEARED)
        query = sa.select(_JOBS.c.id).where(condition).limit(_MOST_UNCLEARED)
        with self._database.reading() as connection:
            ids = list(connection.execute(query).scalars())
            return tuple(select_job(connection, job_id) for job_id in ids)

    def note_cleared(self, job_id: int) -> bool:
        """Record that the memory of an ended job is cleared; return whether it was not before."""
        condition = (_JOBS.c.id == job_id) & (_JOBS.c.not_before == UNCLEARED)
        with self._database.writing(is_relaxed=True) as connection:
            result = connection.execute(_JOBS.update().where(condition).values(not_before=0))
            return result.rowcount > 0

    def count_due(self) -> int:
        """Return the number of jobs that a worker could take now, whatever the limits."""
        due = (_JOBS.c.status == "pending") & (_JOBS.c.not_before <= to_micros(self._clock()))
        with self._database.reading() as connection:
            query = sa.select(sa.func.count()).select_from(_JOBS).where(due)
            return int(connection.execute(query).scalar_one())

    def list_requested_actions(self, worker: str) -> Mapping[int, str]:
        """Return the jobs that a worker runs, each with what people asked for: cancel or pause."""
        condition = (_JOBS.c.worker == worker) & (_JOBS.c.status == "processing")
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(_JOBS.c.id, _JOBS.c.wish).where(condition))
            return {row.id: row.wish for row in rows}


def _build_limit_condition(connection: sa.Connection, limits: Limits) -> sa.ColumnElement[bool]:
    """Return the condition that leaves out agents and models which run enough jobs already."""
    condition: sa.ColumnElement[bool] = sa.true()
    for column, limit, empty_value in (
        (_JOBS.c.agent_id, limits.per_agent, 0),
        (_JOBS.c.model, limits.per_model, ""),
    ):
        if not limit:
            continue
        counts = (
            sa.select(column)
            .where((_JOBS.c.status == "processing") & (column != empty_value))
            .group_by(column)
            .having(sa.func.count() >= limit)
        )
        busy = list(connection.execute(counts).scalars())
        if busy:
            condition &= column.notin_(busy)
    return condition


def _require_lease(connection: sa.Connection, lease: JobLease) -> None:
    """Raise `JobLost` if another worker has the job by now."""
    holder = {"job": lease.job_id, "holder": lease.worker, "run_number": lease.run}
    if connection.execute(_SELECT_HELD, holder).first() is None:
        raise JobLost(lease.job_id)


def _build_step_condition(job_id: int, step_id: str) -> sa.ColumnElement[bool]:
    return (_STEPS.c.job_id == job_id) & (_STEPS.c.step_id == step_id)


def _add_usage(connection: sa.Connection, job_id: int, usage: Usage) -> None:
    if usage == Usage():
        return
    condition = _JOBS.c.id == job_id
    before = Usage(
        **json.loads(connection.execute(sa.select(_JOBS.c.usage).where(condition)).scalar_one())
    )
    total = json.dumps(as_dict(before.plus(usage)))
    connection.execute(_JOBS.update().where(condition).values(usage=total))


def _shorten(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"


# Heartbeats of workers, and the jobs of workers that died.


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

    def begin_stop(self, worker: str) -> None:
        """Record that a worker stops: the steps that it leaves count as begun, not interrupted."""
        with self._database.writing(is_relaxed=True) as connection:
            left = _STEPS.update().where(_build_under_way_condition(worker))
            connection.execute(left.values(status="pending"))

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
            interrupted = _STEPS.update().where(_build_under_way_condition(dead))
            connection.execute(interrupted.values(**_ONE_MORE))
            connection.execute(tables.jobs.update().where(of_dead).values(worker=worker))
            connection.execute(tables.workers.delete().where(tables.workers.c.id == dead))
        return job_ids


def _build_under_way_condition(worker: str) -> sa.ColumnElement[bool]:
    """Return the condition of the steps that a worker runs."""
    of_worker = (_JOBS.c.worker == worker) & (_JOBS.c.status == "processing")
    job_ids = sa.select(_JOBS.c.id).where(of_worker)
    return _STEPS.c.job_id.in_(job_ids) & (_STEPS.c.status == "processing")


# The states of schedules in the database; a compare-and-swap decides which server fires them.


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

    def note_result(
        self, schedule_id: str, *, job_id: int = 0, problem: str = "", time: float = 0.0
    ) -> int:
        """Record a started job, or why there is none; return the rejections in a row."""
        condition = _SCHEDULES.c.id == schedule_id
        values: dict[str, Any] = {"problem": problem[:_LONGEST_PROBLEM]}
        if problem:
            values["rejections"] = _SCHEDULES.c.rejections + 1
        else:
            values |= {"rejections": 0, "last_job": job_id}
        if time:
            values["last_run"] = to_micros(time)
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


# The tables of jobs as one group: jobs, their queue, workers, intents and schedules.


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
