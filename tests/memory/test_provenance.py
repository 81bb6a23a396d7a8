"""The words of provenance: stored, documented, and stated only by those who may."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.memory.provenance import (
    ACTIVITY_KINDS,
    ACTOR_KINDS,
    ORIGINS,
    Activity,
    Provenance,
    default_origin_of,
    is_activity_id,
    list_stated_origins,
)
from looseleaf.values import field_names

HISTORY = Path(__file__).parents[2] / "docs" / "history.md"


def test_the_words_are_those_that_are_stored() -> None:
    """Lines of the history and rows of the audit hold them, so none of them ever changes."""
    assert ACTOR_KINDS == ("person", "agent", "task", "import", "outside")
    assert ACTIVITY_KINDS == ("session", "job", "request")
    assert ORIGINS == ("user", "agent", "tool", "import", "system")


def test_every_word_is_documented() -> None:
    """In the table of docs/history.md, below its field."""
    lines = HISTORY.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    words: dict[str, list[str]] = {}
    field = ""
    for first, word, _meaning in (row for row in rows if len(row) == 3):
        field = first or field
        words.setdefault(field.strip("`"), []).append(word.strip("`"))
    assert words["actor_kind"] == list(ACTOR_KINDS)
    assert words["activity"] == list(ACTIVITY_KINDS)
    assert words["origin"] == list(ORIGINS)
    assert set(field_names(Provenance)) <= words.keys()


def test_nothing_is_claimed_that_nobody_said() -> None:
    """A provenance without words is unknown, not a person's."""
    unknown = Provenance()
    assert (unknown.actor_kind, unknown.origin, unknown.activity) == ("", "", Activity())


def test_only_people_state_that_they_import() -> None:
    """And nobody states that Looseleaf made it."""
    assert list_stated_origins("agent") == ("user", "agent", "tool")
    assert list_stated_origins("person") == ("user", "agent", "tool", "import")
    assert (default_origin_of("agent"), default_origin_of("person")) == ("agent", "user")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("17", True),
        ("a" * 200, True),
        ("0af7651916cd43dd-b7ad.x/y:z", True),
        ("", False),
        ("a" * 201, False),
        ("two words", False),
        ("line\nend", False),
        ("nul\0", False),
        ("é", False),
        ("\x7f", False),
    ],
)
def test_an_id_from_outside_is_short_and_visible(text: str, *, is_one: bool) -> None:
    """It goes into headers, lines and tables."""
    assert is_activity_id(text) is is_one
