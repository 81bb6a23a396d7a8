"""Data that is past its retention goes, by the seeds' defaults; pages and the journal never do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.audit import Event
from looseleaf.catalog.dispatch import invoke
from looseleaf.features.chat import tables
from looseleaf.features.chat.session import Opening, TurnOutcome, chats_of, prune_sessions
from looseleaf.features.upkeep import retention
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.queue import JobFilter, JobOutcome, Limits
from looseleaf.features.workflows.jobs.run import plan_direct_job
from looseleaf.features.workflows.parts import job_store_of, jobs_of, resources_of
from looseleaf.features.workflows.system_tasks import RunLog, RunRecord, create_run_id
from looseleaf.models.model import Message, Usage
from looseleaf.operations import history, memory
from looseleaf.operations.daily import write_day
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.times import DAY_SECONDS
from looseleaf.values import replace
from tests.conftest import Clock


def begin_session(workspace: Workspace, title: str, *, is_ended: bool = True) -> str:
    """Begin a conversation; one that did not end holds its session."""
    opening = Opening(
        session="",
        owner=1,
        agent=1,
        mode="chat",
        message=Message(role="user", text=title),
        title=title,
    )
    begun = chats_of(workspace).turns.begin(opening)
    assert begun.lease is not None
    if is_ended:
        chats_of(workspace).turns.end(begun.lease, [], TurnOutcome("completed", Usage()))
    return begun.session.id


def end_job(workspace: Workspace, label: str) -> Job:
    """Add a job that is cancelled at once, with a folder and an artifact on disk."""
    jobs = jobs_of(workspace).jobs
    step = Step("1", "input", "", {"source": "text", "text": "x"})
    job, _ = jobs.add(plan_direct_job(label, (step,), agent_id=1))
    files = resources_of(workspace).files
    files.write_packets(job, [])
    files.write_artifact(job.id, "transcript/1", b"{}")
    return jobs.request(job.id, "cancel")


def job_folders(workspace: Workspace, job: Job) -> list[Path]:
    """Return the folders that a job has on disk."""
    root = Path(workspace.root)
    folder = root / f"pipeline-direct/flow-direct/jobs/job-{job.id}"
    return [folder, root / f".looseleaf/artifacts/job-{job.id}"]


def test_conversations_go_after_ninety_days(workspace: Workspace, clock: Clock) -> None:
    """One of 91 days goes, one of 89 stays, and so does one that is being answered."""
    old = begin_session(workspace, "old")
    clock.advance(days=2)
    kept = {begin_session(workspace, "kept")}
    clock.advance(days=89)
    kept.add(begin_session(workspace, "running", is_ended=False))
    counts = prune_sessions(workspace, workspace.settings, dry_run=True)
    assert counts == {"sessions": 1, "empty_sessions": 0}
    assert chats_of(workspace).sessions.list()[1] == 3
    assert prune_sessions(workspace, workspace.settings, dry_run=False) == counts
    assert {item.id for item in chats_of(workspace).sessions.list()[0]} == kept
    assert old not in kept


@pytest.mark.parametrize(("minutes", "count"), [(59, 0), (61, 1)])
def test_empty_conversations_go_after_an_hour(
    workspace: Workspace, clock: Clock, minutes: int, count: int
) -> None:
    """In which nothing was ever said."""
    sessions = chats_of(workspace).sessions
    session = begin_session(workspace, "nothing")
    accounts = workspace.accounts()
    assert isinstance(accounts, SqlAccounts)
    with accounts.database.writing() as connection:
        is_session = tables.chat_sessions.c.id == session
        connection.execute(tables.chat_sessions.update().where(is_session).values(messages=0))
    clock.advance(seconds=minutes * 60)
    counts = prune_sessions(workspace, workspace.settings, dry_run=False)
    assert counts == {"sessions": 0, "empty_sessions": count}
    assert sessions.list()[1] == 1 - count


def test_jobs_go_with_their_folders(workspace: Workspace, clock: Clock) -> None:
    """Thirty days after their end; one that has not ended stays, however old it is."""
    jobs = jobs_of(workspace).jobs
    step = Step("1", "input", "", {"source": "text", "text": "x"})
    waiting, _ = jobs.add(plan_direct_job("waiting", (step,), agent_id=1))
    old = end_job(workspace, "old")
    clock.advance(days=10)
    recent = end_job(workspace, "recent")
    clock.advance(days=21)
    assert retention.prune_jobs(workspace, workspace.settings, dry_run=True) == {"jobs": 1}
    assert all(folder.exists() for folder in job_folders(workspace, old))
    assert retention.prune_jobs(workspace, workspace.settings, dry_run=False) == {"jobs": 1}
    assert not any(folder.exists() for folder in job_folders(workspace, old))
    assert all(folder.exists() for folder in job_folders(workspace, recent))
    assert {job.id for job in jobs_of(workspace).jobs.list(all_jobs())[0]} == {
        waiting.id,
        recent.id,
    }


def all_jobs() -> JobFilter:
    """Choose every job."""
    return JobFilter()


def test_many_jobs_go_in_parts(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one statement takes."""
    monkeypatch.setattr(retention, "_BATCH", 3)
    jobs = jobs_of(workspace).jobs
    for number in range(retention._BATCH + 5):
        job, _ = jobs.add(plan_direct_job(str(number), (), agent_id=1))
        jobs.request(job.id, "cancel")
    clock.advance(days=31)
    count = retention._BATCH + 5
    assert retention.prune_jobs(workspace, workspace.settings, dry_run=False) == {"jobs": count}
    assert jobs.list(all_jobs())[1] == 0


