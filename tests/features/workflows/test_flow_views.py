"""A flow in the admin site: its schedule, memory and prompts, each by a form."""

from __future__ import annotations

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

FLOW = "/admin/agents/ada/flows/2"


@pytest.fixture
def press(admin_site: Site) -> Site:
    """Make a pipeline with one step, and a flow."""
    step = {"type": "input", "settings": {"source": "text", "text": "x"}}
    admin_site.run("looseleaf/create-pipeline", agent="ada", name="News", steps=[step])
    admin_site.run("looseleaf/create-flow", pipeline=2, name="Morning")
    return admin_site


def test_a_flow_is_scheduled_and_paused_without_javascript(press: Site, open_tab: OpenTab) -> None:
    """The list of workflows says when it runs."""
    page = open_tab(press, java_script_enabled=False).open(FLOW)
    page.locator("select[name=interval]").select_option("cron")
    page.get_by_label("Cron, with").fill("0 6 * * *")
    page.get_by_label("paused").check()
    page.get_by_role("button", name="Save", exact=True).click()
    stored = press.run("looseleaf/show-flow", flow=2)["schedule"]
    assert (stored["cron"], stored["enabled"]) == ("0 6 * * *", False)
    page.goto(f"{press.base}/admin/agents/ada/pipelines")
    assert "0 6 * * * · paused" in page.content()


def test_prompts_settings_and_memory_are_saved(press: Site) -> None:
    """Each by its own button; the prompt beside them shows the memory."""
    page_text = {"file": "morning.md", "agent": "ada", "content": "Coffee first.\n"}
    press.run("datamachine/write-agent-file", **page_text)
    browser, csrf = press.sign_in()
    queue = {"csrf": csrf, "action": "queue", "queue_mode": "drain"}
    queue["queue"] = "One\r\n\r\nmore\r\n---\r\nTwo\r\n"
    browser.post(FLOW, data=queue)
    settings = {"csrf": csrf, "action": "steps", "s0.id": "input", "s0.set.text": "y"}
    answer = browser.post(FLOW, data=settings)
    assert answer.status_code == 303, answer.text
    browser.post(FLOW, data={"csrf": csrf, "action": "memory", "file:morning.md": "yes"})
    flow = press.run("looseleaf/show-flow", flow=2)
    assert (flow["prompt_queue"], flow["queue_mode"]) == (["One\n\nmore", "Two"], "drain")
    assert flow["step_settings"] == {"input": {"text": "y"}}
    assert flow["memory_files"] == ["morning.md"]
    page = browser.get(FLOW).text
    assert "morning.md" in page
    assert "One\n\nmore\n---\nTwo</textarea>" in page
    refused = browser.post(FLOW, data={"csrf": csrf, "action": "memory", "file:SOUL.md": "yes"})
    assert refused.status_code == 400
    assert "core file" in refused.text


def test_what_a_flow_overrides_is_always_seen(press: Site, open_tab: OpenTab) -> None:
    """An empty choice means that of the pipeline; a setting that does not count is not hidden."""
    settings = {"source": "feed", "url": "https://news.example/feed"}
    press.run(
        "looseleaf/update-pipeline", pipeline=2, steps=[{"type": "input", "settings": settings}]
    )
    pipeline = press.run("looseleaf/show-pipeline", pipeline=2)
    own = {pipeline["steps"][0]["id"]: {"max_items": 3, "text": "unused"}}
    press.run("looseleaf/update-flow", flow=2, step_settings=own)
    form = open_tab(press).open(FLOW).locator("#settings-form")
    assert form.get_by_label("Most items").input_value() == "3"
    assert form.get_by_label("Most items").is_visible()
    assert form.get_by_label("Address", exact=True).is_visible()
    assert "Counts only with source text" in form.inner_text()
    assert form.get_by_label("Title of the text").is_hidden()
    press.run("looseleaf/update-flow", flow=2, step_settings={})


def test_a_flow_is_deleted_with_its_files(press: Site) -> None:
    """Its pipeline stays."""
    press.run("datamachine/upload-flow-file", flow=2, file="a.txt", data="eA==")
    browser, csrf = press.sign_in()
    assert "a.txt" in browser.get(FLOW).text
    browser.post(
        FLOW, data={"csrf": csrf, "action": "delete-file", "name": "a.txt", "frame:sure": "yes"}
    )
    assert press.run("datamachine/list-flow-files", flow=2) == []
    browser.post(FLOW, data={"csrf": csrf, "action": "delete", "frame:sure": "yes"})
    assert press.run("looseleaf/list-flows", pipeline=2) == []
    assert len(press.run("looseleaf/list-pipelines", agent="ada")) == 2
    assert browser.post("/admin/agents/ada/flows/9", data={"csrf": csrf}).status_code == 404


def test_a_flow_shows_its_next_runs_and_is_run_now(press: Site, open_tab: OpenTab) -> None:
    """The job is followed on its own page, and stands on the flow's page from then on."""
    press.run("looseleaf/update-flow", flow=2, schedule={"interval": "cron", "cron": "0 6 * * *"})
    page = open_tab(press, java_script_enabled=False).open(FLOW)
    assert page.locator("#when-title + p").inner_text().count("06:00 UTC") == 3
    assert "It has not run yet" in page.locator("#runs-title + p").inner_text()
    page.get_by_role("button", name="Run it now").click()
    page.wait_for_url("**/admin/agents/ada/jobs/*")
    assert "is started" in page.locator(".note.good").inner_text()
    job = page.url.rpartition("/")[2]
    page.goto(press.base + FLOW)
    page.get_by_role("link", name=f"Job {job}").click()
    page.wait_for_url(f"**/jobs/{job}")


def test_a_flow_says_why_it_does_not_run(press: Site) -> None:
    """By hand only, switched off, or paused."""
    browser, _csrf = press.sign_in()
    assert "It does not run by itself" in browser.get(FLOW).text
    press.run("looseleaf/update-flow", flow=2, schedule={"interval": "daily"})
    press.run("looseleaf/pause-schedule", schedule="flow:2")
    assert "The schedule is paused" in browser.get(FLOW).text
