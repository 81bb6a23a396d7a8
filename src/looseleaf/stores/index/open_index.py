"""Opening the search index of a workspace."""

from __future__ import annotations

from looseleaf.memory.routing import IndexByShelf
from looseleaf.stores.index.search_index import SearchIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.routing import Shelves
    from looseleaf.memory.search.ranked import Index
    from looseleaf.stores.disk.store import DiskStore
    from looseleaf.stores.index.past_versions import VersionHistory


def open_index(
    store: DiskStore,
    history: VersionHistory,
    shelves: Shelves | None,
    show_progress: Callable[[str, int, int], None],
) -> Index:
    """Open the index of the pages on disk; shelves that plugins keep elsewhere are scanned."""
    index = SearchIndex(
        store,
        f"{store.root}/.looseleaf/index",
        history=history,
        modes=store.modes,
        progress=show_progress,
    )
    return IndexByShelf(index, shelves.is_own) if shelves else index
