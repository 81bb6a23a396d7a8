"""Who is it: every credential works until it ends, and not a moment longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf.access.accounts import Credential, Grant, User
from looseleaf.access.audit import Event
from looseleaf.access.authentication import (
    HOUR,
    LINK_SECONDS,
    SESSION_SECONDS,
    Authentication,
    create_secret,
    format_credential,
    hash_password,
)
from looseleaf.access.principals import Principal
from looseleaf.errors.operations import Unauthenticated
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.disk.agents import DiskAgents
from looseleaf.values import replace
from tests.conftest import Clock

DONE = Event(action="test")


@pytest.fixture
def agents(tmp_path: Path, clock: Clock) -> DiskAgents:
    """Return the agents of a folder: ada, who belongs to user 1."""
    (tmp_path / "accounts").mkdir(exist_ok=True)
    made = DiskAgents(str(tmp_path / "accounts"), clock=clock)
    made.create("ada", owner=1)
    return made


@pytest.fixture
def door(accounts: SqlAccounts, agents: DiskAgents, clock: Clock) -> Authentication:
    """Return someone at the door who knows the accounts."""
    return Authentication(accounts, agents, clock=clock)


def shown(door: Authentication, **fields: object) -> str:
    """Create a token as told; return its text."""
    return door.issue(
        replace(Credential(id="", kind="token", user_id=1, secret=""), **fields), DONE
    ).text


def refused(ask: Callable[..., Principal], *arguments: str) -> bool:
    """Return whether the door stays closed."""
    try:
        ask(*arguments)
    except Unauthenticated:
        return True
    return False


def test_a_token_says_who_it_is_and_how_far_it_reaches(
    door: Authentication, accounts: SqlAccounts
) -> None:
    """An agent's token is called by its agent."""
    accounts.grants.put(Grant(1, 9, "viewer"), DONE)
    text = shown(door, agent_id=1, role="operator", label="laptop", ceiling=frozenset({"chat"}))
    principal = door.bearer(text)
    assert principal == door.bearer(text)
    assert (principal.kind, principal.user_id, principal.name) == ("token", 1, "ada (laptop)")
    assert (principal.agent_id, principal.role) == (1, "operator")
    assert (principal.ceiling, principal.grants) == (frozenset({"chat"}), {9: "viewer"})
    assert principal.capabilities == {"manage_options"}
    assert not principal.can("manage_options")


def test_a_wrong_secret_opens_nothing(door: Authentication) -> None:
    """Nor does an unknown id, another kind, or nothing."""
    text = shown(door)
    identity = text.split("_")[1]
    for wrong in (
        format_credential("token", identity, create_secret()),
        format_credential("token", "00", create_secret()),
        format_credential("session", identity, text.split("_")[2][:-8]),
        text[:-1],
        text.upper(),
        "",
        "Bearer",
    ):
        assert refused(door.bearer, wrong)
    assert refused(door.session, text)


def test_a_revoked_token_is_refused_at_once(
    door: Authentication, accounts: SqlAccounts, clock: Clock
) -> None:
    """Although it was remembered."""
    text = shown(door)
    identity = door.bearer(text).credential
    accounts.credentials.end(identity, clock(), DONE)
    assert refused(door.bearer, text)


def test_an_expired_token_is_refused(door: Authentication, clock: Clock) -> None:
    """Although it was remembered."""
    text = shown(door, expires=clock() + 10)
    door.bearer(text)
    clock.advance(seconds=10)
    assert refused(door.bearer, text)


def test_a_disabled_user_is_refused_with_all_they_have(
    door: Authentication, accounts: SqlAccounts
) -> None:
    """And let in again when they are active."""
    eve = accounts.users.add(User(id=0, login="eve"), DONE)
    text = shown(door, user_id=eve.id)
    door.bearer(text)
    accounts.users.change(replace(eve, status="disabled"), DONE)
    assert refused(door.bearer, text)
    accounts.users.change(eve, DONE)
    assert door.bearer(text).user_id == eve.id


def test_a_change_of_rights_holds_at_once(door: Authentication, accounts: SqlAccounts) -> None:
    """For what is remembered, too."""
    eve = accounts.users.add(User(id=0, login="eve"), DONE)
    text = shown(door, user_id=eve.id)
    assert door.bearer(text).grants == {}
    accounts.grants.put(Grant(eve.id, 1, "viewer"), DONE)
    assert door.bearer(text).grants == {1: "viewer"}


