"""Rows of jobs and their steps, and the values that users and workers see."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.models.model import Usage
from looseleaf.values import as_dict, field_names
from looseleaf.workflows import tables
from looseleaf.workflows.job import Job, MemoryWrite, StepRecord
from looseleaf.workflows.packet import Packet
from looseleaf.workflows.step import StepOutcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
