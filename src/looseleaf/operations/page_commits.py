"""Commits of pages: what changed since the last one goes into git, with who changed it and why."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.errors import LooseleafError
from looseleaf.errors.bundles import RepositoryUnusable
from looseleaf.memory.scope import Shelf
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.agent_list import AgentList
    from looseleaf.bundles.git.commit_message import PageChange
    from looseleaf.bundles.git.repository import FileChange, Repository
    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import History
    from looseleaf.memory.scope import Scope

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
    from looseleaf.bundles.git.commit_message import MOST_PAGES, write_message
    from looseleaf.bundles.git.repository import Repository

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
    from looseleaf.bundles.git.commit_message import PageChange, select_revisions

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
    return agents.resolve(owner).shelf.page(name) if layer == "agents" and name else None
