"""What binds a principal to its agent: the owner, and a memory policy that binds access.

Every operation is run with the pages that the policy leaves in the place of all pages, and with the
owner of the agent, so that no operation, not even one of a plugin, can forget either.
"""

from __future__ import annotations

from copy import copy

from looseleaf.catalog.context import act_for
from looseleaf.catalog.resolution import find_acting_agent
from looseleaf.errors import Unavailable
from looseleaf.errors.pages import AgentMissing, PageDenied
from looseleaf.memory.policy import decide
from looseleaf.memory.store import has_paths
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import (
        Blame,
        History,
        PackedVersions,
        PageVerdict,
        Revision,
    )
    from looseleaf.memory.policy import PolicyDecision
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import (
        Capabilities,
        Change,
        Deleted,
        Found,
        Missing,
        PageEntry,
        Retention,
        Store,
        Written,
    )

    Decide = Callable[[Scope], PolicyDecision]


def bind_to_agent(context: Context) -> Context:
    """Return the context of a principal that acts through an agent.

    The principal gets the owner of the agent, and the pages are those that the agent's memory
    policy leaves, if it binds access.
    """
    if context.is_bound:
        return context  # one operation runs another one
    try:
        agent = find_acting_agent(context)
    except AgentMissing:
        return context  # the operation itself reports that the agent is missing
    if agent is None:
        return context
    context = act_for(context, agent)
    # Most agents have no policy, and a policy that binds injection alone does not count here.
    if not agent.config or not agent.configuration.binds_access:
        return context
    policy = agent.configuration.memory_policy

    def decide_page(scope: Scope) -> PolicyDecision:
        return decide(scope.filename, policy=policy)

    pages = copy(context.pages)
    pages.store_for = lambda place: ReachableStore(context.pages.store_for(place), decide_page)
    history = ReachableHistory(context.history, decide_page)
    return replace(context, pages=pages, bound_history=history)


def _require(decide_page: Decide, scope: Scope) -> None:
    decision = decide_page(scope)
    if not decision.allowed:
        raise PageDenied(scope.filename, decision.rule)


def _is_reachable(decide_page: Decide, scope: Scope) -> bool:
    return decide_page(scope).allowed


class ReachableStore:
    """A store with the pages that a policy leaves: others are not listed, and refused by name."""

    def __init__(self, store: Store, decide_page: Decide) -> None:
        self._store, self._decide = store, decide_page

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do; `ReachableHistory` has the history of its pages."""
        return replace(self._store.capabilities, history=False)

    def path(self, scope: Scope) -> str:
        """Return the path of a page's file."""
        if not has_paths(self._store):
            raise Unavailable(scope.filename, "its store has no files")
        return self._store.path(scope)

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._store.read(scope)

    def exists(self, scope: Scope) -> bool:
        """Return whether a page exists; a denied page counts as missing."""
        return _is_reachable(self._decide, scope) and self._store.exists(scope)

    def list_layer(self, shelf: Shelf) -> list[PageEntry]:
        """List the pages directly on a shelf."""
        return self._list_reachable(shelf, self._store.list_layer(shelf))

    def list_subtree(self, shelf: Shelf, prefix: str) -> list[PageEntry]:
        """List the pages below a folder of a shelf."""
        return self._list_reachable(shelf, self._store.list_subtree(shelf, prefix))

    def write(self, scope: Scope, *content: Any, **options: Any) -> Written:  # noqa: ANN401
        """Write a page, or raise `PageDenied`, since the answer would describe the page."""
        _require(self._decide, scope)
        return self._store.write(scope, *content, **options)  # type: ignore[return-value]

    def edit(self, scope: Scope, *content: Any, **options: Any) -> Written:  # noqa: ANN401
        """Change a page, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._store.edit(scope, *content, **options)

    def delete(self, scope: Scope, **options: Any) -> Deleted:  # noqa: ANN401
        """Delete a page, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._store.delete(scope, **options)  # type: ignore[return-value]

    def _list_reachable(self, shelf: Shelf, entries: list[PageEntry]) -> list[PageEntry]:
        return [
            entry for entry in entries if _is_reachable(self._decide, shelf.page(entry.filename))
        ]


class ReachableHistory:
    """The history of the pages that a policy leaves."""

    def __init__(self, history: History, decide_page: Decide) -> None:
        self._history, self._decide = history, decide_page

    def revisions(self, scope: Scope) -> list[Revision]:
        """List the revisions of a page, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._history.revisions(scope)

    def latest(self, scope: Scope) -> Revision | None:
        """Return the last change of a page, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._history.latest(scope)

    def content(self, scope: Scope, number: int) -> bytes | None:
        """Return the content of one revision, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._history.content(scope, number)

    def blame(self, scope: Scope, number: int | None = None) -> Blame:
        """Return who brought each line of a version, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._history.blame(scope, number)

    def pages(self, shelf: Shelf) -> list[str]:
        """List the pages of a shelf that have a history."""
        names = self._history.pages(shelf)
        return [name for name in names if _is_reachable(self._decide, shelf.page(name))]

    def purge(self, scope: Scope, number: int, *, change: Change) -> None:
        """Remove the content of one prior revision for good, or raise `PageDenied`."""
        _require(self._decide, scope)
        self._history.purge(scope, number, change=change)

    def prune(self, shelf: Shelf, retention: Retention) -> int:
        """Drop the versions a retention no longer keeps; return how many went."""
        return self._history.prune(shelf, retention)

    def pack(self, scope: Scope, *, dry_run: bool = False) -> PackedVersions:
        """Compress the settled versions of a page; no text is returned."""
        return self._history.pack(scope, dry_run=dry_run)

    def shelves(self) -> list[Shelf]:
        """List every shelf that has a history."""
        return self._history.shelves()

    def missing(self, shelf: Shelf) -> list[str]:
        """Name the pages of a shelf that had a history and have none now."""
        names = self._history.missing(shelf)
        return [name for name in names if _is_reachable(self._decide, shelf.page(name))]

    def verify(self, scope: Scope, *, is_core: bool = False) -> PageVerdict:
        """Compare a page and its versions with their hashes, or raise `PageDenied`."""
        _require(self._decide, scope)
        return self._history.verify(scope, is_core=is_core)
