"""Differences are correct whatever the texts, and cost a bounded number of steps."""

from __future__ import annotations

import difflib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.memory import differences
from looseleaf.memory.differences import MOST_STEPS, LineDiff, diff_lines

NAMES = ("old", "new")
texts = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=30)


def patched(old: list[str], diff: str) -> list[str]:
    """Apply a unified diff, as any program would."""
    made: list[str] = []
    at = 0
    for line in diff.split("\n")[2:] if diff else []:
        if line.startswith("@@"):
            place, _, count = line.split()[1][1:].partition(",")
            start = int(place) - (count != "0")
            made += old[at:start]
            at = start
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            made += [] if line.startswith("-") else [line[1:]]
            at += 1
    return made + old[at:]


def crafted(seed: int, count: int = 13_500, kinds: int = 150) -> list[str]:
    """Return lines of which each occurs often, in an order of their own."""
    lines = [f"{number % kinds:03}" for number in range(count)]
    random.Random(seed).shuffle(lines)
    return lines


@given(texts, texts)
def test_a_diff_makes_the_new_text_of_the_old_one(old: list[str], new: list[str]) -> None:
    """And no shorter one exists: as many lines are kept as can be."""
    found = diff_lines(old, new, NAMES)
    assert patched(old, found.text) == new
    assert not found.is_coarse
    assert (found.text == "") == (old == new)
    changed = [line for line in found.text.split("\n")[2:] if line[:1] in ("+", "-")]
    usual = [item for item in difflib.ndiff(old, new) if item[0] in "+-"]
    assert len(changed) <= len(usual)


@given(texts, texts)
def test_a_coarse_diff_is_correct_too(old: list[str], new: list[str]) -> None:
    """If the steps do not suffice, from the first one on."""
    steps = differences.MOST_STEPS
    differences.MOST_STEPS = 1
    try:
        found = diff_lines(old, new, NAMES)
    finally:
        differences.MOST_STEPS = steps
    assert patched(old, found.text) == new


def test_it_is_written_as_everyone_writes_it() -> None:
    """The form of difflib, with its places and the lines around a change."""
    old = [f"line {number}" for number in range(40)]
    new = [*old[:5], "new", *old[5:20], "changed", *old[21:39]]
    expected = "\n".join(difflib.unified_diff(old, new, *NAMES, lineterm=""))
    assert diff_lines(old, new, NAMES) == LineDiff(expected, False, False)


def test_crafted_versions_cost_no_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions of 54 KB that took minutes: the steps are counted, and the diff says so."""
    searches: list[differences._Search] = []
    real = differences._Search

    def watched(old: list[str], new: list[str]) -> differences._Search:
        searches.append(real(old, new))
        return searches[0]

    monkeypatch.setattr(differences, "_Search", watched)
    old, new = crafted(1), crafted(2)
    found = diff_lines(old, new, NAMES)
    assert found.is_coarse
    assert patched(old, found.text) == new
    assert 0 <= searches[0].steps <= MOST_STEPS


def test_a_diff_that_is_too_long_is_cut_and_says_so() -> None:
    """An answer has a bound, whatever the pages."""
    found = diff_lines([], ["x" * 1000] * 5000, NAMES)
    assert found.is_truncated
    assert len(found.text) <= differences.MOST_CHARACTERS
