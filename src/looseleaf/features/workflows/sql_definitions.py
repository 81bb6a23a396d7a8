"""Definitions in the database: the pipelines and flows of one workspace."""

from __future__ import annotations

import json
import time

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from looseleaf.errors import Unavailable
from looseleaf.errors.features import PipelineMissing, SlugTaken
from looseleaf.features.workflows.definitions import make_slug, restore_flow, restore_pipeline
from looseleaf.features.workflows.tables import flow_prompts, flows, pipelines, processed_items
from looseleaf.stores.database.row_digests import count_rows, digest_of
from looseleaf.times import DAY_SECONDS
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from sqlalchemy.sql.dml import ReturningInsert

    from looseleaf.features.workflows.definitions import Flow, Pipeline
    from looseleaf.stores.database.database import Database

    Definition = TypeVar("Definition", Pipeline, Flow)


# Rows of definitions: pipelines and flows as the tables hold them, and back.


MICRO = 1_000_000
_TIMES = ("created", "updated")
_TEXTS = ("slug", "name", "system_prompt", "queue_mode")  # all other texts are JSON


def build_pipeline_row(pipeline: Pipeline) -> dict[str, Any]:
    """Build the row of a pipeline, but for its id and digest."""
    return _build_row(pipeline.to_json())


def pipeline_of(row: Any) -> Pipeline:  # noqa: ANN401 - a row of the table
    """Build a pipeline from a row."""
    return restore_pipeline(_read_row(row))


def build_flow_row(flow: Flow) -> dict[str, Any]:
    """Build the row of a flow, but for its id and digest."""
    return _build_row(flow.to_json())


def flow_of(row: Any) -> Flow:  # noqa: ANN401 - a row of the table
    """Build a flow from a row."""
    return restore_flow(_read_row(row))


def choose_slug(
    connection: sa.Connection, table: sa.Table, siblings: sa.ColumnElement[bool], new: Definition
) -> Definition:
    """Return a new definition with a slug that no sibling has; a slug of its own must be free."""
    noun = table.name.removesuffix("s")
    slugs = set(connection.execute(sa.select(table.c.slug).where(siblings)).scalars())
    if new.slug in slugs:
        raise SlugTaken(noun, new.slug)
    return replace(new, slug=new.slug or make_slug(new.name, fallback=noun, used_slugs=slugs))


def insert_row(connection: sa.Connection, table: sa.Table, row: Mapping[str, Any]) -> int:
    """Insert a row, seal it by its digest and return its id."""
    identity = connection.execute(
        table.insert().values(**row, digest="").returning(table.c.id)
    ).scalar_one()
    digest = digest_of(table, {**row, "id": identity})
    connection.execute(table.update().where(table.c.id == identity).values(digest=digest))
    count_rows(connection, table, 1)
    return int(identity)


def update_row(
    connection: sa.Connection, table: sa.Table, identity: int, row: Mapping[str, Any]
) -> None:
    """Replace the columns of a row, and its digest."""
    digest = digest_of(table, {**row, "id": identity})
    try:
        connection.execute(
            table.update().where(table.c.id == identity).values(**row, digest=digest)
        )
    except sa.exc.IntegrityError as error:
        raise SlugTaken(table.name.removesuffix("s"), row["slug"]) from error


