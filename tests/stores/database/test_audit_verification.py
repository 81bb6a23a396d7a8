"""The oldest entries of the audit can be removed, and what is left can still be verified."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from looseleaf.access.audit import AuditVerdict, Event
from looseleaf.stores.database import tables
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.audit import REMOVAL, format_removal
from looseleaf.stores.database.audit_chain import BEGINNING, NAME, AuditAnchor
from looseleaf.stores.database.database import Database
from tests.conftest import Clock

BY_TASK = Event(action="", actor="looseleaf", surface="upkeep", actor_kind="task")


@pytest.fixture
def long_audit(accounts: SqlAccounts, clock: Clock) -> SqlAccounts:
    """Make an audit with ten entries, one a day, the newest durable and noted outside."""
    for number in range(2, 11):
        clock.advance(days=1)
        accounts.audit.add(Event(action=f"act {number}"))
    accounts.settings.put({"require_if_match": True}, Event(action="set"))
    return accounts


def home(tmp_path: Path) -> Path:
    """Return the folder of the notes."""
    return tmp_path / "accounts" / ".looseleaf"


def numbers(accounts: SqlAccounts) -> list[int]:
    """List the numbers of all entries, oldest first."""
    return [entry.number for entry in reversed(accounts.audit.list(limit=100))]


def remove_rows(accounts: SqlAccounts, last: int) -> None:
    """Remove the first entries as someone with access to the database can."""
    with accounts.database.writing() as connection:
        connection.execute(tables.audit.delete().where(tables.audit.c.number <= last))


def test_the_oldest_entries_go_and_the_rest_is_one_chain(
    long_audit: SqlAccounts, clock: Clock, tmp_path: Path
) -> None:
    """The removal is an entry of the chain, and a note outside the database says the same."""
    audit = long_audit.audit
    before = clock() - 4 * 86_400
    assert audit.prune(before, BY_TASK, dry_run=True) == 5
    assert audit.verify() == AuditVerdict(11)
    assert audit.prune(before, BY_TASK) == 5
    assert numbers(long_audit) == list(range(6, 13))
    assert audit.verify() == AuditVerdict(7, "", 5)
    record = audit.list(limit=1)[0]
    assert (record.event.action, record.event.target) == (REMOVAL, "entries 1 to 5")
    assert (home(tmp_path) / BEGINNING).read_text().startswith(f"{5:020d} ")
    assert audit.prune(before, BY_TASK) == 0


def test_a_removal_can_be_repeated(long_audit: SqlAccounts, clock: Clock) -> None:
    """Every night some; the entry that records the first removal goes one day, too."""
    for night in range(1, 30):
        clock.advance(days=1)
        long_audit.audit.add(Event(action=f"night {night}"))
        long_audit.audit.prune(clock() - 3 * 86_400, BY_TASK)
        assert not long_audit.audit.verify().fault
    assert long_audit.audit.verify().removed > 30
    assert len(numbers(long_audit)) < 12


def test_the_entry_that_is_noted_outside_stays(long_audit: SqlAccounts, clock: Clock) -> None:
    """Else nobody could tell whether the database was set back."""
    clock.advance(days=400)
    noted_number, _ = long_audit.database.anchor.read()
    assert noted_number == 11
    assert long_audit.audit.prune(clock(), BY_TASK) == 10
    assert numbers(long_audit) == [11, 12]
    assert long_audit.audit.verify() == AuditVerdict(2, "", 10)
    long_audit.audit.add(Event(action="later"))
    assert not long_audit.audit.verify().fault


def test_entries_that_someone_else_removed_are_missed(
    long_audit: SqlAccounts, clock: Clock
) -> None:
    """Before any removal by retention, and beyond what it removed."""
    remove_rows(long_audit, 2)
    assert long_audit.audit.verify().fault == "entry 1 is missing"
    long_audit.audit.prune(clock() - 4 * 86_400, BY_TASK)
    assert long_audit.audit.verify() == AuditVerdict(7, "", 5)
    remove_rows(long_audit, 7)
    assert long_audit.audit.verify().fault == "entry 6 is missing"


def test_a_forged_record_of_a_removal_is_not_enough(long_audit: SqlAccounts) -> None:
    """Someone who can write to the database alone cannot write the note outside it."""
    with long_audit.database.reading() as connection:
        query = sa.select(tables.audit.c.hash).where(tables.audit.c.number == 4)
        digest = connection.execute(query).scalar_one()
    long_audit.audit.add(Event(action=REMOVAL, detail=format_removal(4, digest)))
    remove_rows(long_audit, 4)
    assert long_audit.audit.verify().fault == "entry 1 is missing"


def test_a_removal_without_a_record_is_a_fault(long_audit: SqlAccounts) -> None:
    """The note outside alone is no removal that anyone recorded."""
    entry = next(item for item in long_audit.audit.list(limit=100) if item.number == 4)
    long_audit.database.anchor.note_removed(4, entry.hash)
    assert not long_audit.audit.verify().fault  # noted, and then the power went
    remove_rows(long_audit, 4)
    assert long_audit.audit.verify().fault == "no entry records that those up to 4 were removed"


def test_a_note_of_another_entry_is_a_fault(
    long_audit: SqlAccounts, clock: Clock, tmp_path: Path
) -> None:
    """The hash of the last removed entry must be that which the first one holds."""
    long_audit.audit.prune(clock() - 4 * 86_400, BY_TASK)
    note = home(tmp_path) / BEGINNING
    note.write_text(f"{5:020d} {'0' * 64}\n")
    assert long_audit.audit.verify().fault == "entry 5 is not the one that was noted"


def test_the_operator_can_begin_the_notes_anew(
    long_audit: SqlAccounts, clock: Clock, database_url: str, tmp_path: Path
) -> None:
    """After a restored backup: without notes the chain alone counts; the next entry is noted."""
    long_audit.audit.prune(clock() - 4 * 86_400, BY_TASK)
    folder = home(tmp_path)
    for name in (NAME, BEGINNING):
        (folder / name).unlink()
    assert long_audit.audit.verify() == AuditVerdict(7, "", 5)
    again = SqlAccounts(Database(database_url, str(tmp_path / "accounts")), clock=clock)
    again.audit.add(Event(action="first of a new process"))
    assert AuditAnchor(str(tmp_path / "accounts")).read_removed()[0] == 5
    assert again.audit.verify() == AuditVerdict(8, "", 5)
    remove_rows(again, 6)
    assert again.audit.verify().fault == "entry 6 is missing"
    again.database.close()
