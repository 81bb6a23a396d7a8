"""The services of a workspace that operations work with, as one contract.

An operation does not know whether its workspace is a folder on a disk or something else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from looseleaf.access.accounts import Accounts
    from looseleaf.access.audit import Event
    from looseleaf.agents.agent_list import AgentList
    from looseleaf.catalog.operation import OperationList
    from looseleaf.chat.session import Chats
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.search.ranked import Index
    from looseleaf.memory.templates import PageStarters
    from looseleaf.models.by_name import Models
    from looseleaf.prompt.chain import Chain
    from looseleaf.settings import Settings
    from looseleaf.stores.workflow_resources import WorkflowResources
    from looseleaf.upkeep.generated_pages import GeneratedPages
    from looseleaf.upkeep.schedules import TaskSchedules
    from looseleaf.upkeep.system_tasks.task import SystemTasks
    from looseleaf.workflows.definitions import Definitions
    from looseleaf.workflows.schedules.job_access import WorkflowJobs
    from looseleaf.workflows.step import StepTypes
else:
    Protocol = object


class WorkspaceServices(Protocol):
    """The services of a workspace; one that takes time to open is opened when it is called."""

    @property
    def settings(self) -> Settings:
        """The settings of the file, without those that were set while running."""

    def effective_settings(self) -> Settings:
        """Return the settings of the file, with those that were made while running."""

    @property
    def agents(self) -> AgentList:
        """The list of agents."""

    @property
    def pages(self) -> MemoryPages:
        """All pages, whatever the rights of the principal are."""

    @property
    def history(self) -> History:
        """The history of every page."""

    def require_available(self) -> None:
        """Raise `Unavailable` where the workspace is not there, such as an unmounted disk."""

    def clock(self) -> float:
        """Give the time, in seconds since 1970."""

    def index(self) -> Index | None:
        """Give the search index of all pages, or None where there is none."""

    def chain(self) -> Chain:
        """Give the chain of directives."""

    def composed_sections(self) -> ComposedSections:
        """Give the sections of generated pages."""

    def starters(self) -> PageStarters:
        """Give the texts that new pages start with."""

    def generated(self) -> GeneratedPages:
        """Give the generated pages."""

    def operations(self) -> OperationList:
        """Give every operation, those of plugins too."""

    def schedules(self) -> TaskSchedules:
        """Give the schedules that plugins registered."""

    def step_types(self) -> StepTypes:
        """Give the types of steps that pipelines are made of."""

    def system_tasks(self) -> SystemTasks:
        """Give the system tasks."""

    def has_accounts(self) -> bool:
        """Say whether there is a database already; this call creates none."""

    def accounts(self) -> Accounts:
        """Open the users, grants, credentials and settings of the database."""

    def chats(self) -> Chats:
        """Open the conversations of the database."""

    def definitions(self) -> Definitions:
        """Open the pipelines and flows of the database."""

    def workflow_resources(self) -> WorkflowResources:
        """Give the resources of workflows besides memory: other servers, files, processed items."""

    def workflow_jobs(self) -> WorkflowJobs:
        """Give the jobs of the database, and the schedules that start them."""

    def add_event(self, event: Event) -> None:
        """Add an event to the audit."""

    def models(self) -> Models:
        """Give the models, each opened when it is first asked."""

    def model_for(self, agent: str | int | None, mode: str) -> str | None:
        """Choose the model that answers for an agent in a mode; None where nothing names one."""

    def report(self, failure: str, error: Exception) -> None:
        """Tell the operator about a failure that must not undo what was done."""

    def show_progress(self, activity: str, done_count: int, total: int) -> None:
        """Show the operator how far a long act is."""
