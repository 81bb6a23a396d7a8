"""Settings and audit by the driver alone, one database with the whole of it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.audit import AuditVerdict, Event
from looseleaf.errors import Unavailable, Unsafe
from looseleaf.stores.database.settings_and_audit import (
    SqliteSettingsAndAudit,
    open_settings_and_audit,
)
from looseleaf.stores.database.sqlite_file import FILE


def test_both_ways_to_the_database_write_one_chain(workspace: Workspace) -> None:
    """By turns, with the same bytes for the same event, and the audit verifies all of it."""
    accounts = workspace.accounts()
    before = accounts.audit.verify().entries
    light = open_settings_and_audit(workspace.root, clock=workspace.clock)
    assert isinstance(light, SqliteSettingsAndAudit)
    event = Event(
        action="x",
        actor="ada",
        user_id=1,
        kind="agent",
        credential="",
        surface="mcp",
        target="file=\0\ud800" + "y" * 2000,
        detail="é",
    )
    for database in (light, accounts, light, accounts):
        database.add_event(event)
    assert accounts.audit.verify() == AuditVerdict(before + 4)
    entries = accounts.audit.list(limit=4)
    assert len({entry.event for entry in entries}) == 1


def test_a_setting_made_elsewhere_is_seen_at_once(workspace: Workspace) -> None:
    """By its version, without the whole database."""
    accounts = workspace.accounts()
    light = open_settings_and_audit(workspace.root, clock=workspace.clock)
    assert light is not None
    before = light.version()
    assert light.runtime_settings() == {}
    accounts.settings.put({"daily_memory_enabled": True}, Event(action="set"))
    assert light.version() != before
    assert light.runtime_settings() == {"daily_memory_enabled": True}


def test_without_a_database_nothing_is_made(workspace: Workspace) -> None:
    """A server that only reads leaves none behind."""
    assert open_settings_and_audit(workspace.root, clock=workspace.clock) is None
    assert workspace.database.settings() == workspace.settings
    assert not Path(workspace.root, FILE).exists()


def test_a_database_of_another_version_is_for_the_whole_of_it(workspace: Workspace) -> None:
    """It migrates an older one and refuses a newer one; a link and an empty file are its, too."""
    workspace.accounts()
    workspace.close()
    file = Path(workspace.root, FILE)
    for number in ("0001", "9999"):
        with sqlite3.connect(file) as sql:
            sql.execute("UPDATE alembic_version SET version_num = ?", (number,))
        sql.close()
        assert open_settings_and_audit(workspace.root, clock=workspace.clock) is None
    elsewhere = file.with_name("elsewhere.db")
    file.rename(elsewhere)
    os.symlink(elsewhere, file)
    assert open_settings_and_audit(workspace.root, clock=workspace.clock) is None
    with pytest.raises(Unsafe):
        workspace.database.settings()
    file.unlink()
    file.touch()
    assert open_settings_and_audit(workspace.root, clock=workspace.clock) is None


def test_a_broken_database_is_one_of_our_errors(workspace: Workspace) -> None:
    """As everywhere: it is not available, and the message says what the database says."""
    workspace.accounts()
    light = open_settings_and_audit(workspace.root, clock=workspace.clock)
    assert light is not None
    with sqlite3.connect(Path(workspace.root, FILE)) as sql:
        sql.execute("DROP TABLE audit")
    sql.close()
    with pytest.raises(Unavailable, match="audit"):
        light.add_event(Event(action="x"))
