"""Removing what workflows leave: ended jobs, old files, and items that were taken."""

from __future__ import annotations

from looseleaf.workflows.parts import jobs_of, resources_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.workflows.artifacts.job_data import OldFileCount, OldFileTimes
    from looseleaf.workflows.job import Job


def delete_jobs(parts: WorkspaceServices, jobs: Iterable[Job]) -> int:
    """Delete jobs that have ended, each with its folder and artifacts; return how many.

    The folders are removed first: if that fails, the row of the job stays for the next attempt.
    """
    jobs = [job for job in jobs if job.is_final]
    files = resources_of(parts).files
    for job in jobs:
        files.remove_packets(job)
        files.remove_artifacts(job.id)
    return jobs_of(parts).jobs.delete([job.id for job in jobs])


def remove_files(parts: WorkspaceServices, times: OldFileTimes, *, dry_run: bool) -> OldFileCount:
    """Remove the files of workflows that were last changed before these times, or count them."""
    old_files = resources_of(parts).old_files
    return old_files.count(times) if dry_run else old_files.remove(times)


def forget_items(parts: WorkspaceServices, before: float, *, dry_run: bool) -> int:
    """Delete items that no source has offered since a time, or count them."""
    if not parts.has_accounts():
        return 0
    return resources_of(parts).processed_items().prune(before=before, dry_run=dry_run)
