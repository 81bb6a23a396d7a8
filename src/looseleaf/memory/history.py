"""The history of a page: revisions, and how one of them is chosen by number or by time."""

from __future__ import annotations

from looseleaf.errors import Invalid, Refused
from looseleaf.errors.pages import PageMissing, RevisionMissing
from looseleaf.memory.provenance import Activity, Provenance
from looseleaf.memory.store import Capabilities, Found, Missing, PageEntry, Store
from looseleaf.times import DAY_SECONDS, parse_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol, TypeGuard

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import Change, Deleted, Retention, Written

    ReadKnown = Callable[[Scope], Found | None]
else:
    Protocol = object

# The longest time between two changes that ages a version, and its share of a retention's time.
_LONGEST_STEP = 7 * DAY_SECONDS
_STEP_SHARE = 0.1


@value(kw_only=True)
class Revision:
    """One state of a page and how it came about; `hash` is "" if the page was deleted.

    The fields from `actor_kind` to `moved_from` are "" in lines that an older Looseleaf wrote.
    """

    number: int
    time: float
    operation: str
    actor: str
    surface: str
    reason: str
    hash: str
    bytes: int
    kept: bool = True  # whether its bytes can still be read
    purged: str = ""  # who had its content removed, when and why
    actor_kind: str = ""  # person, agent, task, import or outside
    origin: str = ""  # user, agent, tool, import or system
    activity: str = ""  # session, job or request
    activity_id: str = ""
    moved_from: str = ""  # the version of another page that had the new lines before
    recovered: bool = False  # whether its process died before it was logged

    @property
    def provenance(self) -> Provenance:
        """The provenance of the change that made this revision."""
        # A newer Looseleaf may have written words that this one does not know.
        activity = Activity(self.activity, self.activity_id)  # type: ignore[arg-type]
        return Provenance(
            self.actor,
            self.actor_kind,  # type: ignore[arg-type]
            self.surface,
            activity,
            self.origin,  # type: ignore[arg-type]
            self.reason,
        )


@value
class Blame:
    """A page and, for each of its lines, the revision that brought the line."""

    content: bytes
    revisions: tuple[Revision, ...]


@value
class PageVerdict:
    """The result of verifying a page: versions read, faults in words, whether it was edited.

    An edit by another program is no fault: people may edit pages with any program.
    """

    versions: int
    faults: tuple[str, ...] = ()
    edited_outside: bool = False


@value
class PackedVersions:
    """The result of packing: how many versions, the bytes of their files, and those in the pack."""

    versions: int = 0
    file_bytes: int = 0
    pack_bytes: int = 0


class History(Protocol):
    """The prior versions of pages, oldest first."""

    def revisions(self, scope: Scope) -> list[Revision]:
        """List the revisions of a page, oldest first; the last one is its present state."""

    def latest(self, scope: Scope) -> Revision | None:
        """Return the newest revision of a page, or None if the page never existed."""

    def content(self, scope: Scope, number: int) -> bytes | None:
        """Read the bytes of one revision, or None if the page was deleted by it."""

    def blame(self, scope: Scope, number: int | None = None) -> Blame:
        """Return a version of a page with the revision that brought each of its lines.

        If `number` is None, that is the present version; lines of a missing page are none.
        """

    def purge(self, scope: Scope, number: int, *, change: Change) -> None:
        """Remove the content of one prior revision for good, and record that it happened."""

    def prune(self, shelf: Shelf, retention: Retention) -> int:
        """Drop the versions that a retention no longer keeps; return how many."""

    def pack(self, scope: Scope, *, dry_run: bool = False) -> PackedVersions:
        """Compress the settled versions of a page; with `dry_run`, only return the sizes."""

    def pages(self, shelf: Shelf) -> list[str]:
        """Name every page of a shelf that has a history, deleted ones too."""

    def shelves(self) -> list[Shelf]:
        """List every shelf that has a history."""

    def missing(self, shelf: Shelf) -> list[str]:
        """Name the pages of a shelf that had a history and have none now."""

    def verify(self, scope: Scope, *, is_core: bool = False) -> PageVerdict:
        """Compare a page and each of its versions with the hashes that were written.

        A core page that is gone, or has no history, is a fault; any other may have been deleted.
        """


class StoreWithHistory(Store, Protocol):
    """An optional ability of a store: it brings the history of its pages."""

    history: History


def has_history(store: Store) -> TypeGuard[StoreWithHistory]:
    """Return whether a store brings the history of its pages."""
    return store.capabilities.history


def pick_revision(filename: str, revisions: list[Revision], at: int | float) -> Revision | None:
    """Choose by number (an int) or by time (a float), or None if the page did not exist yet."""
    if isinstance(at, int):
        for revision in revisions:
            if revision.number == at:
                return revision
        raise RevisionMissing(filename, at)
    before = [revision for revision in revisions if revision.time <= at]
    if before:
        return before[-1]
    if revisions and revisions[0].number > 1:
        raise RevisionMissing(filename, at, "older versions are no longer kept")
    return None


