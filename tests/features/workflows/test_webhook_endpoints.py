"""Inbound calls: a job that waits is woken once, by whoever knows its address."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.run import plan_direct_job
from looseleaf.features.workflows.operations.artifacts import show_gate
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.web.http.request_log import public_path_of
from tests.web.fixtures import Site
from tests.web.test_limits import head, raw

STEPS = (
    Step("gate", "webhook_gate"),
    Step("learn", "memory_update", "", {"target": "section", "section": "State"}),
)


def wait_until(is_true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for an event in the worker's thread."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def waiting_job(site: Site) -> tuple[int, str]:
    """Start a job and let it come to its gate; return its number and its address."""
    runtime = jobs_of(site.workspace)
    agent = site.workspace.agents.resolve("ada")
    job, _ = runtime.jobs.add(plan_direct_job("Approval", STEPS, agent_id=agent.id, user_id=1))
    runtime.start_worker()
    wait_until(lambda: runtime.jobs.find(job.id).status == "waiting")
    return job.id, show_gate(site.workspace.context, job.id).address


def test_a_call_wakes_the_job_once(site: Site) -> None:
    """Without a credential; the body is remembered, and a second call is refused."""
    job_id, address = waiting_job(site)
    answer = site.browser().post(address, json={"approved": True})
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["job_id"] == job_id
    jobs = jobs_of(site.workspace).jobs
    wait_until(lambda: jobs.find(job_id).status == "completed")
    shelf = site.workspace.agents.resolve("ada").shelf
    assert '"approved": true' in site.workspace.pages.text(shelf.page("MEMORY.md"))
    assert site.browser().post(address, json={}).status_code in (403, 404, 409)


def test_a_wrong_secret_tells_nothing(site: Site) -> None:
    """A job that waits, one that does not, and one that is not there answer alike."""
    job_id, address = waiting_job(site)
    place, _, secret = address.rpartition("/")
    answers = [
        site.browser().post(f"{place}/{'x' * len(secret)}", json={}),
        site.browser().post(f"/datamachine/v1/webhooks/{job_id}/learn/{secret}", json={}),
        site.browser().post(f"/datamachine/v1/webhooks/9999/gate/{secret}", json={}),
        site.browser().post(f"/datamachine/v1/webhooks/none/gate/{secret}", json={}),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert {answer.json()["code"] for answer in answers} == {"job_not_found"}
    assert jobs_of(site.workspace).jobs.find(job_id).status == "waiting"


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"[1]", 400), (b"no json", 400), (b'{"x": "' + b"y" * 70_000 + b'"}', 413)],
)
def test_a_body_is_a_bounded_object(site: Site, content: bytes, status: int) -> None:
    """Anything else leaves the job waiting."""
    job_id, address = waiting_job(site)
    headers = {"content-type": "application/json"}
    answer = site.browser().post(address, content=content, headers=headers)
    assert answer.status_code == status
    assert jobs_of(site.workspace).jobs.find(job_id).status == "waiting"


def test_the_secret_stands_in_no_log() -> None:
    """Lines of requests, and the list of recent ones, show the address without its end."""
    scope = {"path": "/datamachine/v1/webhooks/7/gate/s3cret"}
    assert public_path_of(scope) == "/datamachine/v1/webhooks/7/gate/…"
    for mistyped in (
        "webhooks/7/gate/s3cret/",
        "Webhooks//7/gate/s3cret",
        "webhooks/s3cret/7/gate",
    ):
        path = public_path_of({"path": f"/datamachine/v1/{mistyped}"})
        assert "s3cret" not in path
        assert "…" in path
    assert public_path_of({"path": "/datamachine/v1/jobs/7"}) == "/datamachine/v1/jobs/7"


def test_a_call_without_the_secret_is_not_read(site: Site) -> None:
    """A flood of calls parses no bodies, and takes no lock of the database."""
    _, address = waiting_job(site)
    place, _, secret = address.rpartition("/")
    lines = ["content-type: application/json", "content-length: 60000"]
    with site.workspace.database.database().writing():
        answer = raw(site, head("POST", f"{place}/{'x' * len(secret)}", *lines) + b"{")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"connection: close" in answer
