"""The frame around every page: who gets in, what it shows, where it leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.plugins.admin_pages import AdminPages
from looseleaf.plugins.features import call_features
from looseleaf.web.admin.registration import register_pages
from looseleaf.web.admin.site import POLICY
from looseleaf.web.http.request_log import RecentRequests
from tests.web.admin.fixtures import OpenTab
from tests.web.admin.pages import ADDRESSES
from tests.web.fixtures import Opens, Site

EXAMPLE = Path(__file__).parents[2] / "plugins" / "example"


@pytest.mark.parametrize("path", ADDRESSES.values())
def test_a_page_asks_to_sign_in(shown_site: Site, path: str) -> None:
    """And leads back to itself afterwards."""
    answer = shown_site.client.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?next=/admin")


def test_the_bare_address_leads_to_the_site(site: Site) -> None:
    """So that what `serve` prints is enough."""
    assert site.client.get("/").headers["location"] == "/admin"


@pytest.mark.parametrize("path", ADDRESSES.values())
def test_a_page_is_shown_in_the_frame(shown_site: Site, path: str) -> None:
    """With the workspace, the user, the agents, and a strict policy."""
    browser, _csrf = shown_site.sign_in()
    answer = browser.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert "House" in answer.text
    assert "Sign out" in answer.text
    assert 'href="/admin/agents/wiki-builder/pages"' in answer.text
    assert " style=" not in answer.text
    assert "<script>" not in answer.text


def test_a_link_signs_in_and_leads_to_the_page(admin_site: Site, open_tab: OpenTab) -> None:
    """A deep link that is opened without a session comes back after the sign-in."""
    tab = open_tab(admin_site)
    tab.page.context.clear_cookies()
    page = tab.open("/admin/agents/ada/pages")
    code = admin_site.run("looseleaf/create-login-link")["token"]
    page.goto(f"{page.url}#{code}")
    page.reload()
    # The address is that of the page already while the sign-in is still shown there.
    page.get_by_role("heading", level=1, name="Pages", exact=True).wait_for()
    page.wait_for_url("**/admin/agents/ada/pages")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")
    assert admin_site.base + "/login" == page.url


def test_what_is_not_there_is_said_in_the_frame(admin_site: Site) -> None:
    """In a sentence, with its status and a way on."""
    browser, _csrf = admin_site.sign_in()
    answer = browser.get("/admin/agents/nobody/pages")
    assert answer.status_code == 404
    assert "Show the agents" in answer.text
    assert "Sign out" in answer.text


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/admin/", "/admin"),
        ("/admin/agents", "/admin"),
        ("/admin/agents/ada/pages/", "/admin/agents/ada/pages"),
        ("/admin//evil.example/", "/admin/evil.example"),
    ],
)
def test_an_address_beside_a_page_leads_to_it(shown_site: Site, path: str, place: str) -> None:
    """And never away from the site."""
    browser, _csrf = shown_site.sign_in()
    answer = browser.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"] == place


@pytest.mark.parametrize("path", ["/admin/nowhere", "/admin/agents/ada/nowhere", "/admin/jobs/x"])
def test_a_wrong_address_is_a_page(shown_site: Site, path: str) -> None:
    """For people who are signed in; others sign in first."""
    browser, csrf = shown_site.sign_in()
    answers = [browser.get(path), browser.post(path, data={"csrf": csrf})]
    for answer in answers:
        assert answer.status_code in (404, 405)
        assert answer.headers["content-type"].startswith("text/html")
        assert "Sign out" in answer.text
    assert shown_site.client.get(path).headers["location"] == f"/login?next={path}"


def forms() -> list[str]:
    """Return the address of every page of ours that takes a form."""
    pages = AdminPages()
    register_pages(pages, RecentRequests())
    call_features("register_admin_pages", pages=pages)
    parts = {"{agent}": "ada", "{layer}": "agent", "{file:path}": "MEMORY.md"}
    parts |= {"{user}": "eve", "{session}": "none", "{pipeline}": "1", "{flow}": "1", "{job}": "1"}
    paths = [item.path for item in pages.all() if item.submit is not None]
    for part, text in parts.items():
        paths = [path.replace(part, text) for path in paths]
    return paths


@pytest.mark.parametrize("path", forms())
def test_no_form_is_taken_without_its_token(shown_site: Site, path: str) -> None:
    """Nor from another site's page, nor from someone who is not signed in."""
    assert "{" not in path, "give the new part of the address a text in forms()"
    browser, csrf = shown_site.sign_in()
    assert browser.post(path, data={"x": "y"}).status_code == 403
    assert browser.post(path, data={"csrf": "0" * 64}).status_code == 403
    foreign = {"origin": "http://evil.example"}
    assert browser.post(path, data={"csrf": csrf}, headers=foreign).status_code == 403
    site_header = {"sec-fetch-site": "same-site"}
    assert browser.post(path, data={"csrf": csrf}, headers=site_header).status_code == 403
    assert (
        shown_site.client.post(path, data={"csrf": csrf}).headers["location"].startswith("/login")
    )


def test_a_form_signs_in_without_scripts(admin_site: Site, open_tab: OpenTab) -> None:
    """By a pasted link; a wrong one says so, and another site is never led to."""
    tab = open_tab(admin_site, java_script_enabled=False)
    tab.page.context.clear_cookies()
    page = tab.open("/login?next=//evil.example/")
    page.get_by_label("One-time link").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    assert "looseleaf tokens login" in page.locator("#status").inner_text()
    link = f"{admin_site.base}/login#{admin_site.run('looseleaf/create-login-link')['token']}"
    page.get_by_label("One-time link").fill(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{admin_site.base}/admin")


def test_a_page_of_a_plugin_stands_in_the_frame(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own template, in the navigation of the agent."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    site = opens(plugins=("looseleaf_example",))
    page = {"file": "style-guide.md", "layer": "shared", "content": "Short sentences win.\n"}
    site.run("datamachine/write-agent-file", **page)
    browser, _csrf = site.sign_in()
    answer = browser.get("/admin/agents/ada/words")
    assert answer.status_code == 200, answer.text
    assert "style-guide.md" in answer.text
    assert 'href="/admin/agents/ada/words" class="here"' in answer.text
    assert "Sign out" in answer.text
