"""Jobs in the database, as users see and direct them."""

from __future__ import annotations

import json
import os
import selectors
import threading
from hmac import compare_digest

import sqlalchemy as sa

from looseleaf.errors import Refused
from looseleaf.errors.features import JobMissing
from looseleaf.features.workflows import tables
from looseleaf.features.workflows.jobs.job import FINAL, Job, MemoryWrite, StepRecord
from looseleaf.features.workflows.jobs.queue import CANCEL, PAUSE, JobState
from looseleaf.features.workflows.packet import Packet
from looseleaf.features.workflows.step import Intent, StepOutcome
from looseleaf.models.model import Usage
from looseleaf.values import as_dict, field_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Any

    from looseleaf.features.workflows.jobs.job import NewJob
    from looseleaf.features.workflows.jobs.queue import JobFilter, JobRequest
    from looseleaf.stores.database.database import Database


# Rows of jobs and their steps, and the values that users and workers see.


MICRO = 1_000_000
UNCLEARED = -1  # the time `not_before` of a job that has ended, until its memory is cleared
_TIMES = ("created_at", "started_at", "completed_at", "not_before")
_JOB_FIELDS = tuple(
    name for name in field_names(Job) if name not in {"steps", "writes", "usage", "idempotency_key"}
)
# A list of jobs reads no configuration, which is most of a row.
JOB_COLUMNS = tuple(
    column for column in tables.jobs.c if column.name not in {"snapshot", "wish", "worker", "run"}
)


def to_micros(seconds: float) -> int:
    """Return a time as the tables hold it."""
    return round(seconds * MICRO)


def build_job(
    row: Any,  # noqa: ANN401 - a row
    steps: tuple[StepRecord, ...] = (),
    writes: tuple[MemoryWrite, ...] = (),
) -> Job:
    """Build a job from a row, and from the records of its steps or from their writes alone."""
    fields: dict[str, Any] = {name: getattr(row, name) for name in _JOB_FIELDS}
    for name in _TIMES:
        fields[name] = max(fields[name], 0) / MICRO
    return Job(
        **fields,
        idempotency_key=row.idempotency_key or "",
        usage=Usage(**json.loads(row.usage)),
        steps=steps,
        writes=writes or tuple(write for step in steps for write in step.writes),
    )


def build_step(row: Any) -> StepRecord:  # noqa: ANN401 - a row
    """Build the record of a step from a row."""
    outcome = decode_outcome(row.outcome) if row.outcome else StepOutcome()
    return StepRecord(
        id=row.step_id,
        type=row.type,
        label=row.label,
        status=row.status,
        reason=row.reason,
        started_at=row.started_at / MICRO,
        ended_at=row.ended_at / MICRO,
        attempts=row.attempts,
        interruptions=row.interruptions,
        progress=row.progress,
        usage=outcome.usage,
        writes=outcome.writes,
        artifacts=outcome.artifacts,
        packets=len(outcome.packets),
    )


def build_step_row(job_id: int, position: int, step: StepRecord) -> dict[str, Any]:
    """Build the row of a step that has not begun."""
    return {
        "job_id": job_id,
        "position": position,
        "step_id": step.id,
        "type": step.type,
        "label": step.label,
        "status": "pending",
        "reason": "",
        "started_at": 0,
        "ended_at": 0,
        "attempts": 0,
        "progress": "",
        "gate": "",
        "interruptions": 0,
    }


def encode_outcome(outcome: StepOutcome) -> str:
    """Encode an outcome as JSON."""
    fields: dict[str, Any] = as_dict(outcome)
    fields["packets"] = [packet.to_json() for packet in outcome.packets]
    fields["usage"] = as_dict(outcome.usage)
    fields["writes"] = [as_dict(write) for write in outcome.writes]
    return json.dumps(fields, ensure_ascii=False)


def decode_outcome(text: str) -> StepOutcome:
    """Decode an outcome from JSON."""
    fields: dict[str, Any] = json.loads(text)
    fields["packets"] = tuple(Packet(**packet) for packet in fields["packets"])
    fields["usage"] = Usage(**fields["usage"])
    fields["writes"] = tuple(MemoryWrite(**write) for write in fields["writes"])
    fields["artifacts"] = tuple(fields["artifacts"])
    return StepOutcome(**fields)


def select_steps(connection: sa.Connection, job_id: int) -> list[Any]:
    """Return the rows of the steps of a job, in their order."""
    steps = tables.job_steps
    query = sa.select(steps).where(steps.c.job_id == job_id).order_by(steps.c.position)
    return list(connection.execute(query))


