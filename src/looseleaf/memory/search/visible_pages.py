"""The pages of a moment in the past that a search can see."""

from __future__ import annotations

from looseleaf.errors.pages import RevisionMissing
from looseleaf.memory.history import PastPages
from looseleaf.memory.store import Missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.history import History
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Found, Store

    ReadKnown = Callable[[Scope], Found | None]


class VisiblePages(PastPages):
    """Past pages without those whose versions of that moment are no longer kept.

    `unseen_names` has the names of those that a caller has tried to read.
    """

    def __init__(
        self, store: Store, history: History, moment: float, read_known: ReadKnown | None = None
    ) -> None:
        super().__init__(store, history, moment, read_known)
        self.unseen_names: set[str] = set()

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page as it was; the name of a page without its version is noted."""
        try:
            return super().read(scope)
        except RevisionMissing:
            self.unseen_names.add(scope.filename)
            return Missing()
