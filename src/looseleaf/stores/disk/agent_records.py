"""The files that hold agents' records, read again only when they have changed."""

from __future__ import annotations

import os
import time

from looseleaf.agents.record import find_slug_problem, parse_record
from looseleaf.errors import Unavailable, WorkspaceUnavailable
from looseleaf.files.folders import READ, is_settled, read_all, stands_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.files.root_folder import RootFolder


RECORD = "agent.json"
REGISTER = "register.json"  # in agents/: which ids were given
HINTS = ".looseleaf/agents"  # for each id, the slug to look at first
NEW = ".new"  # in agents/: an agent that is being created
STAGED = ":making"  # in the folder of hints: a file that is being written
DELETED_FOLDER = ".looseleaf/deleted"  # the files of deleted agents, each in {id}-{slug}


class RecordFiles:
    """`agents/{slug}/agent.json` below a root; every call sees what is on disk now."""

    def __init__(self, folder: RootFolder) -> None:
        self.root = folder.path
        self._folder = folder
        self._marks: dict[str, tuple[int, int, int]] = {}  # inode, time and id of records as read
        self._records: dict[str, AgentRecord] = {}  # as read, once their files had settled

    def slugs(self) -> list[str]:
        """List the folders that can be agents, with or without a record."""
        slugs = [name for name in self._list_names("agents") if _is_slug(name)]
        if not slugs:
            self.require_agents()
        return sorted(slugs)

    def require_agents(self) -> None:
        """Raise if the workspace is gone, or the folder of the agents that were created in it.

        If agents were created, that folder has a register; so one without agents and register is
        another one, as on a disk that was just formatted.
        """
        self._folder.require()
        names = self._list_names("agents")
        is_other = REGISTER not in names and not any(map(_is_slug, names))
        if is_other and self._list_names(HINTS):
            raise WorkspaceUnavailable(
                "agents were created here, and the folder agents/ is missing or empty; bring it "
                f"back, or delete {HINTS} to begin anew"
            )

    def _list_names(self, path: str) -> list[str]:
        try:
            return os.listdir(f"{self.root}/{path}")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Unavailable("The folder of agents", error.strerror) from error

    def is_interrupted(self) -> bool:
        """Return whether a change of the agents is under way, or was interrupted."""
        traces = (f"agents/{NEW}", f"{HINTS}/{STAGED}")
        return any(os.path.lexists(f"{self.root}/{path}") for path in traces)

    def deleted_names(self) -> list[str]:
        """Name the folders of deleted agents."""
        return self._list_names(DELETED_FOLDER)

    def hint(self, name: str) -> str:
        """Read where an agent was last seen, or "" if nothing is noted."""
        try:
            with open(f"{self.root}/{HINTS}/{name}", encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, UnicodeDecodeError):
            return ""  # the records are searched instead

    def is_unchanged(self, slug: str, agent_id: int) -> bool:
        """Return whether the folder still has the record of this agent that was read from it."""
        try:
            status = os.lstat(f"{self.root}/agents/{slug}/{RECORD}")
        except OSError:
            return False  # moved or gone
        return self._marks.get(slug) == (status.st_ino, status.st_ctime_ns, agent_id)

    def is_in(self, folder: int, slug: str, agent_id: int) -> bool:
        """Return whether an open folder has the agent's record that was read for that slug."""
        try:
            status = os.stat(RECORD, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
        return (status.st_ino, status.st_ctime_ns, agent_id) == self._marks.get(slug)

    def read(self, slug: str) -> AgentRecord | None:
        """Read the record of a folder, or None if it has none."""
        path = f"{self.root}/agents/{slug}/{RECORD}"
        last_record = self._records.get(slug)
        if last_record is not None and self.is_unchanged(slug, last_record.id):
            return last_record
        read_time = time.time_ns()
        result = _read_record(path, slug)
        if result is None:
            return None
        record, status = result
        self._records.pop(slug, None)
        self._marks[slug] = (status.st_ino, status.st_ctime_ns, record.id)
        if is_settled(status.st_ctime_ns, read_time):
            self._records[slug] = record
        return record


def _is_slug(name: str) -> bool:
    return find_slug_problem(name) is None


def _read_record(path: str, slug: str) -> tuple[AgentRecord, os.stat_result] | None:
    try:
        fd = os.open(path, READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"The record of agent {slug}", error.strerror) from error
    try:
        status = os.fstat(fd)
        if not stands_at(fd, path):
            return None  # a link is no agent
        return parse_record(slug, read_all(fd)), status
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(
            f"The record of agent {slug}", f"{RECORD} is damaged ({error})"
        ) from error
    finally:
        os.close(fd)


def read_deleted(root: str, name: str) -> AgentRecord | None:
    """Read the record of a deleted agent, whose folder is called by its id and slug."""
    slug = name.partition("-")[2]
    result = _read_record(f"{root}/{DELETED_FOLDER}/{name}/{RECORD}", slug) if slug else None
    return None if result is None else result[0]


# The folder of agents, and what all parts of the list of agents share: clock, listeners.


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