def select_writes(
    connection: sa.Connection, job_ids: list[int]
) -> dict[int, tuple[MemoryWrite, ...]]:
    """Return the pages that the steps of some jobs changed; packets are left in the database."""
    steps = tables.job_steps
    if connection.dialect.name == "postgresql":
        writes: sa.ColumnElement[Any] = sa.cast(steps.c.outcome, sa.JSON)["writes"]
        writes = sa.cast(writes, sa.Text)
    else:
        writes = sa.func.json_extract(steps.c.outcome, "$.writes")
    query = (
        sa.select(steps.c.job_id, writes.label("writes"))
        .where(steps.c.job_id.in_(job_ids), steps.c.outcome.is_not(None))
        .order_by(steps.c.job_id, steps.c.position)
    )
    by_job: dict[int, tuple[MemoryWrite, ...]] = {}
    for row in connection.execute(query):
        entries = tuple(MemoryWrite(**write) for write in json.loads(row.writes))
        by_job[row.job_id] = by_job.get(row.job_id, ()) + entries
    return by_job


# Intents of effects on pages: the text that a step is about to write, noted before the write.


_EFFECTS = tables.job_effects


class SqlIntents:
    """The intents of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def find(self, key: str, page: str) -> Intent | None:
        """Return the newest intent, or None if none was noted."""
        query = sa.select(_EFFECTS.c.content_hash, _EFFECTS.c.number).where(
            _build_condition(key, page)
        )
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return Intent(row.content_hash, row.number) if row else None

    def note(self, key: str, page: str, content_hash: str) -> None:
        """Record an intent durably, in the place of an earlier one, under the next number."""
        values = {"content_hash": content_hash, "time": to_micros(self._clock())}
        with self._database.writing() as connection:
            newer = _EFFECTS.update().where(_build_condition(key, page))
            newer = newer.values(**values, number=_EFFECTS.c.number + 1)
            if not connection.execute(newer).rowcount:
                connection.execute(_EFFECTS.insert().values(key=key, page=page, number=1, **values))


def _build_condition(key: str, page: str) -> sa.ColumnElement[bool]:
    return (_EFFECTS.c.key == key) & (_EFFECTS.c.page == page)


# Notifications of PostgreSQL: a worker learns at once that another process has added work.


_CHANNEL = "looseleaf_jobs"
_RETRY_SECONDS = 5.0  # after a lost connection; the worker polls meanwhile
_STOP_SECONDS = 2.0


def notify_workers(connection: sa.Connection) -> None:
    """Notify the workers of all processes that there is work when the transaction commits.

    SQLite has no notifications: the workers of other processes poll.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_notify(_CHANNEL, "")))


