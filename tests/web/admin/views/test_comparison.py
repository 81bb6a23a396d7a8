"""Two prompts compared: modes, agents and times, and the byte at which a cache breaks."""

from __future__ import annotations

from looseleaf.times import format_time
from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

COMPARE = "/admin/agents/ada/prompt/compare"


def test_two_agents_are_compared(admin_site: Site) -> None:
    """The first byte that differs is that of `diff-prompts`."""
    browser, _csrf = admin_site.sign_in()
    other = {"agent": "wiki-builder", "mode": "pipeline"}
    comparison = admin_site.run("looseleaf/diff-prompts", mode="chat", agent="ada", other=other)
    text = browser.get(f"{COMPARE}?other_agent=wiki-builder&other_mode=pipeline").text
    assert f"The cache breaks at byte {comparison['first']:,}" in text
    assert f"{comparison['bytes'][1]:,} bytes" in text
    assert "<ins>" in text


def test_two_times_are_compared(admin_site: Site, open_tab: OpenTab) -> None:
    """By the form, without JavaScript; what changed is shown word by word."""
    admin_site.run("looseleaf/compose-prompt", mode="chat", agent="ada")
    admin_site.clock.ahead += 60  # generated pages are as they are now, since a minute
    before = format_time(admin_site.clock())
    admin_site.clock.ahead += 60
    place = {"file": "MEMORY.md", "agent": "ada", "mode": "append", "section": "State"}
    admin_site.run("datamachine/update-agent-memory", content="- Zebra", **place)
    page = open_tab(admin_site, java_script_enabled=False).open(COMPARE)
    page.locator("[name=as_of]").fill(before)
    page.get_by_role("button", name="Compare").click()
    assert "in MEMORY.md" in page.get_by_role("heading", name="The cache breaks").inner_text()
    assert "- Zebra" in page.locator(".diff").inner_text()


def test_the_same_prompt_breaks_no_cache(admin_site: Site) -> None:
    """And says so."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get(f"{COMPARE}?mode=chat&other_mode=chat").text
    assert "Both prompts are the same" in text


def test_what_cannot_be_compared_is_said_above_the_form(admin_site: Site) -> None:
    """The form stays, with what was typed."""
    browser, _csrf = admin_site.sign_in()
    answer = browser.get(f"{COMPARE}?other_agent=nobody&as_of=soon")
    assert answer.status_code == 200
    assert 'role="alert"' in answer.text
    assert 'value="nobody"' in answer.text


def test_another_agent_needs_its_own_right(admin_site: Site) -> None:
    """A role on one agent shows no other's prompt."""
    secret = {"file": "MEMORY.md", "agent": "wiki-builder", "content": "# M\n\n- Zebra\n"}
    admin_site.run("datamachine/write-agent-file", **secret, allow_shrink=True)
    admin_site.user("vera")
    admin_site.run("looseleaf/grant-role", user="vera", agent="ada", role="viewer")
    browser, _csrf = admin_site.sign_in("vera")
    answer = browser.get(f"{COMPARE}?other_agent=wiki-builder")
    assert "Zebra" not in answer.text
    assert 'role="alert"' in answer.text


def test_two_workflows_are_compared_without_javascript(admin_site: Site, open_tab: OpenTab) -> None:
    """Chosen from a list on each side."""
    page_text = {"file": "morning.md", "agent": "ada", "content": "Coffee first.\n"}
    admin_site.run("datamachine/write-agent-file", **page_text)
    admin_site.run("looseleaf/update-flow", flow=1, memory_files=["morning.md"])
    page = open_tab(admin_site, java_script_enabled=False).open(f"{COMPARE}?other_mode=chat")
    page.locator("[name=workflow]").select_option("1")
    page.locator("[name=other_workflow]").select_option("1.1")
    page.get_by_role("button", name="Compare").click()
    row = page.locator("tr", has_text="morning.md")
    assert "only right" in row.inner_text()
    assert "ada, Daily Music News: Morning edition, now" in page.locator(".comparison").inner_text()
    page.locator("[name=other_workflow]").select_option("1")
    page.get_by_role("button", name="Compare").click()
    assert "Both prompts are the same" in page.content()
    page.locator("[name=other_workflow]").select_option("")
    page.get_by_role("button", name="Compare").click()
    assert "only left" in page.locator("tr", has_text="content-strategy.md").inner_text()
