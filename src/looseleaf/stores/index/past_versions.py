"""The versions of a shelf's pages at moments in the past, kept in memory for the next search.

The times of all changes are read from the history once, and then again for changed pages; texts are
read only of versions that are no longer the present ones.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

from looseleaf.errors import LooseleafError
from looseleaf.memory.search.ranking import MOST_COUNTED, count_words, sum_counts
from looseleaf.memory.search.results import fold_content
from looseleaf.memory.search.words import stem_lines
from looseleaf.memory.store import Found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Protocol

    from looseleaf.memory.history import History, Revision
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.search.ranking import PageWords, TermCounts
    from looseleaf.memory.store import Store
    from looseleaf.stores.index.file_states import Signature
    from looseleaf.stores.index.index_file import IndexedWords

    class VersionHistory(History, Protocol):
        """A history that tells when versions are removed."""

        def removals(self, shelf: Shelf) -> int:
            """Return a number that changes whenever versions of a shelf are purged or pruned."""


_MAX_MOMENTS = 4
_MAX_REVISIONS = 2_000_000  # of all pages, 16 bytes each
_MAX_TEXT_BYTES = 64_000_000  # of prior versions: content, folded text and stems
_FORMS = 3  # content, folded text and stems
_PROGRESS_STEP = 100


class Timeline:
    """The changes of one page: the time and number of each; the last one is its present state."""

    __slots__ = ("_bounds", "is_cut", "is_volatile", "last_hash", "numbers", "times")

    def __init__(self, revisions: list[Revision], *, before: float) -> None:
        self.times = array("d", [revision.time for revision in revisions])
        # A page that a change deleted has the negative number of that change.
        self.numbers = array(
            "q", [revision.number if revision.hash else -revision.number for revision in revisions]
        )
        self.last_hash = revisions[-1].hash
        self.is_cut = revisions[0].number > 1  # older versions are no longer kept
        # A change that is not logged yet has the time of the clock, which may still change.
        self.is_volatile = revisions[-1].time >= before
        self._bounds = self.times
        if any(later < time for time, later in zip(self.times, self.times[1:])):  # noqa: B905
            self._bounds = array("d", self.times)  # a clock was set back
            for at in range(len(self._bounds) - 2, -1, -1):
                self._bounds[at] = min(self._bounds[at], self._bounds[at + 1])

    def position(self, moment: float) -> int:
        """Return the position of the last change that was not after a moment, or -1 if all were."""
        return bisect_right(self._bounds, moment) - 1


class PriorVersion:
    """A version of a page that was replaced since."""

    __slots__ = ("_folded_text", "_stems", "content", "filename", "time")

    def __init__(self, filename: str, time: float, content: bytes) -> None:
        self.filename, self.time, self.content = filename, time, content
        self._folded_text: bytes | None = None
        self._stems: str | None = None

    @property
    def folded_text(self) -> bytes:
        """The text as a search compares it."""
        if self._folded_text is None:
            self._folded_text = fold_content(self.content)
        return self._folded_text

    @property
    def stems(self) -> str:
        """The stems of the text, line by line."""
        if self._stems is None:
            self._stems = stem_lines(self.folded_text)
        return self._stems


class PastState:
    """The pages of a shelf at a moment: present versions that were there, and prior ones."""

    def __init__(
        self, present_versions: dict[str, tuple[float, str]], prior_versions: list[PriorVersion]
    ) -> None:
        self.present_versions = present_versions  # time and hash, by filename
        self.prior_versions = prior_versions
        self.words: PageWords | None = None  # once a ranked search needed it
        self.words_generation = 0  # of the index, when the words were taken from it
        self._prior_by_name = {version.filename: version for version in prior_versions}

    def read(self, store: Store, scope: Scope) -> Found | None:
        """Read a page as it was then, or None if it was not there, or has changed meanwhile."""
        prior_version = self._prior_by_name.get(scope.filename)
        if prior_version is not None:
            return Found(prior_version.content, prior_version.time)
        time, page_hash = self.present_versions.get(scope.filename, (0.0, ""))
        page = store.read(scope) if page_hash else None
        if isinstance(page, Found) and page.hash == page_hash:
            return Found(page.content, time, page_hash)
        return None


class PastVersions:
    """The timelines of a shelf's pages, kept up to date with their files."""

    def __init__(
        self,
        history: VersionHistory,
        shelf: Shelf,
        clock: Callable[[], float],
        progress: Callable[[str, int, int], None],
    ) -> None:
        self._history, self._shelf, self._clock, self._progress = history, shelf, clock, progress
        self._forget()

    def _forget(self) -> None:
        self._removals = -1
        self._changed_names: set[str] | None = None  # since the last search; None for all
        self._signatures: dict[str, Signature] = {}
        self._timelines: dict[str, Timeline] = {}
        self._volatile_names: set[str] = set()
        self._unreadable_names: set[str] = set()
        self._revision_count = 0
        self._states: dict[float, PastState] = {}
        self._versions: dict[tuple[str, int], PriorVersion] = {}
        self._text_bytes = 0

    def note_changes(self, names: Iterable[str] | None) -> None:
        """Record pages that may have changed since the last call; None stands for all."""
        if names is None:
            self._changed_names = None
        elif self._changed_names is not None:
            self._changed_names.update(names)

    def state(self, moment: float, pages: Mapping[str, Signature]) -> PastState | None:
        """Return the pages as they were at a moment, or None if they must be read one by one.

        `pages` are those on the shelf now, with the signatures of their files.
        """
        removals = self._history.removals(self._shelf)
        if removals != self._removals:
            self._forget()
        self._update(pages)
        self._removals = removals
        if self._unreadable_names or self._revision_count > _MAX_REVISIONS:
            return None
        state = self._states.pop(moment, None) or self._build_state(moment)
        if state is not None:
            self._states[moment] = state  # the dictionary is ordered by last use
            if len(self._states) > _MAX_MOMENTS:
                del self._states[next(iter(self._states))]
        return state

    def _update(self, pages: Mapping[str, Signature]) -> None:
        """Read the timelines again of the pages that may have changed."""
        names = self._changed_names
        if names is None:
            # A page may have been created and deleted since: each page that is missing now is read.
            known_names = self._timelines.keys() | set(self._history.pages(self._shelf))
            names = {name for name in pages if self._signatures.get(name) != pages[name]}
            names |= known_names - pages.keys()
        names = names | self._volatile_names | self._unreadable_names
        self._changed_names = None  # until all are read
        for count, name in enumerate(names):
            if len(names) > _PROGRESS_STEP and count % _PROGRESS_STEP == 0:
                self._progress("Reading histories", count, len(names))
            self._read_timeline(name, pages.get(name))
        self._changed_names = set()

    def _read_timeline(self, name: str, signature: Signature | None) -> None:
        old_timeline = self._timelines.pop(name, None)
        if old_timeline is not None:
            self._revision_count -= len(old_timeline.times)
        self._volatile_names.discard(name)
        self._unreadable_names.discard(name)
        self._signatures.pop(name, None)
        before = self._clock()
        try:
            revisions = self._history.revisions(self._shelf.page(name))
        except (LooseleafError, OSError):
            self._unreadable_names.add(name)
            self._states.clear()
            return
        if signature is not None:
            self._signatures[name] = signature
        timeline = Timeline(revisions, before=before) if revisions else None
        if timeline is not None:
            self._timelines[name] = timeline
            self._revision_count += len(timeline.times)
            if timeline.is_volatile:
                self._volatile_names.add(name)
        if not _is_equal(old_timeline, timeline):
            self._states.clear()

    def _build_state(self, moment: float) -> PastState | None:
        present_versions: dict[str, tuple[float, str]] = {}
        keys: list[tuple[str, int, float]] = []
        for name, timeline in self._timelines.items():
            at = timeline.position(moment)
            if at < 0:
                if timeline.is_cut:
                    return None  # the text of that time is not known
            elif at == len(timeline.numbers) - 1:
                if timeline.last_hash:
                    present_versions[name] = timeline.times[at], timeline.last_hash
            elif timeline.numbers[at] > 0:
                keys.append((name, timeline.numbers[at], timeline.times[at]))
        versions = self._load_versions(keys)
        return None if versions is None else PastState(present_versions, versions)

    def _load_versions(self, keys: list[tuple[str, int, float]]) -> list[PriorVersion] | None:
        """Read prior versions that are not in memory, or None if one is lost, or all are too many.

        Versions of other moments are dropped if they need too much memory.
        """
        kept_versions = self._versions
        versions: dict[tuple[str, int], PriorVersion] = {}
        size = 0
        for count, (name, number, time) in enumerate(keys):
            version = kept_versions.get((name, number))
            if version is None:
                if len(keys) > _PROGRESS_STEP and count % _PROGRESS_STEP == 0:
                    self._progress("Reading versions", count, len(keys))
                try:
                    content = self._history.content(self._shelf.page(name), number)
                except (LooseleafError, OSError):
                    return None
                if content is None:
                    return None
                version = PriorVersion(name, time, content)
            versions[name, number] = version
            size += len(version.content) * _FORMS
            if size > _MAX_TEXT_BYTES:
                return None
        for key, version in kept_versions.items():
            if key not in versions and size + len(version.content) * _FORMS <= _MAX_TEXT_BYTES:
                versions[key] = version
                size += len(version.content) * _FORMS
        self._versions = versions
        return [versions[name, number] for name, number, _ in keys]


