"""Flows in the database: find, list, add, change, delete, and take a prompt from the queue."""

from __future__ import annotations

import time

import sqlalchemy as sa

from looseleaf.errors import Unavailable
from looseleaf.errors.workflows import PipelineMissing
from looseleaf.stores.database.row_digests import count_rows
from looseleaf.stores.database.workflows.rows import (
    MICRO,
    build_flow_row,
    choose_slug,
    flow_of,
    insert_row,
    update_row,
)
from looseleaf.values import replace
from looseleaf.workflows.tables import flow_prompts, flows, pipelines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.stores.database.database import Database
    from looseleaf.workflows.flow import Flow

ATTEMPTS = 8  # to find a free slug while others add siblings on PostgreSQL


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
