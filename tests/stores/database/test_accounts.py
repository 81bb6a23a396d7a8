"""Accounts in a database: the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from looseleaf.access.accounts import Credential, Grant, User
from looseleaf.access.audit import AuditVerdict, Event
from looseleaf.errors.operations import UserExists
from looseleaf.stores.database import tables
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.database import Database
from looseleaf.values import replace
from tests.conftest import Clock

DONE = Event(action="test")
EVE = User(
    id=0,
    login="eve",
    name="Eve",
    email="e@x",
    capabilities=frozenset({"chat", "view_logs"}),
    created=1.5,
    password="p",
)
TOKEN = Credential(
    id="a1",
    kind="token",
    user_id=1,
    secret="hash",
    agent_id=7,
    role="operator",
    label="laptop",
    ceiling=frozenset({"chat"}),
    created=1.0,
    expires=2.0,
    last_used=0.0,
    ended=0.0,
)


def test_the_first_user_may_do_everything(accounts: SqlAccounts) -> None:
    """And there is only one first."""
    accounts.start(5, "again")
    (admin,) = accounts.users.list()
    assert (admin.id, admin.login, admin.capabilities) == (
        1,
        "admin",
        frozenset({"manage_options"}),
    )


def test_a_user_is_found_by_id_and_by_login(accounts: SqlAccounts) -> None:
    """Exactly as added, however the login is spelled."""
    added = accounts.users.add(EVE, DONE)
    assert added == replace(EVE, id=2)
    assert accounts.users.find(2) == accounts.users.find("EVE") == added
    for unknown in ("nobody", 99, "", "a\0b", "\ud800"):
        assert accounts.users.find(unknown) is None


def test_a_login_belongs_to_one_user(accounts: SqlAccounts) -> None:
    """Whatever its case; and nothing of the second is kept, not even in the audit."""
    added = accounts.users.add(EVE, DONE)
    before = accounts.audit.verify()
    with pytest.raises(UserExists):
        accounts.users.add(replace(EVE, login="Eve"), DONE)
    with pytest.raises(UserExists):
        accounts.users.change(replace(added, login="Admin"), DONE)
    assert len(accounts.users.list()) == 2
    assert accounts.audit.verify() == before


def test_a_change_of_a_user_is_a_new_version(accounts: SqlAccounts) -> None:
    """So that what others remember of them is forgotten."""
    added, before = accounts.users.add(EVE, DONE), accounts.version()
    accounts.users.change(replace(added, status="disabled", capabilities=frozenset()), DONE)
    found = accounts.users.find("eve")
    assert found is not None
    assert (found.status, found.capabilities) == ("disabled", frozenset())
    assert accounts.version() > before


def test_users_added_at_once_get_ids_of_their_own(accounts: SqlAccounts) -> None:
    """By many threads."""
    with ThreadPoolExecutor(8) as pool:
        made = list(
            pool.map(lambda n: accounts.users.add(replace(EVE, login=f"u{n}"), DONE), range(24))
        )
    assert len({user.id for user in made}) == 24
    assert accounts.audit.verify() == AuditVerdict(25)


def test_a_grant_is_given_changed_and_taken_away(accounts: SqlAccounts) -> None:
    """A user has one role on an agent."""
    accounts.grants.put(Grant(1, 7, "viewer", 1.0), DONE)
    accounts.grants.put(Grant(1, 7, "admin", 2.0), DONE)
    accounts.grants.put(Grant(1, 8, "viewer", 1.0), DONE)
    assert accounts.grants.list(agent_id=7) == [Grant(1, 7, "admin", 2.0)]
    assert [grant.agent_id for grant in accounts.grants.list(user_id=1)] == [7, 8]
    assert accounts.grants.remove(1, 7, DONE)
    assert not accounts.grants.remove(1, 7, DONE)
    assert accounts.grants.list(agent_id=7) == []


def test_a_credential_is_kept_exactly(accounts: SqlAccounts) -> None:
    """With or without a ceiling; an empty one is not none."""
    empty = replace(TOKEN, id="a2", ceiling=frozenset())
    none = replace(TOKEN, id="a3", ceiling=None, agent_id=0)
    for item in (TOKEN, empty, none):
        accounts.credentials.add(item, DONE)
        assert accounts.credentials.find(item.id) == item
    assert accounts.credentials.list("token", agent_id=7) == [TOKEN, empty]
    assert accounts.credentials.list("token", user_id=1) == [TOKEN, empty, none]
    assert accounts.credentials.list("session") == []
    assert accounts.credentials.find("\0") is None


def test_a_credential_ends_once(accounts: SqlAccounts) -> None:
    """However many try at once: a login link is used by one."""
    accounts.credentials.add(TOKEN, DONE)
    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda _: accounts.credentials.end("a1", 9.0, DONE), range(8)))
    assert sorted(ended) == [False] * 7 + [True]
    found = accounts.credentials.find("a1")
    assert found is not None
    assert found.ended == 9.0


def test_use_is_noted_without_a_new_version(accounts: SqlAccounts) -> None:
    """Else every first request in an hour would make others forget what they know."""
    accounts.credentials.add(TOKEN, DONE)
    before = accounts.version()
    accounts.credentials.note_use("a1", 3600.0)
    found = accounts.credentials.find("a1")
    assert found is not None
    assert (found.last_used, accounts.version()) == (3600.0, before)


def test_settings_are_made_and_taken_out(accounts: SqlAccounts) -> None:
    """As JSON has them."""
    for setting in (True, 7, 1.5, "text", [1, {"a": None}]):
        accounts.settings.put({"name": setting}, DONE)
        assert accounts.settings.all() == {"name": setting}
    accounts.settings.put({"name": None}, DONE)
    assert accounts.settings.all() == {}


def test_another_process_sees_a_new_version(
    accounts: SqlAccounts, database_url: str, clock: Clock, tmp_path: object
) -> None:
    """At once on SQLite, within a second on PostgreSQL."""
    other = SqlAccounts(Database(database_url, f"{tmp_path}/accounts"), clock=clock)
    before = other.version()
    accounts.users.add(EVE, DONE)
    other.database._last_poll = (-math.inf, 0)  # as after its second
    assert other.version() > before
    other.database.close()


def test_an_account_s_change_is_in_the_audit(accounts: SqlAccounts, clock: Clock) -> None:
    """With all that the event says."""
    told = Event(
        action="make",
        actor="op",
        user_id=1,
        kind="session",
        credential="c1",
        surface="rest",
        target="login=eve",
        outcome="done",
        reason="why",
        detail="more",
    )
    accounts.users.add(EVE, told)
    entry = accounts.audit.list(limit=1)[0]
    assert (entry.number, entry.time, entry.event) == (2, clock(), told)


def test_the_audit_is_listed_newest_first_in_parts(accounts: SqlAccounts) -> None:
    """Each part begins where the one before ended."""
    for number in range(2, 8):
        accounts.audit.add(Event(action=f"event {number}"))
    first = accounts.audit.list(limit=3)
    assert [item.number for item in first] == [7, 6, 5]
    assert [item.number for item in accounts.audit.list(limit=3, before=5)] == [4, 3, 2]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(text=st.text())
def test_any_text_can_be_told(accounts: SqlAccounts, text: str) -> None:
    """Signs that a database cannot keep are written another way."""
    accounts.audit.add(Event(action="x", target=text + "\0\ud800"))
    assert accounts.audit.list(limit=1)[0].event.target.endswith("\\0\\ud800")
    assert not accounts.audit.verify().fault


@pytest.mark.parametrize("field", ["actor", "time", "hash", "previous", "outcome", "user_id"])
def test_a_changed_entry_is_noticed(accounts: SqlAccounts, field: str) -> None:
    """Whatever is changed in it."""
    for _ in range(4):
        accounts.audit.add(Event(action="x"))
    forged: object = 1 if field in ("time", "user_id") else "forged"
    with accounts.database.writing() as connection:
        connection.execute(
            tables.audit.update().where(tables.audit.c.number == 3).values({field: forged})
        )
    assert accounts.audit.verify() == AuditVerdict(2, "entry 3 is not what was written")


def test_a_missing_entry_is_noticed(accounts: SqlAccounts) -> None:
    """In the middle, and at the end."""
    for _ in range(4):
        accounts.audit.add(Event(action="x"))
    for number, fault in (
        (5, "the last entries are gone: there were 5"),
        (2, "entry 2 is missing"),
    ):
        with accounts.database.writing() as connection:
            connection.execute(tables.audit.delete().where(tables.audit.c.number == number))
        assert accounts.audit.verify().fault == fault


def test_entries_added_at_once_make_one_chain(accounts: SqlAccounts) -> None:
    """No two follow the same one."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: accounts.audit.add(Event(action=f"{n}")), range(64)))
    assert accounts.audit.verify() == AuditVerdict(65)


def test_what_refers_to_nobody_is_refused(accounts: SqlAccounts) -> None:
    """A credential belongs to a user who is there."""
    with pytest.raises(sa.exc.IntegrityError):
        accounts.credentials.add(replace(TOKEN, user_id=99), DONE)
    assert accounts.credentials.find("a1") is None
