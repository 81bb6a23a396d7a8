"""What an operation works with: the rooms of a workspace, and who acts through which surface."""

from __future__ import annotations

from looseleaf.errors import Conflicted, InvalidName
from looseleaf.memory.scope import LAYERS, Shelf
from looseleaf.memory.store import Change, Conflict
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from looseleaf.agents.directory import Agents
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Layer, Scope
    from looseleaf.memory.search import Index
    from looseleaf.memory.templates import Starters
    from looseleaf.settings import Settings

    Outcome = TypeVar("Outcome")


@value
class Context:
    """A workspace's rooms, and the one who acts."""

    settings: Settings
    agents: Agents
    pages: MemoryPages
    history: History
    composed: ComposedSections
    starters: Starters
    index: Callable[[], Index | None]
    clock: Callable[[], float]
    actor: str = ""
    surface: str = "library"
    reason: str = ""

    def change(self, operation: str) -> Change:
        """Say who is about to change a page, and how."""
        return Change(operation, self.actor, self.surface, self.reason)


@value
class Where:
    """Whose page is meant: an agent by id or slug, a user, or a layer by name."""

    agent: str | int | None = None
    user: int | None = None
    layer: str | None = None


HERE = Where()


def shelf_of(context: Context, where: Where, layer: Layer) -> Shelf:
    """Find the shelf of a layer; an agent or user that is not named is the default one."""
    if layer == "agent":
        return context.agents.resolve(where.agent).shelf
    if layer == "user":
        return Shelf("user", user_of(context, where))
    return Shelf(layer)


def user_of(context: Context, where: Where) -> int:
    """Find the user who is meant: as told, the agent's owner, or the default one."""
    if where.user is not None:
        return where.user
    if where.agent is not None:
        return context.agents.resolve(where.agent).owner
    return context.settings.default_user


def scope_of(context: Context, file: str, where: Where) -> Scope:
    """Find the page that a filename means: on the layer told, or where the registry puts it."""
    layer = where.layer or context.pages.registry.layer_of(file)
    if layer not in LAYERS:
        raise InvalidName(layer, f"a layer is one of {', '.join(LAYERS)}")
    return shelf_of(context, where, layer).page(file)


def settled(filename: str, outcome: Outcome | Conflict) -> Outcome:
    """Give the outcome of a write, or raise `Conflicted` where the page had moved on."""
    if isinstance(outcome, Conflict):
        raise Conflicted(filename, outcome.expected, outcome.actual)
    return outcome
