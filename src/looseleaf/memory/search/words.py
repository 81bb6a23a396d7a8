"""Words as the ranking compares them: folded, without accents and endings, line by line."""

from __future__ import annotations

import unicodedata
from itertools import groupby

from looseleaf.memory.search.stop_words import STOP_WORDS

_LONGEST = 40  # letters of a word; longer runs are no words, but data
_STEM = 6  # letters; the rest is mostly grammar, in many languages
_MOST_CACHED = 65_536
_MOST_TERMS = 32
_VOWELS = frozenset("aeiouy")
# Scripts that write words without spaces, and Korean, which joins endings to them.
_SPACELESS = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x9FFF),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_PLAIN = bytes(code if code == 10 or chr(code).isalnum() else 32 for code in range(128)) + bytes(
    128
)


def stem_lines(folded_text: bytes) -> str:
    """Return the stems of the words of a folded text, line by line.

    Each stem stands between two spaces, so that it can be found without splitting the text.
    """
    stem = _STEMS.__getitem__
    lines = [" ".join(map(stem, line.split())) for line in _split_plain_lines(folded_text)]
    return "\n".join([f" {line} " if line else "" for line in lines])


def split_words(text: str) -> list[str]:
    """Split a text into folded words without accents, in their order."""
    folded_text = text.casefold().encode("utf-8", "ignore")
    return [word for line in _split_plain_lines(folded_text) for word in line.split()]


def is_question(text: str) -> bool:
    """Return whether a text has several words, so that it may be a question and no exact text."""
    return len([stem for word in split_words(text) for stem in _stem_question_word(word)]) > 1


def parse_question_terms(question: str) -> tuple[str, ...]:
    """Return the stems of a question, each once, without stop words."""
    words = split_words(question)
    language = max(
        STOP_WORDS, key=lambda candidate: sum(map(STOP_WORDS[candidate].__contains__, words))
    )
    content_words = [word for word in words if word not in STOP_WORDS[language]] or words
    terms = dict.fromkeys(term for word in content_words for term in _stem_question_word(word))
    rest = [term for term in terms if term not in STOP_WORDS["pairs"]] or list(terms)
    return tuple(rest[:_MOST_TERMS])


def _split_plain_lines(folded_text: bytes) -> list[str]:
    """Replace every character that is no letter or digit by a space, and split the lines."""
    if folded_text.isascii():
        return folded_text.translate(_PLAIN).decode("ascii").split("\n")
    return folded_text.decode("utf-8", "replace").translate(_LETTERS).split("\n")


class _Letters(dict[int, str]):
    """A cache of the plain letter of each character."""

    def __missing__(self, code: int) -> str:
        self[code] = plain = _simplify_letter(chr(code))
        return plain


def _simplify_letter(sign: str) -> str:
    if sign == "\n":
        return sign
    if unicodedata.combining(sign):
        return ""  # an accent as a character of its own
    if not (sign.isalnum() or unicodedata.category(sign) in ("Mn", "Mc")):
        return " "
    if _is_spaceless(sign):
        return unicodedata.normalize("NFKC", sign)
    parts = unicodedata.normalize("NFKD", sign).casefold()
    return "".join(part for part in parts if not unicodedata.combining(part)) or " "


def _is_spaceless(sign: str) -> bool:
    code = ord(sign)
    return code >= 0x0E00 and any(first <= code <= last for first, last in _SPACELESS)


class _Stems(dict[str, str]):
    """A cache of the stems of words, of a bounded size."""

    def __missing__(self, word: str) -> str:
        if word.isascii() and not word.isalpha():
            return word[:_LONGEST]  # numbers and identifiers are many, and their own stems
        stems = " ".join(_stem_page_word(word))
        if len(self) >= _MOST_CACHED:
            self.clear()
        if len(word) <= _LONGEST:
            self[word] = stems
        return stems


def _stem_page_word(word: str) -> list[str]:
    """Return the stems of a page's word; in a script without spaces, its characters and pairs."""
    if word.isascii():
        return [_stem_word(word)]
    stems = []
    for run, spaceless in _split_runs(word):
        stems += [*run, *_list_pairs(run)] if spaceless else [_stem_word(run)]
    return stems


def _stem_question_word(word: str) -> list[str]:
    stems = []
    for run, spaceless in _split_runs(word):
        stems += (_list_pairs(run) or [run]) if spaceless else [_stem_word(run)]
    return stems


def _list_pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _split_runs(word: str) -> list[tuple[str, bool]]:
    """Split a word where its script changes between one with spaces and one without."""
    return [("".join(run), spaceless) for spaceless, run in groupby(word, _is_spaceless)]


def _stem_word(word: str) -> str:
    """Remove the most common endings, so that forms of one word have the same stem."""
    word = word[:_LONGEST]
    if len(word) < 4 or not word.isalpha():
        return word  # a number or an identifier is exact
    word = _without_verb_ending(_without_plural(word))
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if word.endswith("y") and len(word) > 3:
        word = word[:-1] + "i"
    if len(word) >= 6 and word[-2:] in ("er", "ar", "ir", "en"):
        word = word[:-2]
    if len(word) >= 5 and word[-1] in "aeoi":
        word = word[:-1]
    return word[:_STEM]


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes", "oes")) and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_verb_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3 and not _VOWELS.isdisjoint(stem):
            is_doubled = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            return stem[:-1] if is_doubled else stem
    return word


_LETTERS = _Letters()
_STEMS = _Stems()
