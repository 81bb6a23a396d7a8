"""Changes of a ledger by an install or upgrade: installed artifacts, and keys that wait."""

from __future__ import annotations

from looseleaf.bundles.installation.ledger import BundleLedger, InstalledArtifact
from looseleaf.bundles.layout.manifest import CAPABILITIES, OTHER_KINDS
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from looseleaf.bundles.comparison.artifacts import Artifact
    from looseleaf.bundles.layout.bundle import Bundle

    Decision = tuple[Collection[str], str]  # the keys that a person decided about, and the time


def add_decisions(
    ledger: BundleLedger, new_artifacts: Mapping[str, Artifact], decision: Decision
) -> BundleLedger:
    """Return a ledger with approved artifacts, in which the decided keys no longer wait."""
    keys, now = decision
    entries = dict(ledger.artifacts) | {
        key: InstalledArtifact(artifact.path, artifact.hash, artifact.payload)
        for key, artifact in new_artifacts.items()
    }
    pending_keys = tuple(key for key in ledger.pending if key not in keys)
    return replace(ledger, artifacts=entries, pending=pending_keys, updated_at=now)


@value
class LedgerUpdate:
    """An update: the artifacts of the bundle, the keys installed, the keys that wait, the time."""

    artifacts: Mapping[str, Artifact]
    installed_keys: Collection[str]
    pending_keys: Collection[str]
    now: str


def build_ledger(
    bundle: Bundle, update: LedgerUpdate, previous: BundleLedger | None
) -> BundleLedger:
    """Build the ledger; an artifact that was not applied keeps the entry that it had."""
    manifest = bundle.manifest
    entries = dict(previous.artifacts) if previous is not None else {}
    for key, artifact in update.artifacts.items():
        if key in update.installed_keys or key in update.pending_keys:
            # Of pages that an agent learns only the hash is kept, since the ledger is no copy.
            payload = None if artifact.is_learned else artifact.payload
            entries[key] = InstalledArtifact(artifact.path, artifact.hash, payload)
    kept_pending = previous.pending if previous is not None else ()
    pending_keys = {key for key in kept_pending if key not in update.installed_keys}
    return BundleLedger(
        bundle_slug=manifest.bundle_slug,
        bundle_version=manifest.bundle_version,
        source_ref=manifest.source_ref,
        source_revision=manifest.source_revision,
        installed_at=previous.installed_at if previous is not None else update.now,
        updated_at=update.now,
        artifacts=entries,
        pending=tuple(sorted(pending_keys | set(update.pending_keys))),
        included={kind: list(manifest.included.get(kind, ())) for kind in OTHER_KINDS}
        | {CAPABILITIES: list(manifest.capabilities)},
        opaque=dict(manifest.opaque),
        agent={**manifest.agent.kept, "description": manifest.agent.description},
    )
