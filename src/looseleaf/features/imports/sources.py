"""The sources of imports: folders of this machine that may be read, and sites of the settings."""

from __future__ import annotations

import io
import os

from looseleaf.agents.record import find_slug_problem
from looseleaf.catalog.json_values import decode_data
from looseleaf.catalog.resolution import agent_of, has_user, user_of
from looseleaf.errors.features import FolderRefused, ImportSourceMissing, InvalidImport
from looseleaf.errors.operations import UserMissing
from looseleaf.errors.pages import AgentMissing
from looseleaf.features.bundles.source_tree import (
    FILE,
    SUBFOLDER,
    DiskTree,
    Importer,
    NotImported,
    SourceContent,
    SourceFolder,
    TreeEntry,
)
from looseleaf.features.bundles.zip_archive import SOURCE_PATHS, ZipArchive, ZipLimits
from looseleaf.features.imports.systems import (
    basic_memory,
    claude_code,
    clawpress,
    datamachine,
    datamachine_site,
    hermes,
    letta,
    mcp_memory,
    nanobot,
    openclaw,
)
from looseleaf.features.workflows.parts import resources_of
from looseleaf.memory.scope import Shelf, Where
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.features.bundles.source_tree import SourcePage, SourceTree
    from looseleaf.features.bundles.zip_archive import ZipEntry


# The systems that memory can be imported from, and the choice of one for a folder.


def _build_importer(system: ModuleType, title: str, example: str) -> Importer:
    kind = system.__name__.rpartition(".")[2].replace("_", "-")
    return Importer(kind, title, example, system.detect, system.read)


# In the order in which a folder is tried: the layouts with the clearest signs first.
IMPORTERS: tuple[Importer, ...] = (
    _build_importer(datamachine, "Data Machine", "wp-content/uploads/datamachine-files"),
    _build_importer(hermes, "Hermes", "~/.hermes"),
    _build_importer(letta, "Letta", "~/.letta, or agents/ID/memory in it"),
    _build_importer(nanobot, "nanobot", "~/.nanobot/workspace"),
    _build_importer(clawpress, "clawpress", "a folder of its files"),
    _build_importer(openclaw, "OpenClaw", "~/.openclaw/workspace"),
    _build_importer(mcp_memory, "MCP memory server", "memory.jsonl"),
    _build_importer(claude_code, "Claude Code", "~/.claude/projects/PROJECT/memory, or a project"),
    _build_importer(basic_memory, "basic-memory", "~/basic-memory"),
)


def detect_systems(folder: SourceFolder) -> Iterator[tuple[Importer, str]]:
    """Yield the systems whose layout a folder has, each with the files that show it."""
    for importer in IMPORTERS:
        sign = importer.detect(folder)
        if sign:
            yield importer, sign


def find_importer(kind: str) -> Importer:
    """Find an importer by the kind of its system, or raise `InvalidImport`."""
    for importer in IMPORTERS:
        if importer.kind == kind:
            return importer
    kinds = ", ".join(importer.kind for importer in IMPORTERS)
    raise InvalidImport(f"There is no importer {kind!r}. Importers: {kinds}.")


def choose_importer(folder: SourceFolder, kind: str = "") -> Importer:
    """Choose the importer by its kind, or by the layout of the folder."""
    if kind:
        return find_importer(kind)
    importer, _ = next(detect_systems(folder), (None, ""))
    if importer is None:
        for refusal in folder.refusals:
            if refusal.source in ("/", folder.single):
                raise InvalidImport(f"{folder.location} cannot be imported: {refusal.reason}.")
        kinds = ", ".join(importer.kind for importer in IMPORTERS)
        raise InvalidImport(
            f"{folder.location} has the layout of no system that is known. If it belongs to one "
            f"of {kinds}, name that one (--from KIND)."
        )
    return importer


# The choice of the part of a source that is imported: one of its agents, one of its users.


@value
class Selection:
    """The part of a source to import.

    Fields:
        agent: The only agent of the source; "" for all of them.
        user: The only user of the source; 0 for the one that it has.
        has_target_agent: Whether all pages go to one agent here, which is named.
    """

    agent: str = ""
    user: int = 0
    has_target_agent: bool = False


