"""The folders of flows and jobs below the root: uploaded files, packets of a job, artifacts.

Packets lie where Data Machine has them, in `pipeline-{id}/flow-{id}/jobs/job-{id}/data.json`.
Artifacts lie in `.looseleaf/`, since they stay when the folder of a job is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import contextmanager

from looseleaf.errors.features import FileMissing
from looseleaf.errors.pages import TooLarge
from looseleaf.features.workflows.artifacts import ArtifactFile, ArtifactReference, parse_reference
from looseleaf.features.workflows.jobs.job import DIRECT
from looseleaf.features.workflows.packet import parse_packet
from looseleaf.features.workflows.sources import cut_text
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, check_regular, open_folder, read_all
from looseleaf.memory.scope import check_folder
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from looseleaf.features.workflows.artifacts import SecretMask
    from looseleaf.features.workflows.jobs.job import Job
    from looseleaf.features.workflows.packet import Packet
    from looseleaf.features.workflows.step import ProcessedItems, ToolExecution
    from looseleaf.files.root_folder import RootFolder
    from looseleaf.models.model import Message
else:
    Protocol = object


# The contracts for removing the data that jobs leave on disk and in the database.


@value
class OldFileTimes:
    """The times before which files count as old, in seconds since 1970; 0 leaves a kind out.

    Fields:
        flow_files: For uploaded files of flows.
        job_folders: For folders of jobs.
        artifact_folders: For folders of artifacts.
        last_reads: When the last job of a flow that ended well began, by the id of the flow, or 0
            if none did: newer files of the flow are kept, since no job has read them.
    """

    flow_files: float = 0.0
    job_folders: float = 0.0
    artifact_folders: float = 0.0
    last_reads: Mapping[int, float] = FrozenDict()

    def find_flow_time(self, flow: str) -> float:
        """Return the time before which a file in the folder of a flow is old."""
        number = flow.removeprefix("flow-")
        last_read = self.last_reads.get(int(number)) if number.isdecimal() else None
        return self.flow_files if last_read is None else min(self.flow_files, last_read)


@value
class OldFileCount:
    """How many files of flows, folders of jobs and folders of artifacts are old."""

    flow_files: int = 0
    job_folders: int = 0
    artifact_folders: int = 0

    @property
    def total(self) -> int:
        """The sum of all kinds."""
        return self.flow_files + self.job_folders + self.artifact_folders


class OldFiles(Protocol):
    """The files of workflows, by age."""

    def count(self, times: OldFileTimes) -> OldFileCount:
        """Count the files that were last changed before these times."""

    def remove(self, times: OldFileTimes) -> OldFileCount:
        """Remove the files that were last changed before these times; return their counts."""


class JobFolderRemoval(Protocol):
    """The removal of the folders of single jobs."""

    def remove_packets(self, job: Job) -> None:
        """Remove the folder of a job with its packets; artifacts stay."""

    def remove_artifacts(self, job_id: int) -> None:
        """Remove the artifacts of a job."""


class JobData(Protocol):
    """All data of jobs besides their rows."""

    @property
    def files(self) -> JobFolderRemoval:
        """The folders of jobs."""

    @property
    def old_files(self) -> OldFiles:
        """The files of workflows, by age."""

    def processed_items(self) -> ProcessedItems:
        """Return the items that steps have taken before."""


# Old files of workflows: uploads of flows, folders of jobs, artifacts; found and removed by
# age.
# Nothing else is touched: neither `pipeline-{id}/context/` nor any page.


_PIPELINE = re.compile(r"pipeline-([0-9]{1,18}|direct)")
_FLOW = re.compile(r"flow-([0-9]{1,18}|direct)")
_JOB = re.compile(r"job-[0-9]{1,18}")
_ARTIFACTS = (".looseleaf", "artifacts")


class OldWorkflowFiles:
    """The old files of workflows below one root."""

    def __init__(self, root_folder: RootFolder) -> None:
        self._root_folder = root_folder

    def count(self, times: OldFileTimes) -> OldFileCount:
        """Count the files and folders that were last changed before these times."""
        return self._walk(times, removes=False)

    def remove(self, times: OldFileTimes) -> OldFileCount:
        """Remove files and folders that were last changed before these times; return the counts.

        A folder of a job is removed if it has files and all of them are old. A file that was
        changed exactly at its time stays.
        """
        return self._walk(times, removes=True)

    def _walk(self, times: OldFileTimes, *, removes: bool) -> OldFileCount:
        files = jobs = 0
        for flow_path, flow in self._list_flow_folders():
            uploads = (*flow_path, f"{flow}-files")
            before = times.find_flow_time(flow)
            files += self._sweep_files(uploads, before, removes=removes)
            jobs += self._sweep_folders((*flow_path, "jobs"), times.job_folders, removes=removes)
        artifacts = self._sweep_folders(_ARTIFACTS, times.artifact_folders, removes=removes)
        return OldFileCount(files, jobs, artifacts)

    def _list_flow_folders(self) -> Iterator[tuple[tuple[str, ...], str]]:
        for pipeline in self._list_names((), _PIPELINE):
            for flow in self._list_names((pipeline,), _FLOW):
                yield (pipeline, flow), flow

    def _list_names(self, path: Sequence[str], shape: re.Pattern[str]) -> list[str]:
        with self._open_folder(path) as folder:
            if folder is None:
                return []
            with os.scandir(folder) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if shape.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                )

    def _sweep_files(self, path: Sequence[str], before: float, *, removes: bool) -> int:
        """Count the old files in a folder; `removes` them, and a folder that is empty then."""
        with self._open_folder(path) as folder:
            if folder is None:
                return 0
            old_names = [name for name, changed_at in _list_files(folder) if changed_at < before]
            for name in old_names if removes else ():
                atomic.remove(folder, name)
            is_empty = removes and old_names and not os.listdir(folder)
        if is_empty:
            self._remove_folder(path)
        return len(old_names)

    def _sweep_folders(self, path: Sequence[str], before: float, *, removes: bool) -> int:
        """Count the folders of jobs whose files are all old; `removes` them."""
        count = 0
        for name in self._list_names(path, _JOB):
            with self._open_folder((*path, name)) as folder:
                times = [] if folder is None else [at for _, at in _list_files(folder)]
            if not times or max(times) >= before:
                continue
            count += 1
            if removes:
                with self._open_folder(path) as parent:
                    if parent is not None:
                        atomic.remove_tree(parent, name)
        if removes and count and not self._list_names(path, _JOB):
            self._remove_folder(path)
        return count

    def _remove_folder(self, path: Sequence[str]) -> None:
        *parents, name = path
        with self._open_folder(parents) as folder:
            if folder is None:
                return
            try:
                atomic.remove_folder(folder, name)
            except OSError:
                return  # someone has put a file there meanwhile, or it is gone

    @contextmanager
    def _open_folder(self, segments: Sequence[str]) -> Iterator[int | None]:
        """Open a folder below the root without following a link, or None if it is not there."""
        with OsErrorContext("/".join(segments) or "The workspace"):
            root = self._root_folder.open()
            try:
                folder = open_folder(root, segments)
            except (FileNotFoundError, NotADirectoryError):
                folder = None
            finally:
                os.close(root)
            try:
                yield folder
            finally:
                if folder is not None:
                    os.close(folder)


def _list_files(folder: int) -> list[tuple[str, float]]:
    """List the plain files of a folder, each with the time of its last change."""
    with os.scandir(folder) as entries:
        return [
            (entry.name, entry.stat(follow_symlinks=False).st_mtime)
            for entry in entries
            if entry.is_file(follow_symlinks=False)
        ]


# Transcripts and tool traces of a job: bounded, without secrets, in canonical JSON.


MOST_MESSAGES = 200
MOST_ENTRIES = 200
LONGEST_TEXT = 4_000


def build_transcript(messages: Sequence[Message], mask: SecretMask) -> dict[str, Any]:
    """Return the messages of a turn as plain JSON; the newest stay if there are too many."""
    entries = [_describe_message(message) for message in messages[-MOST_MESSAGES:]]
    return _build_document("messages", entries, len(messages), mask)


def build_tool_trace(tools: Sequence[ToolExecution], mask: SecretMask) -> dict[str, Any]:
    """Return the calls of tools as plain JSON; the first ones stay if there are too many."""
    entries = [
        {
            "tool_name": tool.name,
            "success": tool.success,
            "arguments": _cut(dict(tool.arguments)),
            "summary": cut_text(tool.summary, LONGEST_TEXT),
        }
        for tool in tools[:MOST_ENTRIES]
    ]
    return _build_document("entries", entries, len(tools), mask)


def format_json(document: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Write canonical JSON: sorted keys, indented, with a line end."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=2)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _build_document(name: str, entries: list[Any], total: int, mask: SecretMask) -> dict[str, Any]:
    payload = mask.mask(entries)
    return {
        name: payload,
        "total": total,
        "bounded": True,
        "redacted": True,
        "sha256": hashlib.sha256(format_json(payload)).hexdigest(),
    }


def _describe_message(message: Message) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": message.role, "content": cut_text(message.text, LONGEST_TEXT)}
    if message.calls:
        entry["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": _read_arguments(call.arguments)}
            for call in message.calls
        ]
    if message.role == "tool":
        entry |= {"tool_name": message.name, "call_id": message.call, "success": not message.failed}
    return entry


def _read_arguments(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Parse arguments, so that secrets in them are found by their keys."""
    try:
        return _cut(json.loads(text))
    except (ValueError, RecursionError):
        return cut_text(text, LONGEST_TEXT)


def _cut(document: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(document, str):
        return cut_text(document, LONGEST_TEXT)
    if isinstance(document, dict):
        return {name: _cut(entry) for name, entry in list(document.items())[:MOST_ENTRIES]}
    if isinstance(document, list):
        return [_cut(entry) for entry in document[:MOST_ENTRIES]]
    return document


DATA = "data.json"
MOST_FILE_BYTES = 20_000_000
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
