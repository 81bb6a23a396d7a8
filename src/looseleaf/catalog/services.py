"""The services of a workspace that operations work with, as one contract.

An operation does not know whether its workspace is a folder on a disk or something else.
"""

from __future__ import annotations

from looseleaf.memory.registry import OWNER, NamedRegistry
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    from looseleaf.access.accounts import Accounts
    from looseleaf.access.audit import Event
    from looseleaf.agents.record import AgentList
    from looseleaf.catalog.generated_pages import GeneratedPages
    from looseleaf.catalog.operation import OperationList
    from looseleaf.files.root_folder import RootFolder
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.search.ranking import Index
    from looseleaf.memory.templates import PageStarters
    from looseleaf.models.by_name import Models
    from looseleaf.prompt.chain import Chain
    from looseleaf.settings import Settings
    from looseleaf.stores.database.open_database import OpenDatabase

    Registry = TypeVar("Registry", bound=NamedRegistry)
else:
    Protocol = object


@value
class PartOpener:
    """The function that opens a part of a workspace."""

    name: str
    open_part: Callable[[WorkspaceServices], Any]
    owner: str = OWNER


class PartOpeners(NamedRegistry):
    """The functions that open the parts which features and plugins add to a workspace."""

    noun = "part"
    hook = "register_parts"

    def register(
        self, name: str, open_part: Callable[[WorkspaceServices], Any], *, owner: str = OWNER
    ) -> None:
        """Add a part by its name; `open_part` is called once, when the part is first used."""
        self._refuse_if_frozen(name)
        self._entries[name] = PartOpener(name, open_part, owner)

    def get(self, name: str) -> Callable[[WorkspaceServices], Any]:
        """Return the function that opens a part."""
        opener: PartOpener = self._entries[name]
        return opener.open_part

    def all(self) -> tuple[PartOpener, ...]:
        """Return all parts, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))


class WorkspaceServices(Protocol):
    """The services of a workspace; one that takes time to open is opened when it is called."""

    @property
    def settings(self) -> Settings:
        """The settings of the file, without those that were set while running."""

    def effective_settings(self) -> Settings:
        """Return the settings of the file, with those that were made while running."""

    def setting(self, name: str) -> Any:  # noqa: ANN401 - of the type of its default
        """Return a setting that a plugin has registered, of the type of its default."""

    @property
    def agents(self) -> AgentList:
        """The list of agents."""

    @property
    def pages(self) -> MemoryPages:
        """All pages, whatever the rights of the principal are."""

    @property
    def history(self) -> History:
        """The history of every page."""

    def require_available(self) -> None:
        """Raise `Unavailable` if the workspace is not there, such as an unmounted disk."""

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""

    def index(self) -> Index | None:
        """Return the search index of all pages, or None if there is none."""

    def chain(self) -> Chain:
        """Return the chain of directives."""

    def composed_sections(self) -> ComposedSections:
        """Return the sections of generated pages."""

    def starters(self) -> PageStarters:
        """Return the texts that new pages start with."""

    def generated(self) -> GeneratedPages:
        """Return the generated pages."""

    def operations(self) -> OperationList:
        """Return every operation, those of plugins too."""

    def registry_for(self, hook: str, **noun: Callable[[], Registry]) -> Registry:
        """Return the registry that a hook fills, built and filled when it is first used."""

    def part(self, name: str) -> Any:  # noqa: ANN401 - each feature has a function that knows the type
        """Return a part that a feature or plugin has registered, opened when it is first used."""

    def on_close(self, close: Callable[[], None]) -> None:
        """Call a function when the workspace closes, before its database does."""

    @property
    def root_folder(self) -> RootFolder:
        """The folder of the workspace."""

    @property
    def database(self) -> OpenDatabase:
        """The database, opened only as far as it is needed."""

    def has_accounts(self) -> bool:
        """Return whether there is a database already; this call creates none."""

    def accounts(self) -> Accounts:
        """Open the users, grants, credentials and settings of the database."""

    def add_event(self, event: Event) -> None:
        """Add an event to the audit."""

    def models(self) -> Models:
        """Return the models, each opened when it is first asked."""

    def model_for(self, agent: str | int | None, mode: str) -> str | None:
        """Choose the model that answers for an agent in a mode, or None if nothing names one."""

    def report(self, failure: str, error: Exception) -> None:
        """Report to the operator a failure that must not undo what was done."""

    def show_progress(self, activity: str, done_count: int, total: int) -> None:
        """Show the operator how far a long act is."""
