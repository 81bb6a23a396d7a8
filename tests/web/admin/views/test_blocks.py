"""What the agent sees: blocks with reasons and sizes, what is left out, and the tools."""

from __future__ import annotations

import re

from looseleaf.catalog.dispatch import invoke
from tests.web.admin.fixtures import OpenTab
from tests.web.admin.hostile import EVERYTHING
from tests.web.fixtures import Site

PROMPT = "/admin/agents/ada/prompt"


def test_every_block_is_shown_with_its_reason_and_size(admin_site: Site) -> None:
    """In the order of the prompt, and their sizes are those of `explain-prompt`."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get(PROMPT).text
    explanation = admin_site.run("looseleaf/explain-prompt", mode="chat", agent="ada")
    given = [candidate for candidate in explanation["candidates"] if candidate["bytes"]]
    names = re.findall(r'class="block-name">([^<]+)<', text)
    assert len(names) == len(given) == explanation["messages"]
    assert names.index("SOUL.md") < names.index("MEMORY.md")
    assert f"{explanation['bytes']:,} bytes" in text
    assert "This agent: a page that is given in this mode" in text
    assert "the same every day" in text
    assert "WP-CLI needs --allow-root" in text


def test_what_is_left_out_says_why(admin_site: Site) -> None:
    """By policy, and in plain words."""
    policy = {"memory_policy": {"mode": "deny", "deny": ["MEMORY.md"]}}
    admin_site.run("looseleaf/configure-agent", agent="ada", config=policy)
    browser, _csrf = admin_site.sign_in()
    text = browser.get(PROMPT).text
    left_out = text.partition('id="left-out-title"')[2]
    assert "denied by this agent&#39;s policy" in left_out
    assert "nobody has filled in its template yet" in left_out
    assert "policy_deny" not in text
    assert "WP-CLI needs" not in text


def test_the_tools_are_those_that_a_chat_gets(admin_site: Site) -> None:
    """The system's own tasks get none, and neither does an agent whose policy denies all."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get(PROMPT).text
    assert "<li><code>agent_memory</code>" in text
    assert "<li><code>agent_memory</code>" not in browser.get(f"{PROMPT}?mode=system").text
    policy = {"tool_policy": {"mode": "deny", "categories": ["memory"]}}
    admin_site.run("looseleaf/configure-agent", agent="ada", config=policy)
    denied = browser.get(PROMPT).text
    assert "<li><code>agent_memory</code>" not in denied
    assert "not given: denied by this agent&#39;s policy" in denied


def test_a_mode_of_one_s_own_and_a_time_are_shown(admin_site: Site, open_tab: OpenTab) -> None:
    """By the form, without JavaScript; the past is what the pages said then."""
    page = open_tab(admin_site, java_script_enabled=False).open(PROMPT)
    page.get_by_label("Mode of your own").fill("review")
    page.get_by_label("As of").fill("2001-01-01")
    page.get_by_role("button", name="Show").click()
    assert page.locator(".tabs .here").inner_text() == "review"
    assert "WP-CLI" not in page.content()
    page.get_by_label("As of").fill("soon")
    page.get_by_role("button", name="Show").click()
    assert "neither a revision number nor a time" in page.get_by_role("alert").inner_text()


def test_a_block_opens_by_keyboard(admin_site: Site, open_tab: OpenTab) -> None:
    """And leads to its page."""
    page = open_tab(admin_site).open(PROMPT)
    block = page.locator(".block", has=page.get_by_text("MEMORY.md", exact=True))
    block.locator("summary").focus()
    page.keyboard.press("Enter")
    block.locator("pre", has_text="WP-CLI").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/pages/agent/MEMORY.md")


def test_a_hostile_page_is_text_in_the_prompt(admin_site: Site, open_tab: OpenTab) -> None:
    """The fixture fails the test at any dialog, error or foreign request."""
    admin_site.run(
        "datamachine/write-agent-file", file="MEMORY.md", agent="ada", content=EVERYTHING
    )
    page = open_tab(admin_site).open(PROMPT)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.locator(".blocks img, .blocks script, .blocks iframe").count() == 0
    assert page.locator(".blocks .note.warn").count() == 1
    assert "<script>alert(1)</script>" in page.locator(".blocks").inner_text()


def test_who_may_not_read_the_agent_sees_no_prompt(admin_site: Site) -> None:
    """The page has no right of its own."""
    admin_site.user("vera")
    browser, _csrf = admin_site.sign_in("vera")
    for path in (PROMPT, f"{PROMPT}/compare"):
        answer = browser.get(path)
        assert answer.status_code in (403, 404)
        assert "WP-CLI" not in answer.text


def test_the_prompt_of_a_pipeline_and_of_a_flow_is_chosen(
    admin_site: Site, open_tab: OpenTab
) -> None:
    """By the form, without JavaScript; the task of the pipeline is a block of its own."""
    for name, task in (("News", "Write about <b>zebras</b>."), ("Wiki", "Write about quaggas.")):
        fields = {"agent": "ada", "name": name, "system_prompt": task, "steps": [{"type": "ai"}]}
        invoke(admin_site.workspace.context, "looseleaf/create-pipeline", fields)
    flow = {"pipeline": "news", "name": "Morning"}
    invoke(admin_site.workspace.context, "looseleaf/create-flow", flow)
    page = open_tab(admin_site, java_script_enabled=False).open(f"{PROMPT}?mode=pipeline")
    assert "zebras" not in page.content()
    choice = page.locator("[name=workflow]")
    names = ["none", "Daily Music News", "Daily Music News: Morning edition"]
    names += ["News", "News: Morning", "Wiki"]
    assert choice.locator("option").all_inner_texts() == names
    for name in ("News", "News: Morning"):
        page.locator("[name=workflow]").select_option(name)
        page.get_by_role("button", name="Show").click()
        block = page.locator(".block", has_text="The pipeline's task")
        assert "Write about <b>zebras</b>." in (block.locator("pre").text_content() or "")
        assert page.locator("[name=workflow]").locator("option:checked").inner_text() == name
    assert "quaggas" not in page.content()


def test_a_pipeline_that_is_none_is_said(admin_site: Site) -> None:
    """In a sentence above the form; what is no number is left out."""
    browser, _csrf = admin_site.sign_in()
    answer = browser.get(f"{PROMPT}?mode=pipeline&workflow=99999")
    assert answer.status_code == 200
    assert 'role="alert"' in answer.text
    assert 'role="alert"' not in browser.get(f"{PROMPT}?mode=pipeline&workflow=x.y").text
