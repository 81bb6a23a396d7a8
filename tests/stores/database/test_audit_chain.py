"""The chain of the audit covers provenance, and entries of before there was any stay valid."""

from __future__ import annotations

import hashlib
import json

import pytest
import sqlalchemy as sa

from looseleaf.access.audit import AuditFilter, AuditVerdict, Event
from looseleaf.stores.database import tables
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.audit_chain import FIELDS, NEWER_FIELDS

WHOLE = Event(
    action="write",
    actor="ada",
    surface="chat",
    actor_kind="agent",
    origin="tool",
    activity="session",
    activity_id="s1",
)


def add_old_entry(accounts: SqlAccounts, event: Event) -> None:
    """Add an entry as Looseleaf did before migration 0004: ten fields, and a hash of these."""
    names = [name for name in FIELDS if name not in NEWER_FIELDS]
    fields = {name: getattr(event, name) for name in names}
    with accounts.database.writing() as connection:
        end = connection.execute(sa.select(tables.state).where(tables.state.c.name == "audit"))
        last = end.one()
        parts = [last.text, last.number + 1, 7, *(fields[name] for name in names)]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        row = {"number": last.number + 1, "time": 7, "previous": last.text, "hash": digest}
        connection.execute(tables.audit.insert().values(**row, **fields))
        moved = tables.state.update().where(tables.state.c.name == "audit")
        connection.execute(moved.values(number=last.number + 1, text=digest))


def test_an_entry_keeps_its_provenance(accounts: SqlAccounts) -> None:
    """On every database."""
    accounts.audit.add(WHOLE)
    assert accounts.audit.list(limit=1)[0].event == WHOLE
    assert accounts.audit.verify() == AuditVerdict(2)


def test_old_entries_stay_valid_between_new_ones(accounts: SqlAccounts) -> None:
    """They read as entries of which nobody recorded more."""
    add_old_entry(accounts, Event(action="older", actor="bob", reason="because"))
    accounts.audit.add(WHOLE)
    new, old = accounts.audit.list(limit=2)
    assert (old.event, new.event) == (Event(action="older", actor="bob", reason="because"), WHOLE)
    assert accounts.audit.verify() == AuditVerdict(3)


@pytest.mark.parametrize("field", NEWER_FIELDS)
def test_a_forged_provenance_is_noticed(accounts: SqlAccounts, field: str) -> None:
    """Whichever of its words is changed or taken out."""
    accounts.audit.add(WHOLE)
    for forged in ("person", "", None):
        with accounts.database.writing() as connection:
            this = tables.audit.c.number == 2
            connection.execute(tables.audit.update().where(this).values({field: forged}))
        assert accounts.audit.verify() == AuditVerdict(1, "entry 2 is not what was written")


def test_a_new_entry_cannot_pass_for_an_old_one(accounts: SqlAccounts) -> None:
    """Nor an old one for a new one."""
    accounts.audit.add(WHOLE)
    add_old_entry(accounts, Event(action="older", actor="bob"))
    for number, words in ((3, ""), (2, None)):
        with accounts.database.writing() as connection:
            this = tables.audit.c.number == number
            row = dict.fromkeys(NEWER_FIELDS, words)
            connection.execute(tables.audit.update().where(this).values(row))
        fault = f"entry {number} is not what was written"
        assert accounts.audit.verify() == AuditVerdict(number - 1, fault)


def test_the_audit_is_listed_by_kind_of_actor(accounts: SqlAccounts) -> None:
    """Old entries have no kind, so they are in no such list."""
    add_old_entry(accounts, Event(action="older", actor="bob"))
    accounts.audit.add(WHOLE)
    accounts.audit.add(Event(action="sign in", actor_kind="person"))
    assert [item.number for item in accounts.audit.list(only=AuditFilter("agent"))] == [3]
    assert [item.number for item in accounts.audit.list(only=AuditFilter("task"))] == [1]
    assert len(accounts.audit.list()) == 4
