"""Notifications of PostgreSQL: a worker learns at once that another process has added work."""

from __future__ import annotations

import os
import selectors
import threading

import sqlalchemy as sa

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.stores.database.database import Database

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
