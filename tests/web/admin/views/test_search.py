"""One box finds pages, journals and conversations."""

from __future__ import annotations

from tests.web.fixtures import Opens, Site


def test_words_are_found_in_pages_and_journal(opens: Opens) -> None:
    """Marked, with the section and a link to the page."""
    site = opens(daily_memory_enabled=True)
    site.run("memory_long_term_add", content="- Uploads fail", agent="ada")
    site.run("memory_short_term_add", content="- Fixed the UPLOAD", date="2026-04-17", agent="ada")
    browser, _csrf = site.sign_in()
    text = browser.get("/admin/search?q=upload").text
    assert "<mark>Upload</mark>s fail" in text
    assert "Fixed the <mark>UPLOAD</mark>" in text
    assert "/admin/agents/ada/pages/agent/daily/2026/04/17.md" in text


def test_conversations_are_found(opens: Opens) -> None:
    """Those of the one who is signed in."""
    site = opens(default_model="echo")
    browser, csrf = site.sign_in()
    headers = {"x-csrf-token": csrf}
    body = {"message": "about the zebra", "agent": "ada"}
    answer = browser.post("/datamachine/v1/chat", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert "<mark>zebra</mark>" in browser.get("/admin/search?q=zebra").text


def test_nothing_found_says_so(admin_site: Site) -> None:
    """With what was looked for."""
    browser, _csrf = admin_site.sign_in()
    assert "Nothing holds “unheard-of”." in browser.get("/admin/search?q=unheard-of").text
    assert "Type a word" in browser.get("/admin/search?q=").text


def test_what_one_may_not_read_is_not_found(admin_site: Site) -> None:
    """The search runs with the rights of the one who asks."""
    admin_site.user("vera")
    browser, _csrf = admin_site.sign_in("vera")
    assert "--allow-root" not in browser.get("/admin/search?q=allow-root").text
