"""The sources of a prompt's pages: as they are now, or as they were."""

from __future__ import annotations

from looseleaf.memory.history import pick_revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.memory.history import History, PastPages, Revision
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Found, Missing
else:
    Protocol = object


class Sources(Protocol):
    """Pages, and the last change of each."""

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page."""

    def latest(self, scope: Scope) -> Revision | None:
        """Return the change that made the present text of a page, or None if it is not known."""


class PresentSources:
    """Pages as they are."""

    def __init__(self, pages: MemoryPages, history_for: Callable[[Scope], History | None]) -> None:
        self.pages, self.history_for = pages, history_for

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page."""
        return self.pages.read(scope)

    def latest(self, scope: Scope) -> Revision | None:
        """Return the newest change."""
        history = self.history_for(scope)
        return history.latest(scope) if history is not None else None


class PastSources:
    """Pages as they were at a moment."""

    def __init__(self, pages: PastPages) -> None:
        self.pages = pages

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page as it was."""
        return self.pages.read(scope)

    def latest(self, scope: Scope) -> Revision | None:
        """Return the change that was the newest then."""
        return pick_revision(scope.filename, self.pages.history.revisions(scope), self.pages.moment)
