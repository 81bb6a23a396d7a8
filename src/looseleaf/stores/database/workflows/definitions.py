"""Definitions in the database: the pipelines and flows of one workspace."""

from __future__ import annotations

import time

from looseleaf.stores.database.workflows.flows import SqlFlows
from looseleaf.stores.database.workflows.pipelines import SqlPipelines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.stores.database.database import Database


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
