"""Upkeep in the browser: the switch, a run with its ledger, a preview, and undo."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.upkeep.views import split_diff_lines
from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

UPKEEP, OF_ADA = "/admin/upkeep", "/admin/agents/ada/upkeep"
PAGE = "# Memory\n\n" + "".join(
    f"## Topic {number}\n\n" + f"- fact {number} is here\n" * 100 + "\n" for number in range(30)
)


def memory(site: Site) -> str:
    """Return the page of ada."""
    return str(site.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["content"])


def test_upkeep_is_switched_on_run_shown_and_undone(site: Site, open_tab: OpenTab) -> None:
    """Without JavaScript, by forms; every step says what it did."""
    site.run("datamachine/write-agent-file", file="MEMORY.md", content=PAGE, agent="ada")
    tab = open_tab(site, java_script_enabled=False)
    page = tab.open(UPKEEP)
    assert "Upkeep is off." in page.locator(".verdict").inner_text()
    page.get_by_role("button", name="Switch on").click()
    assert "Upkeep is on." in page.locator(".verdict").inner_text()
    page = tab.open(OF_ADA)
    page.get_by_role("button", name="Preview").click()
    assert "Nothing was written" in page.locator("main").inner_text()
    page.get_by_text("would get").click()
    assert "Topic 29" in page.locator("details pre").inner_text()
    assert memory(site) == PAGE
    page = tab.open(OF_ADA)
    page.get_by_role("button", name="Run now").click()
    assert "Split without a model" in page.locator("main").inner_text()
    assert len(memory(site)) <= 8192
    assert "Topic 29" in page.locator("main").inner_text()
    assert page.get_by_role("table", name="Change of MEMORY.md").is_visible()
    page.get_by_role("button", name="Undo this run").click()
    assert "lines are back in MEMORY.md" in page.locator(".note.good").inner_text()
    assert memory(site) == PAGE


def test_all_agents_are_run_from_the_overview(site: Site) -> None:
    """And why nothing was done is said for each."""
    browser, csrf = site.sign_in()
    browser.post(UPKEEP, data={"csrf": csrf, "action": "on"})
    answer = browser.post(UPKEEP, data={"csrf": csrf, "action": "run"})
    assert answer.status_code == 303
    text = browser.get(UPKEEP).text
    assert "Nothing to do" in text
    assert "no model is set" in text


def test_a_task_of_retention_that_fails_is_listed(site: Site) -> None:
    """It has a page of its own, and stands here only while someone should look at it."""
    browser, _ = site.sign_in()
    assert "Retention: Audit" not in browser.get(UPKEEP).text
    (Path(site.workspace.root) / ".looseleaf/audit-end").write_bytes(b"\xff")
    for _ in range(3):
        site.clock.ahead += 1
        site.run("looseleaf/run-retention", kind="audit")
    text = browser.get(UPKEEP).text
    assert "Retention: Audit" in text
    assert "audit-end is damaged" in text


def test_upkeep_takes_the_right_to_settings(admin_site: Site) -> None:
    """To look and to run."""
    browser, csrf = admin_site.sign_in("eve")
    for address in (UPKEEP, OF_ADA, "/admin/upkeep/prompts"):
        assert browser.get(address).status_code in (403, 404)
    assert browser.post(UPKEEP, data={"csrf": csrf, "action": "run"}).status_code == 403


def test_a_diff_is_taken_apart() -> None:
    """Without its head."""
    rows = split_diff_lines("--- a\n+++ b\n@@ -1 +1 @@\n same\n-old\n+new")
    assert rows == [("gap", "@ -1 +1 @@"), ("same", "same"), ("removed", "old"), ("added", "new")]
