"""Opening a folder and wiring everything together; the one place where the rooms meet."""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock

from looseleaf import settings
from looseleaf.agents.directory import Agents
from looseleaf.agents.record import check_slug
from looseleaf.folders import Reporting
from looseleaf.memory.history import Retention
from looseleaf.memory.pages import MemoryPages
from looseleaf.memory.registry import FileRegistry
from looseleaf.memory.scope import Shelf
from looseleaf.operations.context import Context, Where
from looseleaf.plugins.defaults import Defaults
from looseleaf.plugins.opening import open_hooks
from looseleaf.plugins.rooms import Rooms
from looseleaf.root import RootFolder
from looseleaf.stores.discard import discard_agent
from looseleaf.stores.disk import GROUP, PRIVATE, DiskStore
from looseleaf.stores.history import DiskHistory
from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.agents.access import Principal
    from looseleaf.agents.accounts import Accounts, Event
    from looseleaf.agents.authentication import Authentication
    from looseleaf.chat.session import Chats
    from looseleaf.memory.daily import DailyMemory
    from looseleaf.memory.elsewhere import Shelves
    from looseleaf.memory.find import Index
    from looseleaf.memory.history import History
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Store
    from looseleaf.models.opening import Models
    from looseleaf.operations.registry import Operations
    from looseleaf.plugins.hooks import Plugin
    from looseleaf.prompt.assembly import Assembly
    from looseleaf.prompt.chain import Chain
    from looseleaf.settings import Settings
    from looseleaf.stores.open_database import OpenDatabase
    from looseleaf.upkeep.schedules import Schedules

FIRST_AGENT = "main"


