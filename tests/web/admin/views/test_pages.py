"""Pages by layer, and one page as people read it."""

from __future__ import annotations

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

READ = "/admin/agents/ada/pages/agent/MEMORY.md"


def test_pages_are_listed_by_layer(admin_site: Site) -> None:
    """With what makes each of them special."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get("/admin/agents/ada/pages").text
    order = ["SOUL.md", "MEMORY.md", "USER.md", "SITE.md", "RULES.md"]
    places = [text.index(f"{name}</a>") for name in order]
    assert places == sorted(places)
    assert "generated" in text
    assert "core page" in text


def test_a_page_answers_what_who_and_what_for(admin_site: Site) -> None:
    """What it is, who changed it last, and what the agent makes of it."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get(READ).text
    assert "injected in every mode" in text
    assert "changed <time" in text
    assert "by operator" in text
    assert "Its place in the prompt" in text
    assert "of 8,192 bytes" in text


def test_hidden_characters_are_reported(admin_site: Site) -> None:
    """Above the page, and in it by name."""
    admin_site.run(
        "datamachine/append-agent-file", file="MEMORY.md", agent="ada", content="a\u202eb"
    )
    browser, _csrf = admin_site.sign_in()
    text = browser.get(READ).text
    assert "a hidden character, the first is U+202E" in text
    assert '<mark class="hidden-character">U+202E</mark>' in text


def test_the_keyboard_reaches_everything(admin_site: Site, open_tab: OpenTab) -> None:
    """Shortcuts lead from page to page, and the help sheet lists them."""
    page = open_tab(admin_site).open("/admin")
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Search pages, journal").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "Ada"
    page.keyboard.press("Enter")
    page.wait_for_url("**/agents/ada/pages")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{READ}")
    page.keyboard.press("e")
    page.wait_for_url("**/edit/agent/MEMORY.md")
    page.keyboard.press("h")
    page.wait_for_url("**/history/agent/MEMORY.md")
    page.keyboard.press("/")
    page.keyboard.type("uploads")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=uploads")
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/admin")
