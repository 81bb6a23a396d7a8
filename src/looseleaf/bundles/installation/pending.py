"""Parts of a bundle that wait for approval, kept with their texts: one record for each agent.

A person decides later, and without the bundle. A newer upgrade of the agent replaces the record.
"""

from __future__ import annotations

import json

from looseleaf.bundles.comparison.artifacts import SCHEDULE, Artifact, pause_schedule
from looseleaf.errors import InvalidArgument, Unavailable
from looseleaf.values import FrozenDict, as_dict, field_names, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from looseleaf.bundles.comparison.plan import PlanEntry
    from looseleaf.files.record_folder import RecordFolder

UPGRADE, INSTALL = "bundle_upgrade", "bundle_install"
LARGEST_RECORD = 8_000_000  # bytes of one record
_PREFIX = "pending-"


@value
class PendingArtifact:
    """An artifact that waits; `current_hash` is that of the one here at the time of the plan."""

    path: str
    reason: str
    current_hash: str
    payload: Any


@value
class PendingUpgrade:
    """The parts that wait for approval for one agent.

    Fields:
        kind: bundle_upgrade or bundle_install, after the operation that left them.
        bundle_slug: The name of the bundle.
        bundle_version: Its version.
        created_at: When it was planned.
        created_by: Who brought the bundle.
        artifacts: The artifacts as the bundle has them, by key.
    """

    kind: str
    bundle_slug: str
    bundle_version: str
    created_at: str
    created_by: str
    artifacts: Mapping[str, PendingArtifact] = FrozenDict()

    def target(self, key: str) -> Artifact:
        """Return an artifact as the bundle has it."""
        entry = self.artifacts[key]
        return Artifact(key, entry.path, entry.payload)

    def without(self, keys: Collection[str]) -> PendingUpgrade | None:
        """Return the parts that still wait once some keys are decided, or None if none do."""
        artifacts = {key: entry for key, entry in self.artifacts.items() if key not in keys}
        return replace(self, artifacts=artifacts) if artifacts else None

    def with_present(self, present: Mapping[str, Artifact]) -> PendingUpgrade:
        """Return the parts that wait, with the hashes of artifacts changed here since the plan."""
        artifacts = {
            key: replace(entry, current_hash=present[key].hash) if key in present else entry
            for key, entry in self.artifacts.items()
        }
        return replace(self, artifacts=artifacts)


class PendingUpgrades:
    """The records of a workspace: `.looseleaf/bundles/pending-{id}.json`."""

    def __init__(self, records: RecordFolder) -> None:
        self._records = records

    def agent_ids(self) -> set[int]:
        """Return the ids of agents for which something waits."""
        names = [name.removeprefix(_PREFIX) for name in self._records.names() if _PREFIX in name]
        return {int(name) for name in names if name.isdecimal()}

    def read(self, agent_id: int) -> PendingUpgrade | None:
        """Read the parts that wait for an agent, or None if there are none."""
        fields = self.read_fields(agent_id)
        return None if fields is None else _parse(agent_id, fields)

    def read_fields(self, agent_id: int) -> dict[str, Any] | None:
        """Read the record of an agent as it is, for an undo log."""
        return self._records.read(f"{_PREFIX}{agent_id}")

    def write_fields(self, agent_id: int, fields: Mapping[str, Any] | None) -> None:
        """Write the record of an agent; None removes it."""
        if fields is None:
            self._records.remove(f"{_PREFIX}{agent_id}")
        else:
            self._records.write(f"{_PREFIX}{agent_id}", fields)


def build_pending(
    header: PendingUpgrade,
    entries: Iterable[PlanEntry],
    target: Mapping[str, Artifact],
    new_keys: Collection[str],
) -> PendingUpgrade | None:
    """Build the record of the entries that wait, or None if there are none.

    Schedules among the new keys are written paused at the same time.
    """
    artifacts = {}
    for entry in entries:
        artifact = target[entry.key]
        is_paused = artifact.kind == SCHEDULE and entry.key in new_keys
        current_hash = pause_schedule(artifact).hash if is_paused else entry.current_hash
        artifacts[entry.key] = PendingArtifact(
            artifact.path, entry.reason, current_hash, artifact.payload
        )
    return replace(header, artifacts=artifacts) if artifacts else None


def format_pending(upgrade: PendingUpgrade | None) -> dict[str, Any] | None:
    """Return the parts that wait as a JSON document, or raise if it is too large."""
    if upgrade is None:
        return None
    artifacts = {key: as_dict(entry) for key, entry in upgrade.artifacts.items()}
    fields: dict[str, Any] = {name: getattr(upgrade, name) for name in field_names(PendingUpgrade)}
    fields["artifacts"] = artifacts
    size = len(json.dumps(fields))
    if size > LARGEST_RECORD:
        reason = f"{size:,} bytes would wait for approval, and {LARGEST_RECORD:,} can be kept"
        raise InvalidArgument("data", f"{reason}; approve more of the plan at once")
    return fields


def _parse(agent_id: int, fields: Mapping[str, Any]) -> PendingUpgrade:
    try:
        artifacts = {key: PendingArtifact(**entry) for key, entry in fields["artifacts"].items()}
        return PendingUpgrade(**{**fields, "artifacts": artifacts})
    except (KeyError, TypeError, AttributeError) as error:
        name = f".looseleaf/bundles/{_PREFIX}{agent_id}.json"
        raise Unavailable(name, f"it is damaged ({error!r})") from error
