"""Resources of workflows besides memory: other servers, files of jobs, folders, processed items."""

from __future__ import annotations

from urllib.parse import urlsplit

from looseleaf.files.folders import GROUP, PRIVATE
from looseleaf.http_client.allow_list import AllowList, HostRule, read_allow_list
from looseleaf.stores.disk.workflows.job_folders import JobFolders
from looseleaf.stores.disk.workflows.old_files import OldWorkflowFiles
from looseleaf.stores.disk.workflows.publish_folders import DiskPublishFolders
from looseleaf.stores.disk.workflows.upload_folders import UploadFolders
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.files.root_folder import RootFolder
    from looseleaf.http_client.client import HttpClient
    from looseleaf.settings import Settings
    from looseleaf.stores.database.open_database import OpenDatabase
    from looseleaf.workflows.step_parts import ProcessedItems

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
            from looseleaf.http_client.client import HttpClient

            self._http_client = HttpClient(allow_sites(self._settings))
        return self._http_client

    def processed_items(self) -> ProcessedItems:
        """Return the items that steps have taken before."""
        from looseleaf.stores.database.workflows.processed_items import SqlProcessedItems

        return SqlProcessedItems(self._database.database(), clock=self._clock)


def allow_sites(settings: Settings) -> AllowList:
    """Return the allow-list of the settings, with the WordPress sites that they name."""
    allow_list = read_allow_list(settings)
    rules = []
    for site in settings.wordpress_sites:
        parts = urlsplit(site.url)
        rules.append(HostRule((parts.hostname or "").lower(), parts.port or _PORTS[parts.scheme]))
    return replace(allow_list, hosts=(*allow_list.hosts, *rules))
