"""The history of a page: what each version changed, and the way back."""

from __future__ import annotations

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

HISTORY = "/admin/agents/ada/history/agent/MEMORY.md"


def memory(site: Site) -> str:
    return str(site.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["content"])


def test_the_words_that_changed_are_marked(admin_site: Site) -> None:
    """Between a version and the one before."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get(f"{HISTORY}?revision=4").text
    assert "<del>in progress</del>" in text
    assert "<ins>done</ins>" in text


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_version_is_found_and_restored(
    admin_site: Site, open_tab: OpenTab, *, has_scripts: bool
) -> None:
    """By the slider, which works with the keyboard; restoring it is a version, too."""
    page = open_tab(admin_site, java_script_enabled=has_scripts).open(HISTORY)
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    if not has_scripts:
        page.get_by_role("button", name="Show").click()
    page.locator("#version strong", has_text="Revision 2").wait_for()
    page.get_by_role("button", name="Restore this version").click()
    page.wait_for_url("**/pages/agent/MEMORY.md")
    assert "again, as revision 5" in page.locator(".note.good").inner_text()
    assert "ID 14" not in memory(admin_site)
    assert len(admin_site.run("looseleaf/page-history", file="MEMORY.md", agent="ada")) == 5


def test_a_version_is_compared_with_now(admin_site: Site) -> None:
    """Or shown whole."""
    browser, _csrf = admin_site.sign_in()
    compared = browser.get(f"{HISTORY}?revision=2&against=present").text
    assert "From revision 2 to now" in compared
    whole = browser.get(f"{HISTORY}?revision=2&show=text").text
    assert '<li dir="auto">Content calendar migration: in progress</li>' in whole


def test_restoring_what_was_changed_meanwhile_is_refused(admin_site: Site) -> None:
    """The form names the version that its reader saw."""
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "revision": "2", "version": "0" * 64}
    before = memory(admin_site)
    answer = browser.post(HISTORY, data=form)
    assert answer.status_code == 409
    assert 'role="alert"' in answer.text
    assert memory(admin_site) == before
