"""The database of a workspace, opened as far as it is needed: not at all, in part, or whole."""

from __future__ import annotations

import os
from _thread import allocate_lock

from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.accounts import Accounts, Event, Ledger
    from looseleaf.chat.session import Chats
    from looseleaf.settings import Settings

FILE = ".looseleaf/looseleaf.db"


class OpenDatabase:
    """Opens the accounts, their light part (the ledger) and the conversations when asked for."""

    def __init__(self, settings: Settings, root: str, *, clock: Callable[[], float]) -> None:
        self._settings, self._root, self._clock = settings, root, clock
        self._lock = allocate_lock()
        self._accounts: Accounts | None = None
        self._ledger: Ledger | None = None
        self._chats: Chats | None = None
        self._effective = (-1, settings)  # the version of the accounts, and the settings then

    def close(self) -> None:
        """Let go of the database; asked again, it is opened again."""
        with self._lock:
            parts = {id(one): one for one in (self._accounts, self._ledger) if one is not None}
            self._accounts = self._ledger = self._chats = None
        for part in parts.values():
            part.close()

    def accounts(self) -> Accounts:
        """Open the whole database, made and brought up to date when it is first needed."""
        accounts = self._accounts
        if accounts is None:
            with self._lock:
                accounts = self._open_accounts()
        return accounts

    def chats(self) -> Chats:
        """Give the conversations, which lie beside the accounts."""
        if self._chats is None:
            from looseleaf.stores.chat import open_chats

            self._chats = open_chats(self.accounts(), clock=self._clock)
        return self._chats

    def settings(self) -> Settings:
        """Give the settings with what was set while running."""
        ledger = self._open_ledger()
        if ledger is None:
            return self._settings  # without a database nothing was set
        version = ledger.version()
        if self._effective[0] != version:
            self._effective = (version, changed(self._settings, **ledger.settings_made()))
        return self._effective[1]

    def add_event(self, event: Event) -> None:
        """Add an event to the audit; the database is made where there is none."""
        (self._open_ledger() or self.accounts()).add_event(event)

    def _open_ledger(self) -> Ledger | None:
        """Give the accounts where they are open, else their light part; None without a database."""
        if self._accounts is not None or self._settings.database_url:
            return self.accounts()
        ledger = self._ledger
        if ledger is None and os.path.lexists(os.path.join(self._root, FILE)):
            from looseleaf.stores.ledger import open_ledger

            with self._lock:
                ledger = self._ledger or open_ledger(
                    self._root, self._open_accounts, clock=self._clock
                )
                self._ledger = ledger
        return ledger

    def _open_accounts(self) -> Accounts:
        if self._accounts is None:
            from looseleaf.stores.accounts import open_accounts

            self._accounts = open_accounts(self._settings, clock=self._clock)
        return self._accounts
