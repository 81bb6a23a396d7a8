"""Jobs in the admin site: listed, followed while they run, and directed by buttons."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from looseleaf.features.workflows.parts import jobs_of
from tests.web.admin.accessibility import find_faults
from tests.web.admin.fixtures import OpenTab
from tests.web.admin.pages import NEWS, wait_until
from tests.web.fixtures import Opens, Site

JOBS = "/admin/agents/ada/jobs"
TEXT = {"type": "input", "label": "Draft", "settings": {"source": "text", "text": "A new album."}}
GATE = {"type": "webhook_gate", "label": "Approval"}
REMEMBER = {"type": "memory_update", "label": "Remember", "settings": NEWS}


@pytest.fixture
def press(opens: Opens) -> Iterator[Site]:
    """Serve a workspace, and stop the worker that a test may start."""
    site = opens()
    yield site
    jobs_of(site.workspace).close()


def start(site: Site, *steps: object, label: str = "Album") -> int:
    """Submit a job of these steps, and return its number."""
    job = site.run("datamachine/execute-workflow", agent="ada", steps=list(steps), label=label)
    return int(job["job_id"])


def run_until(site: Site, job: int, status: str) -> None:
    """Have a worker run until a job has a status."""
    runtime = jobs_of(site.workspace)
    runtime.start_worker()
    wait_until(lambda: runtime.jobs.find(job).status == status)


def test_the_list_says_what_each_run_wrote(press: Site) -> None:
    """With its status in words, and a link to the revision."""
    job = start(press, TEXT, REMEMBER, label="Mail of the label")
    run_until(press, job, "completed")
    browser, _csrf = press.sign_in()
    for address in (JOBS, "/admin/jobs"):
        text = browser.get(address).text
        assert "Mail of the label" in text
        assert ">done</span>" in text
        link = re.search(r'href="(/admin/agents/ada/history/agent/MEMORY.md\?revision=\d+)"', text)
        assert link is not None
        assert "A new album." in browser.get(link[1]).text


def test_the_list_is_read_in_parts_and_by_status(press: Site) -> None:
    """Earlier jobs are one click away."""
    assert "No job has run yet" in press.sign_in()[0].get(JOBS).text
    for number in range(27):
        start(press, TEXT, label=f"Run {number}")
    press.run("looseleaf/cancel-job", job=1)
    browser, _csrf = press.sign_in()
    first = browser.get(JOBS).text
    assert "Run 26<" in first
    assert "Run 1<" not in first
    following = re.search(rf'href="({JOBS}\?after=25)"', first)
    assert following is not None
    rest = browser.get(following[1]).text
    assert "Run 1<" in rest
    assert "Earlier jobs" not in rest
    failed = browser.get(f"{JOBS}?show=failed").text
    assert "Run 0<" in failed
    assert "Run 1<" not in failed
    assert "No job is done yet." in browser.get(f"{JOBS}?show=done").text


def test_a_page_follows_its_job_through_a_gate(press: Site, open_tab: OpenTab) -> None:
    """It is never loaded again; the draft at the gate is open, and stays so, as does the focus."""
    job = start(press, TEXT, GATE, REMEMBER)
    tab = open_tab(press)
    page = tab.open(f"{JOBS}/{job}")
    assert "waits for a worker" in page.locator("[role=status].job-state").inner_text()
    page.evaluate("window.isTheSamePage = true")
    run_until(press, job, "waiting")
    page.locator(".job-state", has_text="waits for a call").wait_for()
    assert "A new album." in page.locator(".packet dd").first.inner_text()
    assert not find_faults(page)
    page.locator("#act-cancel").focus()
    line = page.locator(".gate code").inner_text()
    assert page.locator(".gate .copy").count() == 1
    address = re.search(r"'http://[^/]+(/[^']+)'", line)
    assert address is not None
    assert press.browser().post(address[1], json={"approved": True}).status_code == 200
    page.locator(".job-state", has_text="done").wait_for()
    page.locator("#job-memory a", has_text="MEMORY.md").wait_for()
    page.locator(".packet", has_text="Inbound call").wait_for()
    assert page.locator(".packet[open]").count() == 1
    assert page.locator(".gate").count() == 0
    assert page.evaluate("window.isTheSamePage")
    page.locator("#job-memory a").click()
    page.wait_for_url("**/history/agent/MEMORY.md?revision=*")
    assert "A new album." in page.locator("#content").inner_text()
    assert "approved" not in page.locator("#content").inner_text()


def test_a_gate_is_opened_on_the_page(press: Site, open_tab: OpenTab) -> None:
    """With a note, without JavaScript; the packet says who opened it."""
    job = start(press, TEXT, GATE, REMEMBER)
    run_until(press, job, "waiting")
    page = open_tab(press, java_script_enabled=False).open(f"{JOBS}/{job}")
    page.get_by_label("A note for the job").fill("Shorter, please.")
    page.get_by_role("button", name="Let it go on").click()
    assert "the job goes on" in page.locator(".note.good").inner_text()
    run_until(press, job, "completed")
    page.goto(f"{press.base}{JOBS}/{job}")
    packet = page.locator(".packet", has_text="Inbound call")
    packet.locator("summary").click()
    text = packet.inner_text()
    assert "Shorter, please." in text
    assert "by: admin" in text


def test_the_draft_at_a_gate_is_changed_before_it_goes_on(press: Site, open_tab: OpenTab) -> None:
    """The changed text is remembered; a draft that nobody touched goes on as it is."""
    job = start(press, TEXT, GATE, REMEMBER)
    run_until(press, job, "waiting")
    page = open_tab(press, java_script_enabled=False).open(f"{JOBS}/{job}")
    draft = page.get_by_label("The text that goes on")
    assert draft.input_value() == "A new album."
    draft.fill("A new album, and a tour.")
    page.get_by_role("button", name="Let it go on").click()
    run_until(press, job, "completed")
    place = {"file": "MEMORY.md", "agent": "ada"}
    assert "A new album, and a tour." in press.run("datamachine/get-agent-file", **place)["content"]
    second = start(press, TEXT, GATE, REMEMBER)
    run_until(press, second, "waiting")
    page.goto(f"{press.base}{JOBS}/{second}")
    page.get_by_role("button", name="Let it go on").click()
    run_until(press, second, "completed")
    calls = [
        packet
        for packet in press.run("looseleaf/show-job-packets", job=second)
        if packet["type"] == "webhook"
    ]
    assert "content" not in calls[0]["data"]["body"]


def test_the_focus_stays_on_a_button_while_the_job_moves(press: Site, open_tab: OpenTab) -> None:
    """A reader who is about to press a key does not lose the place."""
    job = start(press, TEXT, GATE)
    page = open_tab(press).open(f"{JOBS}/{job}")
    page.locator("#act-cancel").focus()
    run_until(press, job, "waiting")
    page.locator(".job-state", has_text="waits for a call").wait_for()
    assert page.evaluate("document.activeElement.id") == "act-cancel"
    page.keyboard.press("Enter")
    page.locator(".job-state", has_text="cancelled").wait_for()


def test_a_job_is_directed_without_javascript(press: Site, open_tab: OpenTab) -> None:
    """Pause, resume, cancel, retry and delete are forms."""
    job = start(press, TEXT)
    page = open_tab(press, java_script_enabled=False).open(f"{JOBS}/{job}")
    state = page.locator(".job-state")
    page.get_by_role("button", name="Pause").click()
    assert state.inner_text() == "paused"
    page.get_by_role("button", name="Resume").click()
    assert "waits for a worker" in state.inner_text()
    page.get_by_role("link", name="Look again").click()
    page.get_by_role("button", name="Cancel").click()
    assert state.inner_text() == "cancelled"
    page.get_by_role("button", name="Retry").click()
    assert "waits for a worker" in state.inner_text()
    assert page.get_by_role("button", name="Delete the job").count() == 0
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete the job").click()
    page.get_by_role("button", name="Delete it").click()
    assert "The pages that it changed stay" in page.locator(".note.good").inner_text()
    assert press.run("datamachine/get-jobs")["total"] == 0


def test_an_act_that_comes_too_late_is_explained(press: Site) -> None:
    """The page is shown again with the reason."""
    job = start(press, TEXT)
    press.run("looseleaf/cancel-job", job=job)
    browser, csrf = press.sign_in()
    late = browser.post(f"{JOBS}/{job}", data={"csrf": csrf, "action": "pause"})
    assert late.status_code >= 400
    assert "cannot pause" in late.text
    assert browser.post(f"{JOBS}/{job}", data={"csrf": csrf}).status_code == 400


def test_a_viewer_reads_and_directs_nothing(press: Site) -> None:
    """Nor learns the address of a gate."""
    job = start(press, TEXT, GATE)
    run_until(press, job, "waiting")
    press.user("vera")
    press.user("stranger")
    press.run("looseleaf/grant-role", agent="ada", user="vera", role="viewer")
    browser, csrf = press.sign_in("vera")
    text = browser.get(f"{JOBS}/{job}").text
    assert "waits for a call" in text
    assert "webhooks" not in text
    assert 'value="cancel"' not in text
    answer = browser.post(f"{JOBS}/{job}", data={"csrf": csrf, "action": "cancel"})
    assert answer.status_code == 403
    stranger, _csrf = press.sign_in("stranger")
    assert stranger.get(f"{JOBS}/{job}").status_code == 404
    assert stranger.get(f"/admin/jobs/{job}").status_code == 404
    assert "Album" not in stranger.get("/admin/jobs").text


def test_an_address_with_the_number_alone_leads_to_the_job(press: Site) -> None:
    """Whichever agent it belongs to; a number that no job has is said so."""
    job = start(press, TEXT)
    browser, _csrf = press.sign_in()
    assert browser.get(f"/admin/jobs/{job}").headers["location"] == f"{JOBS}/{job}"
    for number in ("99", "0", "x", "9" * 40):
        assert browser.get(f"/admin/jobs/{number}").status_code == 404


def test_the_list_is_walked_by_keys(press: Site, open_tab: OpenTab) -> None:
    """As every list of the site."""
    start(press, TEXT, label="First")
    start(press, TEXT, label="Second")
    page = open_tab(press).open(JOBS)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{JOBS}/1")
    assert page.get_by_role("heading", level=1).inner_text() == "First"


def test_a_flow_is_run_again_from_its_job(press: Site) -> None:
    """And the job says so when its flow is gone."""
    press.run("looseleaf/create-pipeline", agent="ada", name="News", steps=[TEXT])
    press.run("looseleaf/create-flow", pipeline=1, name="Morning")
    job = press.run("datamachine/execute-workflow", flow=1)["job_id"]
    run_until(press, job, "completed")
    browser, csrf = press.sign_in()
    again = browser.post(f"{JOBS}/{job}", data={"csrf": csrf, "action": "run-again"})
    assert again.headers["location"] == f"{JOBS}/{job + 1}"
    listed = browser.get(f"{JOBS}?flow=1").text
    assert "Runs of the flow" in listed
    press.run("looseleaf/delete-flow", flow=1)
    assert "its flow was deleted" in browser.get(f"{JOBS}/{job}").text


def test_the_list_follows_its_jobs(press: Site, open_tab: OpenTab) -> None:
    """New jobs appear, states change, and the focus stays where it was."""
    first = start(press, TEXT, GATE, label="First")
    page = open_tab(press).open(JOBS)
    page.evaluate("window.isTheSamePage = true")
    page.locator(f"#job-{first}").focus()
    start(press, TEXT, label="Second")
    page.locator("#job-list", has_text="Second").wait_for()
    assert page.locator("#job-count").inner_text() == "2 jobs"
    run_until(press, first, "waiting")
    page.locator("tr", has_text="First").locator(".tag", has_text="waits for a call").wait_for()
    assert page.evaluate("document.activeElement.id") == f"job-{first}"
    assert page.evaluate("window.isTheSamePage")
    assert not find_faults(page)


def test_a_chosen_list_follows_its_own_jobs_alone(press: Site, open_tab: OpenTab) -> None:
    """The stream has the choice of the page: what has failed appears, and nothing else."""
    other = start(press, TEXT, label="Elsewhere")
    page = open_tab(press).open(f"{JOBS}?show=failed")
    assert "No job has failed." in page.locator("#job-list").inner_text()
    press.run("looseleaf/cancel-job", job=other)
    page.locator("#job-list", has_text="Elsewhere").wait_for()
    start(press, TEXT, label="Third")
    assert "Third" not in page.locator("#job-list").inner_text()


def test_the_list_works_without_javascript(press: Site, open_tab: OpenTab) -> None:
    """It is read again by hand."""
    page = open_tab(press, java_script_enabled=False).open(JOBS)
    start(press, TEXT, label="Later")
    page.reload()
    assert "Later" in page.locator("#job-list").inner_text()
