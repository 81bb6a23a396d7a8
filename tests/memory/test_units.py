"""The parts of a page that stay together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from looseleaf.memory.units import find_units, split_lines


def kinds(text: str) -> list[tuple[str, str]]:
    """Return the kind and the text of every unit."""
    lines = split_lines(text)
    return [(unit.kind, "".join(lines[unit.start : unit.end])) for unit in find_units(lines)]


def parents(text: str) -> list[str]:
    """Return the first line of every unit's parent."""
    lines = split_lines(text)
    units = find_units(lines)
    return [lines[units[unit.parent].start].strip() if unit.parent >= 0 else "" for unit in units]


def test_code_tables_and_comments_are_whole() -> None:
    """A heading inside of them is none."""
    text = "```\n# no heading\n\n```\n\n| a |\n|---|\n| b |\n<!-- one\n# two\n-->\n# real ##\n"
    assert [kind for kind, _text in kinds(text)] == ["fence", "table", "comment", "heading"]
    assert find_units(split_lines(text))[-1].title == "real"


def test_headings_are_those_of_the_original() -> None:
    """`#tag` and seven hashes are text; an empty heading is a heading."""
    text = "#tag\n####### seven\n## \n# one\n"
    assert [kind for kind, _text in kinds(text)][-2:] == ["heading", "heading"]
    assert "heading" not in [kind for kind, _text in kinds("#tag\n####### seven\n")]


def test_a_wrapped_sentence_stays_together() -> None:
    """A line below that begins a new fact does not belong to it."""
    wrapped = "Deploy from the main branch and\nnever on a Friday.\nAsk first.\n"
    assert kinds(wrapped) == [
        ("paragraph", "Deploy from the main branch and\nnever on a Friday.\n"),
        ("paragraph", "Ask first.\n"),
    ]
    item = "- one\n  goes on\n- two\n"
    assert kinds(item) == [("item", "- one\n  goes on\n"), ("item", "- two\n")]


def test_units_know_what_they_stand_under() -> None:
    """Headings, list items, and the sentence that introduces a list."""
    text = "# A\n## B\n- one\n  - two\n\nNever:\n\n- three\n## C\ntext\n"
    assert parents(text) == ["", "# A", "## B", "- one", "## B", "Never:", "# A", "## C"]


@given(st.text(alphabet="#-*|`~<> \nab1:\t!\r", max_size=300))
def test_units_are_a_partition_of_the_lines(text: str) -> None:
    """Every line that is not blank is in exactly one unit, and a parent comes first."""
    lines = split_lines(text)
    assert "".join(lines) == text
    units = find_units(lines)
    numbers = [number for unit in units for number in range(unit.start, unit.end)]
    first = units[0].start if units else len(lines)
    assert numbers == list(range(first, len(lines)))
    assert not "".join(lines[:first]).strip()
    assert all(unit.parent < number for number, unit in enumerate(units))
