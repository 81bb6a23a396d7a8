"""Lint in the browser: a finding, its edit, and one click that applies it."""

from __future__ import annotations

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

LINT = "/admin/agents/ada/lint"
PAGE = "# Memory\n\n- WordPress lies in the main folder\n- WordPress lies in the main folder\n"


def test_a_finding_is_mended_by_one_click(site: Site, open_tab: OpenTab) -> None:
    """Without JavaScript; the rest of the page stays."""
    site.run("datamachine/write-agent-file", file="MEMORY.md", content=PAGE, agent="ada")
    page = open_tab(site, java_script_enabled=False).open(LINT)
    section = page.locator("section", has_text="MEMORY.md line 4")
    assert "the same line twice" in section.inner_text()
    section.get_by_role("button", name="Apply").click()
    assert "MEMORY.md is mended." in page.locator(".note.good").first.inner_text()
    content = site.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["content"]
    assert content == PAGE.removesuffix("- WordPress lies in the main folder\n")


def test_a_finding_that_is_gone_is_no_error(site: Site) -> None:
    """Someone else was faster."""
    browser, csrf = site.sign_in()
    answer = browser.post(LINT, data={"csrf": csrf, "finding": "000000000000"})
    assert answer.status_code == 303
    assert "the page has changed since" in browser.get(LINT).text
