"""Bounds of a search's answer: one place for every surface."""

from __future__ import annotations

from looseleaf.values import value

MOST_PAGES = 50  # that one ranked search gives


@value
class Bounds:
    """The most that a search gives, whatever it is asked for; its total is true all the same."""

    matches: int = 500
    context: int = 20  # lines before and after a match
    bytes: int = 262_144  # of the lines and their context together


BOUNDS = Bounds()
