"""The sources of imports: folders of this machine that may be read, and sites of the settings."""

from __future__ import annotations

import os

from looseleaf.bundles.importers.known_systems import choose_importer
from looseleaf.bundles.importers.source_folder import SourceFolder
from looseleaf.bundles.importers.systems import datamachine_site
from looseleaf.errors import FolderRefused, ImportSourceMissing, InvalidImport
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.bundles.importers.contract import Reading
    from looseleaf.catalog.context import Context

_ADDRESSES = ("https://", "http://")
_NOT_ALLOWED = (
    "it is not below a folder of the setting import_folders; the operator adds the folder there, "
    "in looseleaf.toml, or runs the command on the server"
)


@value
class ImportSource:
    """A source as it was read: the kind and title of its system, its location, and its pages."""

    kind: str
    title: str
    location: str
    reading: Reading


def read_source(context: Context, path: str, kind: str) -> ImportSource:
    """Read a folder or file of this machine, or a running site by its address."""
    if path.startswith(_ADDRESSES):
        return _read_site(context, path)
    importer = choose_importer(open_folder(context, path), kind)
    folder = open_folder(context, path)  # anew: detection looks at files that are another's
    return ImportSource(importer.kind, importer.title, folder.location, importer.read(folder))


def open_folder(context: Context, path: str) -> SourceFolder:
    """Open a folder of this machine; over a network only below those that the operator names."""
    real_path = os.path.realpath(path)
    if not context.principal.is_local and not _is_allowed(context, real_path):
        raise FolderRefused(path, _NOT_ALLOWED)
    workspace = os.path.realpath(context.settings.root)
    if os.path.commonpath((real_path, workspace)) in (real_path, workspace):
        raise InvalidImport(
            f"{path} and the workspace {workspace} are one folder, or one is inside the other. "
            "Copy the source to a folder of its own first."
        )
    return SourceFolder(path)


def list_folders(context: Context) -> list[str]:
    """List the folders of the setting `import_folders`, and the folders directly in them."""
    paths: list[str] = []
    for root in context.settings.import_folders:
        folder = _try_folder(context, root)
        if folder is not None:
            paths.append(folder.path)
            paths += [
                os.path.join(folder.path, name)
                for name in folder.folders()
                if not name.startswith(".")
            ]
    return list(dict.fromkeys(paths))


def _try_folder(context: Context, path: str) -> SourceFolder | None:
    try:
        return open_folder(context, path)
    except (ImportSourceMissing, InvalidImport):
        return None  # the folder is not there, or holds the workspace itself


def _is_allowed(context: Context, real_path: str) -> bool:
    roots = [os.path.realpath(root) for root in context.settings.import_folders if root]
    return any(real_path == root or real_path.startswith(f"{root}/") for root in roots)


def _read_site(context: Context, address: str) -> ImportSource:
    """Read a site that the settings name; its user and password are theirs."""
    for site in context.settings.wordpress_sites:
        if site.url.rstrip("/") == address.rstrip("/"):
            client = context.parts.workflow_resources().http_client()
            reading = datamachine_site.read_site(client.send, site)
            return ImportSource(
                datamachine_site.KIND, datamachine_site.TITLE, site.url.rstrip("/"), reading
            )
    raise InvalidImport(
        f"{address} is not among the sites of the settings. The operator adds it to looseleaf.toml "
        "([wordpress_sites.NAME] with url and user) and sets LOOSELEAF_PASSWORD_NAME."
    )
