"""The folders of flows and jobs below the root: uploaded files, packets of a job, artifacts.

Packets lie where Data Machine has them, in `pipeline-{id}/flow-{id}/jobs/job-{id}/data.json`.
Artifacts lie in `.looseleaf/`, since they stay when the folder of a job is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager

from looseleaf.errors.pages import TooLarge
from looseleaf.errors.workflows import FileMissing
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, check_regular, open_folder, read_all
from looseleaf.memory.scope import check_folder
from looseleaf.workflows.artifacts.artifact import ArtifactFile
from looseleaf.workflows.artifacts.reference import ArtifactReference, parse_reference
from looseleaf.workflows.artifacts.transcript import format_json
from looseleaf.workflows.job import DIRECT
from looseleaf.workflows.packet import parse_packet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looseleaf.files.root_folder import RootFolder
    from looseleaf.workflows.job import Job
    from looseleaf.workflows.packet import Packet

DATA = "data.json"
MOST_FILE_BYTES = 20_000_000
_ARTIFACTS = (".looseleaf", "artifacts")
_SILENT = ("index.php", "index.html")  # files of the original plugin that hide a listing


class JobFolders:
    """The files of flows and jobs of one workspace."""

    def __init__(self, root_folder: RootFolder, modes: tuple[int, int]) -> None:
        self._root_folder, self._modes = root_folder, modes

    def flow_files(self, pipeline_id: int, flow_id: int) -> tuple[str, ...]:
        """Name the files that were uploaded for a flow."""
        with self._open_folder(_locate_flow_files(pipeline_id, flow_id)) as folder:
            if folder is None:
                return ()
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        return tuple(
            sorted(name for name in names if not name.startswith(".") and name not in _SILENT)
        )

    def read_flow_file(self, pipeline_id: int, flow_id: int, name: str) -> bytes:
        """Read a file of a flow, or raise `FileMissing`."""
        check_folder(name)
        with self._open_folder(_locate_flow_files(pipeline_id, flow_id)) as folder:
            content = None if folder is None or "/" in name else self._read(folder, name)
        if content is None:
            raise FileMissing(name, f"flow {flow_id}")
        return content

    def write_packets(self, job: Job, packets: Sequence[Packet]) -> None:
        """Write the packets of a job, newest first; a reader sees the old list or the new one."""
        content = format_json([packet.to_json() for packet in packets])
        with self._open_folder(_locate_job(job), create=True) as folder:
            if folder is not None and self._read(folder, DATA) != content:
                atomic.replace(folder, DATA, content, mode=self._modes[0])

    def read_packets(self, job: Job) -> tuple[Packet, ...]:
        """Read the packets of a job, empty if its folder was removed."""
        with self._open_folder(_locate_job(job)) as folder:
            content = None if folder is None else self._read(folder, DATA)
        return () if content is None else tuple(map(parse_packet, json.loads(content)))

    def remove_packets(self, job: Job) -> None:
        """Remove the folder of a job with its packets; artifacts stay."""
        *parents, name = _locate_job(job)
        with self._open_folder(parents) as folder:
            if folder is not None:
                atomic.remove_tree(folder, name)

    def write_gate(self, job: Job, step_id: str, address: str) -> None:
        """Keep the one-time address of a gate for the operator, in the place of an earlier one."""
        with self._open_folder(_locate_job(job), create=True) as folder:
            if folder is not None:
                content = f"{address}\n".encode()
                atomic.replace(folder, _name_gate_file(step_id), content, mode=self._modes[0])

    def read_gate(self, job: Job, step_id: str) -> str:
        """Read the one-time address of a gate, or "" if there is none."""
        with self._open_folder(_locate_job(job)) as folder:
            content = None if folder is None else self._read(folder, _name_gate_file(step_id))
        return "" if content is None else content.decode().strip()

    def remove_gate(self, job: Job, step_id: str) -> None:
        """Delete the address of a gate that was called."""
        with self._open_folder(_locate_job(job)) as folder:
            if folder is not None:
                atomic.remove(folder, _name_gate_file(step_id))

    def write_artifact(self, job_id: int, name: str, content: bytes) -> ArtifactFile:
        """Keep an artifact of a job, by its type and a qualifier; equal bytes are kept."""
        kind, _, qualifier = name.partition("/")
        reference = parse_reference(str(ArtifactReference(job_id, kind, qualifier)))
        with self._open_folder(_locate_artifacts(job_id), create=True) as folder:
            file = _name_artifact_file(reference)
            if folder is not None and self._read(folder, file) != content:
                atomic.replace(folder, file, content, mode=self._modes[0])
        digest = hashlib.sha256(content).hexdigest()
        return ArtifactFile(str(reference), kind, len(content), digest)

    def read_artifact(self, reference: ArtifactReference) -> bytes | None:
        """Read an artifact, or None if it is not there."""
        with self._open_folder(_locate_artifacts(reference.job_id)) as folder:
            return None if folder is None else self._read(folder, _name_artifact_file(reference))

    def remove_artifacts(self, job_id: int) -> None:
        """Remove the artifacts of a job."""
        with self._open_folder(_ARTIFACTS) as folder:
            if folder is not None:
                atomic.remove_tree(folder, f"job-{job_id}")

    @contextmanager
    def _open_folder(
        self, segments: Sequence[str], *, create: bool = False
    ) -> Iterator[int | None]:
        """Open a folder below the root without following a link, or None if it is not there."""
        with OsErrorContext("/".join(segments)):
            root = self._root_folder.open()
            try:
                mode = self._modes[1] if create else 0
                folder = open_folder(root, segments, create=mode, twins=True)
            except FileNotFoundError:
                folder = None
            finally:
                os.close(root)
            try:
                yield folder
            finally:
                if folder is not None:
                    os.close(folder)

    def _read(self, folder: int, name: str) -> bytes | None:
        try:
            file = os.open(name, READ, dir_fd=folder)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(file)
            check_regular(name, status, os.fstat(folder).st_dev)
            if status.st_size > MOST_FILE_BYTES:
                raise TooLarge(name, status.st_size, MOST_FILE_BYTES)
            return read_all(file, status.st_size)
        finally:
            os.close(file)


def _locate_job(job: Job) -> tuple[str, ...]:
    pipeline, flow = job.pipeline_id or DIRECT, job.flow_id or DIRECT
    return f"pipeline-{pipeline}", f"flow-{flow}", "jobs", f"job-{job.id}"


def _name_gate_file(step_id: str) -> str:
    return f"gate-{check_folder(step_id).replace('/', '+')}.txt"


def _locate_flow_files(pipeline_id: int, flow_id: int) -> tuple[str, ...]:
    return f"pipeline-{pipeline_id}", f"flow-{flow_id}", f"flow-{flow_id}-files"


def _locate_artifacts(job_id: int) -> tuple[str, ...]:
    return *_ARTIFACTS, f"job-{job_id}"


def _name_artifact_file(reference: ArtifactReference) -> str:
    qualifier = reference.qualifier.replace("/", "+")
    return f"{reference.type}{'+' if qualifier else ''}{qualifier}.json"
