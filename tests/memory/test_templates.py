"""What a new page starts with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import Invalid, InvalidName, Refused
from looseleaf.memory.sections import list_sections
from looseleaf.memory.templates import (
    CORE_STARTERS,
    PageStarters,
    TemplateContext,
    find_starter,
    register_core_starters,
)

NOTHING_KNOWN = TemplateContext()
ALL_KNOWN = TemplateContext("Ada", "Example", "Bo", "2026-04-17")
SECTIONS = {
    "SOUL.md": ["Identity", "Voice and Tone", "Rules", "Context"],
    "USER.md": ["About", "Preferences", "Working Patterns"],
    "MEMORY.md": ["State", "Site Knowledge", "Lessons Learned"],
    "RULES.md": ["General", "Safety", "Content"],
}


def sections(text: str | None) -> list[str]:
    assert text is not None
    return [section.name for section in list_sections(text)]


def visible(text: str | None) -> list[str]:
    """Return the lines that are neither a heading, nor a hint, nor blank."""
    assert text is not None
    return [line for line in text.splitlines() if line and not line.startswith(("#", "<!-- "))]


@pytest.mark.parametrize("filename", SECTIONS)
def test_a_core_page_starts_with_the_sections_of_the_seeds(filename: str) -> None:
    """The headings are there to fill in, and all the rest is hints in comments."""
    text = find_starter(filename, NOTHING_KNOWN)
    assert sections(text) == SECTIONS[filename]
    assert visible(text) == []
    assert text is not None
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert "\n\n\n" not in text


@pytest.mark.parametrize("filename", SECTIONS)
def test_a_starter_is_short(filename: str) -> None:
    """Hints cost a reader little: well below a hundred words a page."""
    assert len((find_starter(filename, ALL_KNOWN) or "").split()) < 100


def test_what_is_known_is_written_down() -> None:
    """Names and the date save the curator the first lines."""
    assert visible(find_starter("SOUL.md", ALL_KNOWN)) == ["I am Ada, the agent of Example."]
    assert visible(find_starter("USER.md", ALL_KNOWN)) == ["- Name: Bo"]
    assert visible(find_starter("MEMORY.md", ALL_KNOWN)) == ["- Memory started (2026-04-17)"]
    assert (find_starter("RULES.md", ALL_KNOWN) or "").startswith("# Rules of Example\n")
    assert visible(find_starter("SOUL.md", TemplateContext("Ada"))) == ["I am Ada."]


@given(st.builds(TemplateContext, st.text(), st.text(), st.text(), st.text()))
def test_no_name_makes_a_section(context: TemplateContext) -> None:
    """A name with line breaks stays on its line, so the page has the sections it should have."""
    for filename, expected in SECTIONS.items():
        assert sections(find_starter(filename, context)) == expected


def test_a_daily_page_starts_with_its_date() -> None:
    """The date comes from the page's own name, then a blank line."""
    assert find_starter("daily/2026/04/17.md", NOTHING_KNOWN) == "# 2026-04-17\n\n"


@pytest.mark.parametrize(
    "filename",
    [
        *("notes.md", "soul.md", "daily/17.md", "daily/2026/4/17.md", "daily/2026/04/17.txt"),
        *("2026/04/17.md", "daily/2026/04/xx.md", "daily/2026/04/١٧.md", "daily/a/2026/04/17.md"),
    ],
)
def test_other_pages_start_empty_handed(filename: str) -> None:
    """There is no starter for a page nobody knows."""
    assert find_starter(filename, ALL_KNOWN) is None


def test_the_first_starter_that_answers_wins() -> None:
    """A plugin overrides one page and leaves the others to those after it."""

    def house_style(filename: str, context: TemplateContext) -> str | None:
        return f"# {context.agent_name}\n" if filename in ("SOUL.md", "brand.md") else None

    starters = (house_style, *CORE_STARTERS)
    assert find_starter("SOUL.md", ALL_KNOWN, starters) == "# Ada\n"
    assert find_starter("brand.md", ALL_KNOWN, starters) == "# Ada\n"
    assert find_starter("USER.md", ALL_KNOWN, starters) == find_starter("USER.md", ALL_KNOWN)
    assert find_starter("other.md", ALL_KNOWN, starters) is None
    assert find_starter("SOUL.md", ALL_KNOWN, ()) is None


def nothing(_filename: str, _context: TemplateContext) -> str | None:
    return None


def test_starters_are_asked_by_priority() -> None:
    """Ours has 50; who wants to be asked before it takes a lower number."""
    starters = PageStarters()
    starters.register("late", 60, lambda *_: "late")
    register_core_starters(starters)
    starters.register("early", 40, lambda name, _: "early" if name == "SOUL.md" else None)
    assert [starter.name for starter in starters.all()] == ["early", "core", "late"]
    made = [find_starter(name, ALL_KNOWN, starters.functions) for name in ("SOUL.md", "other.md")]
    assert made == ["early", "late"]
    assert starters.deregister("early")
    assert not starters.deregister("early")
    assert "I am Ada" in (find_starter("SOUL.md", ALL_KNOWN, starters.functions) or "")


def test_a_starter_that_cannot_be_asked_is_refused() -> None:
    """By its name, its number, its function, or because it comes too late."""
    starters = PageStarters()
    starters.register("twice", 1, nothing)
    with pytest.raises(Invalid, match="two starters of the name twice"):
        starters.register("twice", 2, nothing)
    with pytest.raises(InvalidName):
        starters.register("No Name", 1, nothing)
    with pytest.raises(Invalid, match="a whole number and a function"):
        starters.register("text", 1, "text")  # type: ignore[arg-type]
    starters.freeze()
    with pytest.raises(Refused, match="too late"):
        starters.register("late", 1, nothing)
