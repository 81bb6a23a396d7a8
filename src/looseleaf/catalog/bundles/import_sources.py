"""The sources of imports: folders of this machine that may be read, and sites of the settings."""

from __future__ import annotations

import os

from looseleaf.bundles.importers.archive_tree import LIMITS as ARCHIVE_LIMITS
from looseleaf.bundles.importers.archive_tree import ZIP_ENDING, ArchiveTree, open_upload
from looseleaf.bundles.importers.known_systems import (
    choose_importer,
    detect_systems,
    find_importer,
)
from looseleaf.bundles.importers.source_folder import SourceFolder
from looseleaf.bundles.importers.source_tree import DiskTree
from looseleaf.bundles.importers.systems import datamachine_site
from looseleaf.catalog.encoded_data import decode_data
from looseleaf.errors.bundles import FolderRefused, ImportSourceMissing, InvalidImport
from looseleaf.values import value
from looseleaf.workflows.parts import resources_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.bundles.importers.contract import SourceContent
    from looseleaf.bundles.importers.source_tree import SourceTree
    from looseleaf.catalog.context import Context

_ADDRESSES = ("https://", "http://")
_NOT_ALLOWED = (
    "it is not below a folder of the setting import_folders; upload it as a zip archive, or let "
    "the operator add the folder there, in looseleaf.toml, or run the command on the server"
)


@value
class ImportSource:
    """A source as it was read: the kind and title of its system, its location, and its pages.

    An upload has no location by which a later import could recognize the same source.
    """

    kind: str
    title: str
    location: str
    content: SourceContent
    is_upload: bool = False


def read_source(context: Context, path: str, kind: str, data: str = "") -> ImportSource:
    """Read a folder, file or archive of this machine, an upload, or a site by its address."""
    if path.startswith(_ADDRESSES) and not data:
        return _read_site(context, path)
    tree = open_tree(context, path, kind, data)
    importer = choose_importer(SourceFolder(tree), kind)
    folder = SourceFolder(tree)  # a new one, since detection reads files of other systems
    content = importer.read(folder)
    return ImportSource(importer.kind, importer.title, folder.location, content, bool(data))


def open_tree(context: Context, path: str, kind: str = "", data: str = "") -> SourceTree:
    """Open a source: a folder, file or zip archive of this machine, or an upload.

    A single folder around everything in an archive is left out, unless it is part of the layout.
    """
    tree = open_upload(path, decode_data(data)) if data else _open_place(context, path)
    if isinstance(tree, ArchiveTree):
        while not _is_known(tree, kind) and tree.enter_single_folder():
            pass
    return tree


def _is_known(tree: SourceTree, kind: str) -> bool:
    folder = SourceFolder(tree)
    if kind:
        return bool(find_importer(kind).detect(folder))
    return next(detect_systems(folder), None) is not None


def _open_place(context: Context, path: str) -> SourceTree:
    """Open a place of this machine; over a network only below those that the operator names."""
    if not path.strip():
        raise InvalidImport("The path is empty. Name a folder, a file, an archive or an address.")
    real_path = os.path.realpath(path)
    if not context.principal.is_local and not _is_allowed(context, real_path):
        raise FolderRefused(path, _NOT_ALLOWED)
    workspace = os.path.realpath(context.settings.root)
    if os.path.commonpath((real_path, workspace)) in (real_path, workspace):
        raise InvalidImport(
            f"{path} and the workspace {workspace} are one folder, or one is inside the other. "
            "Copy the source to a folder of its own first."
        )
    tree = DiskTree(path)
    if not tree.single.lower().endswith(ZIP_ENDING):
        return tree
    content = tree.read(tree.single, ARCHIVE_LIMITS.archive_bytes) or b""
    return ArchiveTree(tree.single, content, os.path.join(tree.path, tree.single))


def list_folders(context: Context) -> list[str]:
    """List the folders of the setting `import_folders`, and the folders directly in them."""
    paths: list[str] = []
    for root in context.settings.import_folders:
        folder = try_folder(context, root)
        if folder is not None:
            paths.append(folder.path)
            paths += [
                os.path.join(folder.path, name)
                for name in folder.folders()
                if not name.startswith(".")
            ]
    return list(dict.fromkeys(paths))


def try_folder(context: Context, path: str) -> SourceFolder | None:
    """Open a place of this machine, or None if it is not there, or holds the workspace itself."""
    try:
        return SourceFolder(_open_place(context, path))
    except (ImportSourceMissing, InvalidImport):
        return None


def _is_allowed(context: Context, real_path: str) -> bool:
    roots = [os.path.realpath(root) for root in context.settings.import_folders if root]
    return any(real_path == root or real_path.startswith(f"{root}/") for root in roots)


def _read_site(context: Context, address: str) -> ImportSource:
    """Read a site that the settings name; with the user and password of the settings."""
    for site in context.settings.wordpress_sites:
        if site.url.rstrip("/") == address.rstrip("/"):
            client = resources_of(context.parts).http_client()
            content = datamachine_site.read_site(client.send, site, context.pages.registry)
            return ImportSource(
                datamachine_site.KIND, datamachine_site.TITLE, site.url.rstrip("/"), content
            )
    raise InvalidImport(
        f"{address} is not among the sites of the settings. The operator adds it to looseleaf.toml "
        "([wordpress_sites.NAME] with url and user) and sets LOOSELEAF_PASSWORD_NAME."
    )
