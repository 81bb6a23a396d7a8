"""People: created, given rights, let in by a link, and shut out at once."""

from __future__ import annotations

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Opens, Site

PEOPLE = "/admin/people"


def test_a_person_is_created_and_signs_in_by_a_link(admin_site: Site, open_tab: OpenTab) -> None:
    """All by forms, without JavaScript; the link is shown once."""
    page = open_tab(admin_site, java_script_enabled=False).open(PEOPLE)
    page.get_by_label("Login").fill("noor")
    page.get_by_label("Name", exact=True).fill("Noor Haddad")
    page.get_by_role("button", name="Create the person").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Noor Haddad"
    assert "Noor Haddad may talk to agents." in page.locator(".lead").inner_text()
    page.get_by_role("button", name="Make a login link").click()
    link = page.locator("code", has_text="/login#").inner_text()
    answer = admin_site.browser().post("/login", json={"link": link.partition("#")[2]})
    assert answer.json()["data"]["user"] == "noor"
    page.goto(f"{admin_site.base}{PEOPLE}/noor")
    assert link not in page.content()


def test_rights_are_sentences(shown_site: Site) -> None:
    """Of everyone, with roles on agents."""
    browser, _csrf = shown_site.sign_in()
    text = browser.get(PEOPLE).text
    assert "Administrator may do everything in this workspace." in text
    assert "Eve Adler may talk to agents and be operator of ada." in text
    assert "mallory is disabled and may do nothing." in text


def test_rights_and_a_password_are_changed(admin_site: Site, open_tab: OpenTab) -> None:
    """A short password is refused; a good one signs in."""
    page = open_tab(admin_site, java_script_enabled=False).open(f"{PEOPLE}/eve")
    page.get_by_label("read the audit").check()
    page.get_by_role("button", name="Save").click()
    assert "read the audit" in page.locator(".lead").inner_text()
    page.get_by_label("Password, at least").fill("correct horse battery")
    page.get_by_role("button", name="Set the password").click()
    body = {"login": "eve", "password": "correct horse battery"}
    assert admin_site.browser().post("/login", json=body).status_code == 200
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "action": "password", "password": "short"}
    assert browser.post(f"{PEOPLE}/eve", data=form).status_code == 400
    assert browser.post(f"{PEOPLE}/eve", data={**form, "password": ""}).status_code == 400


def test_a_disabled_person_is_out_at_once(admin_site: Site) -> None:
    """With every sign-in; and in again when enabled."""
    eve, _csrf = admin_site.sign_in("eve")
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "action": "disable"}
    assert "Disable eve?" in browser.post(f"{PEOPLE}/eve", data=form).text
    answer = browser.post(f"{PEOPLE}/eve", data={**form, "frame:sure": "yes"})
    assert answer.status_code == 303
    assert eve.get("/admin").headers["location"].startswith("/login")
    browser.post(f"{PEOPLE}/eve", data={"csrf": csrf, "action": "enable"})
    assert admin_site.run("looseleaf/show-user", user="eve")["status"] == "active"


def test_one_sign_in_is_ended(admin_site: Site, open_tab: OpenTab) -> None:
    """By its button, without touching the others."""
    eve, _csrf = admin_site.sign_in("eve")
    page = open_tab(admin_site, java_script_enabled=False).open(f"{PEOPLE}/eve")
    page.locator(".credentials").get_by_role("button", name="End it").first.click()
    page.get_by_role("button", name="End it").click()
    assert "refused at once" in page.locator(".note.good").inner_text()
    assert eve.get("/admin").headers["location"].startswith("/login")


def test_many_people_come_in_parts(opens: Opens) -> None:
    """Fifty in a part, and a filter by name."""
    site = opens()
    for number in range(60):
        site.user(f"user-{number:03}")
    browser, _csrf = site.sign_in()
    first = browser.get(PEOPLE).text
    assert first.count("data-entry") == 50
    assert "Next people" in first
    assert browser.get(f"{PEOPLE}?filter=user-05").text.count("data-entry") == 10
    assert "Nobody has" in browser.get(f"{PEOPLE}?filter=zzz").text


@pytest.mark.parametrize("path", [PEOPLE, f"{PEOPLE}/admin"])
def test_people_are_for_administrators(admin_site: Site, path: str) -> None:
    """Others are refused by the operation, in a sentence."""
    browser, _csrf = admin_site.sign_in("eve")
    assert browser.get(path).status_code == 403
