"""Figures and times as people read them, and found words marked."""

from __future__ import annotations

import pytest

from looseleaf.web.admin.templating import (
    format_age,
    format_count,
    format_date,
    format_duration,
    highlight,
)

AGES = [
    (0, "just now"),
    (40, "40 seconds ago"),
    (60, "1 minute ago"),
    (7200, "2 hours ago"),
    (86_400 * 3, "3 days ago"),
    (86_400 * 70, "2 months ago"),
    (86_400 * 900, "2 years ago"),
]


@pytest.mark.parametrize(("seconds", "text"), AGES)
def test_an_age_is_told_in_its_largest_unit(seconds: float, text: str) -> None:
    """Rounded down."""
    assert format_age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.4, "400 ms"),
        (1.25, "1.2 s"),
        (59.9, "59 s"),
        (61, "1 min 1 s"),
        (7260, "2 h 1 min"),
    ],
)
def test_a_duration_is_as_exact_as_people_need(seconds: float, text: str) -> None:
    """Rounded down from a minute on."""
    assert format_duration(seconds) == text


def test_figures_have_their_measure() -> None:
    """And separators."""
    assert format_count(1200, "word") == "1,200 words"
    assert format_date(0) == "1970-01-01 00:00 UTC"


def test_found_words_are_marked_and_all_is_escaped() -> None:
    """Whatever their case."""
    assert highlight("<b> Upload", "upload") == "&lt;b&gt; <mark>Upload</mark>"
    assert highlight("a <i> b", "<I>") == "a <mark>&lt;i&gt;</mark> b"
