"""The workspace: it opens a folder and connects all packages (composition root)."""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock

from looseleaf.agents.record import check_slug
from looseleaf.catalog.context import Context
from looseleaf.files.folders import OsErrorContext
from looseleaf.files.root_folder import RootFolder
from looseleaf.memory.pages import MemoryPages
from looseleaf.memory.registry import FileRegistry
from looseleaf.memory.scope import Shelf, Where
from looseleaf.plugins.defaults import Defaults
from looseleaf.plugins.discovery import open_hooks
from looseleaf.plugins.registries import Registries
from looseleaf.settings import find_root, load
from looseleaf.stores.disk.store import open_disk
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.access.accounts import Accounts
    from looseleaf.access.audit import Event
    from looseleaf.access.authentication import Authentication
    from looseleaf.access.principals import Principal
    from looseleaf.catalog.generated_pages import GeneratedPages
    from looseleaf.catalog.registry import Operations
    from looseleaf.memory.daily import DailyMemory
    from looseleaf.memory.history import History
    from looseleaf.memory.provenance import Activity
    from looseleaf.memory.routing import Shelves
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.search.ranking import Index
    from looseleaf.memory.store import Store
    from looseleaf.models.by_name import Models
    from looseleaf.prompt.assembly import Assembly
    from looseleaf.prompt.chain import Chain
    from looseleaf.settings import Settings
    from looseleaf.stores.database.open_database import OpenDatabase

    Clock = Callable[[], float]
    FolderPath = str | os.PathLike[str]


