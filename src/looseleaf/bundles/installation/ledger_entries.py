"""How a ledger follows an install or upgrade: what the bundle left, and what waits for approval."""

from __future__ import annotations

from looseleaf.bundles.installation.ledger import InstalledArtifact, Ledger
from looseleaf.bundles.layout.manifest import OTHER_KINDS
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from looseleaf.bundles.installation.artifacts import Artifact
    from looseleaf.bundles.layout.bundle import Bundle


@value
class LedgerUpdate:
    """What was done: the artifacts of the bundle, the keys that now have its state, and when."""

    artifacts: Mapping[str, Artifact]
    installed_keys: Collection[str]
    pending: Collection[str]
    now: str


def build_ledger(bundle: Bundle, update: LedgerUpdate, previous: Ledger | None) -> Ledger:
    """Build the ledger; an artifact that was not applied keeps the entry that it had."""
    manifest = bundle.manifest
    entries = dict(previous.artifacts) if previous is not None else {}
    for key, artifact in update.artifacts.items():
        if key in update.installed_keys or key in update.pending:
            # Pages that an agent learns are known by their hash alone: the ledger is no copy.
            payload = None if artifact.is_learned else artifact.payload
            entries[key] = InstalledArtifact(artifact.path, artifact.hash, payload)
    kept_pending = previous.pending if previous is not None else ()
    pending = {key for key in kept_pending if key not in update.installed_keys}
    return Ledger(
        manifest.bundle_slug,
        manifest.bundle_version,
        manifest.source_ref,
        manifest.source_revision,
        previous.installed_at if previous is not None else update.now,
        update.now,
        entries,
        tuple(sorted(pending | set(update.pending))),
        {kind: list(manifest.included.get(kind, ())) for kind in OTHER_KINDS},
    )
