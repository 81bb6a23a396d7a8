"""Old files of workflows: found by age and removed, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from looseleaf.features.workflows.jobs.folders import OldFileCount, OldFileTimes, OldWorkflowFiles
from looseleaf.files.root_folder import RootFolder

NOW = 2_000_000_000.0
BEFORE = NOW - 7 * 86_400
ALL_KINDS = OldFileTimes(BEFORE, BEFORE, BEFORE)


@pytest.fixture
def old_files(root: Path) -> OldWorkflowFiles:
    """Return the old files of a fresh root."""
    return OldWorkflowFiles(RootFolder(str(root)))


def put(file: Path, age: float) -> Path:
    """Write a file that was last changed some days before now."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x")
    os.utime(file, (NOW - age * 86_400, NOW - age * 86_400))
    return file


def test_the_example_of_the_reference(old_files: OldWorkflowFiles, root: Path) -> None:
    """An old file of a flow and an old folder of a job: two are counted, one file is removed."""
    flow = root / "pipeline-3/flow-5"
    put(flow / "flow-5-files/old.txt", 8)
    put(flow / "jobs/job-7/data.json", 9)
    fresh = put(flow / "jobs/job-8/data.json", 1)
    put(flow / "jobs/job-8/older.json", 20)
    assert old_files.count(ALL_KINDS).total == 2
    assert old_files.remove(ALL_KINDS) == OldFileCount(flow_files=1, job_folders=1)
    assert old_files.count(ALL_KINDS).total == 0
    assert fresh.exists()
    assert not (flow / "flow-5-files").exists()
    assert not (flow / "jobs/job-7").exists()


def test_equal_age_survives_and_empty_folders_of_jobs_stay(
    old_files: OldWorkflowFiles, root: Path
) -> None:
    """The bound is strict; a job that has written nothing may still begin."""
    flow = root / "pipeline-direct/flow-direct"
    kept = put(flow / "flow-direct-files/a.txt", 7)
    (flow / "jobs/job-1").mkdir(parents=True)
    assert old_files.remove(ALL_KINDS).total == 0
    assert kept.exists()
    assert (flow / "jobs/job-1").is_dir()


def test_an_upload_that_no_job_has_read_stays(old_files: OldWorkflowFiles, root: Path) -> None:
    """It goes once a run that began after it has ended well; a flow that is gone keeps nothing."""
    waiting = put(root / "pipeline-3/flow-5/flow-5-files/a.txt", 20)
    read = put(root / "pipeline-3/flow-6/flow-6-files/a.txt", 20)
    newer = put(root / "pipeline-3/flow-6/flow-6-files/b.txt", 9)
    gone = put(root / "pipeline-3/flow-7/flow-7-files/a.txt", 20)
    times = OldFileTimes(BEFORE, last_reads={5: 0.0, 6: NOW - 10 * 86_400})
    assert old_files.remove(times) == OldFileCount(flow_files=2)
    assert [file.exists() for file in (waiting, newer, read, gone)] == [True, True, False, False]


def test_uploads_stay_where_only_jobs_are_meant(old_files: OldWorkflowFiles, root: Path) -> None:
    """An upload is a person's, and goes only when asked."""
    upload = put(root / "pipeline-3/flow-5/flow-5-files/old.txt", 30)
    put(root / "pipeline-3/flow-5/jobs/job-7/data.json", 30)
    put(root / ".looseleaf/artifacts/job-7/transcript.json", 30)
    removed = old_files.remove(OldFileTimes(0.0, BEFORE, BEFORE))
    assert removed == OldFileCount(job_folders=1, artifact_folders=1)
    assert upload.exists()
    assert not (root / "pipeline-3/flow-5/jobs").exists()


def test_nothing_else_is_touched(old_files: OldWorkflowFiles, root: Path, tmp_path: Path) -> None:
    """Context files, pages, folders of other names, and what a link leads to."""
    kept = [
        put(root / "pipeline-3/context/brief.md", 99),
        put(root / "agents/ada/MEMORY.md", 99),
        put(root / "pipeline-x/flow-5/jobs/job-1/data.json", 99),
        put(root / "pipeline-3/flow-5/jobs/other/data.json", 99),
        put(tmp_path / "elsewhere/flow-5/jobs/job-1/data.json", 99),
    ]
    (root / "pipeline-9").symlink_to(tmp_path / "elsewhere")
    old_files.remove(OldFileTimes(NOW, NOW, NOW))
    assert all(file.exists() for file in kept)


def test_each_kind_has_its_own_time(old_files: OldWorkflowFiles, root: Path) -> None:
    """Artifacts stay longer than packets, as the settings of retention have it."""
    put(root / "pipeline-3/flow-5/jobs/job-7/data.json", 8)
    artifact = put(root / ".looseleaf/artifacts/job-7/transcript.json", 8)
    times = OldFileTimes(BEFORE, BEFORE, NOW - 30 * 86_400)
    assert old_files.count(times) == OldFileCount(job_folders=1)
    assert old_files.remove(times) == OldFileCount(job_folders=1)
    assert artifact.exists()