def parse_moment(text: str) -> int | float:
    """Parse a revision number, or a time in UTC as seconds; a day means its end."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    from looseleaf.memory.day import parse_date

    day = parse_date(text)
    if day is not None:
        return day.timestamp + DAY_SECONDS - 1e-6
    try:
        return parse_time(text)
    except ValueError:
        raise Invalid(
            f"{text!r} is neither a revision number nor a time such as 2026-04-17 or "
            "2026-04-17T09:30Z."
        ) from None


def require_content_at(history: History, scope: Scope, as_of: str) -> bytes:
    """Read a page as of a time or revision, or raise `PageMissing`."""
    content = read_content_at(history, scope, parse_moment(as_of))
    if content is None:
        raise PageMissing(scope.filename, f"the history as of {as_of}")
    return content


def read_content_at(history: History, scope: Scope, moment: int | float) -> bytes | None:
    """Read a page as of a time or revision, or None if it did not exist then."""
    revision = pick_revision(scope.filename, history.revisions(scope), moment)
    return (
        history.content(scope, revision.number) if revision is not None and revision.hash else None
    )


class ShownTime:
    """The time that has passed, as far as the changes of a shelf show it.

    The steps from change to change are added up. A step counts at most a week, or a tenth of the
    limit in question: a clock that jumps by a year adds one such step.
    """

    def __init__(self, times: Iterable[float], now: float, retention: Retention) -> None:
        self._times = sorted({now, *(time for time in times if time < now)})
        self._days = self._compute_ages(retention.days)
        self._grace_days = self._compute_ages(retention.grace_days)

    def is_past_days(self, time: float) -> bool:
        """Return whether more than the retention's days have passed since a change."""
        return self._is_past(self._days, time)

    def is_past_grace(self, time: float) -> bool:
        """Return whether more than the retention's days of grace have passed since a change."""
        return self._is_past(self._grace_days, time)

    @staticmethod
    def _is_past(ages: tuple[float, dict[float, float]], time: float) -> bool:
        limit, age_of = ages
        return not limit or age_of.get(time, 0.0) > limit

    def _compute_ages(self, days: float) -> tuple[float, dict[float, float]]:
        """Return a limit in seconds, and the age of each time as it counts for that limit."""
        limit = days * DAY_SECONDS
        longest = min(_LONGEST_STEP, limit * _STEP_SHARE)
        later, age = self._times[-1], 0.0
        ages = {}
        for time in reversed(self._times):
            age += min(later - time, longest)
            ages[time] = age
            later = time
        return limit, ages


def list_outlived_revisions(
    revisions: list[Revision], retention: Retention, now: float, shown_time: ShownTime | None = None
) -> list[Revision]:
    """List the revisions that a retention no longer keeps; never the newest.

    `shown_time` is that of the whole shelf; without it, these revisions alone show the time.
    """
    prior = revisions[:-1]
    shown_time = shown_time or ShownTime((revision.time for revision in revisions), now, retention)
    # The order of the log is certain, its times are not: a change was made before all later ones.
    times = [revision.time for revision in revisions]
    for index in range(len(times) - 2, -1, -1):
        times[index] = min(times[index], times[index + 1])
    revisions_to_drop = []
    for index, revision in enumerate(prior):
        replaced_at = times[index + 1]
        is_crowded = len(prior) - index > retention.versions and shown_time.is_past_grace(
            replaced_at
        )
        if is_crowded or shown_time.is_past_days(replaced_at):
            revisions_to_drop.append(revision)
    return revisions_to_drop


class PastPages:
    """A store as it was at a moment: pages can be read and listed, and never changed.

    `read_known` returns a page without its history, if it can, else None.
    """

    capabilities = Capabilities()

    def __init__(
        self, store: Store, history: History, moment: float, read_known: ReadKnown | None = None
    ) -> None:
        self.store, self.history, self.moment = store, history, moment
        self._read_known = read_known

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page as it was at the moment."""
        known_page = self._read_known(scope) if self._read_known is not None else None
        if known_page is not None:
            return known_page
        revision = pick_revision(scope.filename, self.history.revisions(scope), self.moment)
        if revision is None or not revision.hash:
            return Missing()
        content = self.history.content(scope, revision.number)
        return Missing() if content is None else Found(content, revision.time, revision.hash)

    def exists(self, scope: Scope) -> bool:
        """Return whether there was such a page at the moment."""
        return isinstance(self.read(scope), Found)

    def list_layer(self, shelf: Shelf) -> list[PageEntry]:
        """List the pages that stood directly on a shelf."""
        return [entry for entry in self.list_subtree(shelf, "") if "/" not in entry.filename]

    def list_subtree(self, shelf: Shelf, prefix: str) -> list[PageEntry]:
        """List the pages that stood below a folder of a shelf."""
        now = {entry.filename for entry in self.store.list_subtree(shelf, "")}
        below = f"{prefix}/" if prefix else ""
        entries = []
        for filename in sorted(now | set(self.history.pages(shelf))):
            if filename.startswith(below):
                page = self.read(shelf.page(filename))
                if isinstance(page, Found):
                    entries.append(PageEntry(filename, len(page.content), page.updated))
        return entries

    def write(self, scope: Scope, *_content: object, **_options: object) -> Written:
        """Refuse: the past is read-only."""
        raise Refused(f"{scope.filename} cannot be changed in the past. Restore it instead.")

    edit = write

    def delete(self, scope: Scope, **_options: object) -> Deleted:
        """Refuse: the past is read-only."""
        raise Refused(f"{scope.filename} cannot be deleted in the past.")
