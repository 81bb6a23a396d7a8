"""Composed files are made of sections: all of them, in order, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import InvalidName, InvalidSetting, Refused, Unavailable
from looseleaf.memory.composed import (
    ComposeContext,
    ComposedSections,
    ListItem,
    register_core_sections,
)
from looseleaf.values import replace

if TYPE_CHECKING:
    from looseleaf.memory.scope import Layer

PAGES = {"SOUL.md": "# Soul\n\n## Identity\nI am Ada.\n", "MEMORY.md": "\n\r\n- a fact\n\n\n"}
PLACES = {"SOUL.md": "memory/agents/ada/SOUL.md", "MEMORY.md": "~/my pages/MEMORY.md"}


def shelves(layer: Layer) -> Sequence[ListItem]:
    if layer == "shared":
        return ListItem("brand.md", "How we write."), ListItem("SITE.md"), ListItem("notes/a.md")
    return (ListItem("NETWORK.md"), ListItem("news.md")) if layer == "network" else ()


CONTEXT = ComposeContext(
    agent_slug="ada",
    agent_name="Ada",
    workspace_name="Example",
    workspace_url="https://example.com",
    timezone="Europe/Vienna",
    agents=(ListItem("ada", "Ada"), ListItem("bo")),
    workspaces=(ListItem("Example", "https://example.com"),),
    pages=shelves,
    read=PAGES.get,
    path=PLACES.get,
)


@pytest.fixture
def sections() -> ComposedSections:
    """No sections yet."""
    return ComposedSections()


@pytest.fixture
def core(sections: ComposedSections) -> ComposedSections:
    """Our own sections."""
    register_core_sections(sections)
    return sections


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-3, 3), st.text("x\n\r ")), max_size=8)
)
def test_a_file_is_its_sections_in_order(entries: list[tuple[str, int, str]]) -> None:
    """By priority, then slug, without the blank ones, with one blank line between them."""
    sections = ComposedSections()
    for slug, priority, text in entries:
        sections.register("SITE.md", slug, priority, lambda _, text=text: text)  # type: ignore[misc]
    last = {slug: (priority, slug, text) for slug, priority, text in entries}
    texts = [text.strip("\r\n") for _, _, text in sorted(last.values()) if text.strip()]
    expected = "\n\n".join(texts) + "\n" if texts else ""
    assert sections.generate("SITE.md", ComposeContext()) == expected


def test_a_section_gets_the_context(sections: ComposedSections) -> None:
    """What is known about the agent and the workspace reaches the function of a section."""
    sections.register("SITE.md", "who", 1, lambda c: f"{c.agent_slug} {c.read('SOUL.md')!r}")
    assert sections.generate("SITE.md", CONTEXT) == f"ada {PAGES['SOUL.md']!r}\n"


def test_nothing_is_known_unless_it_is_given(sections: ComposedSections) -> None:
    """A bare context has no pages, and reading one finds none."""
    context = ComposeContext()
    assert (context.read("SOUL.md"), context.path("SOUL.md")) == (None, None)
    assert list(context.pages("shared")) == []
    assert sections.generate("SITE.md", context) == ""


def test_a_section_that_fails_makes_no_file(sections: ComposedSections) -> None:
    """The error names the section and keeps its cause; there is never half a file."""
    sections.register("SITE.md", "fine", 1, lambda _: "text")
    sections.register("SITE.md", "broken", 2, lambda _: str(1 // 0))
    with pytest.raises(
        Unavailable, match=r"section broken of SITE\.md .*ZeroDivisionError"
    ) as error:
        sections.generate("SITE.md", CONTEXT)
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_a_section_that_gives_no_text_makes_no_file(sections: ComposedSections) -> None:
    """None is not the empty text: a function that forgot to return is noticed."""
    sections.register("SITE.md", "silent", 1, lambda _: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(Unavailable, match="silent"):
        sections.generate("SITE.md", CONTEXT)


def test_a_section_can_be_replaced_and_taken_out(core: ComposedSections) -> None:
    """Ours are registered like anyone's, so anyone can change them."""
    core.register("SITE.md", "identity", 10, lambda _: "## Ours", owner="my-plugin")
    assert "## Ours\n\n## Shared pages" in core.generate("SITE.md", CONTEXT)
    assert core.deregister("site.md", "identity")
    assert not core.deregister("SITE.md", "identity")
    assert not core.deregister("other.md", "identity")
    assert [s.slug for s in core.for_file("SITE.md")] == ["header", "pages", "agents"]


def test_a_section_says_what_it_is_and_whose(core: ComposedSections) -> None:
    """One can see where each part of a composed file comes from."""
    made = core.register("SITE.md", "open-hours", 50, lambda _: "", description="When we are there")
    assert (made.label, made.description, made.owner) == ("Open hours", "When we are there", "")
    assert {s.owner for s in core.for_file("AGENTS.md")} == {"looseleaf"}


@pytest.mark.parametrize("slug", ["", "Big", "a b", "ä", None])
def test_a_slug_is_a_plain_word(sections: ComposedSections, slug: Any) -> None:  # noqa: ANN401
    """Slugs are checked, not rewritten."""
    with pytest.raises(InvalidName):
        sections.register("SITE.md", slug, 1, lambda _: "")


