"""An export of an agent that came from a bundle: its title, kept files and waiting schedules."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import MEMORY, PROMPT, SCHEDULE, USER
from looseleaf.bundles.export import USER as USER_FILE
from looseleaf.bundles.export import BundleTitle
from looseleaf.bundles.installation.ledger import list_extras, list_waiting
from looseleaf.bundles.layout.manifest import CAPABILITIES
from looseleaf.memory.scope import Shelf
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.installation.ledger import BundleLedger
    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.memory.scope import Scope


def choose_title(
    agent_slug: str, slug: str, version: str, ledger: BundleLedger | None
) -> BundleTitle:
    """Choose the title of an export: as asked, else that of the agent's bundle, else its slug."""
    if ledger is None:
        return BundleTitle(slug or agent_slug, version or "1")
    source = (ledger.source_ref, ledger.source_revision)
    return BundleTitle(slug or ledger.bundle_slug, version or ledger.bundle_version, *source)


def add_installed_parts(bundle: Bundle, ledger: BundleLedger) -> Bundle:
    """Add the parts that only the ledger has.

    These are files that Looseleaf keeps and does not use, and schedules and prompts that wait for
    approval: they are exported as their author wrote them, and wait again where they are installed.
    """
    extras = {
        artifact.path: artifact.payload.encode(errors="surrogateescape")
        for artifact in list_extras(ledger).values()
    }
    flows = dict(bundle.flows)
    for slug, schedule in list_waiting(ledger, SCHEDULE).items():
        document = flows.get(slug)
        if document is not None and document["schedule"] == {**schedule, "enabled": False}:
            flows[slug] = {**document, "schedule": schedule}
    agent = bundle.manifest.agent
    kept_fields = dict(ledger.agent)
    description = agent.description or kept_fields.pop("description", "")
    capabilities = tuple(ledger.included.get(CAPABILITIES, ()))
    manifest = replace(
        bundle.manifest,
        agent=replace(agent, description=description, kept=kept_fields),
        included=dict(ledger.included),
        opaque=dict(ledger.opaque),
        capabilities=capabilities,
    )
    prompts = list_waiting(ledger, PROMPT) | dict(bundle.prompts)
    return replace(bundle, manifest=manifest, flows=flows, extras=extras, prompts=prompts)


def leave_out_starters(
    bundle: Bundle, ledger: BundleLedger, record: AgentRecord, is_starter: Callable[[Scope], bool]
) -> Bundle:
    """Remove pages that still have their starter text and were not in the bundle."""
    pages = {
        name: content
        for name, content in bundle.pages.items()
        if f"{MEMORY}:{name}" in ledger.artifacts or not is_starter(record.shelf.page(name))
    }
    user_page, user_scope = bundle.user_page, Shelf("user", record.owner).page(USER_FILE)
    if f"{USER}:{USER_FILE}" not in ledger.artifacts and is_starter(user_scope):
        user_page = None
    return replace(bundle, pages=pages, user_page=user_page)
