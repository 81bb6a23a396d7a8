"""The folder of agents, and what all parts of the list of agents share: clock, listeners."""

from __future__ import annotations

from looseleaf.stores.disk.agents.record_files import RecordFiles, read_deleted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.files.root_folder import RootFolder


class AgentsFolder:
    """The folder `agents/` below a root, with the modes of its files and the clock."""

    def __init__(
        self, root_folder: RootFolder, modes: tuple[int, int], clock: Callable[[], float]
    ) -> None:
        self.root_folder = root_folder
        self.root = root_folder.path
        self.file_mode, self.folder_mode = modes
        self.clock = clock
        self.files = RecordFiles(root_folder)
        self.unfinished_folders: dict[int, str] = {}  # the folders of agents that are being created
        self.changes = 0  # by this process, of any agent
        self._discards: list[Callable[[int, str], None]] = []

    def deleted_records(self) -> list[AgentRecord]:
        """List the deleted agents that can be restored, by id."""
        records = [read_deleted(self.root, name) for name in self.files.deleted_names()]
        return sorted(
            (record for record in records if record is not None), key=lambda record: record.id
        )

    def on_discard(self, listener: Callable[[int, str], None]) -> None:
        """Add a listener that removes the files of an agent that was never finished."""
        self._discards.append(listener)

    def discard(self, agent_id: int, slug: str) -> None:
        """Remove the files of an agent that was never finished."""
        for listener in self._discards:
            listener(agent_id, slug)