class Workspace:
    """A folder of pages, opened: its agents, pages, history and journal."""

    def __init__(
        self, settings: Settings, *, clock: Clock = time.time, surface: str = "library"
    ) -> None:
        self.settings = settings
        place = self.root_folder = RootFolder(settings.root)
        self.root = place.path
        self.agents, self.store = open_disk(place, settings, clock)
        self._hooks = open_hooks(settings, Defaults(self.store))
        self.registry_for = self._hooks.registry_for
        self.registry = self._hooks.fill("register_files", files=FileRegistry())
        self.pages = MemoryPages(
            self._store_for,
            self.registry,
            report=self.report,
            max_bytes=settings.max_page_bytes,
            name_agent=self.agents.slug_of,
        )
        for plugin, listener in self._hooks.listeners("on_memory_changed", "event"):
            self.pages.on_change(listener, owner=f"The plugin {plugin}")
        self._history: History | None = None
        self._shelves: Shelves | None = None
        if not self._hooks.has_only_defaults("pick_store"):
            self._ask_for_stores()
        self.registries = Registries(self._hooks, self, clock=clock, report=self.report)
        self.starters = self.registries.starters
        self.composed_sections = self.registries.composed_sections
        self.pages.on_change(self.registries.follow_page, owner="Looseleaf")
        self.agents.on_configure(self.registries.check_config)
        self.clock = clock
        self.show_progress: Callable[[str, int, int], None] = lambda *_step: None
        self._database: OpenDatabase | None = None
        self._index: Index | None = None
        self._models: Models | None = None
        self._opened_parts: dict[str, Any] = {}
        self._closers: list[Callable[[], None]] = []
        self._authentication: Authentication | None = None
        self._opening = allocate_lock()
        self.context = Context(
            parts=self, settings=settings, pages=self.pages, actor=settings.actor, surface=surface
        )
        self.agents.recover()
        self.store.recover()
        if os.path.lexists(f"{self.root}/.looseleaf/bundles/journal.json"):
            from looseleaf.plugins.features import call_features

            call_features("recover", context=self.context)

    @classmethod
    def open(
        cls, root: FolderPath | None = None, *, clock: Clock = time.time, surface: str = "library"
    ) -> Workspace:
        """Open the workspace at a folder, or the one that is found from here."""
        root_path = find_root(os.fspath(root) if root is not None else None)
        return cls(load(root_path), clock=clock, surface=surface)

    @classmethod
    def create(
        cls,
        root: FolderPath,
        *,
        name: str = "",
        agent: str = "",
        journal: bool = False,
        clock: Clock = time.time,
        surface: str = "library",
    ) -> Workspace:
        """Turn a folder into a workspace, or complete one; no existing file is overwritten."""
        from looseleaf.stores.disk.create import create_folder

        folder = os.path.abspath(os.path.expanduser(os.fspath(root)))
        if agent:
            check_slug(agent)
        with OsErrorContext(folder):
            create_folder(folder, name, journal=journal)
        workspace = cls.open(folder, clock=clock, surface=surface)
        workspace.start(agent)
        return workspace

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every folder, file and connection; the next use opens them again."""
        self._authentication = None
        self.store.release()
        closers, self._closers = self._closers, []
        for close in reversed(closers):
            close()
        self._opened_parts = {}
        for part in (self._index, self._models, self._database):
            if part is not None:
                part.close()

    def start(self, agent: str = "") -> None:
        """Add missing records of agents, create a first agent, start the core pages."""
        from looseleaf.operations.composed import start_workspace

        start_workspace(self.context, self.agents.slugs(), agent)

    def acting(
        self,
        *,
        actor: str = "",
        surface: str = "",
        reason: str = "",
        principal: Principal | None = None,
        activity: Activity | None = None,
    ) -> Context:
        """Return a context for another actor, another surface, a reason or other rights.

        Only the local administrator chooses `actor`; another principal acts under its own name.
        """
        fields: dict[str, object] = {"actor": actor, "surface": surface, "reason": reason}
        fields["activity"] = activity
        if principal is not None and not principal.is_local:
            fields |= {"principal": principal, "actor": principal.name}
            fields |= {"settings": self.effective_settings()}
        return replace(self.context, **{key: field for key, field in fields.items() if field})

    def effective_settings(self) -> Settings:
        """Return the settings of the file, with those that were made while running."""
        return self.database.settings()

    def setting(self, name: str) -> Any:  # noqa: ANN401 - of the type of its default
        """Return a setting that a plugin has registered, of the type of its default."""
        from looseleaf.catalog.plugin_settings import read_setting

        return read_setting(self, name)

    def daily(self, agent: str | int | None = None) -> DailyMemory:
        """Open the journal of an agent."""
        from looseleaf.memory.daily import DailyMemory

        shelf = self.agents.resolve(agent).shelf
        return DailyMemory(self.pages, shelf, clock=self.clock, index=self.index())

    def compose(
        self,
        mode: str,
        agent: str | int | None = None,
        *,
        user: int | None = None,
        **fields: Any,  # noqa: ANN401 - as in `assemble`
    ) -> Assembly:
        """Assemble the prompt of an agent in a mode; `fields` are a request's, or `as_of`."""
        from looseleaf.catalog.prompt_assembly import compose

        return compose(self.context, mode, where=Where(agent, user), **fields)

    @property
    def history(self) -> History:
        """The history of every page."""
        if self._history is None:
            from looseleaf.stores.disk.history.page_history import DiskHistory

            self._history = DiskHistory(self.store)
        return self._history

    def require_available(self) -> None:
        """Raise `Unavailable` if the folder is missing, such as on an unmounted disk."""
        self.root_folder.check_available_cached()

    def chain(self) -> Chain:
        """Return the chain of directives, built when it is first needed."""
        return self.registries.chain()

    def generated(self) -> GeneratedPages:
        """Return the generated pages, which are kept up to date with their sources."""
        return self.registries.generated_pages()

    def operations(self) -> Operations:
        """Return all operations, those of plugins too."""
        return self.registries.operations()

    def model_for(self, agent: str | int | None, mode: str) -> str | None:
        """Choose the model that answers for an agent in a mode, or None if nothing names one."""
        record = self.agents.resolve(agent)
        return self._hooks.pick("pick_model", "a name", agent=record, mode=mode)  # type: ignore[no-any-return]

    def index(self) -> Index | None:
        """Return the search index, opened when it is first needed."""
        if self._index is None:
            from looseleaf.stores.disk.history.page_history import DiskHistory
            from looseleaf.stores.index.search_index import open_index

            history = DiskHistory(self.store)
            self._index = open_index(self.store, history, self._shelves, self.show_progress)
        return self._index

    @property
    def database(self) -> OpenDatabase:
        """The database, opened only as far as it is needed."""
        if self._database is None:
            from looseleaf.stores.database.open_database import OpenDatabase

            with self._opening:
                if self._database is None:
                    self._database = OpenDatabase(self.settings, self.root, clock=self.clock)
        return self._database

    def add_event(self, event: Event) -> None:
        """Add an event to the audit."""
        self.database.add_event(event)

    def has_accounts(self) -> bool:
        """Return whether there is a database already, and create none."""
        return self.database.exists()

    def accounts(self) -> Accounts:
        """Open the accounts; their database is created or migrated when first needed."""
        return self.database.accounts()

    def part(self, name: str) -> Any:  # noqa: ANN401 - each feature has a function that knows the type
        """Return a part that a feature or plugin has registered, opened when it is first used."""
        part = self._opened_parts.get(name)
        if part is None:
            opened = self.registries.part_openers().get(name)(self)
            with self._opening:  # one for all threads
                part = self._opened_parts.setdefault(name, opened)
        return part

    def on_close(self, close: Callable[[], None]) -> None:
        """Call a function when the workspace closes, before its database does."""
        self._closers.append(close)

    def models(self) -> Models:
        """Return the models, each opened when it is first asked."""
        if self._models is None:
            from looseleaf.models.by_name import open_models

            with self._opening:
                if self._models is None:
                    self._models = open_models(self.settings)
        return self._models

    def authentication(self) -> Authentication:
        """Return the authentication, which remembers the credentials it has seen."""
        if self._authentication is None:
            from looseleaf.access.authentication import Authentication

            self._authentication = Authentication(self.accounts(), self.agents, clock=self.clock)
        return self._authentication

    def _ask_for_stores(self) -> None:
        """Have plugins pick the stores of shelves."""
        from looseleaf.memory.routing import HistoryByShelf, Shelves

        def pick(shelf: Shelf) -> Store:
            return self._hooks.pick("pick_store", "a store", shelf=shelf)  # type: ignore[no-any-return]

        self._shelves = Shelves(self.store, self.history, pick)
        self._history = HistoryByShelf(self._shelves.history_for, self.history)

    def _store_for(self, place: Scope | Shelf) -> Store:
        return self.store if self._shelves is None else self._shelves.store_for(place)

    @staticmethod
    def report(failure: str, error: Exception) -> None:
        """Report to the operator a failure that must not undo a finished change."""
        sys.stderr.write(f"looseleaf: {failure}: {type(error).__name__}: {error}\n")
