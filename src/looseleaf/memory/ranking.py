"""Ranking: which pages are about some words, by BM25 over their folded texts."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_TERMS = 32
_SNIPPET = 200
# The usual constants of BM25: how fast repetition wears off, and how much long pages pay.
_WEAR, _LENGTH = 1.2, 0.75


def terms_of(words: str) -> tuple[str, ...]:
    """Cut a question into folded words, each once."""
    folded = words.casefold().encode("utf-8", "ignore").decode()
    apart = "".join(c if c.isalnum() or c > "\x7f" else " " for c in folded)
    return tuple(dict.fromkeys(apart.split()))[:_MOST_TERMS]


def scored(pages: Iterable[tuple[str, str]], terms: tuple[str, ...]) -> list[tuple[str, float]]:
    """Score pages (filename, folded text) without an index, best first; a filename counts, too."""
    found = []
    for filename, folded in pages:
        text = f"{filename.casefold()}\n{folded}"
        found.append((filename, len(text), [_word_starts(text, term) for term in terms]))
    usual = sum(size for _, size, _ in found) / max(1, len(found))
    holding = [sum(1 for _, _, counts in found if counts[i]) for i in range(len(terms))]
    weights = [math.log(1 + (len(found) - pages + 0.5) / (pages + 0.5)) for pages in holding]
    scores = []
    for filename, size, counts in found:
        damping = _WEAR * (1 - _LENGTH + _LENGTH * size / usual)
        parts = (w * n * (_WEAR + 1) / (n + damping) for w, n in zip(weights, counts, strict=True))
        scores.append((filename, sum(parts)))
    return sorted((pair for pair in scores if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))


def snippet(content: bytes, terms: Iterable[str]) -> str:
    """Give the line of a page that holds the most of the words."""
    # A word's end changes with its grammar, so a line is judged by how its words begin.
    stems = [term[: max(4, len(term) - 3)] for term in terms]
    best, most = "", -1
    for line in content.decode("utf-8", "replace").split("\n"):
        folded = line.casefold()
        found = sum(stem in folded for stem in stems)
        if line.strip() and found > most:
            best, most = line.strip(), found
    return best[:_SNIPPET]


def _word_starts(text: str, term: str) -> int:
    """Count where a word begins with the term; scripts without spaces have it anywhere."""
    count, at = 0, text.find(term)
    while at >= 0:
        count += at == 0 or not term.isascii() or not text[at - 1].isalnum()
        at = text.find(term, at + len(term))
    return count
