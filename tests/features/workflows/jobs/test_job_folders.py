"""The folders of jobs: packets that are always valid JSON, and artifacts that stay as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from looseleaf.errors import InvalidArgument, InvalidName, Unsafe
from looseleaf.errors.features import FileMissing
from looseleaf.features.workflows.artifacts import parse_reference
from looseleaf.features.workflows.jobs.folders import JobFolders
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.packet import Packet
from looseleaf.files.root_folder import RootFolder

JOB = Job(id=7, label="News", pipeline_id=3, flow_id=5)
FILE = "pipeline-3/flow-5/jobs/job-7/data.json"


@pytest.fixture
def folders(root: Path) -> JobFolders:
    """Return the folders of a fresh root."""
    return JobFolders(RootFolder(str(root)), (0o600, 0o700))


def packet(number: int) -> Packet:
    """Make a packet."""
    return Packet("item", "2026-04-17T09:30:00Z", {"content": f"text {number}"}, {"n": number})


def test_packets_grow_step_by_step(folders: JobFolders, root: Path) -> None:
    """The file lies where the seeds have it, newest packet first, readable by its owner alone."""
    folders.write_packets(JOB, [packet(1)])
    assert [entry["metadata"]["n"] for entry in json.loads((root / FILE).read_bytes())] == [1]
    folders.write_packets(JOB, [packet(2), packet(1)])
    assert [entry["metadata"]["n"] for entry in json.loads((root / FILE).read_bytes())] == [2, 1]
    assert folders.read_packets(JOB) == (packet(2), packet(1))
    assert (root / FILE).stat().st_mode & 0o777 == 0o600
    assert os.listdir((root / FILE).parent) == ["data.json"]


def test_the_same_packets_are_not_written_again(folders: JobFolders, root: Path) -> None:
    """A step that is followed twice leaves the file alone."""
    folders.write_packets(JOB, [packet(1)])
    before = (root / FILE).stat()
    folders.write_packets(JOB, [packet(1)])
    after = (root / FILE).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_direct_job_has_a_folder_of_its_own(folders: JobFolders, root: Path) -> None:
    """Without a pipeline and a flow, the folders are called direct."""
    folders.write_packets(Job(id=1, label="Task"), [])
    assert (root / "pipeline-direct/flow-direct/jobs/job-1/data.json").read_bytes() == b"[]\n"


def test_the_folder_of_a_job_is_removed_and_its_artifacts_stay(
    folders: JobFolders, root: Path
) -> None:
    """Removing twice is harmless."""
    folders.write_packets(JOB, [packet(1)])
    artifact = folders.write_artifact(7, "transcript/draft", b"{}\n")
    folders.remove_packets(JOB)
    folders.remove_packets(JOB)
    assert not (root / FILE).parent.exists()
    assert folders.read_packets(JOB) == ()
    assert folders.read_artifact(parse_reference(artifact.ref)) == b"{}\n"
    folders.remove_artifacts(7)
    assert folders.read_artifact(parse_reference(artifact.ref)) is None


def test_an_artifact_is_written_once(folders: JobFolders, root: Path) -> None:
    """Equal bytes leave the file as it is: time and inode."""
    first = folders.write_artifact(7, "tool-trace/draft", b"{}\n")
    file = root / ".looseleaf/artifacts/job-7/tool-trace+draft.json"
    before = file.stat()
    assert folders.write_artifact(7, "tool-trace/draft", b"{}\n") == first
    after = file.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert (first.type, first.bytes) == ("tool-trace", 3)
    assert folders.write_artifact(7, "tool-trace/draft", b"[]\n").sha256 != first.sha256


@pytest.mark.parametrize("name", ["../x", "transcript/../../x", "/etc", "", "transcript/", "A/b"])
def test_an_artifact_cannot_lie_elsewhere(folders: JobFolders, name: str) -> None:
    """A name that is no type and qualifier is refused."""
    if name == "transcript/":
        folders.write_artifact(7, name, b"x")  # a type without a qualifier
        return
    with pytest.raises(InvalidArgument):
        folders.write_artifact(7, name, b"x")


def test_files_of_a_flow_are_listed_and_read(folders: JobFolders, root: Path) -> None:
    """Hidden files and the plugin's index are left out."""
    assert folders.flow_files(3, 5) == ()
    place = root / "pipeline-3/flow-5/flow-5-files"
    place.mkdir(parents=True)
    for name in ("b.txt", "a.txt", ".hidden", "index.php"):
        (place / name).write_text(name)
    assert folders.flow_files(3, 5) == ("a.txt", "b.txt")
    assert folders.read_flow_file(3, 5, "a.txt") == b"a.txt"
    with pytest.raises(FileMissing):
        folders.read_flow_file(3, 5, "c.txt")
    for name in ("../flow-5-files/a.txt", "/etc/passwd"):
        with pytest.raises(InvalidName):
            folders.read_flow_file(3, 5, name)


def test_links_are_not_followed(folders: JobFolders, root: Path, tmp_path: Path) -> None:
    """Neither a file nor a folder leads out of the root."""
    (tmp_path / "secret").write_text("x")
    place = root / "pipeline-3/flow-5/flow-5-files"
    place.mkdir(parents=True)
    (place / "a.txt").symlink_to(tmp_path / "secret")
    assert folders.flow_files(3, 5) == ()
    with pytest.raises(Unsafe):
        folders.read_flow_file(3, 5, "a.txt")
    (root / "pipeline-9").symlink_to(tmp_path)
    with pytest.raises(Unsafe):
        folders.write_packets(Job(id=1, label="x", pipeline_id=9, flow_id=1), [])
