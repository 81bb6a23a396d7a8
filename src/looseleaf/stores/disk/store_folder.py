"""The contract of a disk store for its own parts: folder, modes, clock and last writes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.files.root_folder import RootFolder
    from looseleaf.memory.store import Retention
    from looseleaf.stores.disk.recent_writes import RecentWrites
else:
    Protocol = object


class StoreFolder(Protocol):
    """The folder of a disk store, as its parts open it."""

    root: str
    root_folder: RootFolder
    modes: tuple[int, int]
    clock: Callable[[], float]
    recent_writes: RecentWrites
    retention: Retention

    def open_own(self, *segments: str) -> int | None:
        """Open a folder below the root, if it is there; the caller closes it."""

    def release(self) -> None:
        """Release all folders: later reads look for the folder of a shelf again."""
