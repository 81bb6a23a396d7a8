"""The queue of jobs in the database: workers claim, run and leave jobs under a lease."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.errors.workflows import JobLost
from looseleaf.models.model import Usage
from looseleaf.stores.database.jobs.job_rows import (
    UNCLEARED,
    decode_outcome,
    encode_outcome,
    to_micros,
)
from looseleaf.stores.database.jobs.jobs import read_state, select_job
from looseleaf.values import as_dict
from looseleaf.workflows import tables
from looseleaf.workflows.execution.queue import JobLease, Limits
from looseleaf.workflows.job import FINAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looseleaf.stores.database.database import Database
    from looseleaf.workflows.execution.queue import JobOutcome
    from looseleaf.workflows.job import Job
    from looseleaf.workflows.job_list import JobState
    from looseleaf.workflows.step import StepOutcome

_CLAIM_LOCK = 0x6C6F6F73656A6F62  # "loosejob", for PostgreSQL's advisory locks
_NO_LIMITS = Limits()
_LONGEST_REASON = 2_000
_LONGEST_PROGRESS = 200
_MOST_UNCLEARED = 100  # at a time
_JOBS, _STEPS = tables.jobs, tables.job_steps
# The status of a step in the words of its outcome; a waiting step has not ended.
_ENDED = ("completed", "no_items", "skipped", "failed")


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
