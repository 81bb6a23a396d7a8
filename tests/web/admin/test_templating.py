"""Figures and times as people read them, and found words marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import looseleaf
from looseleaf.times import parse_time
from looseleaf.web.admin.templating import (
    describe_moment,
    describe_time,
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


TEMPLATES = sorted((Path(looseleaf.__file__).parent).rglob("templates/**/*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_times_and_texts_have_one_form(path: Path) -> None:
    """Times are written by two filters alone, and fields of text take any direction."""
    text = path.read_text()
    assert not re.findall(r"\|\s*(?:ago|date)\b|\[:1[06]\]|<time\b", text)
    assert not [tag for tag in re.findall(r"<textarea[^>]*>", text) if 'dir="auto"' not in tag]


def test_a_time_says_how_long_ago_it_was() -> None:
    """With the time itself behind it, from seconds or from ISO 8601."""
    html = '<time datetime="2026-04-17T09:30:00Z" title="2026-04-17 09:30 UTC">{}</time>'
    seconds = parse_time("2026-04-17T09:30:00Z")
    assert describe_time(seconds, seconds + 120) == html.format("2 minutes ago")
    assert describe_moment("2026-04-17T09:30:00Z") == html.format("2026-04-17 09:30 UTC")
