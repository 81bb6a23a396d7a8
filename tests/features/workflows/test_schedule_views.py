"""Schedules in the admin site: when each runs next; run now, pause and resume."""

from __future__ import annotations

import pytest

from looseleaf.features.workflows.flow_views import describe_timing
from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

SCHEDULES = "/admin/schedules"


@pytest.fixture
def press(site: Site) -> Site:
    """Make a pipeline with one step, and a flow that runs every morning."""
    step = {"type": "input", "settings": {"source": "text", "text": "x"}}
    site.run("looseleaf/create-pipeline", agent="ada", name="News", steps=[step])
    schedule = {"interval": "cron", "cron": "0 6 * * *"}
    site.run("looseleaf/create-flow", pipeline=1, name="Morning", schedule=schedule)
    return site


def test_a_schedule_is_run_paused_and_resumed_without_javascript(
    press: Site, open_tab: OpenTab
) -> None:
    """Its next three times are listed, and none while it is paused."""
    page = open_tab(press, java_script_enabled=False).open(SCHEDULES)
    row = page.locator("tr", has_text="Morning")
    assert row.locator(".times li").count() == 3
    assert "06:00 UTC" in row.inner_text()
    row.get_by_role("button", name="Pause").click()
    assert "is paused" in page.locator(".note.good").inner_text()
    assert row.locator(".times li").count() == 0
    assert "paused" in row.locator(".tag").inner_text()
    row.get_by_role("button", name="Resume").click()
    assert row.locator(".times li").count() == 3
    row.get_by_role("button", name="Run now").click()
    page.wait_for_url("**/admin/agents/ada/jobs/1")
    page.goto(press.base + SCHEDULES)
    row.get_by_role("link", name="Morning").click()
    page.wait_for_url("**/admin/agents/ada/flows/1")


def test_a_task_for_every_agent_starts_a_job_for_each(press: Site) -> None:
    """And leads to the list of jobs."""
    press.run("looseleaf/create-agent", slug="bob")
    browser, csrf = press.sign_in()
    form = {"csrf": csrf, "action": "run", "schedule": "task:daily_memory_generation"}
    answer = browser.post(SCHEDULES, data=form)
    assert answer.headers["location"] == "/admin/jobs"
    assert press.run("datamachine/get-jobs")["total"] == 2


def test_a_viewer_sees_the_times_and_has_no_buttons(press: Site) -> None:
    """Tasks of the workspace are for those who may see settings."""
    press.user("vera")
    press.run("looseleaf/grant-role", agent="ada", user="vera", role="viewer")
    browser, csrf = press.sign_in("vera")
    text = browser.get(SCHEDULES).text
    assert "06:00 UTC" in text
    assert "Run now" not in text
    assert "Daily memory" not in text
    form = {"csrf": csrf, "action": "pause", "schedule": "flow:1"}
    assert browser.post(SCHEDULES, data=form).status_code == 403
    press.user("stranger")
    stranger, csrf = press.sign_in("stranger")
    assert "Nothing is scheduled" in stranger.get(SCHEDULES).text
    form["csrf"] = csrf
    assert stranger.post(SCHEDULES, data=form).status_code == 404


def test_a_form_that_says_nothing_is_refused(press: Site) -> None:
    """So is one for a schedule that is not there."""
    browser, csrf = press.sign_in()
    form = {"csrf": csrf, "schedule": "flow:1"}
    assert browser.post(SCHEDULES, data=form).status_code == 400
    gone = {"csrf": csrf, "action": "run", "schedule": "flow:9"}
    assert browser.post(SCHEDULES, data=gone).status_code == 404


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("every_5_minutes", "every 5 minutes"),
        ("twicedaily", "every 12 hours"),
        ("cron 0 6 * * *", "cron 0 6 * * * (Europe/Berlin)"),
        ("manual", "by hand"),
    ],
)
def test_a_timing_is_written_for_people(when: str, words: str) -> None:
    """A zone stands where it matters."""
    assert describe_timing(when, "Europe/Berlin") == words
