"""The audit: filtered by who, what and when, and verified."""

from __future__ import annotations

import pytest

from looseleaf.times import format_date
from looseleaf.web.admin.views.operation import describe_action, describe_target
from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Opens, Site

AUDIT = "/admin/audit"


def test_entries_are_filtered_by_a_form(shown_site: Site, open_tab: OpenTab) -> None:
    """Without JavaScript; the filters stay in the address and in the form."""
    page = open_tab(shown_site, java_script_enabled=False).open(AUDIT)
    page.get_by_label("Action").fill("create-token")
    page.get_by_label("By", exact=True).fill("operator")
    page.get_by_role("button", name="Filter").click()
    rows = page.locator("tbody tr").all_inner_texts()
    assert rows
    assert all("create token" in row and "operator" in row for row in rows)
    assert page.get_by_label("Action").input_value() == "create-token"
    page.get_by_role("link", name="Show all").click()
    assert page.locator("tbody tr").count() > len(rows)


def test_days_and_kinds_are_filters(shown_site: Site) -> None:
    """A kind that is none is left out; a day that is none is said."""
    browser, _csrf = shown_site.sign_in()
    today = format_date(shown_site.clock())
    assert "No entry matches" in browser.get(f"{AUDIT}?until=2001-01-01").text
    assert "<tbody>" in browser.get(f"{AUDIT}?since={today}&actor_kind=person").text
    assert "<tbody>" in browser.get(f"{AUDIT}?actor_kind=ghost").text
    assert browser.get(f"{AUDIT}?since=soon").status_code == 400


def test_the_audit_is_verified(shown_site: Site) -> None:
    """By its button."""
    browser, _csrf = shown_site.sign_in()
    assert "The audit is whole" in browser.get(f"{AUDIT}?verify=yes").text


def test_the_verdict_counts_from_the_first_entry_that_is_left(opens: Opens) -> None:
    """Entries that retention has removed are named, not claimed as verified."""
    site = opens()
    for number in range(5):
        site.user(f"user-{number}")
    site.clock.ahead += 400 * 86_400
    site.user("late")
    site.run("looseleaf/run-retention", kind="audit")
    verdict = site.workspace.accounts().audit.verify()
    assert verdict.removed > 3
    browser, _csrf = site.sign_in()
    text = browser.get(f"{AUDIT}?verify=yes").text
    assert f"from entry {verdict.removed + 1} to entry" in text
    assert "Older entries are past their retention" in text


def test_a_long_audit_comes_in_parts(opens: Opens) -> None:
    """Each entry once, and a way back to the newest."""
    site = opens()
    for number in range(60):
        site.user(f"user-{number}")
    browser, _csrf = site.sign_in()
    first = browser.get(AUDIT).text
    assert first.count("<time") == 50
    oldest = first.partition("before=")[2].partition('"')[0]
    second = browser.get(f"{AUDIT}?before={oldest}").text
    assert 0 < second.count("<time") < 50
    assert "Newest" in second


def test_the_audit_needs_its_right(admin_site: Site) -> None:
    """That of reading logs."""
    browser, _csrf = admin_site.sign_in("eve")
    assert browser.get(AUDIT).status_code == 403
    admin_site.run("looseleaf/update-user", user="eve", capabilities=["view_logs"])
    assert browser.get(AUDIT).status_code == 200


@pytest.mark.parametrize(
    ("action", "words"), [("looseleaf/create-token", "create token"), ("sign_in", "sign in")]
)
def test_actions_are_words(action: str, words: str) -> None:
    """Without the names of operations."""
    assert describe_action(action) == words
    assert describe_target("agent=ada label=x") == "agent ada label x"
