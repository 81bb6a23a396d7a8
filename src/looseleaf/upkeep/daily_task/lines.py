"""Lines of a page: split without loss, and counted as a multiset."""

from __future__ import annotations

from collections import Counter


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their ends; the lines joined are the text."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def count_lines(text: str) -> Counter[str]:
    """Count the lines of a text that are not blank, without spaces at their ends."""
    return Counter(line.rstrip() for line in text.split("\n") if not line.isspace() and line)


def has_word(line: str) -> bool:
    """Return whether a line has a letter or a digit; a fence or a rule has none."""
    return any(character.isalnum() for character in line)


def size_of(text: str) -> int:
    """Return the size of a text in bytes."""
    return len(text.encode())
