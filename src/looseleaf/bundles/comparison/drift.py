"""Drift: the difference between the bundle an agent came from and another; local changes aside."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import QUEUE, SCHEDULE
from looseleaf.bundles.comparison.plan import LOCAL_CHOICES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from looseleaf.bundles.comparison.artifacts import Artifact
    from looseleaf.bundles.installation.ledger import BundleLedger
    from looseleaf.bundles.layout.manifest import Manifest

CURRENT, NOT_INSTALLED, WRONG_BUNDLE = "current", "not_installed", "wrong_bundle"
VERSION_DRIFT, SOURCE_DRIFT = "version_drift", "source_drift"


def find_drift(
    manifest: Manifest, ledger: BundleLedger | None, changed_keys: Collection[str]
) -> str:
    """Return how the installed bundle differs from another: by name, version, source or content."""
    if ledger is None:
        return NOT_INSTALLED
    if ledger.bundle_slug != manifest.bundle_slug:
        return WRONG_BUNDLE
    if ledger.bundle_version != manifest.bundle_version:
        return VERSION_DRIFT
    installed_source = (ledger.source_ref, ledger.source_revision)
    is_same_source = installed_source == (manifest.source_ref, manifest.source_revision)
    return CURRENT if is_same_source and not changed_keys else SOURCE_DRIFT


def find_changed_keys(
    target: Mapping[str, Artifact], ledger: BundleLedger | None, waiting_keys: Collection[str]
) -> tuple[str, ...]:
    """List the parts that an upgrade would bring, without those learned, chosen here or waiting."""
    hashes = ledger.hashes() if ledger is not None else {}
    return tuple(
        key
        for key, artifact in target.items()
        if hashes.get(key) != artifact.hash
        and key not in waiting_keys
        and key not in LOCAL_CHOICES
        and not artifact.is_learned
        and artifact.kind not in (SCHEDULE, QUEUE)
    )