class Workspace:
    """A folder of pages, opened: its agents, pages, history and journal."""

    def __init__(
        self, chosen: Settings, *, clock: Callable[[], float] = time.time, surface: str = "library"
    ) -> None:
        self.settings = chosen
        place = self.root_folder = RootFolder(chosen.root)
        self.root = place.path
        modes = GROUP if chosen.group_writable else PRIVATE
        self.agents = Agents(place, default=chosen.default_agent, modes=modes, clock=clock)
        self.store = DiskStore(
            place,
            agent_folder=self.agents.folder,
            is_folder_of=self.agents.is_folder_of,
            group_writable=chosen.group_writable,
            retention=Retention(chosen.retention_days, chosen.retention_versions),
            clock=clock,
        )
        self.agents.on_move(self.store.release)
        self.agents.on_discard(lambda agent, slug: discard_agent(self.store, agent, slug))
        self._hooks = open_hooks(chosen, Defaults(self.store))
        self.registry = self._hooks.fill("register_files", files=FileRegistry())
        self.pages = MemoryPages(
            self._store_for, self.registry, report=report, max_bytes=chosen.max_page_bytes
        )
        for plugin, told in self._hooks.listeners("on_memory_changed", "event"):
            self.pages.on_change(told, owner=f"The plugin {plugin}")
        self.history: History = DiskHistory(self.store)
        self._shelves: Shelves | None = None
        if not self._hooks.is_ours_alone("pick_store"):
            self._ask_for_stores()
        self.rooms = Rooms(self._hooks, self, clock=clock, report=report)
        self.pages.on_change(self.rooms.follow_page, owner="Looseleaf")
        self.clock = clock
        self.progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None
        self._database: OpenDatabase | None = None
        self._index: Index | None = None
        self._models: Models | None = None
        self._authentication: Authentication | None = None
        self._opening = allocate_lock()
        self.context = Context(
            settings=chosen,
            agents=self.agents,
            pages=self.pages,
            history=self.history,
            composed=self.rooms.composed,
            starters=self.rooms.starters,
            index=self.index,
            clock=clock,
            chain=self.rooms.chain,
            generated=self.rooms.generated,
            operations=self.rooms.operations,
            accounts=self.accounts,
            add_event=self.add_event,
            chats=self.chats,
            models=self.models,
            model_for=self.model_for,
            report=report,
            progress=self._tell_progress,
            actor=chosen.actor,
            surface=surface,
        )
        self.agents.recover()
        self.store.recover()

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        surface: str = "library",
    ) -> Workspace:
        """Open the workspace at a folder, or the one that is found from here."""
        found = settings.find_root(os.fspath(root) if root is not None else None)
        return cls(settings.load(found), clock=clock, surface=surface)

    @classmethod
    def create(
        cls,
        root: str | os.PathLike[str],
        *,
        name: str = "",
        agent: str = "",
        journal: bool = False,
        clock: Callable[[], float] = time.time,
        surface: str = "library",
    ) -> Workspace:
        """Make a folder a workspace, or complete one; nothing that is there is overwritten."""
        from looseleaf.stores.home import make_home

        folder = os.path.abspath(os.path.expanduser(os.fspath(root)))
        if agent:
            check_slug(agent)
        with Reporting(folder):
            make_home(folder, name, journal=journal)
        workspace = cls.open(folder, clock=clock, surface=surface)
        workspace.start(agent)
        return workspace

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every folder, file and connection; used again, it opens what it needs."""
        self._authentication = None
        self.store.release()
        for opened in (self._index, self._models, self._database):
            if opened is not None:
                opened.close()

    def start(self, agent: str = "") -> None:
        """Give every folder of an agent a record, make a first agent, start the core pages."""
        from looseleaf.operations.agents import create_agent, start_pages
        from looseleaf.operations.composed import compose

        known = {record.slug for record in self.agents.records()}
        new = [slug for slug in self.agents.slugs() if slug not in known]
        first = agent or ("" if known or new else FIRST_AGENT)
        if first and first not in known and first not in new:
            new.append(first)
        for slug in new:
            create_agent(self.context, slug)
        start_pages(self.context, Shelf("shared"))
        latest = self.history.latest(Shelf("shared").page("SITE.md"))
        # A page from elsewhere, such as the original plugin's, is replaced only when asked.
        if latest is None or not latest.hash or latest.operation == "compose":
            compose(self.context, "SITE.md")

    def acting(
        self,
        *,
        actor: str = "",
        surface: str = "",
        reason: str = "",
        principal: Principal | None = None,
    ) -> Context:
        """Give the rooms to someone else: another actor, another surface, a reason, other rights.

        Who is not the local administrator is called by their own name.
        """
        given: dict[str, object] = {"actor": actor, "surface": surface, "reason": reason}
        if principal is not None and not principal.is_local:
            given |= {"principal": principal, "actor": principal.name}
            given |= {"settings": self.database.settings(), "configured": self.settings}
        return changed(self.context, **{key: one for key, one in given.items() if one})

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
        **more: Any,  # noqa: ANN401 - as in `assemble`
    ) -> Assembly:
        """Assemble what an agent is given in a mode; `more` are fields of a request, or `as_of`."""
        from looseleaf.operations.prompt import assemble

        return assemble(self.context, mode, where=Where(agent, user), **more)

    def chain(self) -> Chain:
        """Give the chain of directives, put together when it is first needed."""
        return self.rooms.chain()

    def operations(self) -> Operations:
        """Give everything one can do here, plugins' operations too."""
        return self.rooms.operations()

    def schedules(self) -> Schedules:
        """Give what is to be run when; nothing runs it yet."""
        return self.rooms.schedules()

    def model_for(self, agent: str | int | None, mode: str) -> str | None:
        """Choose the model that answers for an agent in a mode; None where nothing names one."""
        record = self.agents.resolve(agent)
        return self._hooks.pick("pick_model", "a name", agent=record, mode=mode)  # type: ignore[no-any-return]

    def plugins(self) -> tuple[Plugin, ...]:
        """List the plugins, ours first, each with what it registered."""
        return self.rooms.plugins()

    def index(self) -> Index | None:
        """Give the search index, made when it is first needed."""
        if self._index is None:
            from looseleaf.memory.elsewhere import IndexByShelf
            from looseleaf.stores.index import SearchIndex

            path, modes = f"{self.root}/.looseleaf/index", self.store.modes
            index = SearchIndex(self.store, path, modes=modes, progress=self._tell_progress)
            shelves = self._shelves
            self._index = IndexByShelf(index, shelves.lies_here) if shelves else index
        return self._index

    @property
    def database(self) -> OpenDatabase:
        """The database, of which only as much is opened as is asked for."""
        if self._database is None:
            from looseleaf.stores.open_database import OpenDatabase

            with self._opening:
                if self._database is None:
                    self._database = OpenDatabase(self.settings, self.root, clock=self.clock)
        return self._database

    def add_event(self, event: Event) -> None:
        """Add an event to the audit."""
        self.database.add_event(event)

    def accounts(self) -> Accounts:
        """Open the database, made and brought up to date when it is first needed."""
        return self.database.accounts()

    def chats(self) -> Chats:
        """Give the conversations, which lie beside the accounts."""
        return self.database.chats()

    def models(self) -> Models:
        """Give the models, each opened when it is first asked."""
        if self._models is None:
            from looseleaf.models.opening import open_models

            with self._opening:
                if self._models is None:
                    self._models = open_models(self.settings)
        return self._models

    def authentication(self) -> Authentication:
        """Give the one who knows credentials, and remembers those it has seen."""
        if self._authentication is None:
            from looseleaf.agents.authentication import Authentication

            self._authentication = Authentication(self.accounts(), self.agents, clock=self.clock)
        return self._authentication

    def _tell_progress(self, what: str, done: int, total: int) -> None:
        self.progress(what, done, total)

    def _ask_for_stores(self) -> None:
        """Let plugins say where shelves lie; without one that does, nobody needs to be asked."""
        from looseleaf.memory.elsewhere import HistoryByShelf, Shelves

        def pick(shelf: Shelf) -> Store:
            return self._hooks.pick("pick_store", "a store", shelf=shelf)  # type: ignore[no-any-return]

        self._shelves = Shelves(self.store, self.history, pick)
        self.history = HistoryByShelf(self._shelves.history_for, self.history)

    def _store_for(self, place: Scope | Shelf) -> Store:
        return self.store if self._shelves is None else self._shelves.store_for(place)


def report(what: str, error: Exception) -> None:
    """Tell the operator about a failure that must not undo what was done."""
    sys.stderr.write(f"looseleaf: {what}: {type(error).__name__}: {error}\n")