def test_files_have_their_own_time(workspace: Workspace, clock: Clock) -> None:
    """Packets and uploads a week, artifacts as long as jobs; the material of a pipeline stays."""
    root = Path(workspace.root)
    names = (
        "pipeline-1/flow-1/flow-1-files/old.csv",
        "pipeline-1/flow-1/jobs/job-1/data.json",
        ".looseleaf/artifacts/job-1/transcript.json",
        "pipeline-1/context/brief.md",
    )
    for name in names:
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("x")
        os.utime(root / name, (clock() - 8 * DAY_SECONDS,) * 2)
    counts = retention.prune_files(workspace, workspace.settings, dry_run=True)
    assert counts == {"flow_files": 1, "job_folders": 1, "artifact_folders": 0}
    assert retention.prune_files(workspace, workspace.settings, dry_run=False) == counts
    assert [(root / name).exists() for name in names] == [False, False, True, True]


def test_an_upload_waits_for_a_run_of_its_flow(workspace: Workspace, clock: Clock) -> None:
    """However old it is; a run that failed has not read it, and one that ended well has."""
    steps = [{"type": "input", "settings": {"source": "files"}}]
    invoke(workspace.context, "looseleaf/create-pipeline", {"name": "News", "steps": steps})
    fields = {"pipeline": "news", "name": "A"}
    flow = invoke(workspace.context, "looseleaf/create-flow", fields)
    folder = f"pipeline-{flow['pipeline_id']}/flow-{flow['id']}/flow-{flow['id']}-files"
    file = Path(workspace.root) / folder / "a.txt"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    os.utime(file, (clock(), clock()))
    clock.advance(days=30)
    store = job_store_of(workspace)
    for outcome in (JobOutcome("failed"), JobOutcome("completed")):
        retention.prune_files(workspace, workspace.settings, dry_run=False)
        assert file.exists()
        store.jobs.add(replace(plan_direct_job("x", (), agent_id=1), flow_id=flow["id"]))
        lease = store.queue.claim("worker", Limits())
        assert lease is not None
        store.queue.release(lease, outcome)
    retention.prune_files(workspace, workspace.settings, dry_run=False)
    assert not file.exists()


