"""Repetition: duplicate lines, nearly equal lines, and sections of nearly the same name."""

from __future__ import annotations

import re

from looseleaf.upkeep.lint.problem import LineChange, LintProblem, PageEdit, archive_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.upkeep.lint.page import LintPage

_WORD = re.compile(r"[^\W_]+")
_LEAST_CHARACTERS = 12  # of a line that counts as a fact
_LEAST_WORDS = 5
_MOST_WORDS = 60
# Words that reverse a sentence: lines that differ in one of them say different things.
_REVERSING = frozenset(
    {
        "not", "no", "never", "always", "only", "without", "unless", "except", "but", "off", "on",
        "none", "nicht", "nie", "kein", "keine", "ohne", "ne", "pas", "jamais", "sans", "nunca",
        "sin", "não", "sem", "non", "mai", "senza",
    }
)  # fmt: skip


def find_duplicates(page: LintPage) -> Iterator[LintProblem]:
    """Find lines that occur twice in one section, and lines that differ in one plain word."""
    first_lines: dict[tuple[str, str], int] = {}
    variants: dict[tuple[str, int], tuple[int, str]] = {}
    for number, text in page.prose:
        if len(text) < _LEAST_CHARACTERS:
            continue
        section = page.section_of[number]
        key_text = " ".join(text.casefold().split())
        first = first_lines.setdefault((section, key_text), number)
        if first != number:
            yield _build_duplicate(page, number, first)
        else:
            yield from _find_variant(page, variants, number, key_text)


def _build_duplicate(page: LintPage, number: int, first: int) -> LintProblem:
    return LintProblem(
        rule="duplicate_line",
        file=page.file,
        layer=page.layer,
        line=number + 1,
        message=f"says the same as line {first + 1}",
        advice="Remove the second of the two.",
        edit=PageEdit((LineChange(number, number + 1),)),
    )


def _find_variant(
    page: LintPage, variants: dict[tuple[str, int], tuple[int, str]], number: int, key_text: str
) -> Iterator[LintProblem]:
    """Compare a line with the earlier lines that differ from it in one word.

    Each line is entered once for every word that could differ, under the hash of its other words.
    """
    words = set(_WORD.findall(key_text))
    if not _LEAST_WORDS <= len(words) <= _MOST_WORDS:
        return
    total = 0
    for word in words:
        total ^= hash(word)
    section = page.section_of[number]
    for word in words:
        if word in _REVERSING or not word.isalpha():
            continue
        key = (section, total ^ hash(word))
        earlier = variants.setdefault(key, (number, word))
        if earlier[0] != number and earlier[1] != word:
            swap = f"{word!r} instead of {earlier[1]!r}"
            yield LintProblem(
                rule="near_duplicate",
                file=page.file,
                layer=page.layer,
                line=number + 1,
                message=f"differs from line {earlier[0] + 1} only in {swap}",
                advice="Keep the newer line, and move the older one to the journal.",
                edit=archive_lines(page.lines, earlier[0], earlier[0] + 1),
            )
            return


def find_sections_alike(page: LintPage) -> Iterator[LintProblem]:
    """Find sections whose names differ only in case; the second is merged into the first."""
    first: dict[str, int] = {}
    for position, section in enumerate(page.sections):
        earlier = first.setdefault(section.name.casefold(), position)
        name = page.sections[earlier].name
        if earlier == position or name == section.name:
            continue
        start, end = page.section_lines(position)
        _, target = page.section_lines(earlier)
        body = tuple(page.lines[start + 1 : end])
        changes = (LineChange(target, target, body), LineChange(start, end))
        yield LintProblem(
            rule="section_case",
            file=page.file,
            layer=page.layer,
            line=section.line,
            message=f"the sections {name!r} and {section.name!r} differ only in case",
            advice=f"Merge both under {name!r}.",
            edit=PageEdit(changes),
        )
