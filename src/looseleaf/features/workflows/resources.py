"""Resources of workflows besides memory: other servers, files of jobs, folders, processed items."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from looseleaf.allow_list import AllowList, HostRule, read_allow_list
from looseleaf.errors import InvalidArgument, InvalidSetting, Refused
from looseleaf.features.workflows.jobs.folders import JobFolders, OldWorkflowFiles
from looseleaf.features.workflows.uploads import UploadFolders
from looseleaf.files import atomic
from looseleaf.files.folders import GROUP, PRIVATE, READ, OsErrorContext, open_folder, read_all
from looseleaf.memory.scope import check_folder
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.features.workflows.step import ProcessedItems
    from looseleaf.files.root_folder import RootFolder
    from looseleaf.http_client import HttpClient
    from looseleaf.settings import Settings
    from looseleaf.stores.database.open_database import OpenDatabase


# The folders that the operator allows steps to publish to, and the files in them.


_FILE_MODE, _FOLDER_MODE = 0o644, 0o755  # published files are for others to read


class DiskPublishFolders:
    """The folders of the setting `publish_folders`, by name."""

    def __init__(self, settings: Settings) -> None:
        self._root = os.path.realpath(settings.root)
        self._folders = dict(settings.publish_folders)

    def write(self, folder: str, name: str, content: bytes, *, replace: bool) -> str:
        """Write a file below an allowed folder, atomically, and return its path in the folder."""
        path = self._path_of(folder)
        check_folder(name)
        *parents, file = name.split("/")
        with OsErrorContext(f"The folder {folder}"):
            root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                place = open_folder(root, parents, create=_FOLDER_MODE)
            finally:
                os.close(root)
            try:
                _write_file(place, file, content, replace=replace)
            finally:
                os.close(place)
        return name

    def _path_of(self, folder: str) -> str:
        """Return the path of an allowed folder, which must not overlap the workspace."""
        if folder not in self._folders:
            names = ", ".join(sorted(self._folders)) or "none"
            raise InvalidArgument(
                "folder",
                f"the setting publish_folders of looseleaf.toml does not name {folder!r}; it "
                f"names: {names}",
            )
        path = os.path.realpath(os.path.join(self._root, os.path.expanduser(self._folders[folder])))
        if not os.path.isdir(path):
            raise InvalidSetting("publish_folders", f"{folder} is no folder; create it first")
        common = os.path.commonpath((path, self._root))
        if common in (path, self._root):
            reason = f"{folder} overlaps the workspace, whose files are memory; choose one outside"
            raise InvalidSetting("publish_folders", reason)
        return path


def _write_file(folder: int, name: str, content: bytes, *, replace: bool) -> None:
    try:
        file = os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        pass
    else:
        try:
            present = read_all(file)
        finally:
            os.close(file)
        if present == content:
            return
        if not replace:
            raise Refused(
                f"The file {name} is there with another text. Give the step another filename, such "
                "as one with {{job}}, or set replace."
            )
    atomic.replace(folder, name, content, mode=_FILE_MODE)


_PORTS = {"http": 80, "https": 443}


class WorkflowResources:
    """The resources of one workspace, each opened when it is first used."""

    def __init__(
        self,
        settings: Settings,
        root_folder: RootFolder,
        database: OpenDatabase,
        clock: Callable[[], float],
    ) -> None:
        self._settings, self._database, self._clock = settings, database, clock
        modes = GROUP if settings.group_writable else PRIVATE
        self.files = JobFolders(root_folder, modes)
        self.uploads = UploadFolders(root_folder, modes)
        self.publish_folders = DiskPublishFolders(settings)
        self.old_files = OldWorkflowFiles(root_folder)
        self._http_client: HttpClient | None = None

    def http_client(self) -> HttpClient:
        """Return the client for other servers, with the allow-list of the settings."""
        if self._http_client is None:
            from looseleaf.http_client import HttpClient

            self._http_client = HttpClient(allow_sites(self._settings))
        return self._http_client

    def processed_items(self) -> ProcessedItems:
        """Return the items that steps have taken before."""
        from looseleaf.features.workflows.sql_definitions import SqlProcessedItems

        return SqlProcessedItems(self._database.database(), clock=self._clock)


def allow_sites(settings: Settings) -> AllowList:
    """Return the allow-list of the settings, with the WordPress sites that they name."""
    allow_list = read_allow_list(settings)
    rules = []
    for site in settings.wordpress_sites:
        parts = urlsplit(site.url)
        rules.append(HostRule((parts.hostname or "").lower(), parts.port or _PORTS[parts.scheme]))
    return replace(allow_list, hosts=(*allow_list.hosts, *rules))
