"""Rows of definitions: pipelines and flows as the tables hold them, and back."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.errors.workflows import SlugTaken
from looseleaf.stores.database.row_digests import count_rows, digest_of
from looseleaf.values import replace
from looseleaf.workflows.flow import restore_flow
from looseleaf.workflows.pipeline import restore_pipeline
from looseleaf.workflows.slug import make_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline

    Definition = TypeVar("Definition", Pipeline, Flow)

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
