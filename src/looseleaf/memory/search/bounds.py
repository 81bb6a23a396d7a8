"""Bounds of a search's answer: one place for every surface."""

from __future__ import annotations

from looseleaf.values import value

MOST_PAGES = 50  # of one ranked search


@value
class Bounds:
    """The limits of a search's answer, whatever is asked for; its total counts all matches."""

    matches: int = 500
    context: int = 20  # lines before and after a match
    bytes: int = 262_144  # of the lines and their context together


BOUNDS = Bounds()
