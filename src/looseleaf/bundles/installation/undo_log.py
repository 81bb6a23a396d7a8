"""The undo log of an install or upgrade: if it is interrupted, the next process takes it back.

The log is written before the first change and removed after the last. A log that a killed process
left behind names every change with its former state. The last step of an install is a rename that
gives the new agent its folder: if no agent has the id, everything of the install is removed.
"""

from __future__ import annotations

from contextlib import suppress

from looseleaf.bundles.comparison.artifacts import ORDER
from looseleaf.bundles.installation.artifact_changes import ArtifactChanges, remove_pipeline
from looseleaf.bundles.installation.ledger import parse_ledger
from looseleaf.bundles.layout.bundle_json import hash_payload
from looseleaf.errors import LooseleafError
from looseleaf.errors.agents import AgentMissing
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Found
from looseleaf.values import as_dict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.bundles.installation.destination import InstallTarget

RECORD = "journal"  # the name of its file, which older versions wrote, too
INSTALL, UPGRADE = "install", "upgrade"
USER_PAGE = "USER.md"


@value(kw_only=True)
class UndoLog:
    """An install or upgrade that is under way.

    Fields:
        kind: install or upgrade.
        agent_id: The agent that is being created or changed.
        changes: For each key the former payload (None if it was not there) and the new hash;
            for an install only those of prompts.
        ledger: The former ledger, as JSON, or None if there was none.
        pending: What waited for approval, as JSON, or None if nothing did.
        user_id: For an install: the user whose USER.md is written, 0 for none.
        user_text: The former text of that page, or None if there was none.
        user_hash: The hash of its new text.
    """

    kind: str
    agent_id: int
    changes: tuple[tuple[str, Any, str], ...] = ()
    ledger: Any = None
    pending: Any = None
    user_id: int = 0
    user_text: str | None = None
    user_hash: str = ""


def begin(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Write the undo log; from now on, an unfinished install or upgrade is taken back."""
    fields: dict[str, Any] = as_dict(undo_log)
    destination.ledgers.records.write(RECORD, fields)


def finish(destination: InstallTarget) -> None:
    """Remove the undo log: everything is done, or everything is taken back."""
    destination.ledgers.records.remove(RECORD)


def is_open(destination: InstallTarget) -> bool:
    """Return whether an install or upgrade is under way, or was cut short."""
    return destination.ledgers.records.read(RECORD) is not None


def recover(destination: InstallTarget) -> None:
    """Undo the changes of a process that died; the caller holds the lock of the records."""
    fields = destination.ledgers.records.read(RECORD)
    if fields is None:
        return
    changes = tuple((key, before, new_hash) for key, before, new_hash in fields["changes"])
    undo_log = UndoLog(**{**fields, "changes": changes})
    if undo_log.kind == INSTALL:
        _undo_install(destination, undo_log)
    else:
        _undo_upgrade(destination, undo_log)
    finish(destination)


def _undo_install(destination: InstallTarget, undo_log: UndoLog) -> None:
    try:
        destination.agents.slug_of(undo_log.agent_id)
    except AgentMissing:
        pass
    else:
        return  # it has its folder: the install was complete but for the end of its undo log
    if destination.has_definitions():
        pipelines, _ = destination.definitions().pipelines.list(agents=[undo_log.agent_id])
        for pipeline in pipelines:
            remove_pipeline(destination, pipeline)
    destination.ledgers.remove(undo_log.agent_id)
    destination.pending.write_fields(undo_log.agent_id, None)
    _restore_prompts(destination, undo_log)
    if undo_log.user_id:
        _restore_user_page(destination, undo_log)


def _restore_prompts(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Restore prompts of system tasks, unless someone has changed them since."""
    current = destination.current_prompts()
    for key, before, new_hash in undo_log.changes:
        if key in current and current[key].hash == new_hash:
            destination.prompts.set(current[key].name, before)


def _restore_user_page(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Restore USER.md, unless someone has changed it since."""
    scope = Shelf("user", undo_log.user_id).page(USER_PAGE)
    store = destination.pages.store_for(scope)
    page = store.read(scope)
    if not isinstance(page, Found) or page.hash != undo_log.user_hash:
        return
    if undo_log.user_text is None:
        store.delete(
            scope, if_match=page.hash, change=replace(destination.change, operation="delete")
        )
    else:
        # An install replaces only a starter text, so the former text is one.
        content = undo_log.user_text.encode(errors="surrogateescape")
        change = replace(destination.change, operation="scaffold")
        store.write(scope, content, if_match=page.hash, change=change)


def _undo_upgrade(destination: InstallTarget, undo_log: UndoLog) -> None:
    """Restore the former state of every changed artifact, the last change first."""
    try:
        record = destination.agents.resolve(undo_log.agent_id)
    except AgentMissing:
        return  # the agent was deleted meanwhile, with all changes
    changes = ArtifactChanges(destination, record)
    current = destination.current_artifacts(record)
    for key, before, new_hash in sorted(undo_log.changes, key=_order_of, reverse=True):
        artifact = current.get(key)
        is_new = artifact is not None and artifact.hash == new_hash
        if is_new and (before is None or hash_payload(before) != new_hash):
            changes.apply(key, before)
    destination.pending.write_fields(record.id, undo_log.pending)
    if undo_log.ledger is None:
        destination.ledgers.remove(record.id)
    else:
        destination.ledgers.write(record.id, parse_ledger(record.id, undo_log.ledger))


def _order_of(change: tuple[str, Any, str]) -> tuple[int, str]:
    return ORDER.index(change[0].partition(":")[0]), change[0]


def recover_if_idle(destination: InstallTarget) -> None:
    """Undo the changes of a dead process, unless a running one has the lock; never wait."""
    try:
        with destination.ledgers.records.lock(seconds=0):
            recover(destination)
    except LooseleafError as error:
        with suppress(OSError):
            destination.report("an interrupted import of a bundle is not taken back yet", error)
