"""What was learned lately: the newest changes across pages and agents, and what they added."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.json_values import bound_limit
from looseleaf.catalog.resolution import layer_of, list_visible_agents, shelf_of
from looseleaf.errors import Forbidden, Invalid
from looseleaf.memory.day import parse_date
from looseleaf.memory.deadline import check_deadline
from looseleaf.memory.scope import DEFAULT_WHERE, LAYERS, Where
from looseleaf.times import DAY_SECONDS, now, parse_duration, parse_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import Revision
    from looseleaf.memory.scope import Layer, Scope, Shelf

    Candidate = tuple[Scope, list[Revision], int]  # a page, its history, one change of it
    Lines = dict[str, int]  # how often each line stands on a page

_OF_AGENTS: tuple[Layer, ...] = ("agent", "principal")
_MOST_READ = 2_000  # changes that one call looks at
_MOST_LINES = 10  # of one change
_LONGEST_LINE = 300
# Text that Looseleaf made from a template or from other pages is nothing that was learned.
_MADE = ("scaffold", "compose")


@value(kw_only=True)
class RecentChange:
    """A change of a page, and the lines that it added and that are still there.

    Fields:
        time: When it was made, in seconds since 1970.
        file: The name of the page.
        layer: The owner of the page: shared, agent, user, network or principal.
        agent: The slug of the agent that owns the page; "" for any other owner.
        revision: The number of the change in the history of the page.
        operation: What was done.
        actor: Who made the change.
        actor_kind: person, agent, task, import or outside.
        surface: Through which surface.
        origin: Where the text is from: user, agent, tool, import or system; "" if unknown.
        reason: Why, if the actor said so.
        lines: The first of the lines, without headings; a long one is cut.
        line_count: The number of all such lines.
    """

    time: float
    file: str
    layer: str
    agent: str
    revision: int
    operation: str
    actor: str
    actor_kind: str
    surface: str
    origin: str
    reason: str
    lines: tuple[str, ...]
    line_count: int


@value(kw_only=True)
class RecentChanges:
    """What was learned since a time, newest first; `has_more` says that some was left out."""

    since: float
    changes: tuple[RecentChange, ...]
    has_more: bool


@operation(
    "looseleaf/list-recent", permission="read", categories=("memory", "history"), read_only=True
)
def list_recent(
    context: Context, *, since: str = "yesterday", limit: int = 20, where: Where = DEFAULT_WHERE
) -> RecentChanges:
    """List what was learned lately, newest first: by whom, through what, and on which page.

    Arguments:
        since: How far back: yesterday, today, a length of time such as 12h or 7d, or a UTC day or
            time such as 2026-04-17.
        limit: The most changes to give, up to 100.
        agent: Only the pages of this agent, by id or slug; without it, of all agents that one may
            read, of the user who acts, and the shared ones.
        user: Only the pages of this user, by id.
        layer: Only this layer: shared, agent, user, network or principal; without it, all of them.
    """
    start, most = _parse_since(since, context.clock()), bound_limit(limit)
    candidates = sorted(_list_candidates(context, where, start), key=_order, reverse=True)
    slugs = {record.id: record.slug for record in list_visible_agents(context)}
    pages: dict[Scope, _Page] = {}
    changes: list[RecentChange] = []
    for number, (scope, revisions, index) in enumerate(candidates[:_MOST_READ]):
        check_deadline(number)
        if scope not in pages:
            pages[scope] = _Page(context, scope)
        lines = pages[scope].take_added_lines(revisions, index)
        if lines and len(changes) == most:
            return RecentChanges(since=start, changes=tuple(changes), has_more=True)
        if lines:
            slug = slugs.get(scope.agent_id, "")
            changes.append(_describe(scope, slug, revisions[index], lines))
    has_more = len(candidates) > _MOST_READ
    return RecentChanges(since=start, changes=tuple(changes), has_more=has_more)


class _Page:
    """A page whose changes are read from the newest on; each present line counts once."""

    def __init__(self, context: Context, scope: Scope) -> None:
        self._history, self._scope = context.history, scope
        self._known: tuple[int, Lines | None] = (0, None)  # the version that was read last
        self._present: Lines | None = None

    def take_added_lines(self, revisions: list[Revision], index: int) -> list[str]:
        """Return the lines that a revision added, and that no later one has taken out or added."""
        new_lines = self._read(revisions[index])
        if self._present is None:
            self._present = self._read(revisions[-1])
        old_lines = self._read(revisions[index - 1]) if index else {}
        is_first = index == 0 and revisions[0].number > 1  # the version before is no longer kept
        if new_lines is None or old_lines is None or self._present is None or is_first:
            return []
        lines = []
        for line, count in new_lines.items():
            added_count = min(count - old_lines.get(line, 0), self._present.get(line, 0))
            if added_count > 0:
                self._present[line] -= added_count
                lines.append(line)
        return lines

    def _read(self, revision: Revision) -> Lines | None:
        """Return the lines of a version, or None if it is no longer kept."""
        if self._known[0] == revision.number:
            return self._known[1]
        if not revision.hash:
            return {}  # the page was deleted
        lines = None
        if revision.kept and not revision.purged:
            content = self._history.content(self._scope, revision.number)
            lines = _count_lines(content or b"")
        self._known = (revision.number, lines)
        return lines


def _count_lines(content: bytes) -> Lines:
    """Count the lines of a page that say something: no headings, no comments, no fences."""
    lines: Lines = {}
    for raw_line in content.decode("utf-8", "replace").split("\n"):
        line = raw_line.strip()
        if line and not line.startswith(("#", "<!--", "```", "---")):
            lines[line] = lines.get(line, 0) + 1
    return lines


def _order(candidate: Candidate) -> tuple[float, int]:
    _, revisions, index = candidate
    return revisions[index].time, index


def _list_candidates(context: Context, where: Where, since: float) -> Iterator[Candidate]:
    """Yield each change since a time that may have added lines to a page which is there now."""
    # Files have the time of the machine, and revisions that of the workspace, which is another one
    # in tests.
    touched_since = now() - (context.clock() - since)
    for shelf in _list_shelves(context, where):
        for entry in context.pages.list(shelf):
            if entry.updated < touched_since:
                continue  # most pages were not touched, and their histories need not be read
            scope = shelf.page(entry.filename)
            revisions = context.history.revisions(scope)
            for index, revision in enumerate(revisions):
                if revision.time >= since and revision.operation not in _MADE and revision.hash:
                    yield scope, revisions, index


def _list_shelves(context: Context, where: Where) -> Iterator[Shelf]:
    """Yield the shelves that are meant, or all that may be read if none is named."""
    if where.layer is not None:
        layers: tuple[Layer, ...] = (layer_of(where, "agent"),)
    elif where.agent is not None:
        layers = _OF_AGENTS
    else:
        layers = LAYERS if where.user is None else ("user",)
    is_of_all = where.agent is None and where.user is None
    for layer in layers:
        owners = [where]
        if is_of_all and layer in _OF_AGENTS:
            owners = [Where(record.id) for record in list_visible_agents(context)]
        for owner in owners:
            try:
                yield shelf_of(context, owner, layer)
            except Forbidden:
                if not is_of_all and layer == layers[0]:
                    raise


def _describe(scope: Scope, slug: str, revision: Revision, lines: list[str]) -> RecentChange:
    return RecentChange(
        time=revision.time,
        file=scope.filename,
        layer=scope.layer,
        agent=slug,
        revision=revision.number,
        operation=revision.operation,
        actor=revision.actor,
        actor_kind=revision.actor_kind,
        surface=revision.surface,
        origin=revision.origin,
        reason=revision.reason,
        lines=tuple(_shorten(line) for line in lines[:_MOST_LINES]),
        line_count=len(lines),
    )


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def _parse_since(text: str, present: float) -> float:
    """Return the time that a text means: a word, a length of time, a day or a time."""
    today = present // DAY_SECONDS * DAY_SECONDS
    if text in ("", "yesterday"):
        return today - DAY_SECONDS
    if text == "today":
        return today
    day = parse_date(text)
    if day is not None:
        return float(day.timestamp)
    seconds = parse_duration(text)
    if seconds:
        return present - seconds
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{text!r} is no time. Write yesterday, today, a length such as 12h or 7d, or a UTC "
            "day or time such as 2026-04-17 or 2026-04-17T09:30Z."
        ) from None
