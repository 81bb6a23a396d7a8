"""The contracts for removing the data that jobs leave on disk and in the database."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from looseleaf.workflows.job import Job
    from looseleaf.workflows.step_parts import ProcessedItems
else:
    Protocol = object


@value
class OldFileTimes:
    """The times before which files count as old, in seconds since 1970; 0 leaves a kind out."""

    flow_files: float = 0.0
    job_folders: float = 0.0
    artifact_folders: float = 0.0


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