def select_pages(content: SourceContent, selection: Selection) -> SourceContent:
    """Return the part of a source that is selected; the rest is left out with the reason."""
    page_agents = {page.agent for page in content.pages}
    pipeline_agents = {pipeline.agent for pipeline in content.pipelines}
    agents = sorted((page_agents | pipeline_agents) - {""})
    users = sorted({page.user for page in content.pages if page.user})
    _require_choice(agents, selection)
    user = selection.user or (users[0] if len(users) == 1 else 0)
    pages, left_out = [], list(content.left_out)
    for page in content.pages:
        reason = _find_refusal(page, selection, user)
        if reason:
            left_out += [NotImported(path, reason) for path in page.sources]
        else:
            pages.append(page)
    pipelines = []
    for source in content.pipelines:
        reason = _find_agent_refusal(source.agent, selection)
        if reason:
            left_out.append(NotImported(f"pipeline {source.pipeline.id}", reason))
        else:
            pipelines.append(source)
    entries = tuple(sorted(left_out, key=lambda entry: entry.source))
    return SourceContent(tuple(pages), entries, tuple(pipelines), content.uploads)


def _require_choice(agents: list[str], selection: Selection) -> None:
    if selection.agent and selection.agent not in agents:
        names = ", ".join(agents) or "none"
        raise InvalidImport(
            f"The source has no agent {selection.agent!r}. Agents of the source: {names}."
        )
    if selection.has_target_agent and len(agents) > 1 and not selection.agent:
        raise InvalidImport(
            f"The source has several agents ({_format_names(agents)}), and one agent is named "
            "here. Name the agent of the source (--source-agent), or leave --agent out: each agent "
            "is then imported under its own name."
        )


def _find_refusal(page: SourcePage, selection: Selection, user: int) -> str:
    """Return why a page is not selected, or "" if it is."""
    reason = _find_agent_refusal(page.agent, selection)
    if reason:
        return reason
    if page.user and page.user != user:
        advice = f"import it with --source-user {page.user} --user ID"
        return f"it belongs to the user {page.user} of the source; {advice}"
    return ""


def _find_agent_refusal(agent: str, selection: Selection) -> str:
    """Return why an agent of the source is not selected, or "" if it is."""
    if agent and selection.agent not in ("", agent):
        return f"it belongs to the agent {agent} of the source"
    if agent and not selection.has_target_agent:
        problem = find_slug_problem(agent)
        if problem:
            return f"{problem}; import it with --source-agent {agent} --agent SLUG"
    return ""


def _format_names(names: Iterable[str], limit: int = 10) -> str:
    parts = list(names)
    rest = f" and {len(parts) - limit} more" if len(parts) > limit else ""
    return ", ".join(parts[:limit]) + rest


# An uploaded source: a zip archive, or a single file, read in memory and never unpacked to
# disk.
# No part of the upload stays on the disk, however the process ends.


LIMITS = ZipLimits(files=20_000, depth=32)
ZIP_ENDING = ".zip"
_ZIP_MARK = b"PK"
_EXTRAS = ("__MACOSX", ".DS_Store")  # that programs for zip archives add, in any folder
_LONGEST_NAME = 200


