"""Where a bundle is installed: the agents, pages, workflows and records of a workspace."""

from __future__ import annotations

from looseleaf.bundles.export import AgentSource, BundleTitle, collect_bundle
from looseleaf.bundles.installation.artifacts import list_artifacts
from looseleaf.bundles.installation.ledger import list_extras
from looseleaf.bundles.layout.workflow_definitions import WorkflowRules
from looseleaf.bundles.profiles import PROFILES
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.agent_list import AgentList
    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.installation.artifacts import Artifact
    from looseleaf.bundles.installation.ledger import Ledgers
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Change
    from looseleaf.workflows.definitions import Definitions
    from looseleaf.workflows.step import StepTypes
    from looseleaf.workflows.uploads.file_store import FileLimits, WorkflowFiles


@value
class Destination:
    """The parts of a workspace that an install changes.

    Fields:
        agents: The list of agents.
        pages: The pages.
        definitions: Opens the pipelines and flows, with their database.
        has_definitions: Whether there is a database already.
        uploads: Gives the uploaded files of workflows.
        limits: The bounds of uploaded files.
        step_types: The types of steps that pipelines may have.
        ledgers: What is installed for which agent.
        change: The provenance of the pages that are written.
        is_starter: Whether a page is still the text that it was started with.
        clock: The time.
        highest_id: The highest id of an agent that anything else names.
        report: Tells the operator about a failure that must not undo what was done.
        show_progress: Shows how far the work is.
    """

    agents: AgentList
    pages: MemoryPages
    definitions: Callable[[], Definitions]
    has_definitions: Callable[[], bool]
    uploads: Callable[[], WorkflowFiles]
    limits: FileLimits
    step_types: StepTypes
    ledgers: Ledgers
    change: Change
    is_starter: Callable[[Scope], bool]
    clock: Callable[[], float]
    highest_id: Callable[[], int]
    report: Callable[[str, Exception], None]
    show_progress: Callable[[str, int, int], None]

    @property
    def source(self) -> AgentSource:
        """The same workspace, as an agent is read from it."""
        definitions = self.definitions() if self.has_definitions() else None
        return AgentSource(self.pages, definitions, self.uploads)

    def rules(self, record: AgentRecord | None = None) -> WorkflowRules:
        """Give the rules that workflows are checked by, for an agent that they become part of."""
        ids = (record.id, record.owner) if record is not None else (0, 0)
        return WorkflowRules(self.pages.registry, self.step_types, *ids, self.clock())

    def current_artifacts(self, record: AgentRecord) -> dict[str, Artifact]:
        """Give the artifacts of an agent as it is now."""
        title = BundleTitle(record.slug, "1")
        artifacts = list_artifacts(collect_bundle(self.source, record, PROFILES["backup"], title))
        return artifacts | self._kept_extras(record)

    def _kept_extras(self, record: AgentRecord) -> dict[str, Artifact]:
        ledger = self.ledgers.read(record.id)
        return {} if ledger is None else list_extras(ledger)
