"""Exports of pages for other programs: a plain folder, or a managed block in a project's file."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.generated_pages import build_context, write_copy
from looseleaf.catalog.resolution import agent_of, sources_of
from looseleaf.errors import LooseleafError
from looseleaf.errors.features import FolderRefused, InvalidExport, RepositoryUnusable, SecretsFound
from looseleaf.features.bundles.secret_scan import scan_files
from looseleaf.features.workflows.system_tasks import SystemTask, TaskResult
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, open_folder, read_all
from looseleaf.memory.composed import is_generated
from looseleaf.memory.scope import PAGE_SUFFIXES, Shelf, is_of_principal
from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from looseleaf.agents.record import AgentList, AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.features.imports.git import FileChange, PageChange, Repository
    from looseleaf.features.workflows.system_tasks import TaskRun
    from looseleaf.memory.history import History
    from looseleaf.memory.scope import Scope


# Commits of pages: what changed since the last one goes into git, with who changed it and why.


LAYER_FOLDERS = ("agents", "network", "shared", "users")
_MOST_BLOB_BYTES = 1_000_000  # of a page as committed, to find it in the history


@value(kw_only=True)
class PageCommit:
    """A commit of pages; nothing was committed if `commit` is "".

    Fields:
        commit: The name of the commit, or "" if no page had changed.
        branch: The branch that it is on, or "" if none is checked out.
        subject: The first line of its message.
        added: The number of new files.
        changed: The number of changed files.
        deleted: The number of deleted files.
        staged: The number of these files that the owner of the repository had staged otherwise;
            their staged versions stay.
    """

    commit: str
    branch: str
    subject: str = ""
    added: int = 0
    changed: int = 0
    deleted: int = 0
    staged: int = 0


@operation("looseleaf/commit-pages", permission="operate", categories=("backup",))
def commit_pages(context: Context) -> PageCommit:
    """Commit the pages of the workspace to the git repository that it lies in.

    Files of others, and what they have staged, stay as they are.
    """
    context.allow()
    parts = context.parts
    return commit_layers(os.path.realpath(context.settings.root), parts.agents, parts.history)


def commit_layers(root: str, agents: AgentList, history: History) -> PageCommit:
    """Commit everything in the folders of agents, users, the network and all."""
    from looseleaf.features.imports.git import MOST_PAGES, Repository, write_message

    repository = Repository(root)
    work = repository.unfinished_work()
    if work:
        raise RepositoryUnusable("The repository", f"a {work} is under way in it; finish it first")
    head, branch = repository.head(), repository.branch()
    names = [
        name
        for name in LAYER_FOLDERS
        if os.path.isdir(os.path.join(root, name)) or repository.has_below(head, name)
    ]
    with repository.own_index(head):
        tree = repository.add(names)
    changes = repository.compare(head, tree)
    if not changes:
        return PageCommit(commit="", branch=branch)
    described_changes = [
        _describe(repository, change, agents, history) for change in changes[:MOST_PAGES]
    ]
    message = write_message(described_changes, len(changes))
    commit = repository.commit(tree, head, message)
    staged_files = repository.update_index(changes)
    kinds = [change.kind for change in changes]
    return PageCommit(
        commit=commit,
        branch=branch,
        subject=message.partition("\n")[0],
        added=kinds.count("added"),
        changed=kinds.count("changed"),
        deleted=kinds.count("deleted"),
        staged=staged_files,
    )


def _describe(
    repository: Repository, change: FileChange, agents: AgentList, history: History
) -> PageChange:
    from looseleaf.features.imports.git import PageChange, select_revisions

    path = os.fsdecode(change.path).removeprefix(repository.prefix)
    try:
        scope = _find_scope(path, agents)
        revisions = history.revisions(scope) if scope is not None else []
    except LooseleafError:
        revisions = []  # a file that is no page, or of no agent
    committed_text = None
    if change.kind != "added" and revisions:
        committed_text = repository.read_blob(change.old[1], _MOST_BLOB_BYTES) or b""
    since = select_revisions(revisions, committed_text) if revisions else ()
    return PageChange(path, change.kind, since)


def _find_scope(path: str, agents: AgentList) -> Scope | None:
    """Find the page that lies at a path below the root."""
    layer, _, rest = path.partition("/")
    if layer == "shared":
        return Shelf("shared").page(rest)
    if layer == "network":
        return Shelf("network").page(rest)
    owner, _, name = rest.partition("/")
    if layer == "users" and owner.isascii() and owner.isdigit():
        return Shelf("user", int(owner)).page(name)
    if layer != "agents" or not name:
        return None
    agent = agents.resolve(owner)
    if is_of_principal(name):
        _, user, file = name.split("/", 2)
        return Shelf("principal", int(user), agent.id).page(file)
    return agent.shelf.page(name)


# The system task of every hour: commits of changed pages to git.


def run_commit(run: TaskRun) -> TaskResult:
    """Commit the pages that changed since the last commit."""
    if not run.settings.git_commits:
        return TaskResult("skipped", "git_commits is off")
    root = os.path.realpath(run.settings.root)
    commit = commit_layers(root, run.parts.agents, run.parts.history)
    if not commit.commit:
        return TaskResult("unchanged", "no page has changed since the last commit")
    return TaskResult("committed", commit.subject, details=as_dict(commit))


GIT_COMMIT = SystemTask(
    type="git_commit",
    label="Commit to git",
    description="Commit the pages that changed to the git repository of the workspace.",
    run=run_commit,
    setting="git_commits",
    trigger="Every hour",
    supports_run=True,
    per_agent=False,
)


# Pages as plain files in a folder: written whole, and over no other file unless asked to.


WRITTEN: Final = "written"
UNCHANGED: Final = "unchanged"
KEPT: Final = "kept"  # another file of this name is there
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600  # memory is private, wherever it lies


def write_files(path: str, files: Mapping[str, bytes], *, replace: bool = False) -> dict[str, str]:
    """Write files below a folder, which is created if it is missing; return the result for each.

    A file that is there with other bytes is kept, unless `replace` says otherwise. No link is
    followed below the folder.
    """
    root = _open_root(path)
    try:
        return {
            name: _write_file(root, name, content, replace=replace)
            for name, content in files.items()
        }
    finally:
        os.close(root)


def _open_root(path: str) -> int:
    parent, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(parent):
        raise InvalidExport(f"There is no folder {parent} that could hold {name}. Make it first.")
    if os.path.lexists(path) and not os.path.isdir(path):
        raise InvalidExport(f"{path} is no folder. Name a folder, or a path where none is yet.")
    with OsErrorContext(path):
        if not os.path.isdir(path):
            parent_fd = os.open(parent, _FOLDER)
            try:
                atomic.create_folder(parent_fd, name, mode=_FOLDER_MODE)
            finally:
                os.close(parent_fd)
        return os.open(path, _FOLDER)


def _write_file(root: int, name: str, content: bytes, *, replace: bool) -> str:
    *folders, filename = name.split("/")
    with OsErrorContext(name):
        folder = open_folder(root, folders, create=_FOLDER_MODE, twins=True)
        try:
            current = _read_file(folder, filename)
            if current == content:
                return UNCHANGED
            if current is not None and not replace:
                return KEPT

            def is_unchanged() -> bool:
                return _read_file(folder, filename) == current

            is_written = atomic.replace(
                folder, filename, content, mode=_FILE_MODE, condition=is_unchanged
            )
            return WRITTEN if is_written else KEPT
        finally:
            os.close(folder)


def _read_file(folder: int, name: str) -> bytes | None:
    try:
        fd = os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        return read_all(fd)
    finally:
        os.close(fd)


_BLOCK = "AGENTS.md"  # the generated page whose sections a block has
_USER_PAGE = "USER.md"
_ONLY_LOCAL = "an export writes to the disk of the server, so that its operator runs it there"


@value
class ExportedPage:
    """One page of an export.

    Fields:
        file: The name of the file in the folder.
        layer: The layer of the page.
        bytes: The size of the page.
        action: written, unchanged, or kept: another file of this name is there, and stays.
    """

    file: str
    layer: str
    bytes: int
    action: str


@value
class FolderExport:
    """The pages of an agent as files in a folder.

    Fields:
        agent: The agent.
        folder: The path of the folder.
        pages: The pages.
        written: The number of files that were written.
        kept: The number of files that were not, since others are there.
    """

    agent: str
    folder: str
    pages: tuple[ExportedPage, ...]
    written: int
    kept: int


@value
class BlockExport:
    """The memory of an agent as a managed block in a file.

    Fields:
        agent: The agent.
        path: The path of the file.
        bytes: The size of the text in the block.
    """

    agent: str
    path: str
    bytes: int


@operation("looseleaf/export-pages", permission="operate", categories=("export",))
def export_pages(
    context: Context,
    folder: str,
    *,
    agent: str | int | None = None,
    replace: bool = False,
    allow_secrets: bool = False,
) -> FolderExport:
    """Write the pages of an agent and its USER.md as plain files into a folder, one way.

    Arguments:
        folder: The path of the folder, on the machine of the workspace; it is made if missing.
        agent: The agent, by id or slug; without it, the default agent.
        replace: Whether files that are there with another text are replaced.
        allow_secrets: Whether pages that hold secrets are exported all the same.
    """
    context.allow()
    _require_outside(context, folder)
    record = agent_of(context, agent)
    files = _read_pages(context, record)
    contents = {name: content for name, (_, content) in files.items()}
    _refuse_secrets(contents, allow_secrets=allow_secrets)
    actions = write_files(folder, contents, replace=replace)
    pages = tuple(
        ExportedPage(name, layer, len(content), actions[name])
        for name, (layer, content) in files.items()
    )
    counts = [sum(page.action == action for page in pages) for action in (WRITTEN, KEPT)]
    return FolderExport(record.slug, os.path.abspath(folder), pages, *counts)


@operation("looseleaf/export-block", permission="operate", categories=("export",), idempotent=True)
def export_block(
    context: Context,
    path: str,
    *,
    agent: str | int | None = None,
    allow_secrets: bool = False,
) -> BlockExport:
    """Write an agent's memory into the managed block of a file such as CLAUDE.md or AGENTS.md.

    The text around the block stays, and a later export replaces the block alone.

    Arguments:
        path: The path of the file, on the machine of the workspace; it is made if missing.
        agent: The agent, by id or slug; without it, the default agent.
        allow_secrets: Whether pages that hold secrets are exported all the same.
    """
    context.allow()
    folder, name = os.path.split(os.path.abspath(path))
    _require_outside(context, folder)
    if not name.lower().endswith(PAGE_SUFFIXES) or not os.path.isdir(folder):
        raise InvalidExport(
            f"{path} cannot hold a block: name a text file, such as CLAUDE.md, in a folder that "
            "is there."
        )
    record = agent_of(context, agent)
    sources = sources_of(context)
    text = sources.sections().generate(_BLOCK, build_context(sources, record, folder))
    head, _, body = text.partition("\n\n")
    content = body if is_generated(head) else text
    _refuse_secrets({name: content.encode()}, allow_secrets=allow_secrets)
    write_copy(folder, name, content)
    return BlockExport(record.slug, os.path.join(folder, name), len(content.encode()))


def _require_outside(context: Context, folder: str) -> None:
    """Refuse a folder of the workspace itself, and every folder to all but the operator."""
    if not context.principal.is_local:
        raise FolderRefused(folder, _ONLY_LOCAL)
    workspace = os.path.realpath(context.settings.root)
    real_path = os.path.realpath(folder)
    if real_path == workspace or real_path.startswith(f"{workspace}/"):
        raise InvalidExport(f"{folder} is in the workspace. Name a folder outside it.")


def _read_pages(context: Context, record: AgentRecord) -> dict[str, tuple[str, bytes]]:
    """Read the pages of an agent, and the page about its owner; each with its layer."""
    scopes = [record.shelf.page(entry.filename) for entry in context.pages.list(record.shelf)]
    user_page = Shelf("user", record.owner).page(_USER_PAGE)
    has_own_page = any(scope.filename == _USER_PAGE for scope in scopes)
    if not has_own_page and context.pages.exists(user_page):
        scopes.append(user_page)
    pages: dict[str, tuple[str, bytes]] = {}
    for number, scope in enumerate(scopes, 1):
        context.parts.show_progress("Exporting", number, len(scopes))
        pages[scope.filename] = (scope.layer, context.pages.require(scope).content)
    return pages


def _refuse_secrets(files: dict[str, bytes], *, allow_secrets: bool) -> None:
    findings = [] if allow_secrets else scan_files(files.items())
    if findings:
        places = tuple(finding.place for finding in findings)
        raise SecretsFound(places, "export them all the same (--allow-secrets)")
