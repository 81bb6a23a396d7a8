"""Every page can be used by everyone: axe-core finds nothing, and a phone is wide enough."""

from __future__ import annotations

from tests.conftest import FULL
from tests.web.admin.accessibility import LOOKS, find_faults
from tests.web.admin.fixtures import OpenTab
from tests.web.admin.pages import ADDRESSES
from tests.web.fixtures import Site

BROKEN = """<html><body><main><h1>a</h1><h3>b</h3><input><button></button><img src="data:,">
<div id="c">faint</div><div id="w">wide</div></main></body></html>"""
RULES = ("html-has-lang", "document-title", "label", "button-name", "image-alt", "color-contrast")
OTHERS = ("/docs", "/admin/agents/nobody/pages", "/admin/agents/ada/edit/agent/MEMORY.md")


def test_no_page_has_a_fault(shown_site: Site, open_tab: OpenTab, seed: int) -> None:
    """In light, dark or on a phone, by turns, and in `full` in all; not one finding."""
    tabs = {look: open_tab(shown_site, **options) for look, options in LOOKS.items()}
    looks = list(LOOKS)
    faults = {}
    for number, path in enumerate((*ADDRESSES.values(), *OTHERS, "/login"), seed):
        for look in looks if FULL else [looks[number % len(looks)]]:
            if path == "/login":  # whoever has signed in is led on from there
                tabs[look].page.context.clear_cookies()
            if problems := find_faults(tabs[look].open(path)):
                faults[f"{path}, {look}"] = problems
    assert not faults


def test_the_checker_finds_faults(shown_site: Site, open_tab: OpenTab) -> None:
    """It is the real one, and it runs."""
    page = open_tab(shown_site).page
    page.set_content(BROKEN)
    page.evaluate("document.getElementById('c').style.color = '#bbb'")
    page.evaluate("document.getElementById('w').style.width = '3000px'")
    faults = "\n".join(find_faults(page))
    for rule in (*RULES, "wider than the window"):
        assert rule in faults


def test_the_focus_is_seen_and_the_content_can_be_reached(
    shown_site: Site, open_tab: OpenTab
) -> None:
    """The first stop of the keyboard leads past the navigation."""
    page = open_tab(shown_site).open(ADDRESSES["page"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
