"""The files that hold agents' records, read again only when they have changed."""

from __future__ import annotations

import os
import time

from looseleaf.agents.record import parse_record, why_not
from looseleaf.errors import Unavailable
from looseleaf.folders import READ, read_all, settled, stands_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord

RECORD = "agent.json"


class RecordFiles:
    """`agents/{slug}/agent.json` below a root; every call sees what is on disk now."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._marks: dict[str, tuple[int, int, int]] = {}  # inode, time and id of records as read
        self._records: dict[str, AgentRecord] = {}  # as read, once their files had settled

    def slugs(self) -> list[str]:
        """Name the folders that can be agents', with or without a record."""
        try:
            names = os.listdir(f"{self.root}/agents")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Unavailable("The folder of agents", error.strerror) from error
        return sorted(name for name in names if why_not(name) is None)

    def unchanged(self, slug: str, agent_id: int) -> bool:
        """Say whether the folder still has the record of this agent that was read from it."""
        try:
            status = os.lstat(f"{self.root}/agents/{slug}/{RECORD}")
        except OSError:
            return False  # moved or gone
        return (status.st_ino, status.st_ctime_ns, agent_id) == self._marks.get(slug)

    def is_in(self, folder: int, slug: str, agent_id: int) -> bool:
        """Say whether an open folder has the record of this agent that was read by that name."""
        try:
            status = os.stat(RECORD, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
        return (status.st_ino, status.st_ctime_ns, agent_id) == self._marks.get(slug)

    def read(self, slug: str) -> AgentRecord | None:
        """Read the record of a folder; None where it has none."""
        path = f"{self.root}/agents/{slug}/{RECORD}"
        kept = self._records.get(slug)
        if kept is not None and self.unchanged(slug, kept.id):
            return kept
        asked = time.time_ns()
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
            record = parse_record(slug, read_all(fd))
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable(
                f"The record of agent {slug}", f"{RECORD} is damaged ({error})"
            ) from error
        finally:
            os.close(fd)
        self._records.pop(slug, None)
        self._marks[slug] = (status.st_ino, status.st_ctime_ns, record.id)
        if settled(status, asked):
            self._records[slug] = record
        return record
