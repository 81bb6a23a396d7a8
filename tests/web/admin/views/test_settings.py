"""Settings: where each comes from, and those that are changed while the server runs."""

from __future__ import annotations

import pytest

from looseleaf.web.admin.views.operation import format_setting
from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

SETTINGS = "/admin/settings"


def current(site: Site, name: str) -> object:
    """Return a setting as the operation lists it."""
    rows = site.run("looseleaf/list-settings")
    return next(row["setting"] for row in rows if row["name"] == name)


def test_a_setting_is_changed_and_taken_back(site: Site, open_tab: OpenTab) -> None:
    """By its form, without JavaScript, at once."""
    page = open_tab(site, java_script_enabled=False).open(SETTINGS)
    row = page.get_by_role("row", name="daily_memory_enabled")
    row.get_by_role("checkbox").check()
    row.get_by_role("button", name="Save daily_memory_enabled").click()
    assert "daily_memory_enabled is yes now" in page.locator(".note.good").inner_text()
    assert current(site, "daily_memory_enabled") is True
    row = page.get_by_role("row", name="daily_memory_enabled")
    row.get_by_role("button", name="Back to the file").click()
    assert current(site, "daily_memory_enabled") is False


def test_a_number_is_set_and_what_is_none_is_refused(site: Site) -> None:
    """What was typed stays in its field."""
    browser, csrf = site.sign_in()
    form = {"csrf": csrf, "name": "prompt_page_bytes", "kind": "number", "setting": "12,000"}
    assert browser.post(SETTINGS, data=form).status_code == 303
    assert current(site, "prompt_page_bytes") == 12_000
    answer = browser.post(SETTINGS, data={**form, "setting": "much"})
    assert answer.status_code == 400
    assert 'value="much"' in answer.text


def test_settings_need_their_right(admin_site: Site) -> None:
    """To look and to change."""
    browser, csrf = admin_site.sign_in("eve")
    assert browser.get(SETTINGS).status_code == 403
    form = {"csrf": csrf, "name": "require_if_match", "kind": "switch", "setting": "yes"}
    assert browser.post(SETTINGS, data=form).status_code == 403


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (True, "yes"),
        (None, "none"),
        ([], "none"),
        (["a", "b"], "a, b"),
        ({"chat": True}, "chat: yes"),
        (0.5, "0.5"),
        (20_000_000, "20,000,000"),
    ],
)
def test_a_setting_is_written_for_people(setting: object, text: str) -> None:
    """No JSON and no Python."""
    assert format_setting(setting) == text