def test_the_newest_old_run_of_each_task_stays(workspace: Workspace, clock: Clock) -> None:
    """So that a task which no longer runs is still seen to be late."""
    log = RunLog(workspace.root)
    for _ in range(4):
        for task_type in ("tidy", "greet"):
            clock.advance(seconds=1)
            start = clock()
            run_id = create_run_id(start)
            log.add(
                RunRecord(
                    id=run_id,
                    task_type=task_type,
                    agent_id=0,
                    agent="",
                    trigger="schedule",
                    surface="",
                    start=start,
                    end=start,
                    status="done",
                    reason="",
                )
            )
            log.add(
                RunRecord(
                    id=run_id,
                    task_type=task_type,
                    agent_id=1,
                    agent="ada",
                    trigger="manual",
                    surface="",
                    start=start,
                    end=start,
                    status="done",
                    reason="",
                )
            )
        clock.advance(days=20)
    assert retention.prune_runs(workspace, workspace.settings, dry_run=True) == {"runs": 8}
    assert retention.prune_runs(workspace, workspace.settings, dry_run=False) == {"runs": 8}
    assert retention.prune_runs(workspace, workspace.settings, dry_run=False) == {"runs": 0}
    assert [run.task_type for run in log.list(0)] == ["greet", "tidy"] * 2
    assert len(log.list(1)) == 4


def test_the_audit_goes_after_a_year(workspace: Workspace, clock: Clock) -> None:
    """And what is left of it can be verified."""
    accounts = workspace.accounts()
    for _ in range(3):
        accounts.settings.put({"require_if_match": True}, Event(action="set"))
    clock.advance(days=366)
    accounts.settings.put({"require_if_match": False}, Event(action="set"))
    total = len(accounts.audit.list(limit=100))
    counts = retention.prune_audit(workspace, workspace.settings, dry_run=True)
    assert counts == {"entries": total - 1}
    assert retention.prune_audit(workspace, workspace.settings, dry_run=False) == counts
    verdict = accounts.audit.verify()
    assert (verdict.fault, verdict.removed) == ("", total - 1)


def test_versions_go_as_the_history_says(workspace: Workspace, clock: Clock) -> None:
    """The dry run counts what `memory prune` drops, and the page stays as it is."""
    for number in range(60):
        memory.write_page(workspace.context, "MEMORY.md", f"version {number}\n")
        clock.advance(days=3)
    counts = retention.prune_revisions(workspace, workspace.settings, dry_run=True)
    assert counts["versions"] > 0
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    kept = len(workspace.history.revisions(scope))
    assert retention.prune_revisions(workspace, workspace.settings, dry_run=False) == counts
    assert len(workspace.history.revisions(scope)) == kept - counts["versions"]
    assert history.prune(workspace.context) == 0
    assert workspace.pages.text(scope) == "version 59\n"


def test_pages_and_the_journal_are_never_removed(workspace: Workspace, clock: Clock) -> None:
    """However old they are; every kind of removal runs with the shortest times."""
    memory.write_page(workspace.context, "notes.md", "kept\n")
    write_day(workspace.context, "- kept\n", date="2026-04-17")
    agents = Path(workspace.root) / "agents"
    before = {path: path.read_bytes() for path in agents.rglob("*") if path.is_file()}
    for path in before:
        os.utime(path, (1, 1))
    clock.advance(days=3_000)
    short = replace(
        workspace.settings, retention_days=0.0, file_retention_days=1.0, job_retention_days=1.0
    )
    for name in dir(retention):
        if name.startswith("prune_"):
            getattr(retention, name)(workspace, short, dry_run=False)
    assert {path: path.read_bytes() for path in agents.rglob("*") if path.is_file()} == before


def test_nothing_is_made_where_there_is_no_database(tmp_path: Path) -> None:
    """To count in a workspace without conversations makes none."""
    workspace = Workspace.create(tmp_path / "fresh", agent="ada")
    assert not workspace.has_accounts()
    for name in dir(retention):
        if name.startswith("prune_"):
            counts = getattr(retention, name)(workspace, workspace.settings, dry_run=False)
            assert sum(counts.values()) == 0
    assert not workspace.has_accounts()
    workspace.close()
