"""Pages by layer, and one page as people read it."""

from __future__ import annotations

import pytest

from looseleaf.web.admin.views import pages
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


def test_a_long_page_is_shown_in_parts(admin_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the part is read through and sent, and the parts together are the whole text."""
    monkeypatch.setattr(pages, "MOST_CHARACTERS", 100)
    monkeypatch.setattr(pages, "_MOST_COUNTED", 100)
    content = "".join(f"line {number:03}\n" for number in range(25)) + "a\u202eb"
    place = {"file": "long.md", "agent": "ada"}
    admin_site.run("datamachine/write-agent-file", **place, content=content)
    browser, _csrf = admin_site.sign_in()
    address = "/admin/agents/ada/pages/agent/long.md"
    texts = [browser.get(f"{address}?part={number}").text for number in (1, 2, 3)]
    shown = [text.partition("<pre>")[2].partition("</pre>")[0] for text in texts]
    assert "".join(shown) == content
    assert "Part 2 of 3, of a text of 228 characters." in texts[1]
    assert ["?part=1" in text for text in texts] == [False, True, False]
    assert ["?part=3" in text for text in texts] == [False, True, False]
    assert ["U+202E" in text for text in texts] == [False, False, True]
    assert "about 52 words" in texts[0]
    for number in ("0", "4", "-1", "x", "9" * 5_000):
        text = browser.get(f"{address}?part={number}").text
        assert text.partition("<pre>")[2].startswith("line 000")
    version = f"{address.replace('/pages/', '/history/')}?revision=1&show=text"
    assert browser.get(f"{version}&part=2").text.count("line 015") == 1


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


NOTES = "/admin/agents/ada/pages/agent/notes.md"


def test_a_page_is_renamed_and_its_selection_follows(admin_site: Site, open_tab: OpenTab) -> None:
    """In the browser; a name that is taken is refused, and what was typed stays."""
    page = open_tab(admin_site).open("/admin/agents/ada/pages/agent/content-strategy.md")
    page.get_by_label("Name, with its folder").fill("MEMORY.md")
    page.get_by_role("button", name="Rename or move").click()
    page.locator(".note.bad", has_text="MEMORY.md").wait_for()
    assert page.get_by_label("Name, with its folder").input_value() == "MEMORY.md"
    page.get_by_label("Name, with its folder").fill("plans/content")
    page.get_by_role("button", name="Rename or move").click()
    page.locator(".note.good", has_text="content-strategy.md is plans/content.md now").wait_for()
    assert "Followed by the pipeline Daily Music News." in page.locator(".note.good").inner_text()
    pipeline = admin_site.run("looseleaf/show-pipeline", pipeline=1)
    assert pipeline["memory_files"] == ["plans/content.md"]
    page.goto(f"{admin_site.base}/admin/agents/ada/history/agent/plans/content.md")
    page.get_by_role("link", name="Versions of content-strategy.md").click()
    page.wait_for_url("**/history/agent/content-strategy.md")


def test_a_deleted_page_can_be_brought_back(admin_site: Site, open_tab: OpenTab) -> None:
    """The page after the deletion shows its last version, with the button that restores it."""
    admin_site.run("datamachine/write-agent-file", file="notes.md", content="Once.\n", agent="ada")
    page = open_tab(admin_site).open(NOTES)
    page.get_by_role("button", name="Delete the page").click()
    page.locator(".note.good", has_text="notes.md is deleted").wait_for()
    assert "notes.md" not in [
        item["file"] for item in admin_site.run("datamachine/list-agent-files", agent="ada")
    ]
    page.get_by_role("button", name="Restore this version").click()
    page.wait_for_url(f"**{NOTES}")
    assert "Once." in page.locator("#text").inner_text()


def test_a_core_page_keeps_its_name(shown_site: Site) -> None:
    """No button is shown that would be refused."""
    browser, _csrf = shown_site.sign_in()
    assert "Rename or move" not in browser.get(READ).text
    assert "Rename or move" in browser.get(f"{READ[:-9]}content-strategy.md").text


def test_a_version_of_a_job_leads_to_the_job(shown_site: Site) -> None:
    """In the history of the page, and beside the page."""
    browser, _csrf = shown_site.sign_in()
    for kind in ("pages", "history"):
        text = browser.get(READ.replace("/pages/", f"/{kind}/"))
        assert '<a href="/admin/jobs/1">job 1</a>' in text.text, kind
