"""Memory is untrusted: whatever a page says, its HTML runs nothing and loads nothing."""

from __future__ import annotations

import re

import pytest

from looseleaf.web.admin.markdown import render
from tests.web.admin.hostile import HOSTILE

ELEMENTS = {
    "p",
    "a",
    "em",
    "strong",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "h1",
    "h2",
    "span",
    "mark",
    "div",
    "s",
}

OF_TABLES = {"tabindex", "role", "aria-label"}


def shown(text: str) -> str:
    return render(text, lambda file: f"/pages/{file}")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    """No element but those of Markdown, no attribute that acts, no address but of the web."""
    html = shown(text)
    elements = set(re.findall(r"<([a-z0-9]+)", html))
    assert elements <= ELEMENTS
    attributes = set(re.findall(r"<[a-z0-9]+((?: [a-z-]+=\"[^\"]*\")*)", html))
    names = {name for attribute in attributes for name in re.findall(r" ([a-z-]+)=", attribute)}
    assert names <= {"href", "rel", "class", "id", "start", "dir", *OF_TABLES}
    for address in re.findall(r'href="([^"]*)"', html):
        assert address.startswith(("http://", "https://", "mailto:", "/pages/"))


def test_a_link_says_where_it_leads() -> None:
    """Its text could name another place."""
    html = shown("[your bank](https://evil.example/login)")
    assert '<a href="https://evil.example/login" rel="noopener noreferrer nofollow">' in html
    assert "(evil.example)" in html


def test_a_link_to_a_page_stays_inside() -> None:
    """By the address of that page."""
    assert '<a href="/pages/SOUL.md"' in shown("[who](SOUL.md)")


def test_an_image_is_named_and_not_loaded() -> None:
    """A request for it would tell its owner who reads."""
    html = shown("![logo](https://evil.example/x.png)")
    assert "<img" not in html
    assert "Image: logo" in html
    assert "https://evil.example/x.png" in html


def test_hidden_characters_are_named() -> None:
    """None is dropped in silence."""
    html = shown("be\u200bware \u202eright")
    assert html.count('<mark class="hidden-character">') == 2
    assert "U+200B" in html


def test_a_page_looks_as_written() -> None:
    """Headings with anchors, lists, tables and code."""
    html = shown("# One\n\n## Two words\n- a\n\n| a |\n|---|\n| b |\n\n`x < y`\n")
    assert '<h2 id="section-2-two-words" dir="auto">Two words</h2>' in html
    assert '<td dir="auto">b</td>' in html
    assert '<div class="wide-table" tabindex="0" role="group" aria-label="Table">' in html
    assert "<code>x &lt; y</code>" in html
