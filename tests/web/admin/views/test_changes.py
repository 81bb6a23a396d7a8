"""A page that is open hears of changes elsewhere, within bounds."""

from __future__ import annotations

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

CHANGES = "/admin/changes/ada/agent/MEMORY.md"


def test_an_open_page_announces_a_change(admin_site: Site, open_tab: OpenTab) -> None:
    """Also one that was made in an editor, outside Looseleaf."""
    page = open_tab(admin_site).open("/admin/agents/ada/pages/agent/MEMORY.md")
    path = f"{admin_site.workspace.root}/agents/ada/MEMORY.md"
    with open(path, "a", encoding="utf-8") as file:
        file.write("- By hand\n")
    note = page.locator("#elsewhere", has_text="changed MEMORY.md")
    note.wait_for()
    note.get_by_role("link", name="Show the difference").click()
    page.locator("#version", has_text="By hand").wait_for()


def test_a_stream_tells_a_change_once_and_ends(admin_site: Site) -> None:
    """With who did it."""
    browser, _csrf = admin_site.sign_in()
    with browser.stream("GET", f"{CHANGES}?version=old") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        text = "".join(answer.iter_text())
    assert "event: changed" in text
    assert "operator changed MEMORY.md" in text


def test_a_stream_needs_the_right_to_read(admin_site: Site) -> None:
    """As the page does."""
    assert admin_site.client.get(CHANGES).status_code == 401
    admin_site.user("vera")
    browser, _csrf = admin_site.sign_in("vera")
    assert browser.get(CHANGES).status_code == 404
