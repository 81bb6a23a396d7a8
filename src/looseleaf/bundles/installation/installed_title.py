"""An export of an agent that came from a bundle: its title, kept files and waiting schedules."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import PROMPT, SCHEDULE
from looseleaf.bundles.export import BundleTitle
from looseleaf.bundles.installation.ledger import list_extras, list_waiting
from looseleaf.bundles.layout.manifest import CAPABILITIES
from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.bundles.installation.ledger import Ledger
    from looseleaf.bundles.layout.bundle import Bundle


def choose_title(agent_slug: str, slug: str, version: str, ledger: Ledger | None) -> BundleTitle:
    """Choose what an export is called: as asked, else as the bundle it came from, else its slug."""
    if ledger is None:
        return BundleTitle(slug or agent_slug, version or "1")
    source = (ledger.source_ref, ledger.source_revision)
    return BundleTitle(slug or ledger.bundle_slug, version or ledger.bundle_version, *source)


def add_installed_parts(bundle: Bundle, ledger: Ledger) -> Bundle:
    """Add what only the ledger knows.

    That are the files that Looseleaf keeps and does not use, and schedules and prompts that wait
    for approval: they travel as their author wrote them, and wait again wherever they arrive.
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
    capabilities = tuple(ledger.included.get(CAPABILITIES, ()))
    manifest = changed(
        bundle.manifest,
        included=dict(ledger.included),
        opaque=dict(ledger.opaque),
        capabilities=capabilities,
    )
    prompts = list_waiting(ledger, PROMPT) | dict(bundle.prompts)
    return changed(bundle, manifest=manifest, flows=flows, extras=extras, prompts=prompts)
