"""Pipelines in the database: find, list, add, change and delete."""

from __future__ import annotations

import time

import sqlalchemy as sa

from looseleaf.errors import Unavailable
from looseleaf.stores.database.row_digests import count_rows
from looseleaf.stores.database.workflows.rows import (
    build_flow_row,
    build_pipeline_row,
    choose_slug,
    flow_of,
    insert_row,
    pipeline_of,
    update_row,
)
from looseleaf.values import replace
from looseleaf.workflows.tables import flows, pipelines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.stores.database.database import Database
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline

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
