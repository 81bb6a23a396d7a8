"""Which pages there are, where they lie, which have grown stale, and moving one of them."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import require_outcome, scope_of, shelf_of
from looseleaf.errors import Conflicted, InvalidName
from looseleaf.errors.pages import PageExists, Protected
from looseleaf.memory.day import is_in_journal
from looseleaf.memory.scope import DEFAULT_WHERE, LAYERS, Where
from looseleaf.memory.store import ABSENT, Conflict, has_paths, name_version, require_version
from looseleaf.times import DAY_SECONDS
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import Change

    # Lets workflows name a page by its new name; returns who follows, and who cannot.
    FollowPage = Callable[[Context, Scope, str], tuple[tuple[str, ...], tuple[str, ...]]]


# The part of a workspace that lets the selections of workflows follow a page.
PAGE_SELECTIONS = "page selections"


@value(kw_only=True)
class MovedPage:
    """A page under its new name, and what named it by the old one."""

    filename: str
    moved_from: str
    hash: str
    revision: int  # of the new name
    last_revision: int  # of the old name, whose history stays
    followed: tuple[str, ...]  # the pipelines and flows that select it by its new name now
    outdated: tuple[str, ...]  # what still names it by the old one


@value(kw_only=True)
class PageInfo:
    """One page of a list, with its rules in the registry."""

    file: str
    layer: str
    bytes: int
    updated: float
    registered: bool
    protected: bool
    editable: bool | str
    label: str
    age_days: float


@value
class PagePath:
    """Where a registered page lies, whether or not it is there yet."""

    file: str
    layer: str
    path: str
    exists: bool
    priority: int


@operation(
    "datamachine/list-agent-files",
    permission="read",
    categories=("memory", "files"),
    read_only=True,
)
def list_files(
    context: Context, *, where: Where = DEFAULT_WHERE, daily: bool = False
) -> list[PageInfo]:
    """List the pages an agent reads: core pages in the order of prompts, then the others by layer.

    Arguments:
        daily: Whether the days of the journal are listed, too; each is a page of the agent.
        agent: The agent whose pages are listed, by id or slug; without it, the token's or the
            default agent.
        user: The user whose pages are listed with them, by id; without it, the user who acts.
        layer: The only layer that is listed: shared, agent, user, network or principal;
            without it, all of them.
    """
    pages = [
        _describe_page(context, shelf, entry.filename, entry.bytes, entry.updated)
        for shelf in _list_shelves(context, where)
        for entry in context.pages.list(shelf)
        if daily or not is_in_journal(entry.filename)
    ]
    order = [file.filename for file in context.pages.registry.files()]
    places = {filename: place for place, filename in enumerate(order)}
    last = len(places)
    return sorted(pages, key=lambda page: places[page.file] if page.registered else last)


def _describe_page(
    context: Context, shelf: Shelf, filename: str, size: int, updated: float
) -> PageInfo:
    file = context.pages.registry.get(filename)
    if file is not None and file.layer != shelf.layer:
        file = None
    return PageInfo(
        file=filename,
        layer=shelf.layer,
        bytes=size,
        updated=updated,
        registered=file is not None,
        protected=file is not None and file.protected,
        editable=file.editable if file else True,
        label=file.label if file else "",
        age_days=max(0.0, (context.clock() - updated) / DAY_SECONDS),
    )


@operation(
    "datamachine/list-injectable-memory-files",
    permission="read",
    categories=("memory", "files"),
    read_only=True,
)
def list_paths(context: Context, *, where: Where = DEFAULT_WHERE) -> list[PagePath]:
    """List the registered pages of an agent in the order they are injected, and where they lie.

    Arguments:
        agent: The agent whose prompt the pages are for, by id or slug; without it, the token's or
            the default agent.
        user: The user whose pages are listed with them, by id; without it, the user who acts.
        layer: Not used here: each registered page is listed in its own layer.
    """
    paths = []
    for file in context.pages.registry.files():
        scope = shelf_of(context, where, file.layer).page(file.filename)
        store = context.pages.store_for(scope)
        paths.append(
            PagePath(
                file.filename,
                file.layer,
                _format_path(context, store.path(scope)) if has_paths(store) else "",
                store.exists(scope),
                file.priority,
            )
        )
    return paths


def _format_path(context: Context, path: str) -> str:
    # Only the local administrator learns where the workspace lies on its machine.
    return path if context.principal.is_local else os.path.relpath(path, context.settings.root)


def _list_shelves(context: Context, where: Where) -> list[Shelf]:
    if where.layer is not None and where.layer not in LAYERS:
        raise InvalidName(where.layer, f"a layer is one of {', '.join(LAYERS)}")
    layers = [layer for layer in LAYERS if where.layer in (None, layer)]
    return [shelf_of(context, where, layer) for layer in layers]


@operation(
    "looseleaf/move-page",
    permission="write",
    categories=("memory", "files"),
    destructive=True,
    changes_page=True,
)
def move_page(
    context: Context,
    file: str,
    to: str,
    *,
    where: Where = DEFAULT_WHERE,
    if_match: str | None = None,
) -> MovedPage:
    """Rename a page, or move it to another folder; pipelines and flows that select it follow.

    Arguments:
        file: The name of the page to move; a core page keeps its name.
        to: The new name, with its folder if it has one, such as projects/garden.md; there must be
            no such page yet.
        if_match: The hash of the version that may be moved, as a read gave it; any other version is
            refused.
    """
    scope = scope_of(context, file, where)
    _require_movable(context, file)
    change = context.change("move", if_match=if_match)
    require_version(scope, change)
    page = context.pages.require(scope)
    if change.precondition is not None and not change.precondition.holds(page.hash):
        raise Conflicted(file, change.precondition.expected, page.hash)
    target = scope_of(context, to, replace(where, layer=scope.layer))
    _require_movable(context, to)
    # The new page is written before the old one goes, so that no crash can lose both.
    creation = replace(
        _build_change(context, change, f"moved from {file}"),
        moved_from=name_version(file, page.hash),
    )
    saved = context.pages.write(target, page.content, change=creation, if_match=ABSENT)
    if isinstance(saved, Conflict):
        raise PageExists(to)
    removal = _build_change(context, change, f"moved to {to}")
    deleted = context.pages.delete(scope, change=removal, if_match=page.hash)
    if isinstance(deleted, Conflict):  # changed meanwhile: that change stays, under the old name
        undone = _build_change(context, change, f"{file} was changed while it was moved")
        context.pages.delete(target, change=undone, if_match=saved.hash)
    deleted = require_outcome(file, deleted)
    follow: FollowPage = context.parts.part(PAGE_SELECTIONS)
    followed, outdated = follow(context, scope, to) if scope.layer == "agent" else ((), ())
    return MovedPage(
        filename=to,
        moved_from=file,
        hash=saved.hash,
        revision=saved.revision,
        last_revision=deleted.revision - 1,
        followed=followed,
        outdated=(*outdated, *_list_policies(context, scope)),
    )


def _require_movable(context: Context, file: str) -> None:
    """Raise if the name of a page has a meaning of its own, so that it cannot be given or lost."""
    if context.pages.registry.is_protected(file):
        raise Protected(file)
    if context.pages.registry.get(file) is not None:
        raise InvalidName(file, "a page of this name has rules of its own, so it is not moved")
    if is_in_journal(file):
        raise InvalidName(file, "the days of the journal keep their names")


def _build_change(context: Context, change: Change, words: str) -> Change:
    reason = f"{words}: {context.reason}" if context.reason else words
    provenance = replace(change.provenance, reason=reason)
    return replace(change, provenance=provenance, precondition=None)


def _list_policies(context: Context, scope: Scope) -> tuple[str, ...]:
    """List the memory policy that names a page, which nobody but its admins changes."""
    if scope.layer != "agent":
        return ()
    agent = context.parts.agents.resolve(scope.agent_id)
    policy = agent.configuration.memory_policy
    is_named = scope.filename in (*policy.deny, *policy.allow_only)
    return (f"the memory policy of {agent.slug}",) if is_named else ()
