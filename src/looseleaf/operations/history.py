"""What pages were: list, compare, restore, purge, prune."""

from __future__ import annotations

from looseleaf.errors import PageMissing
from looseleaf.memory.differences import diff_lines
from looseleaf.memory.history import Retention, pick
from looseleaf.memory.pages import decoded
from looseleaf.memory.scope import Shelf
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, scope_of, settled
from looseleaf.operations.moment import parse_moment
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.history import Revision
    from looseleaf.memory.pages import Saved
    from looseleaf.memory.scope import Scope
    from looseleaf.operations.context import Context


@value
class Difference:
    """Two versions of a page, compared line by line; `text` is a unified diff.

    `coarse` says that a shorter one may exist, `truncated` that the end was left out.
    """

    file: str
    before: int
    after: int
    text: str
    coarse: bool = False
    truncated: bool = False


@operation(
    "looseleaf/page-history", permission="history", categories=("memory", "history"), read_only=True
)
def list_revisions(context: Context, file: str, *, where: Where = HERE) -> list[Revision]:
    """List what a page was, oldest first: when, by whom, through what, and why."""
    scope = scope_of(context, file, where)
    found = context.history.revisions(scope)
    if not found:
        raise PageMissing(file)
    return found


@operation(
    "looseleaf/page-diff", permission="history", categories=("memory", "history"), read_only=True
)
def diff(
    context: Context, file: str, before: str = "", after: str = "", *, where: Where = HERE
) -> Difference:
    """Compare two versions of a page; by default the last change."""
    scope = scope_of(context, file, where)
    revisions = list_revisions(context, file, where=where)
    newest = revisions[-1].number
    end = _number(scope, revisions, after) if after else newest
    start = _number(scope, revisions, before) if before else max(end - 1, 0)
    old, new = (_lines(context, scope, number) for number in (start, end))
    names = (f"{file} revision {start}", f"{file} revision {end}")
    compared = diff_lines(old, new, names)
    return Difference(file, start, end, compared.text, compared.is_coarse, compared.is_truncated)


def _number(scope: Scope, revisions: list[Revision], moment: str) -> int:
    chosen = pick(scope.filename, revisions, parse_moment(moment))
    return chosen.number if chosen else 0


def _lines(context: Context, scope: Scope, number: int) -> list[str]:
    content = context.history.content(scope, number) if number else None
    text = decoded(scope.filename, content or b"")
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines  # a final newline ends a line and begins none


@operation(
    "looseleaf/restore-page",
    permission="write",
    categories=("memory", "history"),
    destructive=True,
    versioned=True,
)
def restore(
    context: Context,
    file: str,
    revision: str,
    *,
    where: Where = HERE,
    if_match: str | None = None,
) -> Saved:
    """Make a page say again what it said at a revision or time; that is itself a revision."""
    scope = scope_of(context, file, where)
    chosen = pick(file, context.history.revisions(scope), parse_moment(revision))
    content = context.history.content(scope, chosen.number) if chosen else None
    if chosen is None or content is None:
        raise PageMissing(file, f"the history as of {revision}")
    change = context.change("restore", if_match=if_match)
    return settled(file, context.pages.write(scope, content, change=change))


@operation(
    "looseleaf/purge-revision",
    permission="operate",
    categories=("memory", "history"),
    destructive=True,
)
def purge(context: Context, file: str, revision: int, *, where: Where = HERE) -> None:
    """Remove the content of one prior revision for good; the history says that it happened."""
    scope = scope_of(context, file, where)
    context.history.purge(scope, revision, change=context.change("purge"))
    forget(context, scope.shelf)


def forget(context: Context, shelf: Shelf) -> None:
    """Let the search index drop what it holds of a shelf: old text may lie in its file."""
    index = context.index()
    if index is not None:
        index.forget(shelf)


@operation(
    "looseleaf/prune-history",
    permission="operate",
    categories=("memory", "history"),
    destructive=True,
    idempotent=True,
)
def prune(context: Context, *, days: float | None = None, versions: int | None = None) -> int:
    """Drop prior versions that the retention no longer keeps, on every shelf."""
    context.allow()
    retention = Retention(
        context.settings.retention_days if days is None else days,
        context.settings.retention_versions if versions is None else versions,
    )
    return sum(context.history.prune(shelf, retention) for shelf in shelves(context))


def shelves(context: Context) -> list[Shelf]:
    """List every shelf that may have a history; those of agents that are gone are left out."""
    records = context.agents.records()
    owners = {record.owner for record in records} | {context.settings.default_user}
    candidates = [Shelf("shared"), Shelf("network"), *(Shelf("user", user) for user in owners)]
    candidates += [shelf for shelf in context.history.shelves() if shelf.layer != "agent"]
    candidates += [record.shelf for record in records]
    return list(dict.fromkeys(candidates))
