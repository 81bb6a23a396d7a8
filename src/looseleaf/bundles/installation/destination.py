"""The destination of an install: the agents, pages, workflows and records of a workspace."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import PROMPT, Artifact, list_artifacts
from looseleaf.bundles.export import AgentSource, BundleTitle, collect_bundle
from looseleaf.bundles.installation.ledger import list_extras
from looseleaf.bundles.installation.pending import PendingUpgrade, PendingUpgrades
from looseleaf.bundles.layout.prompt_files import format_prompt, place_prompt
from looseleaf.bundles.layout.workflow_definitions import Owner, WorkflowRules
from looseleaf.bundles.profiles import PROFILES
from looseleaf.times import format_time
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looseleaf.agents.agent_list import AgentList
    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.installation.ledger import Ledgers
    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.bundles.prompt_overrides import PromptOverrides
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Change
    from looseleaf.workflows.definitions import Definitions
    from looseleaf.workflows.step import StepTypes
    from looseleaf.workflows.uploads.file_store import FileLimits, WorkflowFiles


@value(kw_only=True)
class InstallTarget:
    """The parts of a workspace that an install changes.

    Fields:
        agents: The list of agents.
        pages: The pages.
        definitions: Opens the pipelines and flows, with their database.
        has_definitions: Whether there is a database already.
        uploads: Gives the uploaded files of workflows.
        limits: The bounds of uploaded files.
        prompts: The prompts of system tasks that people replaced.
        sites: The names of sites that the settings have credentials for.
        step_types: The types of steps that pipelines may have.
        ledgers: What is installed for which agent.
        change: The provenance of the pages that are written.
        is_starter: Says whether a page still has its starter text.
        clock: The time.
        highest_id: Gives the highest agent id that other data refers to.
        report: Tells the operator about a failure after which the changes stay.
        show_progress: Shows the progress of the work.
    """

    agents: AgentList
    pages: MemoryPages
    definitions: Callable[[], Definitions]
    has_definitions: Callable[[], bool]
    uploads: Callable[[], WorkflowFiles]
    limits: FileLimits
    prompts: PromptOverrides
    sites: frozenset[str]
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
        """The parts of the workspace that an agent is read from."""
        definitions = self.definitions() if self.has_definitions() else None
        return AgentSource(self.pages, definitions, self.uploads, self.prompts)

    @property
    def pending(self) -> PendingUpgrades:
        """The parts that wait for approval."""
        return PendingUpgrades(self.ledgers.records)

    def with_bundle_reason(self, bundle_slug: str, bundle_version: str) -> InstallTarget:
        """Return the same parts, with the bundle as the reason of changes that have no other."""
        provenance = self.change.provenance
        if provenance.reason:
            return self
        reason = f"bundle {bundle_slug} {bundle_version}"
        return replace(
            self, change=replace(self.change, provenance=replace(provenance, reason=reason))
        )

    def describe_pending(self, kind: str, bundle: Bundle) -> PendingUpgrade:
        """Begin the record of what waits: the bundle, the time and the actor."""
        title = (bundle.manifest.bundle_slug, bundle.manifest.bundle_version)
        return PendingUpgrade(kind, *title, format_time(self.clock()), self.change.provenance.actor)

    def rules(self, record: AgentRecord | None = None) -> WorkflowRules:
        """Return the rules by which workflows are checked, for the agent that will own them."""
        ids = (record.id, record.owner) if record is not None else (0, 0)
        return WorkflowRules(self.pages.registry, self.step_types, Owner(*ids, self.clock()))

    def target_artifacts(self, bundle: Bundle) -> dict[str, Artifact]:
        """Return the artifacts of a bundle; prompts of tasks unknown here become extras."""
        unknown_names = {name for name in bundle.prompts if not self.prompts.is_known(name)}
        extras = {
            place_prompt(name): format_prompt(name, bundle.prompts[name]) for name in unknown_names
        }
        prompts = {name: text for name, text in bundle.prompts.items() if name not in unknown_names}
        return list_artifacts(replace(bundle, prompts=prompts, extras={**bundle.extras, **extras}))

    def current_artifacts(self, record: AgentRecord) -> dict[str, Artifact]:
        """Return the artifacts of an agent as it is now."""
        title = BundleTitle(record.slug, "1")
        artifacts = list_artifacts(collect_bundle(self.source, record, PROFILES["backup"], title))
        return artifacts | self._read_kept_extras(record)

    def current_prompts(self) -> dict[str, Artifact]:
        """Return the prompts of system tasks that were replaced here."""
        return _list_prompts(self.prompts.texts())

    def builtin_prompts(self) -> dict[str, Artifact]:
        """Return the built-in texts of the prompts of system tasks."""
        return _list_prompts(self.prompts.builtin_texts())

    def _read_kept_extras(self, record: AgentRecord) -> dict[str, Artifact]:
        ledger = self.ledgers.read(record.id)
        return {} if ledger is None else list_extras(ledger)


def _list_prompts(texts: Mapping[str, str]) -> dict[str, Artifact]:
    return {
        f"{PROMPT}:{name}": Artifact(f"{PROMPT}:{name}", place_prompt(name), text)
        for name, text in texts.items()
    }
