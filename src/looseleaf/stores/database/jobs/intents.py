"""Intents of effects on pages: the text that a step is about to write, noted before the write."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.stores.database.jobs.job_rows import to_micros
from looseleaf.workflows import tables
from looseleaf.workflows.step_parts import Intent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.stores.database.database import Database

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
