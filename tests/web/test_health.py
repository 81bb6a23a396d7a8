"""/health speaks of the server alone."""

from __future__ import annotations

import pytest

from looseleaf.errors import DiskFull, InUse, Locked, LooseleafError, TooBusy, Unavailable
from looseleaf.errors.features import RequestFailed
from looseleaf.errors.operations import ModelFailed
from looseleaf.errors.pages import HistoryMissing
from looseleaf.features.workflows.system_tasks import RunLog, RunRecord
from looseleaf.web.health import RecentFaults
from tests.features.chat.conftest import Script
from tests.web.fixtures import API, Opens

TASK = "daily_memory_generation"


def test_a_failing_model_leaves_the_server_well(opens: Opens) -> None:
    """The person is told, and a load balancer is not."""
    site = opens(default_model="script:m")
    site.workspace.models().register("script", lambda _name: Script(ModelFailed("m", "is down")))
    answer = site.ask("POST", f"{API}/chat", site.token(), json={"message": "Hi"})
    assert answer.status_code in (502, 503), answer.text
    health = site.ask("GET", "/health")
    assert (health.status_code, health.json()) == (200, {"status": "ok", "problems": []})


def test_a_task_that_fails_again_and_again_is_a_detail(opens: Opens) -> None:
    """The server is well, so it stays 200."""
    site = opens(daily_memory_enabled=True)
    workspace = site.workspace
    [agent] = workspace.agents.records()
    for number in range(3):
        record = RunRecord(
            id=f"run-{number}",
            task_type=TASK,
            agent_id=agent.id,
            agent=agent.slug,
            trigger="manual",
            surface="rest",
            start=1.0,
            end=2.0,
            status="failed",
            reason="why",
        )
        RunLog(workspace.settings.root).add(record)
    health = site.ask("GET", "/health")
    report = {"status": "ok", "problems": [], "upkeep": [TASK]}
    assert (health.status_code, health.json()) == (200, report)


@pytest.mark.parametrize(
    ("error", "problems"),
    [
        (Unavailable("MEMORY.md", "Input/output error"), ["unavailable"]),
        (DiskFull("MEMORY.md"), ["disk_full"]),
        (HistoryMissing("MEMORY.md", "the store keeps none"), []),
        (InUse("backups", "another backup is under way in it"), []),
        (Locked("MEMORY.md", 30.0), []),
        (ModelFailed("m", "is down"), []),
        (TooBusy("MEMORY.md"), []),
        (RequestFailed("feeds.example.com", "it did not answer"), []),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, LooseleafError) else "",
)
def test_only_what_the_server_cannot_do_is_noted(
    error: LooseleafError, problems: list[str]
) -> None:
    """A disk that fails counts; one page, one model or one busy moment does not."""
    trouble = RecentFaults()
    trouble.note(error)
    assert trouble.recent() == problems
