"""The journal: a year as a map, a day as text, added to and searched, also without scripts."""

from __future__ import annotations

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.admin.hostile import EVERYTHING, HOSTILE
from tests.web.fixtures import Opens, Site

JOURNAL = "/admin/agents/ada/journal"
DAY = "2026-04-17"


@pytest.fixture
def diary(opens: Opens) -> Site:
    """Serve a workspace whose journal is on and has some days."""
    site = opens(daily_memory_enabled=True)
    for date, text in (
        (DAY, "## Deploy\n- Fixed the UPLOAD\n- It was the proxy"),
        ("2026-04-16", "- Upload fails"),
        ("2025-12-31", "- An old upload"),
    ):
        write(site, date, text)
    return site


def write(site: Site, date: str, content: str) -> None:
    site.run("datamachine/daily-memory-write", date=date, content=content, agent="ada")


def read(site: Site, date: str) -> str:
    day = site.run("datamachine/daily-memory-read", date=date, agent="ada")
    return str(day["content"])


def test_a_year_is_a_map_and_a_day_is_text(diary: Site) -> None:
    """The newest day is shown first; each day of the map leads to it, as does the list."""
    browser, _csrf = diary.sign_in()
    text = browser.get(JOURNAL).text
    assert "Friday, 17 April 2026" in text
    assert "Fixed the UPLOAD" in text
    assert text.count(f'href="{JOURNAL}?day=2026-04-16" tabindex="-1"') == 1
    assert 'aria-label="Thursday, 16 April 2026, ' in text
    assert "3 days written" in text
    assert "2 days with entries" in text
    year = browser.get(f"{JOURNAL}?year=2025").text
    assert "Wednesday, 31 December 2025" in year
    assert "An old upload" in year


def test_a_day_that_is_none_is_said(diary: Site) -> None:
    """In a sentence."""
    browser, _csrf = diary.sign_in()
    answer = browser.get(f"{JOURNAL}?day=2026-02-30")
    assert answer.status_code == 400
    assert "2026-02-30" in answer.text
    assert "Nothing is written for this day." in browser.get(f"{JOURNAL}?day=2026-02-28").text


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_line_is_added_to_a_day(diary: Site, open_tab: OpenTab, *, has_scripts: bool) -> None:
    """By keyboard; the day is shown with it, and the editor is one key away."""
    page = open_tab(diary, java_script_enabled=has_scripts).open(f"{JOURNAL}?day={DAY}")
    page.get_by_label("Add to this day").focus()
    page.keyboard.type("- Typed here")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".note.good").wait_for()
    assert page.url.endswith(f"{JOURNAL}?day={DAY}")
    assert read(diary, DAY).endswith("- It was the proxy\n- Typed here\n")
    if has_scripts:
        page.locator("body").press("e")
    else:
        page.get_by_role("link", name="Edit").click()
    page.wait_for_url("**/edit/agent/daily/2026/04/17.md")
    page.get_by_label("Text of daily/2026/04/17.md").fill("# Anew\n\nAll of it again, and more.\n")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/pages/agent/daily/2026/04/17.md")
    assert read(diary, DAY).startswith("# Anew")


def test_nothing_is_added_without_words(diary: Site) -> None:
    """And the day stays as it is."""
    browser, csrf = diary.sign_in()
    before = read(diary, DAY)
    answer = browser.post(JOURNAL, data={"csrf": csrf, "day": DAY, "content": " \r\n"})
    assert answer.status_code == 400
    assert "Write a line" in answer.text
    assert read(diary, DAY) == before


def test_a_search_marks_what_it_finds(diary: Site) -> None:
    """With the lines around it, newest first, and within a range of days."""
    browser, _csrf = diary.sign_in()
    text = browser.get(f"{JOURNAL}?q=upload").text
    assert "Fixed the <mark>UPLOAD</mark>\n- It was the proxy" in text
    assert text.index("17 April 2026") < text.index("16 April 2026") < text.index("December 2025")
    within = browser.get(f"{JOURNAL}?q=upload&since=2026-01-01&until=2026-04-16").text
    assert "16 April 2026" in within
    assert "17 April 2026" not in within
    assert "31 December 2025" not in within
    assert "No day holds “zebra”" in browser.get(f"{JOURNAL}?q=zebra").text
    assert 'role="alert"' in browser.get(f"{JOURNAL}?q=upload&since=2026-02-30").text


def test_a_search_follows_what_is_typed(diary: Site, open_tab: OpenTab) -> None:
    """And gives the calendar back if the words are taken out."""
    page = open_tab(diary).open(JOURNAL)
    page.get_by_label("Words in the journal").fill("proxy")
    page.locator("#matches mark", has_text="proxy").wait_for()
    assert page.locator(".heat").is_hidden()
    page.get_by_label("Words in the journal").fill("")
    page.locator(".heat").wait_for()
    assert page.locator("#matches mark").count() == 0


def test_a_journal_that_is_off_says_how_to_switch_it_on(opens: Opens, open_tab: OpenTab) -> None:
    """An administrator does it by a button, without JavaScript."""
    site = opens()
    page = open_tab(site, java_script_enabled=False).open(JOURNAL)
    assert "The journal is off." in page.locator("div.note.warn").inner_text()
    assert page.get_by_label("Add to this day").count() == 0
    page.get_by_role("button", name="Switch it on").click()
    page.get_by_label("Add to this day").fill("- First")
    page.get_by_role("button", name="Add", exact=True).click()
    assert page.locator("article").inner_text().endswith("First")


def test_who_may_not_switch_it_on_reads_how(opens: Opens) -> None:
    """The form is refused by the operation."""
    site = opens()
    site.user("vera")
    site.run("looseleaf/grant-role", user="vera", agent="ada", role="operator")
    browser, csrf = site.sign_in("vera")
    text = browser.get(JOURNAL).text
    assert "An administrator switches it on" in text
    assert "Switch it on</button>" not in text
    form = {"csrf": csrf, "action": "switch on"}
    assert browser.post(JOURNAL, data=form).status_code == 403
    assert not site.run("looseleaf/show-status")["journal"]


def test_hostile_days_are_text(diary: Site, open_tab: OpenTab) -> None:
    """In the day, and in what a search shows; the fixture fails at any dialog or request."""
    write(diary, "2026-04-18", EVERYTHING)
    tab = open_tab(diary)
    for path in (JOURNAL, f"{JOURNAL}?q=alert", f"{JOURNAL}?q={HOSTILE[1]}"):
        page = tab.open(path)
        assert page.locator("main img, main script, main iframe, main base").count() == 0
    assert page.locator("#matches mark").count() > 0
