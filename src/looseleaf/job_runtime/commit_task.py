"""The system task of every hour: commits of changed pages to git."""

from __future__ import annotations

import os

from looseleaf.operations.page_commits import commit_layers
from looseleaf.upkeep.system_tasks.task import SystemTask, TaskResult
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.upkeep.system_tasks.task import TaskRun


def run_commit(run: TaskRun) -> TaskResult:
    """Commit the pages that changed since the last commit."""
    if not run.settings.git_commits:
        return TaskResult("skipped", "git_commits is off")
    root = os.path.realpath(run.settings.root)
    commit = commit_layers(root, run.parts.agents, run.parts.history)
    if not commit.commit:
        return TaskResult("unchanged", "no page has changed since the last commit")
    return TaskResult("committed", commit.subject, details=as_dict(commit))


GIT_COMMIT = SystemTask(
    type="git_commit",
    label="Commit to git",
    description="Commit the pages that changed to the git repository of the workspace.",
    run=run_commit,
    setting="git_commits",
    trigger="Every hour",
    supports_run=True,
    per_agent=False,
)
