"""Identifiers of a text: the names, numbers, paths and quotations that must survive unchanged."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_QUOTATION = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
_FENCE = re.compile(r"[ \t]*(?:[-*+] +|\d+[.)] +)*(`{3,}|~{3,})")
_OPENING = "([{<\"'`*_~|>-–—•«“„‘「『+="
_CLOSING = ")]}>\"'`*_~|.,;:!?…。，；：！？、»”“’」』=-–—"
_MARKS = frozenset("_/\\@#")


def find_identifiers(text: str) -> set[str]:
    """Collect the identifiers of every line, and every fenced block as a whole.

    An identifier is a code span, a quotation, or a word that has a digit, one of `_ / \\ @ #`, or
    an upper-case letter: numbers, dates, versions, hashes, paths, addresses, handles and names.
    """
    identifiers = set(_find_fenced_blocks(text))
    words: set[str] = set()
    for line in text.split("\n"):
        words.update(line.split())
        if "`" in line:
            identifiers.update(match[2].strip() for match in _CODE_SPAN.finditer(line))
        identifiers.update(
            next(part for part in match.groups() if part) for match in _QUOTATION.finditer(line)
        )
    bare_words = {word.lstrip(_OPENING).rstrip(_CLOSING) for word in words}
    identifiers.update(word for word in bare_words if _is_identifier(word))
    return identifiers


def _is_identifier(word: str) -> bool:
    if not _MARKS.isdisjoint(word):
        return True
    return any(character.isdigit() or character.isupper() for character in word)


def _find_fenced_blocks(text: str) -> Iterator[str]:
    if "```" not in text and "~~~" not in text:
        return
    fence = ""
    body: list[str] = []
    for line in text.split("\n"):
        if fence:
            mark = line.strip()
            if mark.startswith(fence) and not mark.strip(fence[0]):
                yield _join_block(body)
                fence, body = "", []
            else:
                body.append(line.rstrip())
            continue
        opening = _FENCE.match(line)
        if opening:
            fence = opening[1]
    if fence and body:
        yield _join_block(body)


def _join_block(lines: list[str]) -> str:
    """Join the lines of a block; the blank lines at its end name nothing."""
    return "\n".join(lines).rstrip("\n")
