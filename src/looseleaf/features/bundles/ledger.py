"""The ledger: for each agent, the bundle that it was installed from, and the artifacts in it."""

from __future__ import annotations

from looseleaf.errors import Unavailable
from looseleaf.features.bundles.artifacts import EXTRA, Artifact
from looseleaf.features.bundles.manifest import CAPABILITIES, OTHER_KINDS
from looseleaf.files.record_folder import RecordFolder
from looseleaf.values import FrozenDict, field_names, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from looseleaf.features.bundles.bundle import Bundle

    Decision = tuple[Collection[str], str]  # the keys that a person decided about, and the time


FOLDER = "bundles"
_PREFIX = "agent-"


@value
class InstalledArtifact:
    """An artifact as the last bundle left it; the payload is kept if it can be compared."""

    path: str
    hash: str
    payload: Any = None


@value(kw_only=True)
class BundleLedger:
    """The bundle that is installed for one agent.

    Fields:
        bundle_slug: The name of the bundle.
        bundle_version: The version of the bundle.
        source_ref: The origin of the bundle, as its author wrote it.
        source_revision: The revision of that origin.
        installed_at: When it was first installed.
        updated_at: When it was last upgraded.
        artifacts: The artifacts as the last bundle left them, by key.
        pending: Keys that wait for approval: schedules, which are paused, and prompts.
        included: Lists of the manifest for files that Looseleaf keeps and does not use, and the
            capabilities that the bundle needs.
        opaque: Fields of the manifest that Looseleaf keeps and does not use.
        agent: Fields of the agent in the manifest that Looseleaf keeps and does not use.
    """

    bundle_slug: str
    bundle_version: str
    source_ref: str
    source_revision: str
    installed_at: str
    updated_at: str
    artifacts: Mapping[str, InstalledArtifact] = FrozenDict()
    pending: tuple[str, ...] = ()
    included: Mapping[str, Any] = FrozenDict()
    opaque: Mapping[str, Any] = FrozenDict()
    agent: Mapping[str, Any] = FrozenDict()

    def hashes(self) -> dict[str, str]:
        """Return the hash of every artifact as it was installed."""
        return {key: artifact.hash for key, artifact in self.artifacts.items()}


class Ledgers:
    """The ledgers of a workspace: `.looseleaf/bundles/agent-{id}.json`."""

    def __init__(self, root: str) -> None:
        self.records = RecordFolder(root, FOLDER)

    def read(self, agent_id: int) -> BundleLedger | None:
        """Read the ledger of an agent, or None if it was not installed from a bundle."""
        fields = self.records.read(f"{_PREFIX}{agent_id}")
        return None if fields is None else parse_ledger(agent_id, fields)

    def write(self, agent_id: int, ledger: BundleLedger) -> None:
        """Write the ledger of an agent."""
        self.records.write(f"{_PREFIX}{agent_id}", format_ledger(ledger))

    def remove(self, agent_id: int) -> None:
        """Remove the ledger of an agent, if there is one."""
        self.records.remove(f"{_PREFIX}{agent_id}")


def format_ledger(ledger: BundleLedger) -> dict[str, Any]:
    """Return a ledger as a JSON document."""
    fields: dict[str, Any] = {
        name: getattr(ledger, name) for name in field_names(BundleLedger) if name != "artifacts"
    }
    artifacts = {
        key: {"path": artifact.path, "hash": artifact.hash}
        | ({} if artifact.payload is None else {"payload": artifact.payload})
        for key, artifact in ledger.artifacts.items()
    }
    return fields | {"pending": sorted(ledger.pending), "artifacts": artifacts}


def parse_ledger(agent_id: int, fields: Mapping[str, Any]) -> BundleLedger:
    """Read a ledger back, or raise `Unavailable` if it is damaged."""
    try:
        artifacts = {
            key: InstalledArtifact(artifact["path"], artifact["hash"], artifact.get("payload"))
            for key, artifact in fields["artifacts"].items()
        }
        pending_keys = tuple(fields.get("pending", ()))
        plain = {name: fields[name] for name in field_names(BundleLedger)[:6]}
        return BundleLedger(
            **plain,
            artifacts=artifacts,
            pending=pending_keys,
            included=fields.get("included", {}),
            opaque=fields.get("opaque", {}),
            agent=fields.get("agent", {}),
        )
    except (KeyError, TypeError, AttributeError) as error:
        name = f".looseleaf/{FOLDER}/{_PREFIX}{agent_id}.json"
        raise Unavailable(name, f"it is damaged ({error!r})") from error


def list_extras(ledger: BundleLedger) -> dict[str, Artifact]:
    """Return the files of a bundle that Looseleaf keeps and does not use, by key."""
    return {
        key: Artifact(key, artifact.path, artifact.payload)
        for key, artifact in ledger.artifacts.items()
        if key.startswith(f"{EXTRA}:") and isinstance(artifact.payload, str)
    }


def list_waiting(ledger: BundleLedger, kind: str) -> dict[str, Any]:
    """Return the artifacts of a kind that wait for approval as the bundle has them, by name."""
    return {
        key.partition(":")[2]: ledger.artifacts[key].payload
        for key in ledger.pending
        if key in ledger.artifacts and key.startswith(f"{kind}:")
    }


# Changes of a ledger by an install or upgrade: installed artifacts, and keys that wait.


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
