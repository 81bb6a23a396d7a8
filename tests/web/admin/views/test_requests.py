"""The request log: the last requests, refused ones and slow ones apart, and no secret in it."""

from __future__ import annotations

from looseleaf.web.http.request_log import RecentRequests, RequestIds
from tests.web.fixtures import Site

REQUESTS = "/admin/requests"


def test_the_last_requests_are_shown(site: Site) -> None:
    """The newest first, with their status; queries and bodies are not kept."""
    browser, _csrf = site.sign_in()
    browser.get("/static/frame.js")
    browser.get("/admin/search?q=confidential")
    browser.get("/admin/agents/nobody/pages")
    text = browser.get(REQUESTS).text
    table = text.partition("<tbody>")[2]
    assert table.index("/admin/agents/nobody/pages") < table.index("/admin/search")
    assert "refused, 404" in text
    assert "confidential" not in text
    assert "/static/" not in table
    problems = browser.get(f"{REQUESTS}?show=problems").text
    assert "/admin/agents/nobody/pages" in problems
    assert "</span> /admin/search</td>" not in problems


def test_nothing_slow_is_said(site: Site) -> None:
    """An empty list says so."""
    browser, _csrf = site.sign_in()
    slow = browser.get(f"{REQUESTS}?show=slow").text
    assert "<table" in slow or "No request matches." in slow


def test_the_log_is_bounded() -> None:
    """The oldest entry makes room."""
    recent, ids = RecentRequests(2), RequestIds()
    for number in range(3):
        scope = {"method": "GET", "path": f"/{number}"}
        ids.identify(scope, {})
        recent.add(scope, 200, 0.1)
    assert [entry.path for entry in recent.newest_first()] == ["/2", "/1"]


def test_the_log_needs_its_right(admin_site: Site) -> None:
    """That of reading logs."""
    browser, _csrf = admin_site.sign_in("eve")
    assert browser.get(REQUESTS).status_code == 403