def test_the_token_of_an_agent_that_is_gone_is_refused(
    door: Authentication, agents: DiskAgents, clock: Clock
) -> None:
    """As soon as it is no longer remembered; its pages are missing at once."""
    text = shown(door, agent_id=1)
    door.bearer(text)
    agents.remove("ada")
    clock.advance(seconds=60)
    assert refused(door.bearer, text)


def test_the_use_of_a_token_is_noted_by_the_hour(
    door: Authentication, accounts: SqlAccounts, clock: Clock
) -> None:
    """Not at every request."""
    text = shown(door)
    identity = door.bearer(text).credential

    def last_used() -> float:
        found = accounts.credentials.find(identity)
        assert found is not None
        return found.last_used

    first = last_used()
    assert first % HOUR == 0
    clock.advance(seconds=1800)
    door.bearer(text)
    assert last_used() in (first, first + HOUR)
    clock.advance(seconds=7200)
    door.bearer(text)
    assert last_used() > first


def test_an_application_password_opens_by_login(door: Authentication) -> None:
    """With its gaps or without, and with no other login."""
    made = door.issue(Credential(id="", kind="application", user_id=1, secret=""), DONE)
    principal = door.basic("admin", made.text)
    assert (principal.kind, principal.name) == ("application password", "admin")
    assert door.basic("Admin", made.text.replace(" ", "")).user_id == 1
    assert refused(door.basic, "eve", made.text)
    assert refused(door.basic, "admin", made.text[:-1])
    assert refused(door.basic, "", "")
    assert refused(door.basic, "admin\0", "\ud800")


def test_an_ended_application_password_is_refused(
    door: Authentication, accounts: SqlAccounts, clock: Clock
) -> None:
    """By itself or with the others."""
    made = door.issue(Credential(id="", kind="application", user_id=1, secret=""), DONE)
    other = door.issue(Credential(id="", kind="application", user_id=1, secret=""), DONE)
    accounts.credentials.end(made.credential.id, clock(), DONE)
    assert refused(door.basic, "admin", made.text)
    assert door.basic("admin", other.text).user_id == 1


def test_a_person_signs_in_and_out(
    door: Authentication, accounts: SqlAccounts, clock: Clock
) -> None:
    """By the password they chose; the session ends by itself, too."""
    eve = User(id=0, login="eve", password=hash_password("correct horse battery"))
    accounts.users.add(eve, DONE)
    session = door.sign_in("Eve", "correct horse battery", DONE)
    assert door.session(session.text).kind == "session"
    door.sign_out(session.text, DONE)
    assert refused(door.session, session.text)
    other = door.sign_in("eve", "correct horse battery", DONE)
    clock.advance(seconds=SESSION_SECONDS)
    assert refused(door.session, other.text)


@pytest.mark.parametrize("login", ["eve", "admin", "nobody", ""])
def test_a_wrong_password_says_nothing_about_the_login(door: Authentication, login: str) -> None:
    """Known or not, with a password or without."""
    with pytest.raises(Unauthenticated, match="login or the password is wrong"):
        door.sign_in(login, "wrong", DONE)


def test_a_login_link_works_once(door: Authentication, accounts: SqlAccounts, clock: Clock) -> None:
    """Within the hour."""
    admin = accounts.users.find(1)
    assert admin is not None
    link = door.login_link(admin, DONE)
    assert door.session(door.follow_link(link.text, DONE).text).user_id == 1
    with pytest.raises(Unauthenticated):
        door.follow_link(link.text, DONE)
    late = door.login_link(admin, DONE)
    clock.advance(seconds=LINK_SECONDS)
    with pytest.raises(Unauthenticated):
        door.follow_link(late.text, DONE)
    assert refused(door.session, late.text)
    assert refused(door.bearer, late.text)


def test_what_is_remembered_has_a_limit(
    door: Authentication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many tokens do not fill the memory."""
    monkeypatch.setattr("looseleaf.access.authentication._REMEMBER", 3)
    texts = [shown(door) for _ in range(6)]
    for text in texts * 2:
        assert door.bearer(text).user_id == 1
    assert len(door._answers) <= 3


def test_what_changes_while_it_is_looked_up_is_not_missed(
    door: Authentication, accounts: SqlAccounts, clock: Clock
) -> None:
    """An answer from before a revocation is not remembered as one from after it."""
    text = shown(door)
    find = accounts.users.find

    def slow(user: int | str) -> User | None:
        found = find(user)
        identity = text.split("_")[1]
        accounts.credentials.end(identity, clock(), DONE)  # by someone else, just now
        return found

    accounts.users.find = slow  # type: ignore[method-assign]
    door.bearer(text)
    assert refused(door.bearer, text)