def _build_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Write tuples and dictionaries as JSON, and times as whole microseconds."""
    row: dict[str, Any] = {}
    for name, field in fields.items():
        if name in _TIMES:
            row[name] = round(field * MICRO)
        elif name != "id":
            is_plain = isinstance(field, str | int)
            row[name] = field if is_plain else json.dumps(field, ensure_ascii=False)
    return row


def _read_row(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a row of a table
    fields: dict[str, Any] = {}
    for name, cell in row._mapping.items():  # noqa: SLF001 - as SQLAlchemy documents it
        if name in _TIMES:
            fields[name] = cell / MICRO
        elif name != "digest":
            is_plain = name in _TEXTS or not isinstance(cell, str)
            fields[name] = cell if is_plain else json.loads(cell)
    return fields


# Pipelines in the database: find, list, add, change and delete.


ATTEMPTS = 8  # to find a free slug while others add siblings on PostgreSQL


class SqlPipelines:
    """The pipelines of one database."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float] = time.time,
        has_files: Callable[[int], bool] = lambda _pipeline_id: False,
    ) -> None:
        self._database, self._clock, self._has_files = database, clock, has_files

    def find(self, pipeline_id: int) -> Pipeline | None:
        """Find a pipeline."""
        query = sa.select(pipelines).where(pipelines.c.id == pipeline_id)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return pipeline_of(row) if row is not None else None

    def list(
        self,
        *,
        agents: Sequence[int] | None = None,
        slug: str = "",
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[list[Pipeline], int]:
        """List pipelines by name, of agents or of all, of a slug, and count all of them."""
        conditions: list[sa.ColumnElement[bool]] = []
        if agents is not None:
            conditions.append(pipelines.c.agent_id.in_(agents))
        if slug:
            conditions.append(pipelines.c.slug == slug)
        order = (sa.func.lower(pipelines.c.name), pipelines.c.id)
        query = sa.select(pipelines).where(*conditions).order_by(*order).offset(offset)
        count = sa.select(sa.func.count()).select_from(pipelines).where(*conditions)
        with self._database.reading() as connection:
            page = connection.execute(query.limit(limit) if limit else query)
            return [pipeline_of(row) for row in page], connection.execute(count).scalar_one()

    def add(self, pipeline: Pipeline, new_flows: Sequence[Flow] = ()) -> Pipeline:
        """Store a new pipeline, with its flows or not at all."""
        now = self._clock()
        siblings = pipelines.c.agent_id == pipeline.agent_id
        for _ in range(ATTEMPTS):
            try:
                with self._database.writing() as connection:
                    new = choose_slug(connection, pipelines, siblings, pipeline)
                    new = replace(new, created=now, updated=now)
                    identity = self._insert(connection, new)
                    for flow in new_flows:
                        of_pipeline = flows.c.pipeline_id == identity
                        new_flow = replace(flow, pipeline_id=identity, created=now, updated=now)
                        new_flow = choose_slug(connection, flows, of_pipeline, new_flow)
                        insert_row(connection, flows, build_flow_row(new_flow))
                    return replace(new, id=identity)
            except sa.exc.IntegrityError:
                continue  # another one has taken the slug at the same time
        raise Unavailable("The list of pipelines", "too many are added at once; try again")

    def _insert(self, connection: sa.Connection, pipeline: Pipeline) -> int:
        """Insert a pipeline and return its id, below which no files of an earlier pipeline lie."""
        while True:
            identity = insert_row(connection, pipelines, build_pipeline_row(pipeline))
            if not self._has_files(identity):
                return identity
            connection.execute(pipelines.delete().where(pipelines.c.id == identity))
            count_rows(connection, pipelines, -1)

    def change(self, pipeline_id: int, edit: Callable[[Pipeline], Pipeline]) -> Pipeline | None:
        """Edit a pipeline while nobody else can, or None if there is none."""
        query = sa.select(pipelines).where(pipelines.c.id == pipeline_id).with_for_update()
        with self._database.writing() as connection:
            row = connection.execute(query).first()
            if row is None:
                return None
            new_pipeline = replace(edit(pipeline_of(row)), updated=self._clock())
            update_row(connection, pipelines, pipeline_id, build_pipeline_row(new_pipeline))
            _drop_step_settings(connection, new_pipeline)
        return new_pipeline

    def delete(self, pipeline_id: int, check: Callable[[Pipeline], None]) -> Sequence[Flow] | None:
        """Delete a pipeline with its flows, and return the flows."""
        query = sa.select(pipelines).where(pipelines.c.id == pipeline_id).with_for_update()
        with self._database.writing() as connection:
            row = connection.execute(query).first()
            if row is None:
                return None
            check(pipeline_of(row))
            of_pipeline = flows.c.pipeline_id == pipeline_id
            rows = connection.execute(sa.select(flows).where(of_pipeline).order_by(flows.c.id))
            removed_flows = [flow_of(flow) for flow in rows]
            connection.execute(flows.delete().where(of_pipeline))
            count_rows(connection, flows, -len(removed_flows))
            connection.execute(pipelines.delete().where(pipelines.c.id == pipeline_id))
            count_rows(connection, pipelines, -1)
        return removed_flows


def _drop_step_settings(connection: sa.Connection, pipeline: Pipeline) -> None:
    """Remove the settings of flows for steps that the pipeline no longer has."""
    of_pipeline = sa.select(flows).where(flows.c.pipeline_id == pipeline.id).with_for_update()
    for row in connection.execute(of_pipeline).all():
        flow = flow_of(row)
        settings = {
            key: step_settings
            for key, step_settings in flow.step_settings.items()
            if pipeline.step(key)
        }
        if len(settings) < len(flow.step_settings):
            smaller = replace(flow, step_settings=settings, updated=pipeline.updated)
            update_row(connection, flows, flow.id, build_flow_row(smaller))


# Flows in the database: find, list, add, change, delete, and take a prompt from the queue.


class SqlFlows:
    """The flows of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database, self._clock = database, clock

    def find(self, flow_id: int) -> Flow | None:
        """Find a flow."""
        query = sa.select(flows).where(flows.c.id == flow_id)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return flow_of(row) if row is not None else None

    def list(
        self,
        *,
        pipeline: int = 0,
        agents: Sequence[int] | None = None,
        slug: str = "",
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[list[Flow], int]:
        """List flows by name, of a pipeline, of agents or of all, of a slug, and count them."""
        conditions: list[sa.ColumnElement[bool]] = []
        if agents is not None:
            conditions.append(flows.c.agent_id.in_(agents))
        if pipeline:
            conditions.append(flows.c.pipeline_id == pipeline)
        if slug:
            conditions.append(flows.c.slug == slug)
        order = (sa.func.lower(flows.c.name), flows.c.id)
        query = sa.select(flows).where(*conditions).order_by(*order).offset(offset)
        count = sa.select(sa.func.count()).select_from(flows).where(*conditions)
        with self._database.reading() as connection:
            page = connection.execute(query.limit(limit) if limit else query)
            return [flow_of(row) for row in page], connection.execute(count).scalar_one()

    def add(self, flow: Flow) -> Flow:
        """Store a new flow of a pipeline that exists."""
        now = self._clock()
        siblings = flows.c.pipeline_id == flow.pipeline_id
        is_pipeline = sa.select(pipelines.c.id).where(pipelines.c.id == flow.pipeline_id)
        for _ in range(ATTEMPTS):
            try:
                with self._database.writing() as connection:
                    # Locked, so that the pipeline is not deleted between this line and the last.
                    if (
                        connection.execute(is_pipeline.with_for_update(key_share=True)).first()
                        is None
                    ):
                        raise PipelineMissing(flow.pipeline_id)
                    new = choose_slug(connection, flows, siblings, flow)
                    new = replace(new, created=now, updated=now)
                    return replace(new, id=insert_row(connection, flows, build_flow_row(new)))
            except sa.exc.IntegrityError:
                continue  # another one has taken the slug at the same time
        raise Unavailable("The list of flows", "too many are added at once; try again")

    def change(self, flow_id: int, edit: Callable[[Flow], Flow]) -> Flow | None:
        """Edit a flow while nobody else can, or None if there is none."""
        with self._database.writing() as connection:
            flow = _lock_flow(connection, flow_id)
            if flow is None:
                return None
            new_flow = replace(edit(flow), updated=self._clock())
            update_row(connection, flows, flow_id, build_flow_row(new_flow))
        return new_flow

    def delete(self, flow_id: int, check: Callable[[Flow], None]) -> bool:
        """Delete a flow and return whether there was one; `check` may refuse before."""
        with self._database.writing() as connection:
            flow = _lock_flow(connection, flow_id)
            if flow is None:
                return False
            check(flow)
            connection.execute(flows.delete().where(flows.c.id == flow_id))
            count_rows(connection, flows, -1)
        return True

    def take_prompt(self, flow_id: int, key: str) -> str | None:
        """Pop the next prompt of the queue by its mode, once for each key."""
        is_taken = (flow_prompts.c.flow_id == flow_id) & (flow_prompts.c.key == key)
        with self._database.writing() as connection:
            flow = _lock_flow(connection, flow_id)
            if flow is None:
                return None
            receipt = connection.execute(sa.select(flow_prompts.c.prompt).where(is_taken)).first()
            if receipt is not None:
                return None if receipt.prompt is None else str(receipt.prompt)
            head, *rest = flow.prompt_queue or (None,)
            if head is not None and flow.queue_mode != "static":
                queue = (*rest, head) if flow.queue_mode == "loop" else tuple(rest)
                update_row(
                    connection, flows, flow_id, build_flow_row(replace(flow, prompt_queue=queue))
                )
            prompt = head.prompt if head is not None else None
            now = round(self._clock() * MICRO)
            row = {"flow_id": flow_id, "key": key, "prompt": prompt, "time": now}
            connection.execute(flow_prompts.insert().values(row))
        return prompt


def _lock_flow(connection: sa.Connection, flow_id: int) -> Flow | None:
    query = sa.select(flows).where(flows.c.id == flow_id).with_for_update()
    row = connection.execute(query).first()
    return flow_of(row) if row is not None else None


class SqlDefinitions:
    """The pipelines and flows of one database; `has_files` tells whether an id has files."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], float] = time.time,
        has_files: Callable[[int], bool] = lambda _pipeline_id: False,
    ) -> None:
        self.pipelines = SqlPipelines(database, clock=clock, has_files=has_files)
        self.flows = SqlFlows(database, clock=clock)


# The items that steps of flows have taken, each by one job.


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
