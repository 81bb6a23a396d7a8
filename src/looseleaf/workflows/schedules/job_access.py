"""The jobs and schedules of a workspace as operations reach them, without a worker."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from looseleaf.workflows.job_list import Jobs
    from looseleaf.workflows.schedules.firing import ScheduleFiring
    from looseleaf.workflows.schedules.schedule import ScheduleStates
else:
    Protocol = object


class WorkflowJobs(Protocol):
    """The jobs of a workspace, and the schedules that start them."""

    @property
    def jobs(self) -> Jobs:
        """The jobs."""

    @property
    def schedule_states(self) -> ScheduleStates:
        """The states of all schedules."""

    @property
    def schedule_firing(self) -> ScheduleFiring:
        """The object that starts the jobs of schedules."""
