"""Ranking: which pages are about some words, by the words of each page and of its best lines.

An index and a scan of the pages lead to the same result: both supply a `PageWords`, and everything
else happens here.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter

from looseleaf.errors.pages import InvalidQuery
from looseleaf.memory.day import day_of
from looseleaf.memory.search.results import MOST_PAGES, PageHit, read_content, read_folded_pages
from looseleaf.memory.search.words import (
    build_day_terms,
    parse_question_dates,
    parse_question_terms,
    stem_lines,
)
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import Found, Store

    Filter = Callable[[str], bool]

    Weighted = tuple[bytes | bytearray, float]  # a term: its counts by place, its weight

    Counts = list[tuple[str, int]]
    Place = tuple["Store", "Shelf", "PageFinder | None"]  # some pages that are searched
else:
    Protocol = object


MOST_COUNTED = 15  # occurrences of a word on a page; more do not count
_NAME_COUNT = 4  # a word of a page's name counts as so many in its text
# The usual constants k1 and b of BM25: the effect of repetition, and of the length of a text.
_WEAR, _LENGTH = 1.2, 0.75
_LINE_LENGTH = 0.4  # a short line that holds the words is not much better than a long one
_USUAL_LINE = 90.0  # characters of stems
_LINE_DAMPING = 1 + _WEAR * (1 - _LINE_LENGTH)
_LINE_SLOPE = _WEAR * _LINE_LENGTH / _USUAL_LINE
_WORDS_OF_LINE = 12
_LINES_SHARE = 1.75  # of the best lines, beside the page as a whole
_BEST_LINES = 3
_DECAYS = (1.0, 0.5, 0.25)  # what the best lines count, from the best on
# The best of many lines fits by chance: by about as much more as the logarithm of their number.
_LUCK = 0.2
_CLOSER_LINES = 6
_NEIGHBOR = 0.3  # the words of the line before and after: an answer follows its question
_FEWEST_CANDIDATES = 48  # pages that are scored as a whole
_FEWEST_CLOSER = 32  # pages that are scored line by line
_MOST_TERMS = 40
_LENGTH_CLASSES = 16  # each of twice the words of the one before; with a count they fit a byte
_LANE = 200  # the sum of all weights in the first, coarse round; with all terms it fits a byte
_MOST_SOUGHT = 500  # occurrences of a frequent word that are looked for on one page
_NO_STEPS = bytes(_LENGTH_CLASSES)
_UPPER_HALVES = bytes(
    min(length_class, _LENGTH_CLASSES - 1) * (MOST_COUNTED + 1) for length_class in range(256)
)


@value
class RankedPage:
    """A page, its score and the numbers of its best lines, the best first (counted from 0).

    The name of a page beside those of the shelf has its layer before it: user:USER.md.
    """

    filename: str
    score: float
    lines: tuple[int, ...]


@value
class TermCounts:
    """How often the pages hold a term."""

    by_place: bytes | bytearray  # at most `MOST_COUNTED` for each page
    pages: int  # that hold the term at all
    total: int


class PageWords(Protocol):
    """The words of a set of pages. Each page has a place, from 0 on; a place may be empty."""

    names: list[str]  # by place, or "" if there is no page
    lengths: list[int]  # words, by place, or 0 if there is no page
    pages: int  # how many there are
    total: int  # words of all pages

    def counts(self, term: str) -> TermCounts:
        """Return how often each page holds a term."""

    def stems(self, place: int) -> str:
        """Return the stems of a page as `stem_lines` does."""


def parse_question(question: str) -> tuple[str, ...]:
    """Return the terms of a question: the stems it is about and the dates it names."""
    return (*parse_question_terms(question), *parse_question_dates(question))[:_MOST_TERMS]


def count_words(filename: str, stems: str) -> dict[str, int]:
    """Count the terms of a page: its text, its name, and the date of a day."""
    counts = Counter(stems.split())
    day = day_of(filename)
    if day is not None:
        for term in build_day_terms(int(day.year), int(day.month), int(day.day)):
            counts[term] = 1
    else:
        name = filename.removesuffix(".md").casefold().encode()
        for stem in stem_lines(name).split():
            counts[stem] += _NAME_COUNT
    for term in [term for term, count in counts.items() if count > MOST_COUNTED]:
        counts[term] = MOST_COUNTED
    return counts


def rank(
    words: PageWords,
    terms: tuple[str, ...],
    limit: int,
    keep: Filter | None = None,
    beside: Sequence[PageWords] = (),
) -> list[RankedPage]:
    """Return the pages that are about the terms, best first; `keep` says which pages count.

    The pages of `beside` are among them, as if all pages lay together.

    A coarse sum over all pages, by their words and their lengths, finds the candidates; these are
    then scored line by line.
    """
    if beside:
        words = _JoinedWords((words, *beside))
    if not words.pages or not terms or limit < 1:
        return []
    counts = [(term, term_counts) for term in terms if (term_counts := words.counts(term)).pages]
    if not counts:
        return []
    weighted_terms = [
        (term_counts.by_place, _compute_rarity(words.pages, term_counts.pages))
        for _, term_counts in counts
    ]
    classes = bytes(map(int.bit_length, words.lengths))
    # Not the mean: a few long pages among many short ones would make it a length that none has.
    usual_length = _middle_length(sum(classes) / words.pages)
    places = _choose_candidates(
        words.names,
        classes,
        usual_length,
        weighted_terms,
        limit=max(_FEWEST_CANDIDATES, 2 * limit),
        keep=keep,
    )
    page_scores = _score_pages(words, places, weighted_terms, usual_length)
    lines = max(1.0, words.total / _WORDS_OF_LINE)
    line_weights = _LineWeights(
        [_compute_rarity(lines, term_counts.total) for _, term_counts in counts]
    )
    scored_pages = []
    for loss, name, place in heapq.nsmallest(max(_FEWEST_CLOSER, limit + 6), page_scores):
        page_terms = [
            (term, number, 1 << at)
            for at, (term, term_counts) in enumerate(counts)
            if (number := term_counts.by_place[place])
        ]
        stems = words.stems(place)
        best = _find_best_lines(stems, page_terms, line_weights)
        share = _LINES_SHARE * _compute_line_share(stems, best)
        scored_pages.append((share - loss, name, place, best))
    scored_pages.sort(key=lambda page: (-page[0], page[1]))
    return [
        RankedPage(name, score, _number_lines(words.stems(place), best))
        for score, name, place, best in scored_pages[:limit]
    ]


def sum_counts(by_place: bytes | bytearray) -> TermCounts:
    """Sum up how often all pages hold a term."""
    return TermCounts(by_place, len(by_place) - by_place.count(0), sum(by_place))


class _JoinedWords:
    """The words of several sets of pages as those of one set."""

    def __init__(self, parts: Sequence[PageWords]) -> None:
        self._parts = parts
        self.names = [name for part in parts for name in part.names]
        self.lengths = [length for part in parts for length in part.lengths]
        self.pages = sum([part.pages for part in parts])
        self.total = sum([part.total for part in parts])

    def counts(self, term: str) -> TermCounts:
        """Return how often each page holds a term."""
        counts = [part.counts(term) for part in self._parts]
        return TermCounts(
            b"".join([count.by_place for count in counts]),
            sum([count.pages for count in counts]),
            sum([count.total for count in counts]),
        )

    def stems(self, place: int) -> str:
        """Return the stems of a page."""
        for part in self._parts:
            if place < len(part.names):
                return part.stems(place)
            place -= len(part.names)
        raise IndexError(place)


class ScannedWords:
    """The words of pages that were just read: (filename, folded text).

    The layer of pages that are ranked beside others is put before their names.
    """

    def __init__(self, pages: Iterable[tuple[str, bytes]], layer: str = "") -> None:
        self.names: list[str] = []
        self.lengths: list[int] = []
        self._stems: list[str] = []
        self._counts: list[dict[str, int]] = []
        for filename, folded_text in pages:
            stems = stem_lines(folded_text)
            self.names.append(f"{layer}:{filename}" if layer else filename)
            self.lengths.append(len(stems.split()))
            self._stems.append(stems)
            self._counts.append(count_words(filename, stems))
        self.pages, self.total = len(self.names), sum(self.lengths)

    def counts(self, term: str) -> TermCounts:
        """Return how often each page holds a term."""
        return sum_counts(bytes([counts.get(term, 0) for counts in self._counts]))

    def stems(self, place: int) -> str:
        """Return the stems of a page."""
        return self._stems[place]


def _compute_rarity(of: float, number: float) -> float:
    return math.log(1 + (max(0.0, of - number) + 0.5) / (number + 0.5))


def _middle_length(length_class: float) -> float:
    """Return the words of a page in the middle of a class; the class of n is its bit length."""
    return 0.75 * math.pow(2.0, length_class)


def _damp_by_length(length: float, usual_length: float) -> float:
    return _WEAR * (1 - _LENGTH + _LENGTH * length / usual_length)


def _compute_line_share(stems: str, best: list[tuple[float, int]]) -> float:
    """Return the mean of a page's best lines, damped by how many lines there were to choose from.

    A page of one line is as good as this line: it is at no loss beside a page of many lines.
    """
    lines = stems.startswith(" ") + stems.count("\n ")  # that have words
    if not lines:
        return 0.0  # it is found by its name
    total = sum([score * decay for (score, _), decay in zip(best, _DECAYS, strict=False)])
    return total / sum(_DECAYS[:lines]) / (1 + _LUCK * math.log2(lines))


def _score_pages(
    words: PageWords, places: list[int], terms: Sequence[Weighted], usual_length: float
) -> list[tuple[float, str, int]]:
    """Score pages by BM25 over their words; the lowest number is the best page."""
    lengths = words.lengths
    scores = []
    for place in places:
        length_norm = _damp_by_length(lengths[place], usual_length)
        score = 0.0
        for by_place, weight in terms:
            count = by_place[place]
            if count:
                score += weight * count * (_WEAR + 1) / (count + length_norm)
        scores.append((-score, words.names[place], place))
    return scores


def _choose_candidates(
    names: Sequence[str],
    classes: bytes,
    usual_length: float,
    terms: Sequence[Weighted],
    *,
    limit: int,
    keep: Filter | None,
) -> list[int]:
    """Choose the places of the pages to score: by BM25 with lengths by classes.

    Each page is one byte of a very large number, so that the weights of a term are added for all
    pages at once. No byte can overflow: the sum of all weights is at most `_LANE`.
    """
    total_weight = sum([weight for _, weight in terms])
    norms = [_damp_by_length(_middle_length(at), usual_length) for at in range(_LENGTH_CLASSES)]
    factors = [count / (count + norm) for norm in norms for count in range(MOST_COUNTED + 1)]
    # The upper half of a byte is the page's class, the lower one how often it holds a term.
    length_halves = int.from_bytes(classes.translate(_UPPER_HALVES), "little")
    sums = 0
    for by_place, weight in terms:
        share = _LANE * weight / total_weight
        steps = bytearray([1 + int(share * factor) for factor in factors])
        steps[:: MOST_COUNTED + 1] = _NO_STEPS  # for pages that do not hold the term
        both_halves = int.from_bytes(by_place, "little") | length_halves
        weights = both_halves.to_bytes(len(names), "little").translate(steps)
        sums += int.from_bytes(weights, "little")
    lanes = sums.to_bytes(len(names), "little")
    if keep is not None:
        lanes = bytes([lane if lane and keep(names[at]) else 0 for at, lane in enumerate(lanes)])
    candidates: list[int] = []
    for level in range(_LANE + len(terms), 0, -1):
        if level in lanes:
            places = _places_of(lanes, level)
            room = limit - len(candidates)
            if len(places) > room:
                places = heapq.nsmallest(room, places, key=lambda place: names[place])
            candidates += places
            if len(candidates) >= limit:
                break
    return candidates


def _places_of(lanes: bytes, level: int) -> list[int]:
    places, at = [], lanes.find(level)
    while at >= 0:
        places.append(at)
        at = lanes.find(level, at + 1)
    return places


class _LineWeights(dict[int, float]):
    """A cache of the weight in a line of each set of terms.

    A set is a number whose bits are the terms.
    """

    def __init__(self, weights: list[float]) -> None:
        super().__init__()
        self._weights = weights

    def __missing__(self, terms: int) -> float:
        weights = [weight for at, weight in enumerate(self._weights) if terms >> at & 1]
        self[terms] = total_weight = sum(weights)
        return total_weight


def _find_best_lines(
    stems: str, terms: list[tuple[str, int, int]], weights: _LineWeights
) -> list[tuple[float, int]]:
    """Return the best lines of a page, as (score, where the line begins), the best first.

    Each term comes with how often the page holds it, and with its bit.
    """
    find, find_back = stems.find, stems.rfind
    terms_by_line: dict[int, int] = {}  # the terms of each line, by where it begins
    for term, count, bit in terms:
        needle, step = f" {term} ", len(term) + 1
        at = -step
        for _ in range(count if count < MOST_COUNTED else _MOST_SOUGHT):
            at = find(needle, at + step)
            if at < 0:
                break
            start = find_back("\n", 0, at) + 1
            terms_by_line[start] = terms_by_line.get(start, 0) | bit
    # Only the lines with the heaviest words can be among the best.
    heavy = sorted([(-weights[line_terms], start) for start, line_terms in terms_by_line.items()])[
        :_CLOSER_LINES
    ]
    scores = []
    for weight, start in heavy:
        end = find("\n", start)
        if end < 0:
            end = len(stems)
        loss = weight * (_WEAR + 1) / (_LINE_DAMPING + _LINE_SLOPE * (end - start))
        # The words that only the lines before and after have count less.
        beside = terms_by_line.get(end + 1, 0)
        if start:
            beside |= terms_by_line.get(find_back("\n", 0, start - 1) + 1, 0)
        if beside:
            loss -= _NEIGHBOR * weights[beside & ~terms_by_line[start]]
        scores.append((loss, start))
    scores.sort()
    return [(-loss, start) for loss, start in scores[:_BEST_LINES]]


def _number_lines(stems: str, best: list[tuple[float, int]]) -> tuple[int, ...]:
    return tuple([stems.count("\n", 0, start) for _, start in best])


# Passages: the lines of a page that answer a question, with the lines beside them.


MOST_CHARACTERS = 900  # of a passage
_LINE = 280  # characters of one line; the rest of a longer one is left out
_CUT = "…"
STEM = 5  # letters of a question's word that a line must contain


def build_passage(content: bytes, best: Sequence[int], stems: Sequence[str]) -> str:
    """Return the best lines of a page that fit, in the order of the page.

    Each line brings the line before and after it, as long as there is room: in a conversation the
    answer often stands beside the words of the question.
    """
    lines = content.decode("utf-8", "replace").split("\n")
    texts: dict[int, str] = {}
    room = MOST_CHARACTERS
    for number in _order_by_worth(lines, best):
        text = lines[number].strip()
        if len(text) > _LINE:
            text = _shorten(text, stems)
        if len(text) < room:
            texts[number] = text
            room -= len(text) + 1
    return _join_lines(lines, texts)


def _order_by_worth(lines: list[str], best: Sequence[int]) -> list[int]:
    """Order the numbers of lines: the best and their neighbors, else the page's beginning."""
    numbers = [number for number in best if number < len(lines)]
    first = 1 if lines[0].startswith("# ") else 0  # the title of a page answers nothing
    if not numbers:
        return [number for number in range(first, len(lines)) if lines[number].strip()][:3]
    order = dict.fromkeys(numbers)
    for number in numbers:
        for after in range(number + 1, len(lines)):
            if lines[after].strip():
                order.setdefault(after)
                break
        for before in range(number - 1, first - 1, -1):
            if lines[before].strip():
                order.setdefault(before)
                break
    return [number for number in order if lines[number].strip()]