class WorkListener:
    """A thread that waits for notifications until it is closed."""

    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        self._engine, self._wake = database.engine, wake
        driver: Any = database.engine.dialect.dbapi
        self._errors = (sa.exc.SQLAlchemyError, driver.Error)
        self._closed_end, self._open_end = os.pipe()
        self._thread = threading.Thread(target=self._run, name="looseleaf-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; a thread that waits for a lost server ends by itself."""
        os.close(self._open_end)
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        with os.fdopen(self._closed_end), selectors.DefaultSelector() as selector:
            selector.register(self._closed_end, selectors.EVENT_READ)
            while True:
                try:
                    self._listen(selector)
                except self._errors:
                    if not selector.select(_RETRY_SECONDS):
                        continue
                return

    def _listen(self, selector: selectors.BaseSelector) -> None:
        """Listen until the listener is closed; a lost connection is an error."""
        options = {"isolation_level": "AUTOCOMMIT"}
        with self._engine.connect().execution_options(**options) as connection:
            driver: Any = connection.connection.driver_connection
            connection.detach()  # the next user of the pool would get the notifications
            connection.exec_driver_sql(f"LISTEN {_CHANNEL}")
            socket: int = driver.fileno()  # the driver does not know it once the connection is lost
            selector.register(socket, selectors.EVENT_READ)
            try:
                self._wake()  # work may have come before the connection listened
                while not any(key.fileobj == self._closed_end for key, _ in selector.select()):
                    for _notification in driver.notifies(timeout=0):
                        self._wake()
            finally:
                selector.unregister(socket)


_NO_USAGE = json.dumps(as_dict(Usage()))
_LONGEST_LIST = 1_000


class SqlJobs:
    """The jobs of one database; listeners are called when there may be work for a worker."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock
        self._listeners: list[Callable[[], None]] = []

    def on_work(self, listener: Callable[[], None]) -> None:
        """Call a function whenever this process gives workers something to do."""
        self._listeners.append(listener)

    def _notify_listeners(self) -> None:
        for listener in self._listeners:
            listener()

    def add(self, job: NewJob) -> tuple[Job, bool]:
        """Add a pending job; with a key that another job has, return that one and False."""
        row = {
            name: field
            for name, field in as_dict(job).items()
            if name not in {"label", "snapshot", "steps", "idempotency_key"}
        }
        row |= {
            "label": job.short_label,
            "snapshot": json.dumps(job.snapshot, ensure_ascii=False),
            "idempotency_key": job.idempotency_key or None,
            "not_before": to_micros(job.not_before),
            "created_at": to_micros(self._clock()),
            "status": "pending",
            "usage": _NO_USAGE,
        }
        row |= dict.fromkeys(("started_at", "completed_at", "attempts", "run"), 0)
        row |= dict.fromkeys(("reason", "wish", "worker"), "")
        with self._database.writing() as connection:
            job_id = _insert(connection, row)
            is_new = job_id is not None
            if job_id is None:
                same_key = tables.jobs.c.idempotency_key == job.idempotency_key
                job_id = connection.execute(
                    sa.select(tables.jobs.c.id).where(same_key)
                ).scalar_one()
            elif job.steps:
                rows = [build_step_row(job_id, n, step) for n, step in enumerate(job.steps)]
                connection.execute(tables.job_steps.insert(), rows)
            if is_new:
                notify_workers(connection)
            new_job = select_job(connection, job_id)
        if is_new:
            self._notify_listeners()
        return new_job, is_new

    def find(self, job_id: int) -> Job:
        """Return a job with its steps, or raise `JobMissing`."""
        with self._database.reading() as connection:
            return select_job(connection, job_id)

    def state(self, job_id: int) -> JobState:
        """Return a job with its configuration and the outcomes of its steps."""
        with self._database.reading() as connection:
            return read_state(connection, job_id)

    def list(self, jobs: JobFilter, *, limit: int = 50, offset: int = 0) -> tuple[list[Job], int]:
        """Return some jobs, newest first, and the number of all that fit."""
        conditions = list(_build_conditions(jobs))
        query = sa.select(*JOB_COLUMNS).where(*conditions).order_by(tables.jobs.c.id.desc())
        query = query.limit(min(limit, _LONGEST_LIST)).offset(offset)
        count = sa.select(sa.func.count()).select_from(tables.jobs).where(*conditions)
        with self._database.reading() as connection:
            total: int = connection.execute(count).scalar_one()
            rows = list(connection.execute(query))
            writes = select_writes(connection, [row.id for row in rows])
            return [build_job(row, writes=writes.get(row.id, ())) for row in rows], total

    def list_last_reads(self) -> Mapping[int, float]:
        """Return when the last job of each flow that ended well began, or 0 if none did."""
        flows, jobs = tables.flows.c, tables.jobs.c
        is_good = (jobs.flow_id == flows.id) & jobs.status.in_(("completed", "completed_no_items"))
        query = sa.select(flows.id, sa.func.max(jobs.started_at))
        query = query.select_from(tables.flows.outerjoin(tables.jobs, is_good)).group_by(flows.id)
        with self._database.reading() as connection:
            return {row[0]: (row[1] or 0) / MICRO for row in connection.execute(query)}

    def find_newest(self, flows: Collection[int]) -> dict[int, tuple[int, float]]:
        """Return the id and the time of the newest job of each flow that has one."""
        jobs = tables.jobs.c
        newest = (
            sa.select(sa.func.max(jobs.id)).where(jobs.flow_id.in_(flows)).group_by(jobs.flow_id)
        )
        query = sa.select(jobs.flow_id, jobs.id, jobs.created_at).where(jobs.id.in_(newest))
        with self._database.reading() as connection:
            rows = list(connection.execute(query))
        return {row.flow_id: (row.id, row.created_at / MICRO) for row in rows}

    def find_newest_of_tasks(
        self, task_types: Collection[str]
    ) -> dict[tuple[str, str], tuple[int, float]]:
        """Return the id and the time of the newest job of each task and label that has one."""
        jobs = tables.jobs.c
        newest = (
            sa.select(sa.func.max(jobs.id))
            .where(jobs.task_type.in_(task_types))
            .group_by(jobs.task_type, jobs.label)
        )
        query = sa.select(jobs.task_type, jobs.label, jobs.id, jobs.created_at)
        with self._database.reading() as connection:
            rows = list(connection.execute(query.where(jobs.id.in_(newest))))
        return {(row.task_type, row.label): (row.id, row.created_at / MICRO) for row in rows}

    def list_dangerous(self, *, limit: int = 20) -> tuple[Job, ...]:
        """Return the newest jobs with a step whose process died twice, until the step completes."""
        steps = tables.job_steps.c
        died = (steps.interruptions > 1) & (steps.status != "completed")
        query = sa.select(steps.job_id).where(died).order_by(steps.job_id.desc()).limit(limit)
        with self._database.reading() as connection:
            job_ids = dict.fromkeys(connection.execute(query).scalars())
            jobs = [select_job(connection, job_id) for job_id in job_ids]
        return tuple(job for job in jobs if job.status != "cancelled")

    def request(self, job_id: int, act: JobRequest) -> Job:
        """Request an action; raise `Refused` if the status of the job forbids it."""
        with self._database.writing() as connection:
            job = select_job(connection, job_id, for_update=True)
            waits = act == "resume" and _waits(connection, job_id)
            change = _build_change(job, act, to_micros(self._clock()), waits=waits)
            if change is None:
                raise Refused(f"The job {job_id} is {job.status}; it cannot {act}.")
            condition = tables.jobs.c.id == job_id
            connection.execute(tables.jobs.update().where(condition).values(**change))
            if act == "retry":
                _reset_steps(connection, job_id)
            notify_workers(connection)
            job = select_job(connection, job_id)
        self._notify_listeners()
        return job

    def has_gate(self, job_id: int, step_id: str, gate: str) -> bool:
        """Return whether a step has a gate with this digest, without a lock: anyone may ask."""
        steps = tables.job_steps
        condition = (steps.c.job_id == job_id) & (steps.c.step_id == step_id)
        with self._database.reading() as connection:
            row = connection.execute(sa.select(steps.c.gate).where(condition)).first()
        return row is not None and bool(gate) and compare_digest(row.gate, gate)

    def signal(self, job_id: int, step_id: str, body: Mapping[str, Any], *, gate: str) -> Job:
        """Wake a waiting job, once; `gate` is the digest of the secret that the call brought."""
        steps = tables.job_steps
        condition = (steps.c.job_id == job_id) & (steps.c.step_id == step_id)
        with self._database.writing() as connection:
            job = select_job(connection, job_id, for_update=True)
            row = connection.execute(sa.select(steps).where(condition)).first()
            if row is None or not gate or not compare_digest(row.gate, gate):
                raise JobMissing(job_id)  # without the secret, a caller learns nothing
            if row.status != "waiting" or row.signal is not None or job.is_final:
                raise Refused(f"The job {job_id} no longer waits for a call.")
            text = json.dumps(body, ensure_ascii=False)
            connection.execute(steps.update().where(condition).values(signal=text))
            if job.status == "waiting":
                pending_values = {"status": "pending", "reason": "", "not_before": 0}
                connection.execute(
                    tables.jobs.update().where(tables.jobs.c.id == job_id).values(**pending_values)
                )
            notify_workers(connection)
            job = select_job(connection, job_id)
        self._notify_listeners()
        return job

    def delete(self, jobs: Collection[int]) -> int:
        """Remove jobs that have ended; return how many there were."""
        ended_jobs = tables.jobs.c.id.in_(list(jobs)) & tables.jobs.c.status.in_(FINAL)
        with self._database.writing() as connection:
            removed_ids = list(
                connection.execute(sa.select(tables.jobs.c.id).where(ended_jobs)).scalars()
            )
            for job_id in removed_ids:
                effects = tables.job_effects.c.key.startswith(f"job-{job_id}/", autoescape=True)
                connection.execute(tables.job_effects.delete().where(effects))
            of_jobs = tables.job_steps.c.job_id.in_(removed_ids)
            connection.execute(tables.job_steps.delete().where(of_jobs))
            connection.execute(tables.jobs.delete().where(tables.jobs.c.id.in_(removed_ids)))
        return len(removed_ids)


def _insert(connection: sa.Connection, row: dict[str, Any]) -> int | None:
    """Insert a job and return its id, or None if its key is another job's."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
    statement = insert(tables.jobs).values(**row).on_conflict_do_nothing()
    return connection.execute(statement.returning(tables.jobs.c.id)).scalar()


def select_job(connection: sa.Connection, job_id: int, *, for_update: bool = False) -> Job:
    """Return a job with its steps, or raise `JobMissing`."""
    query = sa.select(*JOB_COLUMNS).where(tables.jobs.c.id == job_id)
    row = connection.execute(query.with_for_update() if for_update else query).first()
    if row is None:
        raise JobMissing(job_id)
    return build_job(row, tuple(map(build_step, select_steps(connection, job_id))))


def read_state(connection: sa.Connection, job_id: int) -> JobState:
    """Return a job with all that its next step needs, or raise `JobMissing`."""
    row = connection.execute(sa.select(tables.jobs).where(tables.jobs.c.id == job_id)).first()
    if row is None:
        raise JobMissing(job_id)
    steps = select_steps(connection, job_id)
    return JobState(
        build_job(row, tuple(map(build_step, steps))),
        json.loads(row.snapshot),
        {step.step_id: decode_outcome(step.outcome) for step in steps if step.outcome},
        {step.step_id: json.loads(step.signal) for step in steps if step.signal is not None},
        _has_precedent(connection, row),
    )


def _has_precedent(connection: sa.Connection, job: Any) -> bool:  # noqa: ANN401 - a row
    """Return whether the process of a step such as those of a job has died before."""
    jobs, steps = tables.jobs.c, tables.job_steps
    own_steps = steps.alias()
    query = (
        sa.select(steps.c.step_id)
        .join(tables.jobs, jobs.id == steps.c.job_id)
        .join(own_steps, (own_steps.c.step_id == steps.c.step_id) & (own_steps.c.job_id == job.id))
        .where(
            (steps.c.interruptions > 0)
            & ((steps.c.interruptions > 1) | (steps.c.status != "completed")),
            steps.c.type == own_steps.c.type,
            own_steps.c.outcome.is_(None),
            jobs.flow_id == job.flow_id,
            jobs.task_type == job.task_type,
            jobs.agent_id == job.agent_id,
        )
    )
    return connection.execute(query.limit(1)).first() is not None


def _build_conditions(jobs: JobFilter) -> Iterator[sa.ColumnElement[bool]]:
    columns = tables.jobs.c
    if jobs.statuses:
        yield columns.status.in_(jobs.statuses)
    if jobs.agent_ids is not None:
        yield columns.agent_id.in_(jobs.agent_ids)
    for name in ("pipeline_id", "flow_id"):
        expected = getattr(jobs, name)
        if expected is not None:
            yield columns[name] == expected
    for name in ("source", "task_type", "parent_id"):
        if getattr(jobs, name):
            yield columns[name] == getattr(jobs, name)
    if jobs.created_from:
        yield columns.created_at >= to_micros(jobs.created_from)
    if jobs.created_until:
        yield columns.created_at < to_micros(jobs.created_until)
    if jobs.ended_until:
        yield columns.completed_at.between(1, to_micros(jobs.ended_until) - 1)


def _waits(connection: sa.Connection, job_id: int) -> bool:
    """Return whether a step of a job waits for a call that has not come."""
    steps = tables.job_steps.c
    condition = (steps.job_id == job_id) & (steps.status == "waiting") & steps.signal.is_(None)
    return connection.execute(sa.select(steps.position).where(condition)).first() is not None


def _build_change(job: Job, act: JobRequest, now: int, *, waits: bool) -> dict[str, Any] | None:
    """Return the columns that a request changes, or None if the status forbids it."""
    status = job.status
    if act == CANCEL and not job.is_final:
        if status == "processing":
            return {"wish": CANCEL}
        return {"status": "cancelled", "completed_at": now, "wish": "", "not_before": UNCLEARED}
    if act == PAUSE and status in {"pending", "waiting"}:
        return {"status": "paused"}
    if act == PAUSE and status == "processing":
        return {"wish": PAUSE}
    if act == "resume" and status == "processing":
        return {"wish": ""}
    if act == "resume" and status == "paused":
        return {"status": "waiting" if waits else "pending", "wish": ""}
    if act == "retry" and status in {"failed", "cancelled"}:
        fresh = dict.fromkeys(("started_at", "completed_at", "not_before", "attempts"), 0)
        return fresh | {"status": "pending", "reason": "", "wish": ""}
    return None


def _reset_steps(connection: sa.Connection, job_id: int) -> None:
    """Reset the steps that did not complete, so that they run again."""
    steps = tables.job_steps
    open_steps = (steps.c.job_id == job_id) & (steps.c.status != "completed")
    fresh: dict[str, Any] = {"status": "pending", "reason": "", "progress": ""}
    fresh |= {"started_at": 0, "ended_at": 0}
    fresh |= {"outcome": None, "gate": "", "signal": None}
    # A step that has ended its process once still begins in one of its own.
    fresh["interruptions"] = sa.case((steps.c.interruptions > 0, 1), else_=0)
    connection.execute(steps.update().where(open_steps).values(**fresh))