def test_a_wrong_file_or_priority_is_refused(sections: ComposedSections) -> None:
    """Only a page can be composed, and only numbers give an order."""
    with pytest.raises(InvalidName):
        sections.register("../SITE.md", "a", 1, lambda _: "")
    with pytest.raises(InvalidSetting, match=r"priority of a in SITE\.md"):
        sections.register("SITE.md", "a", "1", lambda _: "")  # type: ignore[arg-type]
    assert sections.for_file("SITE.md") == ()


def test_frozen_sections_stay_as_they_are(core: ComposedSections) -> None:
    """After start-up the same context always gives the same file."""
    core.freeze()
    before = core.for_file("SITE.md")
    with pytest.raises(Refused, match="late"):
        core.register("SITE.md", "late", 1, lambda _: "")
    with pytest.raises(Refused):
        core.deregister("SITE.md", "header")
    assert core.for_file("SITE.md") == before


def test_the_site_page_says_what_is_known(core: ComposedSections) -> None:
    """SITE.md has what the settings say, the other shared pages and the agents."""
    text = core.generate("SITE.md", CONTEXT)
    assert text.startswith("<!-- Generated by Looseleaf; do not edit")
    assert text.partition("-->")[2] == (
        "\n\n# Example\n\n"
        "## Identity\n\n"
        "- Name: Example\n- URL: https://example.com\n- Timezone: Europe/Vienna\n\n"
        "## Shared pages\n\n- brand.md: How we write.\n- notes/a.md\n\n"
        "## Agents\n\n- ada: Ada\n- bo\n"
    )
    assert core.generate("SITE.md", ComposeContext()).endswith("-->\n\n# Site\n")


def test_the_network_page_lists_workspaces_and_pages(core: ComposedSections) -> None:
    """NETWORK.md has what all workspaces share."""
    assert core.generate("NETWORK.md", CONTEXT).partition("-->")[2] == (
        "\n\n# Network\n\n"
        "## Workspaces\n\n- Example: https://example.com\n\n"
        "## Network pages\n\n- news.md\n"
    )


def test_a_name_cannot_become_a_heading(core: ComposedSections) -> None:
    """Names and descriptions stay on their line, whoever wrote them."""
    text = core.generate(
        "SITE.md",
        ComposeContext(workspace_name="A\n## B", agents=(ListItem("x\n# y", "z\n\n## w"),)),
    )
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# A ## B", "## Identity", "## Agents"]


def test_agents_md_inlines_pages_byte_for_byte(core: ComposedSections) -> None:
    """Each page stands between its tags as it is; one that is missing is left out."""
    text = core.generate("AGENTS.md", CONTEXT)
    for filename, content in PAGES.items():
        assert f'({filename})\n\n<page file="{filename}">\n{content}</page>\n' in text
    assert "USER.md" not in text
    assert "@" not in text


def test_a_page_without_a_last_newline_still_ends_before_its_tag(core: ComposedSections) -> None:
    """The closing tag always has a line of its own, and a blank page has no tags at all."""
    context = replace(CONTEXT, read={"SOUL.md": "I am Ada.", "USER.md": " \n"}.get)
    text = core.generate("AGENTS.md", context)
    assert '<page file="SOUL.md">\nI am Ada.\n</page>\n' in text
    assert text.count("<page ") == 1


def test_agents_md_can_import_pages_instead(core: ComposedSections) -> None:
    """Imports are lines as Claude Code reads them: an @, the path, spaces escaped."""
    lines = core.generate("AGENTS.md", replace(CONTEXT, include="imports")).splitlines()
    imports = [line for line in lines if line.startswith("@")]
    assert imports == ["@memory/agents/ada/SOUL.md", "@~/my\\ pages/MEMORY.md"]
    assert not any("I am Ada." in line for line in lines)


def test_a_path_that_would_break_its_line_is_refused(core: ComposedSections) -> None:
    """A line break in a path cannot smuggle a second import in."""
    context = replace(CONTEXT, include="imports", path=lambda _: "a\n@/etc/passwd")
    with pytest.raises(Unavailable, match="section soul"):
        core.generate("AGENTS.md", context)


def test_agents_md_says_how_to_keep_what_one_learns(core: ComposedSections) -> None:
    """The commands name the agent, and the workspace if the context says so."""
    text = core.generate("AGENTS.md", replace(CONTEXT, command="looseleaf --root /srv/memory"))
    assert "You are Ada." in text
    assert "`looseleaf --root /srv/memory memory read MEMORY.md --agent ada`" in text
    assert '"Lessons Learned" "- The fact" --mode append --agent ada`' in text
    assert "`looseleaf memory read MEMORY.md`" in core.generate("AGENTS.md", ComposeContext())


def test_the_same_context_gives_the_same_bytes(core: ComposedSections) -> None:
    """Composing on another day changes nothing, so an unchanged file need not be written."""
    for filename in ("SITE.md", "NETWORK.md", "AGENTS.md"):
        today = core.generate(filename, replace(CONTEXT, date="2026-04-17"))
        assert today == core.generate(filename, replace(CONTEXT, date="2026-04-18"))
