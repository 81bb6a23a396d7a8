"""A workspace on a disk, opened: its agents and its pages, wired together."""

from __future__ import annotations

from looseleaf.files.folders import GROUP, PRIVATE
from looseleaf.memory.store import Retention
from looseleaf.stores.disk.agents.disk_agents import DiskAgents
from looseleaf.stores.disk.store import DiskStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.files.root_folder import RootFolder
    from looseleaf.settings import Settings


def open_disk(
    root_folder: RootFolder, settings: Settings, clock: Callable[[], float]
) -> tuple[DiskAgents, DiskStore]:
    """Open the agents and the pages of a folder; each follows the changes of the other."""
    modes = GROUP if settings.group_writable else PRIVATE
    agents = DiskAgents(root_folder, default=settings.default_agent, modes=modes, clock=clock)
    store = DiskStore(
        root_folder,
        agent_folder=agents.slug_of,
        is_folder_of=agents.is_folder_of,
        group_writable=settings.group_writable,
        retention=Retention(settings.retention_days, settings.retention_versions),
        clock=clock,
    )
    agents.on_move(store.release)
    agents.on_discard(store.discard_agent)
    return agents, store
