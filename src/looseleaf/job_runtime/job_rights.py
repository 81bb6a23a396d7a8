"""The right of a job to go on: that of its user on its agent, at the time of each step."""

from __future__ import annotations

from looseleaf.access.user_principals import build_user_principal, find_job_requirement
from looseleaf.errors.workflows import JobForbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.access.principals import Principal
    from looseleaf.catalog.context import Context
    from looseleaf.workflows.job import Job


def require_job_rights(context: Context, job: Job) -> Principal | None:
    """Return the user of a job with the rights of now, or raise `JobForbidden`.

    A user who may no longer run the job is refused before its next step. Looseleaf's own jobs have
    no user (None): they run whether the owner of the agent is active or not.
    """
    agent = context.parts.agents.resolve(job.agent_id)
    if job.source == "system":
        return None
    user_id = job.user_id or agent.owner
    accounts = context.parts.accounts()
    principal = build_user_principal(accounts, user_id, agent_id=agent.id, name=agent.slug)
    requirement = find_job_requirement(principal, agent.shelf, agent.owner)
    if requirement is not None:
        raise JobForbidden(user_id, agent.slug, requirement)
    return principal


class JobRights:
    """The rights of a job while one of its turns runs; they are read again when accounts change."""

    def __init__(self, context: Context, job: Job) -> None:
        self._context, self._job = context, job
        self._version = context.parts.accounts().version()
        self._is_lost = False

    def is_lost(self) -> bool:
        """Return whether the user of the job may no longer run it."""
        version = self._context.parts.accounts().version()
        if version != self._version and not self._is_lost:
            try:
                require_job_rights(self._context, self._job)
            except JobForbidden:
                self._is_lost = True
            self._version = version
        return self._is_lost
