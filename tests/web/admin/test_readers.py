"""The site knows its reader: the menu and the buttons are what this person may do, and no more."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin

import pytest

from looseleaf.plugins.admin_pages import GROUPS, AdminPages
from looseleaf.plugins.features import call_features
from looseleaf.web.admin.opened_forms import list_forms
from looseleaf.web.admin.registration import register_pages
from looseleaf.web.http.request_log import RecentRequests
from tests.web.admin.pages import fill, find_target
from tests.web.fixtures import Opens, Site

MOST_PAGES = 120
PEOPLE = {
    "viewer": ("viewer", []),
    "operator": ("operator", ["chat"]),
    "nobody": ("", []),
}


def list_links(address: str, text: str) -> set[str]:
    """Return the pages of the site that a page links to, without what is behind ? and #."""
    links = re.findall(r'<a\b[^>]*href="([^"]+)"', text)
    targets = {urljoin(address, unescape(link)).partition("#")[0] for link in links}
    return {target.partition("?")[0] for target in targets if target.startswith("/admin")}


def read_refusals(site: Site) -> list[str]:
    """Return what the audit says was refused."""
    entries = site.run("looseleaf/list-audit", limit=200)
    return [
        f"{event['action']} {event['target']}"
        for event in (entry["event"] for entry in entries)
        if event["outcome"] == "refused"
    ]


@pytest.mark.parametrize("name", PEOPLE)
def test_no_link_and_no_button_is_refused(opens: Opens, name: str) -> None:
    """Every page that is linked opens, every button does something; the audit has no refusal."""
    role, capabilities = PEOPLE[name]
    site = opens()
    fill(site)
    site.user("reader", capabilities=capabilities)
    if role:
        site.run("looseleaf/grant-role", agent="ada", user="reader", role=role)
    browser, csrf = site.sign_in("reader")
    seen: set[str] = set()
    waiting, buttons = {"/admin"}, []
    while waiting and len(seen) < MOST_PAGES:
        address = min(waiting)
        waiting.remove(address)
        seen.add(address)
        answer = browser.get(address, follow_redirects=True)
        assert answer.status_code == 200, (address, answer.status_code)
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        waiting |= list_links(address, answer.text) - seen
        for form in list_forms(answer.text):
            hidden = {item.name: item.content for item in form.controls if item.kind == "hidden"}
            place = find_target(form.html, address)
            for pressed in form.buttons:
                fields = {**hidden, **form.fields, "csrf": csrf, pressed[0]: pressed[1]}
                if place != "/logout" and "multipart" not in form.html:
                    buttons.append((place, fields))
    assert read_refusals(site) == []
    for place, fields in buttons:
        answer = browser.post(place, data=fields)
        assert answer.status_code != 403, (place, fields)
    assert read_refusals(site) == []
    assert len(seen) > (5 if role else 1)


def test_the_menu_has_five_groups_and_names_each_need() -> None:
    """Every operation that an entry needs exists; no two entries of a group have one name."""
    pages = AdminPages()
    register_pages(pages, RecentRequests())
    call_features("register_admin_pages", pages=pages)
    assert len(GROUPS) == 5
    labels = [(page.group, page.label) for page in pages.all() if page.label]
    assert len(labels) == len(set(labels))
    assert {group for group, _ in labels} == set(GROUPS)


def test_the_menu_is_that_of_the_reader(opens: Opens) -> None:
    """A viewer has neither access nor settings; the administrator has all."""
    site = opens()
    site.user("eve")
    site.run("looseleaf/grant-role", agent="ada", user="eve", role="viewer")
    menus = []
    for user in ("eve", None):
        browser, _csrf = site.sign_in(user)
        menu = browser.get("/admin").text.partition('<nav class="side"')[2].partition("</nav>")[0]
        menus.append(re.findall(r'href="(/admin[^"]*)"', menu))
    assert "/admin/agents/ada/pages" in menus[0]
    for path in ("/admin/agents/ada/settings", "/admin/people", "/admin/audit", "/admin/backups"):
        assert path not in menus[0]
        assert path in menus[1]
