"""The database of a workspace, opened as far as it is needed: not at all, in part, or whole.

One object owns the connections. Accounts are a group of tables in it; features open their own
groups on `database`, and no group knows of another.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from looseleaf.settings import apply_changes
from looseleaf.stores.database.sqlite_file import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.access.accounts import Accounts, SettingsAndAudit
    from looseleaf.access.audit import Event
    from looseleaf.settings import Settings
    from looseleaf.stores.database.database import Database


class OpenDatabase:
    """Opens the database, whole or for settings and audit alone, for each group of tables."""

    def __init__(self, settings: Settings, root: str, *, clock: Callable[[], float]) -> None:
        self._settings, self._root, self._clock = settings, root, clock
        self._lock = allocate_lock()
        self._database: Database | None = None
        self._accounts: Accounts | None = None
        self._settings_and_audit: SettingsAndAudit | None = None
        self._effective = (-1, settings)  # the version of the accounts, and the settings then

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        with self._lock:
            connections = (self._database, self._settings_and_audit)
            self._database = self._accounts = self._settings_and_audit = None
        for connection in connections:
            if connection is not None:
                connection.close()

    def exists(self) -> bool:
        """Return whether there is a database already; this creates none."""
        return bool(self._settings.database_url) or os.path.exists(f"{self._root}/{FILE}")

    def database(self) -> Database:
        """Open the whole database; the first use creates it or brings it up to date."""
        database = self._database
        if database is None:
            with self._lock:
                database = self._open()
        return database

    def accounts(self) -> Accounts:
        """Return the users, grants, credentials and settings."""
        self.database()
        return self._accounts or self.accounts()  # if another thread has closed it meanwhile

    def settings(self) -> Settings:
        """Return the settings, with those that were made while running."""
        database = self._open_settings_and_audit()
        if database is None:
            return self._settings  # without a database nothing was set
        version = database.version()
        if self._effective[0] != version:
            changes = database.runtime_settings()
            self._effective = (version, apply_changes(self._settings, changes))
        return self._effective[1]

    def add_event(self, event: Event) -> None:
        """Add an event to the audit; the database is created if there is none."""
        (self._open_settings_and_audit() or self.accounts()).add_event(event)

    def _open_settings_and_audit(self) -> SettingsAndAudit | None:
        """Return the accounts if open, else their light part, or None without a database."""
        if self._database is not None or self._settings.database_url:
            return self.accounts()
        if self._settings_and_audit is None and os.path.lexists(os.path.join(self._root, FILE)):
            from looseleaf.stores.database.settings_and_audit import open_settings_and_audit

            with self._lock:
                if self._settings_and_audit is None:
                    self._settings_and_audit = open_settings_and_audit(
                        self._root, clock=self._clock
                    )
            # A database of another version, or no plain file, is opened whole or refused.
            return self._settings_and_audit or self.accounts()
        return self._settings_and_audit

    def _open(self) -> Database:
        """Open the database and start the accounts; the caller holds the lock."""
        if self._database is None:
            from looseleaf.stores.database.accounts import SqlAccounts
            from looseleaf.stores.database.database import open_database

            database = open_database(self._settings)
            try:
                accounts = SqlAccounts(database, clock=self._clock)
                accounts.start(self._settings.default_user)
            except BaseException:
                database.close()
                raise
            self._database, self._accounts = database, accounts
        return self._database
