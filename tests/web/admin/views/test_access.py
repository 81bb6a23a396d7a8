"""Access to an agent: roles are given and taken, and a token is shown once with lines to paste."""

from __future__ import annotations

import re

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

ACCESS = "/admin/agents/ada/access"


def test_a_role_is_given_and_taken(admin_site: Site, open_tab: OpenTab) -> None:
    """By forms, without JavaScript; what a role means stands beside it."""
    admin_site.user("vera")
    page = open_tab(admin_site, java_script_enabled=False).open(ACCESS)
    page.get_by_label("Give", exact=True).fill("vera")
    page.get_by_label("the role").select_option("viewer")
    page.get_by_role("button", name="Give the role").click()
    row = page.get_by_role("row", name="vera")
    assert "reads its pages, journal, history and prompts" in row.inner_text()
    row.get_by_role("button", name="Take away the role of vera").click()
    page.get_by_role("button", name="Take it away").click()
    assert "is taken away" in page.locator(".note.good").inner_text()
    assert page.get_by_role("row", name="vera").count() == 0


def test_a_token_is_shown_once_and_its_lines_work(admin_site: Site, open_tab: OpenTab) -> None:
    """The token of the page reads what the line for curl asks for, and is listed without it."""
    page = open_tab(admin_site, java_script_enabled=False).open(ACCESS)
    page.get_by_label("What it is for").fill("a test")
    page.get_by_role("button", name="Make the token").click()
    token = page.locator("#token").inner_text()
    text = page.locator(".snippets").inner_text()
    assert token not in text
    assert f'"url": "{admin_site.base}/mcp"' in text
    assert "urllib.request" in text
    found = re.search(r"curl (http\S+)", text)
    assert found is not None
    answer = admin_site.ask("GET", found[1].removeprefix(admin_site.base), token)
    assert "Agent Memory" in answer.text
    page.get_by_role("link", name="I have copied it").click()
    assert token not in page.content()
    page.get_by_role("row", name="a test").get_by_role("button", name="End it").click()
    page.get_by_role("button", name="End it").click()
    assert "ended" in page.get_by_role("row", name="a test").inner_text()
    assert admin_site.ask("GET", found[1].removeprefix(admin_site.base), token).status_code == 401


def test_an_unknown_person_is_refused_with_the_form(admin_site: Site) -> None:
    """What was typed is still there."""
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "action": "grant", "user": "nobody", "role": "viewer"}
    answer = browser.post(ACCESS, data=form)
    assert answer.status_code == 404
    assert 'role="alert"' in answer.text
    assert 'value="nobody"' in answer.text
    assert browser.post(ACCESS, data={"csrf": csrf, "action": "x"}).status_code == 400


def test_a_viewer_sees_neither_roles_nor_tokens(admin_site: Site) -> None:
    """And is told who does."""
    admin_site.user("vera")
    admin_site.run("looseleaf/grant-role", agent="ada", user="vera", role="viewer")
    browser, csrf = admin_site.sign_in("vera")
    text = browser.get(ACCESS).text
    assert "see who has a role on it" in text
    assert "the script on the build server" not in text
    assert "Make the token" not in text
    form = {"csrf": csrf, "action": "create", "label": "mine", "role": "operator"}
    assert browser.post(ACCESS, data=form).status_code == 403
