"""Ranking: which pages are about some words, by the words of each page and of its best lines.

Whether the words come from an index or from the pages themselves, the same pages come out: both
ways give a `PageWords`, and everything else happens here.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter

from looseleaf.memory.calendar_words import day_terms, question_dates
from looseleaf.memory.day import day_of
from looseleaf.memory.words import question_terms, stem_lines
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    Filter = Callable[[str], bool]
else:
    Protocol = object

MOST_COUNTED = 15  # occurrences of a word on a page; more say nothing more
_NAME_COUNT = 4  # a word of a page's name counts as so many in its text
# The usual constants of BM25: how fast repetition wears off, and how much long texts pay.
_WEAR, _LENGTH = 1.2, 0.75
_LINE_LENGTH = 0.4  # a short line that holds the words is not much better than a long one
_USUAL_LINE = 90.0  # characters of stems
_WORDS_OF_LINE = 12
_LINES_SHARE = 1.5  # of the best lines, beside the page as a whole
_BEST_LINES, _DECAY = 3, 0.5
_CLOSER_LINES = 6
_NEIGHBOUR = 0.3  # the words of the line before and after: an answer follows its question
_FEWEST_CANDIDATES = 48  # pages that are scored as a whole
_FEWEST_CLOSER = 16  # pages that are scored line by line
_MOST_TERMS = 40
_LANE = 200  # the sum of all weights in the first, coarse round; with all terms it fits a byte
_MOST_SOUGHT = 500  # occurrences of a frequent word on one page


@value
class Ranked:
    """A page, its score and the numbers of its best lines, the best first (counted from 0)."""

    filename: str
    score: float
    lines: tuple[int, ...]


class PageWords(Protocol):
    """The words of a set of pages. Each page has a place, from 0 on; a place may be empty."""

    names: list[str]  # by place; "" where there is no page
    lengths: list[int]  # words, by place; 0 where there is no page
    pages: int  # how many there are
    total: int  # words of all pages

    def counts(self, term: str) -> bytes | bytearray:
        """Give how often each page holds a term, by place, at most `MOST_COUNTED`."""

    def stems(self, place: int) -> str:
        """Give the stems of a page as `stem_lines` does."""


def question_words(question: str) -> tuple[str, ...]:
    """Give the terms of a question: the stems it is about and the dates it names."""
    return (*question_terms(question), *question_dates(question))[:_MOST_TERMS]


def count_words(filename: str, stems: str) -> dict[str, int]:
    """Count the terms of a page: its text, its name, and the date of a day."""
    counts = Counter(stems.split())
    day = day_of(filename)
    if day is not None:
        for term in day_terms(int(day.year), int(day.month), int(day.day)):
            counts[term] = 1
    else:
        name = filename.removesuffix(".md").casefold().encode()
        for stem in stem_lines(name).split():
            counts[stem] += _NAME_COUNT
    return {term: min(MOST_COUNTED, count) for term, count in counts.items()}


def rank(
    words: PageWords, terms: tuple[str, ...], limit: int, keep: Filter | None = None
) -> list[Ranked]:
    """Give the pages that are about the terms, best first; `keep` names the pages in question.

    A coarse sum finds the candidates among all pages; these are then scored line by line.
    """
    if not words.pages or not terms or limit < 1:
        return []
    counts = {term: words.counts(term) for term in terms}
    held = {term: len(vector) - vector.count(0) for term, vector in counts.items()}
    weights = {term: _rarity(words.pages, number) for term, number in held.items() if number}
    if not weights:
        return []
    most = max(_FEWEST_CANDIDATES, 2 * limit)
    places = _candidates(words.names, {t: (counts[t], w) for t, w in weights.items()}, most, keep)
    page_scores = _page_scores(words, places, counts, weights)
    lines = max(1.0, words.total / _WORDS_OF_LINE)
    line_weights = {term: _rarity(lines, sum(counts[term])) for term in weights}
    ranked = []
    for loss, name, place in heapq.nsmallest(max(_FEWEST_CLOSER, limit + 6), page_scores):
        here = [(t, n, w) for t, w in line_weights.items() if (n := counts[t][place])]
        best = _best_lines(words.stems(place), here)
        share = sum([one * _DECAY**at for at, (one, _) in enumerate(best)])
        ranked.append((_LINES_SHARE * share - loss, name, place, best))
    ranked.sort(key=lambda one: (-one[0], one[1]))
    return [
        Ranked(name, score, _line_numbers(words.stems(place), best))
        for score, name, place, best in ranked[:limit]
    ]


class ScannedWords:
    """The words of pages that were just read: (filename, folded text)."""

    def __init__(self, pages: Iterable[tuple[str, bytes]]) -> None:
        self.names: list[str] = []
        self.lengths: list[int] = []
        self._stems: list[str] = []
        self._counts: list[dict[str, int]] = []
        for filename, folded in pages:
            stems = stem_lines(folded)
            self.names.append(filename)
            self.lengths.append(len(stems.split()))
            self._stems.append(stems)
            self._counts.append(count_words(filename, stems))
        self.pages, self.total = len(self.names), sum(self.lengths)

    def counts(self, term: str) -> bytes:
        """Give how often each page holds a term."""
        return bytes([counts.get(term, 0) for counts in self._counts])

    def stems(self, place: int) -> str:
        """Give the stems of a page."""
        return self._stems[place]


def _rarity(of: float, number: float) -> float:
    return math.log(1 + (max(0.0, of - number) + 0.5) / (number + 0.5))


def _page_scores(
    words: PageWords,
    places: list[int],
    counts: dict[str, bytes | bytearray],
    weights: dict[str, float],
) -> list[tuple[float, str, int]]:
    """Score pages by BM25 over their words; the least number is the best page."""
    usual = max(1.0, words.total / words.pages)
    lengths = words.lengths
    scores = []
    for place in places:
        damping = _WEAR * (1 - _LENGTH + _LENGTH * lengths[place] / usual)
        score = 0.0
        for term, weight in weights.items():
            count = counts[term][place]
            if count:
                score += weight * count * (_WEAR + 1) / (count + damping)
        scores.append((-score, words.names[place], place))
    return scores


def _candidates(
    names: Sequence[str],
    terms: dict[str, tuple[bytes | bytearray, float]],
    most: int,
    keep: Filter | None,
) -> list[int]:
    """Choose the places worth a closer look.

    Each page is one byte of a very large number, so that the weights of a term are added for all
    pages at once. No byte can run over: the sum of all weights is at most `_LANE`.
    """
    whole = sum([weight for _, weight in terms.values()])
    sums = 0
    for vector, weight in terms.values():
        share = _LANE * weight / whole
        steps = [1 + int(share * count / (count + _WEAR)) for count in range(1, MOST_COUNTED + 1)]
        table = bytes([0, *steps]) + bytes(255 - MOST_COUNTED)
        sums += int.from_bytes(vector.translate(table), "little")
    lanes = sums.to_bytes(len(names), "little")
    if keep is not None:
        lanes = bytes([lane if lane and keep(names[at]) else 0 for at, lane in enumerate(lanes)])
    chosen: list[int] = []
    for level in range(max(lanes), 0, -1):
        if level in lanes:
            places = _places_of(lanes, level)
            left = most - len(chosen)
            if len(places) > left:
                places = heapq.nsmallest(left, places, key=lambda place: names[place])
            chosen += places
            if len(chosen) >= most:
                break
    return chosen


def _places_of(lanes: bytes, level: int) -> list[int]:
    places, at = [], lanes.find(level)
    while at >= 0:
        places.append(at)
        at = lanes.find(level, at + 1)
    return places


def _best_lines(stems: str, terms: list[tuple[str, int, float]]) -> list[tuple[float, int]]:
    """Give the best lines of a page, as (score, where the line begins), the best first.

    Each term comes with how often the page holds it, and with its weight in a line.
    """
    find, find_back = stems.find, stems.rfind
    own: dict[int, float] = {}
    held: dict[int, list[str]] = {}
    for term, count, weight in terms:
        needle, step = f" {term} ", len(term) + 1
        at, last = -step, -1
        for _ in range(count if count < MOST_COUNTED else _MOST_SOUGHT):
            at = find(needle, at + step)
            if at < 0:
                break
            start = find_back("\n", 0, at) + 1
            if start != last:
                last = start
                own[start] = own.get(start, 0.0) + weight
                held.setdefault(start, []).append(term)
    # Only the lines with the heaviest words can be among the best.
    heavy = sorted([(-weight, start) for start, weight in own.items()])[:_CLOSER_LINES]
    scores = [(-_line_score(stems, start, -loss, held, terms), start) for loss, start in heavy]
    return [(-loss, start) for loss, start in sorted(scores)[:_BEST_LINES]]


def _line_score(
    stems: str,
    start: int,
    own: float,
    held: dict[int, list[str]],
    terms: list[tuple[str, int, float]],
) -> float:
    """Score a line by its own words and, less, by those that only its neighbours have."""
    end = stems.find("\n", start)
    size = (end if end >= 0 else len(stems)) - start
    before = stems.rfind("\n", 0, start - 1) + 1 if start else -1
    after = end + 1 if end >= 0 else -1
    score = own * (_WEAR + 1) / (1 + _WEAR * (1 - _LINE_LENGTH + _LINE_LENGTH * size / _USUAL_LINE))
    if before in held or after in held:
        beside = {*held.get(before, ()), *held.get(after, ())}.difference(held[start])
        score += _NEIGHBOUR * sum([weight for term, _, weight in terms if term in beside])
    return score


def _line_numbers(stems: str, best: list[tuple[float, int]]) -> tuple[int, ...]:
    return tuple(stems.count("\n", 0, start) for _, start in best)