class ArchiveTree:
    """A zip archive as folders and files."""

    def __init__(self, name: str, content: bytes, place: str = "") -> None:
        self.path, self.single = place or name, ""
        self._archive = ZipArchive(io.BytesIO(content), LIMITS, SOURCE_PATHS)
        self._files: dict[str, ZipEntry] = {}
        self._folders: dict[str, dict[str, str]] = {"": {}}  # kinds of entries, by folder and name
        for entry in self._archive.entries:
            if not set(_EXTRAS) & set(entry.path.split("/")):
                self._add(entry)
        self._top = ""

    def _add(self, entry: ZipEntry) -> None:
        self._files[entry.path] = entry
        segments = entry.path.split("/")
        for count, name in enumerate(segments):
            folder = self._folders.setdefault("/".join(segments[:count]), {})
            folder[name] = FILE if count == len(segments) - 1 else SUBFOLDER

    def enter_single_folder(self) -> bool:
        """Use the only folder of the archive as its top; return False if the archive has more."""
        [*entries] = self._folders.get(self._top, {}).items()
        if len(entries) != 1 or entries[0][1] != SUBFOLDER:
            return False
        self._top = _join(self._top, entries[0][0])
        self.path = f"{self.path}/{entries[0][0]}"
        return True

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the entries of a folder."""
        for name, kind in self._folders.get(_join(self._top, folder), {}).items():
            yield TreeEntry(name, kind)

    def read(self, path: str, limit: int) -> bytes | None:
        """Unpack a file up to one byte more than `limit`."""
        entry = self._files.get(_join(self._top, path))
        if entry is None:
            raise FileNotFoundError(path)
        parts, size = [], 0
        for part in self._archive.stream(entry):
            parts.append(part)
            size += len(part)
            if size > limit:
                break
        return b"".join(parts)[: limit + 1]


class SingleFileTree:
    """A single uploaded file, such as a CLAUDE.md or a memory.jsonl."""

    def __init__(self, name: str, content: bytes) -> None:
        self.path, self.single, self._content = "upload", name, content

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the file."""
        if not folder:
            yield TreeEntry(self.single, FILE)

    def read(self, path: str, limit: int) -> bytes | None:
        """Read the file."""
        if path != self.single:
            raise FileNotFoundError(path)
        return self._content[: limit + 1]


def open_upload(name: str, content: bytes) -> ArchiveTree | SingleFileTree:
    """Open an uploaded zip archive or file by its name, or raise `Invalid`."""
    filename = name.replace("\\", "/").rpartition("/")[2]
    if not filename or len(filename) > _LONGEST_NAME or not filename.isprintable():
        raise InvalidImport("The upload has no usable file name. Name it, such as memory.zip.")
    if filename.lower().endswith(ZIP_ENDING) or content.startswith(_ZIP_MARK):
        return ArchiveTree(filename, content)
    return SingleFileTree(filename, content)


def _join(folder: str, path: str) -> str:
    return "/".join(part for part in (folder, path) if part)


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
    content = tree.read(tree.single, LIMITS.archive_bytes) or b""
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


# The pages here that the pages of an import go to, and the agents that it creates.


class ImportTargets:
    """Finds the shelf of each page; a missing agent is created if `create_agent` is given."""

    def __init__(
        self,
        context: Context,
        agent: str | int | None,
        user: int | None,
        create_agent: Callable[[str], AgentRecord] | None,
    ) -> None:
        self._context, self._agent, self._user = context, agent, user
        self._create_agent = create_agent
        self._records: dict[str, AgentRecord | None] = {}
        self.new_agents: list[str] = []

    def shelf(self, page: SourcePage) -> Shelf | None:
        """Return the shelf of a page, or None if its agent is not there yet."""
        if page.layer == "agent":
            record = self.find_agent(page.agent)
            return record.shelf if record is not None else None
        if page.layer == "principal":
            record = self.find_agent(page.agent)
            return Shelf(page.layer, self._find_user(), record.id) if record is not None else None
        return Shelf("user", self._find_user()) if page.layer == "user" else Shelf(page.layer)

    def owner(self, page: SourcePage) -> str:
        """Return the owner of a page for the report: a slug, or the id of a user."""
        if page.layer in ("agent", "principal"):
            return self.name_agent(page.agent)
        return str(self._find_user()) if page.layer == "user" else ""

    def name_agent(self, agent: str) -> str:
        """Return the slug here of an agent of the source."""
        record = self.find_agent(agent)
        return record.slug if record is not None else agent

    def find_agent(self, agent: str) -> AgentRecord | None:
        """Find the agent here of an agent of the source, or None if it is not there yet."""
        slug = agent if self._agent is None else ""
        if slug not in self._records:
            self._records[slug] = self._resolve_agent(slug)
        return self._records[slug]

    def _resolve_agent(self, slug: str) -> AgentRecord | None:
        if not slug:
            return agent_of(self._context, self._agent)
        try:
            return agent_of(self._context, slug)
        except AgentMissing:
            self.new_agents.append(slug)
        return self._create_agent(slug) if self._create_agent is not None else None

    def _find_user(self) -> int:
        user = user_of(self._context, Where(self._agent, self._user))
        if not has_user(self._context, user):
            raise UserMissing(user)
        return user