def _shorten(line: str, stems: Sequence[str]) -> str:
    """Shorten a long line to the part that holds the first word of the question."""
    folded_line = line.casefold()
    places = [at for stem in stems if (at := folded_line.find(stem[:STEM])) >= 0]
    start = max(0, min(places, default=0) - _LINE // 4)
    end = start + _LINE - 2
    return (_CUT if start else "") + line[start:end].strip() + (_CUT if end < len(line) else "")


def _join_lines(lines: list[str], texts: dict[int, str]) -> str:
    """Arrange the lines in the page's order; a gap between them is shown."""
    parts: list[str] = []
    last: int | None = None
    for number in sorted(texts):
        if last is not None and any(map(str.strip, lines[last + 1 : number])):
            parts.append(_CUT)
        parts.append(texts[number])
        last = number
    return "\n".join(parts)


# Ranked search: the pages that are about some words or answer a question, best first.


_MOST_LINES = 3  # of a passage if the best lines are comments


class PageFinder(Protocol):
    """A faster way to the result of a scan; its methods give None if a scan is needed."""

    def matching(self, shelf: Shelf, prefix: str, folded_text: str) -> tuple[Counts, str] | None:
        """Count the lines with a folded text, by page below a folder; return how fresh that is."""

    def rank_pages(
        self,
        shelf: Shelf,
        terms: tuple[str, ...],
        limit: int,
        keep: Filter | None = None,
        beside: Sequence[PageWords] = (),
    ) -> list[RankedPage] | None:
        """Return the best pages for some terms, best first; only those that `keep` accepts."""


class PastFinder(PageFinder, Protocol):
    """A page finder for the pages of one shelf as they were at a moment."""

    def read(self, scope: Scope) -> Found | None:
        """Return a page as it was then, or None if only the history has it."""


class Index(PageFinder, Protocol):
    """The page finder of all shelves as they are now, and its maintenance."""

    def at(self, shelf: Shelf, moment: float) -> PastFinder | None:
        """Return a page finder for a moment in the past, or None if there is none."""

    def verify(self, shelf: Shelf) -> list[str]:
        """List the differences between the file of an index and its pages."""

    def forget(self, shelf: Shelf) -> None:
        """Drop the indexed texts of a shelf; the next search indexes them again."""

    def close(self) -> None:
        """Close every file; the next search opens them again."""


def rank_pages(
    store: Store,
    shelf: Shelf,
    words: str,
    *,
    index: PageFinder | None = None,
    limit: int = 10,
    keep: Filter | None = None,
    beside: Sequence[Place] = (),
) -> list[PageHit]:
    """Find the pages that are about some words, best first, each with the lines that show it.

    The shelves of `beside` are of other layers; they are ranked as if all pages lay together.
    """
    terms = parse_question(words)
    if not terms:
        raise InvalidQuery(words, "it has no words")
    if limit < 0:
        raise InvalidQuery(words, "limit cannot be negative")
    limit = min(limit, MOST_PAGES)
    others = [_scan_words(place, keep) for place in beside]
    best = index.rank_pages(shelf, terms, limit, keep, others) if index is not None else None
    if best is None:
        best = rank(ScannedWords(read_folded_pages(store, shelf)), terms, limit, keep, others)
    places: dict[str, tuple[Store, Shelf]] = {
        other.layer: (pages, other) for pages, other, _ in beside
    }
    hits = []
    for page in best:
        layer, _, filename = page.filename.rpartition(":")
        pages, owner = places[layer] if layer else (store, shelf)
        content = read_content(pages, owner, filename)
        text = _choose_passage(content, page, terms) if content is not None else None
        if text is not None:
            hits.append(PageHit(filename, float(f"{page.score:.6g}"), text, owner.layer))
    return hits


def _scan_words(place: Place, keep: Filter | None) -> ScannedWords:
    store, shelf, _ = place
    pages = read_folded_pages(store, shelf)
    return ScannedWords(
        (page for page in pages if keep is None or keep(page[0])), layer=shelf.layer
    )


def _choose_passage(content: bytes, page: RankedPage, terms: tuple[str, ...]) -> str | None:
    """Choose the lines that show what a page is about, or None if only comments do."""
    if b"<!--" not in content:
        return build_passage(content, page.lines, terms)
    from looseleaf.memory.comments import blank_comments

    text = blank_comments(content.decode("utf-8", "replace"))
    lines = text.split("\n")
    best = [number for number in page.lines if number < len(lines) and lines[number].strip()]
    if page.lines and not best:
        best = [number for number, line in enumerate(lines) if _has_term(line, terms)][:_MOST_LINES]
        if not best:
            return None
    return build_passage(text.encode(), best, terms)


def _has_term(line: str, terms: tuple[str, ...]) -> bool:
    folded_line = line.casefold()
    return any(term[:STEM] in folded_line for term in terms)
