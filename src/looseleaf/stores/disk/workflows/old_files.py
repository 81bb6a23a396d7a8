"""Old files of workflows: uploads of flows, folders of jobs, artifacts; found and removed by age.

Nothing else is touched: neither `pipeline-{id}/context/` nor any page.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager

from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext, open_folder
from looseleaf.workflows.artifacts.job_data import OldFileCount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looseleaf.files.root_folder import RootFolder
    from looseleaf.workflows.artifacts.job_data import OldFileTimes

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
            files += self._sweep_files(uploads, times.flow_files, removes=removes)
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