def _is_equal(timeline: Timeline | None, other_timeline: Timeline | None) -> bool:
    if timeline is None or other_timeline is None:
        return timeline is other_timeline
    return (
        timeline.times == other_timeline.times
        and timeline.numbers == other_timeline.numbers
        and timeline.last_hash == other_timeline.last_hash
    )


# The words of a shelf's pages at a moment: those of the index, and those of prior versions.


_MAX_TERMS = 1024


class PastWords:
    """The words of pages, as `PageWords` in `memory/search/ranking.py` describes them.

    The places of the index come first, those of prior versions follow. The value is valid while the
    words of the index have the same `generation`.
    """

    def __init__(self, present_words: IndexedWords, state: PastState) -> None:
        self._present_words = present_words
        names_then = state.present_versions
        is_there = [name in names_then for name in present_words.names]
        self._mask = int.from_bytes(
            bytes(255 if is_present else 0 for is_present in is_there), "little"
        )
        self._present_count = len(is_there)
        self._versions = state.prior_versions
        self._name_counts: list[dict[str, int]] = []
        self.names = [name if name in names_then else "" for name in present_words.names]
        self.lengths = [
            length if is_present else 0
            for length, is_present in zip(present_words.lengths, is_there, strict=True)
        ]
        for version in self._versions:
            self.names.append(version.filename)
            self.lengths.append(len(version.stems.split()))
            self._name_counts.append(count_words(version.filename, ""))
        self.pages = sum(is_there) + len(self._versions)
        self.total = sum(self.lengths)
        self._counts: dict[str, TermCounts] = {}

    def counts(self, term: str) -> TermCounts:
        """Return how often each page holds a term."""
        counts = self._counts.get(term)
        if counts is None:
            if len(self._counts) >= _MAX_TERMS:
                self._counts.clear()
            by_place = self._present_words.counts(term).by_place
            present_counts = int.from_bytes(by_place, "little") & self._mask
            prior_counts = bytes(
                _count_term(version, name_counts, term)
                for version, name_counts in zip(self._versions, self._name_counts, strict=True)
            )
            counts = sum_counts(
                present_counts.to_bytes(self._present_count, "little") + prior_counts
            )
            self._counts[term] = counts
        return counts

    def stems(self, place: int) -> str:
        """Return the stems of a page."""
        if place < self._present_count:
            return self._present_words.stems(place)
        return self._versions[place - self._present_count].stems


def _count_term(version: PriorVersion, name_counts: dict[str, int], term: str) -> int:
    """Count a term on a page as `count_words` does, which counts all of them at once."""
    stems, needle, step = version.stems, f" {term} ", len(term) + 1
    count, at = name_counts.get(term, 0), stems.find(needle)
    while at >= 0 and count < MOST_COUNTED:
        count += 1
        at = stems.find(needle, at + step)
    return count
