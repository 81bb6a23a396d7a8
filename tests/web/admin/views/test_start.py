"""The first visit: a fact is written, seen in the prompt, and a coding agent connected."""

from __future__ import annotations

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_fact_is_written_and_seen_in_the_prompt(
    site: Site, open_tab: OpenTab, *, has_scripts: bool
) -> None:
    """And the line to paste names the agent."""
    page = open_tab(site, java_script_enabled=has_scripts).open("/admin/start")
    page.get_by_label("Fact").fill("We never deploy on Fridays.")
    page.get_by_role("button", name="Remember it").click()
    page.wait_for_url("**/admin/start?*")
    assert page.locator(".excerpt mark").inner_text() == "- We never deploy on Fridays."
    memory = site.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["content"]
    assert "- We never deploy on Fridays.\n" in memory
    assert page.get_by_text("looseleaf mcp install --client claude-code --agent ada").count() == 1


def test_an_empty_fact_is_refused(site: Site) -> None:
    """With a reason, and nothing is written."""
    browser, csrf = site.sign_in()
    before = site.run("looseleaf/page-history", file="MEMORY.md", agent="ada")
    answer = browser.post("/admin/start", data={"csrf": csrf, "agent": "ada", "fact": " "})
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert site.run("looseleaf/page-history", file="MEMORY.md", agent="ada") == before
