"""The history of pages: list, compare, restore, purge, prune, pack."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.json_values import bound_limit, bound_offset
from looseleaf.catalog.resolution import require_outcome, scope_of
from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import PageMissing
from looseleaf.memory.differences import diff_lines
from looseleaf.memory.history import (
    Revision,
    ShownTime,
    list_outlived_revisions,
    parse_moment,
    pick_revision,
)
from looseleaf.memory.pages import Saved, decode_text
from looseleaf.memory.scope import DEFAULT_WHERE, Shelf, Where
from looseleaf.memory.store import Retention
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.agents.record import AgentList
    from looseleaf.catalog.context import Context
    from looseleaf.memory.blame import LineSource
    from looseleaf.memory.history import History
    from looseleaf.memory.scope import Scope
    from looseleaf.settings import Settings

    Progress = Callable[[str, int, int], None]
else:
    Protocol = object


# Prior versions of all pages: dropping those past their retention, and packing the others.


_MOST_PROBLEMS = 20


class VersionParts(Protocol):
    """The parts of a workspace that hold prior versions."""

    @property
    def agents(self) -> AgentList:
        """The list of agents."""

    @property
    def history(self) -> History:
        """The history of every page."""

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""


def drop_versions(
    parts: VersionParts, settings: Settings, retention: Retention, *, dry_run: bool
) -> int:
    """Drop prior versions that a retention no longer keeps, on every shelf, or count them."""
    shelves = _list_shelves(parts, settings)
    if dry_run:
        return sum(_count_versions(parts, shelf, retention) for shelf in shelves)
    return sum(parts.history.prune(shelf, retention) for shelf in shelves)


def _count_versions(parts: VersionParts, shelf: Shelf, retention: Retention) -> int:
    history, now = parts.history, parts.clock()
    histories = [history.revisions(shelf.page(name)) for name in history.pages(shelf)]
    times = (revision.time for revisions in histories for revision in revisions)
    shown_time = ShownTime(times, now, retention)
    return sum(
        len(list_outlived_revisions(revisions, retention, now, shown_time))
        for revisions in histories
    )


def _list_shelves(parts: VersionParts, settings: Settings) -> list[Shelf]:
    """List every shelf that may have a history, except those of deleted agents."""
    records = parts.agents.records()
    owners = {record.owner for record in records} | {settings.default_user}
    candidates = [Shelf("shared"), Shelf("network"), *(Shelf("user", user) for user in owners)]
    present = {0, *(record.id for record in records)}
    candidates += [shelf for shelf in parts.history.shelves() if shelf.agent_id in present]
    candidates += [record.shelf for record in records]
    return list(dict.fromkeys(candidates))


@value(kw_only=True)
class PackReport:
    """The result of packing the histories of a workspace.

    Fields:
        pages: The number of pages with versions that went into a pack, or would.
        versions: The number of these versions.
        file_bytes: The bytes of their files.
        pack_bytes: The bytes that the packs grew by, or would grow by.
        problems: The pages that could not be packed, at most 20, each with the reason.
        problem_count: The number of pages that could not be packed.
        dry_run: Whether nothing was written.
    """

    pages: int
    versions: int
    file_bytes: int
    pack_bytes: int
    problems: tuple[str, ...] = ()
    problem_count: int = 0
    dry_run: bool = False


def pack_histories(
    history: History,
    *,
    dry_run: bool = False,
    show_progress: Progress = lambda _activity, _count, _total: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> PackReport:
    """Pack the history of every page, of deleted pages and agents too.

    A page that cannot be packed is reported, and the others are packed all the same.
    """
    scopes = [shelf.page(name) for shelf in history.shelves() for name in history.pages(shelf)]
    results, problems = [], []
    for number, scope in enumerate(scopes, 1):
        if is_cancelled():
            break
        show_progress("Packing histories", number, len(scopes))
        try:
            result = history.pack(scope, dry_run=dry_run)
        except LooseleafError as error:
            problems.append(f"{scope.key}: {error}")
            continue
        results += [result] if result.versions else []
    return PackReport(
        pages=len(results),
        versions=sum(result.versions for result in results),
        file_bytes=sum(result.file_bytes for result in results),
        pack_bytes=sum(result.pack_bytes for result in results),
        problems=tuple(problems[:_MOST_PROBLEMS]),
        problem_count=len(problems),
        dry_run=dry_run,
    )


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
def list_revisions(context: Context, file: str, *, where: Where = DEFAULT_WHERE) -> list[Revision]:
    """List the revisions of a page, oldest first: when, by whom, through what, and why.

    Arguments:
        file: The name of the page whose history is listed; a deleted page has one, too.
    """
    scope = scope_of(context, file, where)
    revisions = context.history.revisions(scope)
    if not revisions:
        raise context.pages.build_missing_error(scope)
    return revisions


@operation(
    "looseleaf/page-diff", permission="history", categories=("memory", "history"), read_only=True
)
def diff(
    context: Context, file: str, before: str = "", after: str = "", *, where: Where = DEFAULT_WHERE
) -> Difference:
    """Compare two versions of a page; by default the last change.

    Arguments:
        file: The name of the page whose versions are compared.
        before: The older version, as a revision number or a UTC time; without it, the one before
            the newer version.
        after: The newer version, as a revision number or a UTC time; without it, the present one.
    """
    scope = scope_of(context, file, where)
    revisions = list_revisions(context, file, where=where)
    newest = revisions[-1].number
    end = _find_number(scope, revisions, after) if after else newest
    start = _find_number(scope, revisions, before) if before else max(end - 1, 0)
    old, new = (_read_lines(context, scope, number) for number in (start, end))
    names = (f"{file} revision {start}", f"{file} revision {end}")
    comparison = diff_lines(old, new, names)
    return Difference(
        file, start, end, comparison.text, comparison.is_coarse, comparison.is_truncated
    )


@value(kw_only=True)
class BlamedLine:
    """A line of a page and the change that brought it.

    Fields:
        line: The number of the line, from 1.
        text: The line.
        file: The page that the change was made to, another one if the line was moved here.
        revision: The revision of that page.
        time: When the change was made, in seconds since 1970.
        operation: What was done.
        actor: Who made the change.
        actor_kind: person, agent, task, import or outside.
        surface: How the change reached the page.
        activity: session, job or request.
        activity_id: The id of the session, job or request.
        origin: Where the text is from: user, agent, tool, import or system.
        reason: Why, in the words of the actor.
        moved_by: The revision of this page that moved the line here; 0 if it was written here.
    """

    line: int
    text: str
    file: str
    revision: int
    time: float
    operation: str
    actor: str
    actor_kind: str
    surface: str
    activity: str
    activity_id: str
    origin: str
    reason: str
    moved_by: int = 0


@value
class PageBlame:
    """Who wrote each line of a version of a page.

    Fields:
        file: The page.
        revision: The version.
        total: The number of its lines.
        offset: How many lines were passed over.
        lines: The lines that were asked for.
    """

    file: str
    revision: int
    total: int
    offset: int
    lines: tuple[BlamedLine, ...]


MOST_BLAMED = 10_000


@operation(
    "looseleaf/blame-page", permission="history", categories=("memory", "history"), read_only=True
)
def blame(
    context: Context,
    file: str,
    *,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
    offset: int = 0,
    limit: int = 1_000,
) -> PageBlame:
    """List the lines of a page, each with who wrote it, when, by what, and where its text is from.

    A line that was moved, re-indented or restored keeps its writer.

    Arguments:
        file: The name of the page.
        as_of: A revision number or a UTC time such as 2026-04-17, for the page as it was then;
            without it, as it is now.
        offset: How many lines to pass over.
        limit: How many lines to list at most.
    """
    from looseleaf.memory.blame import blame_lines

    scope = scope_of(context, file, where)
    newest = context.history.latest(scope)
    if newest is None or not (as_of or newest.hash):
        raise context.pages.build_missing_error(scope)
    number = newest.number
    if as_of:
        revision = pick_revision(file, context.history.revisions(scope), parse_moment(as_of))
        if revision is None or not revision.hash:
            raise PageMissing(file, f"the history as of {as_of}")
        number = revision.number
    lines = blame_lines(context.history, scope, number)
    start = bound_offset(offset)
    part = lines[start : start + bound_limit(limit, MOST_BLAMED)]
    blamed = tuple(_describe_line(place, line) for place, line in enumerate(part, start + 1))
    return PageBlame(file, number, len(lines), start, blamed)


def _describe_line(place: int, line: LineSource) -> BlamedLine:
    revision = line.revision
    return BlamedLine(
        line=place,
        text=line.text,
        file=line.file,
        revision=revision.number,
        time=revision.time,
        operation=revision.operation,
        actor=revision.actor,
        actor_kind=revision.actor_kind,
        surface=revision.surface,
        activity=revision.activity,
        activity_id=revision.activity_id,
        origin=revision.origin,
        reason=revision.reason,
        moved_by=line.moved_by,
    )


def _find_number(scope: Scope, revisions: list[Revision], moment: str) -> int:
    revision = pick_revision(scope.filename, revisions, parse_moment(moment))
    return revision.number if revision else 0


def _read_lines(context: Context, scope: Scope, number: int) -> list[str]:
    content = context.history.content(scope, number) if number else None
    text = decode_text(scope.filename, content or b"")
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines  # a final newline ends a line and begins none


@operation(
    "looseleaf/restore-page",
    permission="write",
    categories=("memory", "history"),
    destructive=True,
    changes_page=True,
)
def restore(
    context: Context,
    file: str,
    revision: str,
    *,
    where: Where = DEFAULT_WHERE,
    if_match: str | None = None,
) -> Saved:
    """Restore a page as it was at a revision or time; the restored text is a new revision.

    Arguments:
        file: The name of the page that gets its old text back; it may be deleted.
        revision: The version to go back to, as a revision number or a UTC time.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
    """
    scope = scope_of(context, file, where)
    prior = pick_revision(file, context.history.revisions(scope), parse_moment(revision))
    content = context.history.content(scope, prior.number) if prior else None
    if prior is None or content is None:
        raise PageMissing(file, f"the history as of {revision}")
    change = context.change("restore", if_match=if_match)
    return require_outcome(file, context.pages.write(scope, content, change=change))


@operation(
    "looseleaf/purge-revision",
    permission="operate",
    categories=("memory", "history"),
    destructive=True,
)
def purge(context: Context, file: str, revision: int, *, where: Where = DEFAULT_WHERE) -> None:
    """Remove the content of one prior revision for good; the history says that it happened.

    Arguments:
        file: The name of the page that has the revision.
        revision: The number of the revision whose content is removed for good; the present one
            cannot be.
    """
    scope = scope_of(context, file, where)
    context.history.purge(scope, revision, change=context.change("purge"))
    forget(context, scope.shelf)


def forget(context: Context, shelf: Shelf) -> None:
    """Make the search index drop its data of a shelf, since its file may hold old text."""
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
    """Drop prior versions that the retention no longer keeps, on every shelf.

    Arguments:
        days: For how many days a replaced version is kept; without it, as the settings say.
        versions: How many prior versions of a page are kept at most; without it, as the settings
            say.
    """
    context.allow()
    retention = Retention(
        context.settings.retention_days if days is None else days,
        context.settings.retention_versions if versions is None else versions,
    )
    return drop_versions(context.parts, context.settings, retention, dry_run=False)


@operation(
    "looseleaf/pack-history",
    permission="operate",
    categories=("memory", "history"),
    idempotent=True,
)
def pack(context: Context, *, dry_run: bool = False) -> PackReport:
    """Pack the settled prior versions of each page into one compressed file; all stay readable.

    Arguments:
        dry_run: Whether to say only how much room it would save, and write nothing.
    """
    context.allow()
    return pack_histories(
        context.history, dry_run=dry_run, show_progress=context.parts.show_progress
    )
