"""Users, grants, tokens, settings and the audit as operations: nobody gets more than they have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import DiskFull, Forbidden, Invalid, InvalidSetting, NotFound
from looseleaf.errors.operations import (
    CredentialMissing,
    InvalidUser,
    Unauthenticated,
    UserExists,
    UserMissing,
)
from looseleaf.errors.pages import AgentMissing
from looseleaf.times import format_date
from looseleaf.values import replace
from tests.conftest import Clock

EVE, BOB = 2, 3


@pytest.fixture
def home(workspace: Workspace, database_url: str, clock: Clock) -> Iterator[Workspace]:
    """Yield a workspace on each database: ada is admin's, bob's agent is bob's, eve has none."""
    opened = Workspace(replace(workspace.settings, database_url=database_url), clock=clock)
    local = opened.context
    invoke(local, "looseleaf/create-user", {"login": "eve", "capabilities": ["chat"]})
    invoke(local, "looseleaf/create-user", {"login": "bob"})
    invoke(local, "looseleaf/create-agent", {"slug": "bobs", "owner": BOB})
    yield opened
    opened.accounts().database.close()  # type: ignore[attr-defined]


def person(home: Workspace, user_id: int) -> Context:
    """Return the context of a person who has signed in."""
    accounts = home.accounts()
    user = accounts.users.find(user_id)
    assert user is not None
    grants = {grant.agent_id: grant.role for grant in accounts.grants.list(user_id=user_id)}
    principal = Principal(
        kind="session",
        user_id=user.id,
        name=user.login,
        capabilities=user.capabilities,
        grants=grants,
    )
    return home.acting(principal=principal, surface="test")


def holder(home: Workspace, made: dict[str, Any]) -> Context:
    """Return whoever has a token."""
    return home.acting(principal=home.authentication().bearer(made["token"]), surface="test")


def test_a_user_is_created_changed_and_listed(home: Workspace) -> None:
    """And never shown with what is secret."""
    arguments = {"login": "zoe", "name": "Zoe", "password": "correct horse battery"}
    made = invoke(home.context, "looseleaf/create-user", arguments)
    assert (made["id"], made["login"], made["password"], made["status"]) == (
        4,
        "zoe",
        True,
        "active",
    )
    invoke(home.context, "looseleaf/update-user", {"user": "zoe", "capabilities": ["view_logs"]})
    found = invoke(home.context, "looseleaf/show-user", {"user": 4})
    assert (found["name"], found["capabilities"]) == ("Zoe", ["view_logs"])
    assert "scrypt" not in str(invoke(home.context, "looseleaf/list-users"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"login": ""},
        {"login": "12"},
        {"login": "a b"},
        {"login": "ä"},
        {"login": "x" * 61},
        {"login": "zoe", "capabilities": ["fly"]},
        {"login": "zoe", "password": "short"},
        {"login": "zoe", "name": "a\nb"},
    ],
)
def test_a_user_who_cannot_be_is_refused(home: Workspace, arguments: dict[str, Any]) -> None:
    """And nobody is made."""
    with pytest.raises(InvalidUser):
        invoke(home.context, "looseleaf/create-user", arguments)
    assert len(invoke(home.context, "looseleaf/list-users")) == 3


def test_a_login_is_taken_once(home: Workspace) -> None:
    """In any case."""
    with pytest.raises(UserExists):
        invoke(home.context, "looseleaf/create-user", {"login": "EVE"})


def test_a_newcomer_does_not_inherit_an_agent(home: Workspace) -> None:
    """Whose owner was a number nobody had yet."""
    invoke(home.context, "looseleaf/create-agent", {"slug": "orphan", "owner": 40})
    assert invoke(home.context, "looseleaf/create-user", {"login": "zoe"})["id"] == 41


def test_a_newcomer_does_not_inherit_pages(home: Workspace) -> None:
    """Which came by an import, or belonged to a user of a database that was lost."""
    user_id = max(user["id"] for user in invoke(home.context, "looseleaf/list-users")) + 1
    for number in (user_id, user_id + 1):
        folder = Path(home.root, "users", str(number))
        folder.mkdir(parents=True)
        (folder / "USER.md").write_text("- somebody else\n")
    created = invoke(home.context, "looseleaf/create-user", {"login": "zoe"})
    assert created["id"] == user_id + 2


def test_someone_is_left_who_may_do_everything(home: Workspace) -> None:
    """Nobody can lock everyone out."""
    for change in ({"status": "disabled"}, {"capabilities": ["chat"]}):
        with pytest.raises(InvalidUser, match="someone must be left"):
            invoke(home.context, "looseleaf/update-user", {"user": "admin", **change})


def test_a_grant_opens_an_agent_and_its_end_closes_it(home: Workspace) -> None:
    """By its owner, whose own role stays."""
    bob = person(home, BOB)
    with pytest.raises(AgentMissing):
        invoke(person(home, EVE), "looseleaf/show-agent", {"agent": "bobs"})
    invoke(bob, "looseleaf/grant-role", {"agent": "bobs", "user": "eve", "role": "viewer"})
    assert invoke(person(home, EVE), "looseleaf/show-agent", {"agent": "bobs"})["slug"] == "bobs"
    listed = invoke(bob, "looseleaf/list-grants", {"agent": "bobs"})
    assert [(item["user"], item["role"]) for item in listed] == [
        ("bob", "admin"),
        ("eve", "viewer"),
    ]
    with pytest.raises(Forbidden, match="the owner of an agent stays"):
        invoke(bob, "looseleaf/revoke-role", {"agent": "bobs", "user": "bob"})
    invoke(bob, "looseleaf/revoke-role", {"agent": "bobs", "user": "eve"})
    with pytest.raises(NotFound, match="no role"):
        invoke(bob, "looseleaf/revoke-role", {"agent": "bobs", "user": "eve"})
    with pytest.raises(AgentMissing):
        invoke(person(home, EVE), "looseleaf/show-agent", {"agent": "bobs"})
    with pytest.raises(InvalidUser):
        invoke(bob, "looseleaf/grant-role", {"agent": "bobs", "user": "eve", "role": "king"})


def test_an_agent_s_token_is_an_operator_who_may_chat(home: Workspace) -> None:
    """Unless it is told otherwise; it says who it is in the history."""
    made = invoke(home.context, "looseleaf/create-token", {"agent": "ada", "label": "laptop"})
    assert (made["role"], made["capabilities"], made["agent_id"]) == ("operator", ["chat"], 1)
    token = holder(home, made)
    invoke(token, "datamachine/append-agent-file", {"file": "notes.md", "content": "x"})
    (revision,) = invoke(token, "looseleaf/page-history", {"file": "notes.md"})
    assert revision["actor"] == "ada (laptop)"
    for file in ("SOUL.md", "RULES.md"):
        with pytest.raises(Forbidden):
            invoke(token, "datamachine/append-agent-file", {"file": file, "content": "x"})
    with pytest.raises(AgentMissing):
        invoke(token, "looseleaf/show-agent", {"agent": "bobs"})


def test_a_token_never_has_more_than_its_maker(home: Workspace) -> None:
    """Neither a capability, nor a role, nor another's pages."""
    bob, eve = person(home, BOB), EVE
    invoke(bob, "looseleaf/grant-role", {"agent": "bobs", "user": "eve", "role": "admin"})
    granted = person(home, eve)
    with pytest.raises(Forbidden, match="to pass it on"):
        invoke(
            granted, "looseleaf/create-token", {"agent": "bobs", "capabilities": ["manage_options"]}
        )
    made = invoke(granted, "looseleaf/create-token", {"agent": "bobs", "role": "admin"})
    assert (made["user_id"], made["role"]) == (eve, "admin"), "it acts as eve, not as the owner"
    with pytest.raises(Forbidden):
        invoke(granted, "looseleaf/create-token", {"user": "bob"})
    with pytest.raises(Forbidden):
        invoke(granted, "looseleaf/create-token", {"user": "nobody"})
    with pytest.raises(Forbidden):
        invoke(granted, "looseleaf/create-token", {"agent": "bobs", "user": "bob"})


def test_whoever_manages_agents_makes_tokens_that_reach_them(home: Workspace) -> None:
    """They act as the owner, whose pages the manager may read anyway."""
    arguments = {"user": "eve", "capabilities": ["manage_agents"]}
    invoke(home.context, "looseleaf/update-user", arguments)
    made = invoke(person(home, EVE), "looseleaf/create-token", {"agent": "bobs"})
    assert made["user_id"] == BOB
    assert invoke(holder(home, made), "looseleaf/show-agent")["slug"] == "bobs"


def test_a_token_makes_no_token(home: Workspace) -> None:
    """Nor does it end one, or sign anyone in."""
    made = invoke(home.context, "looseleaf/create-token", {"user": "admin"})
    token = holder(home, made)
    with pytest.raises(Forbidden, match="tokens make no tokens"):
        invoke(token, "looseleaf/create-token", {"agent": "ada"})
    with pytest.raises(Forbidden, match="tokens make no tokens"):
        invoke(token, "looseleaf/create-application-password", {})
    with pytest.raises(CredentialMissing):
        invoke(token, "looseleaf/revoke-token", {"id": made["id"]})


def test_a_token_is_listed_without_its_secret_and_ended(home: Workspace) -> None:
    """By whoever it belongs to; others do not even learn that it is there."""
    bob = person(home, BOB)
    made = invoke(bob, "looseleaf/create-token", {"agent": "bobs"})
    own = invoke(bob, "looseleaf/create-token", {"label": "mine"})
    listed = invoke(bob, "looseleaf/list-tokens", {"agent": "bobs"})
    assert [item["id"] for item in listed] == [made["id"]]
    secret = made["token"].split("_")[2]
    assert secret not in str(listed)
    assert {item["id"] for item in invoke(bob, "looseleaf/list-tokens")} == {made["id"], own["id"]}
    with pytest.raises(Forbidden):
        invoke(person(home, EVE), "looseleaf/list-tokens", {"user": "bob"})
    for identity in (made["id"], "0000"):
        with pytest.raises(CredentialMissing):
            invoke(person(home, EVE), "looseleaf/revoke-token", {"id": identity})
    holder(home, made)
    assert invoke(bob, "looseleaf/revoke-token", {"id": made["id"]})["ended"] > 0
    with pytest.raises(Unauthenticated):
        holder(home, made)
    with pytest.raises(CredentialMissing):
        invoke(bob, "looseleaf/revoke-token", {"id": made["id"]})


def test_a_token_expires(home: Workspace, clock: Clock) -> None:
    """When it was told to."""
    made = invoke(home.context, "looseleaf/create-token", {"agent": "ada", "expires_in": 60})
    holder(home, made)
    clock.advance(seconds=60)
    with pytest.raises(Unauthenticated):
        holder(home, made)
    for seconds in (0, -1, 10**12):
        with pytest.raises(InvalidUser):
            invoke(home.context, "looseleaf/create-token", {"agent": "ada", "expires_in": seconds})


def test_a_token_needs_a_user_who_is_known(home: Workspace) -> None:
    """An agent whose owner nobody knows has no token yet."""
    invoke(home.context, "looseleaf/create-agent", {"slug": "orphan", "owner": 40})
    with pytest.raises(UserMissing):
        invoke(home.context, "looseleaf/create-token", {"agent": "orphan"})


def test_a_label_is_one_line(home: Workspace) -> None:
    """It is shown in tables and in the history."""
    for wrong in ("a\nb", "x" * 101, "\x1b[2J"):
        with pytest.raises(InvalidUser):
            invoke(home.context, "looseleaf/create-token", {"agent": "ada", "label": wrong})


def test_a_password_for_a_program_and_a_link_for_a_person(home: Workspace) -> None:
    """Both are made for a user."""
    made = invoke(
        home.context, "looseleaf/create-application-password", {"user": "eve", "role": "viewer"}
    )
    principal = home.authentication().basic("eve", made["token"])
    assert (principal.user_id, principal.role) == (EVE, "viewer")
    link = invoke(home.context, "looseleaf/create-login-link", {"user": "eve"})
    told = home.accounts().audit.list(limit=1)[0].event
    session = home.authentication().follow_link(link["token"], told)
    assert home.authentication().session(session.text).user_id == EVE


def test_a_setting_made_while_running_holds_at_once(home: Workspace) -> None:
    """For those on the network; taking it out goes back to the file."""
    made = invoke(home.context, "looseleaf/create-token", {"agent": "ada"})
    write = ("datamachine/daily-memory-write", {"content": "- today"})
    with pytest.raises(Forbidden):
        invoke(
            person(home, EVE),
            "looseleaf/set-setting",
            {"name": "daily_memory_enabled", "setting": True},
        )
    invoke(
        person(home, 1), "looseleaf/set-setting", {"name": "daily_memory_enabled", "setting": True}
    )
    assert invoke(holder(home, made), *write)["changed"]
    arguments = {"name": "daily_memory_enabled", "setting": None}
    assert invoke(person(home, 1), "looseleaf/set-setting", arguments)["source"] == "default"
    with pytest.raises(Exception, match="daily_memory_enabled = true"):
        invoke(holder(home, made), *write)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("daily_memory_enabled", "yes"),
        ("daily_memory_enabled", 1),
        ("prompt_page_bytes", -1),
        ("retention_days", "1"),
        ("plugins", "x"),
        ("root", "/"),
        ("nonsense", True),
        ("nonsense", None),
    ],
)
def test_a_setting_that_cannot_be_is_refused(home: Workspace, name: str, setting: object) -> None:
    """By its name or its value."""
    with pytest.raises(InvalidSetting):
        invoke(home.context, "looseleaf/set-setting", {"name": name, "setting": setting})


def test_settings_are_listed_with_where_they_come_from(home: Workspace) -> None:
    """What could give something away is not shown."""
    invoke(home.context, "looseleaf/set-setting", {"name": "require_if_match", "setting": True})
    listed = {item["name"]: item for item in invoke(person(home, 1), "looseleaf/list-settings")}
    assert listed["name"] == {
        "name": "name",
        "setting": "House",
        "source": "file",
        "runtime": False,
        "restart_needed": False,
        "owner": "looseleaf",
        "summary": "",
    }
    assert listed["require_if_match"]["source"] == "database"
    assert listed["actor"]["source"] == "process"
    assert listed["database_url"]["setting"] in ("(not set)", "(set)")
    assert listed["project_folder"]["setting"] == "(set)"
    assert "root" not in listed


def test_no_setting_shows_a_secret(home: Workspace) -> None:
    """Tables of the file are shown as tables, and a key as set or not set."""
    Path(home.root, "looseleaf.toml").write_text(
        f'database_url = "{home.settings.database_url}"\n[mode_models]\nsystem = "echo"\n'
        "[providers.local]\n"
        'base_url = "http://127.0.0.1:1"\nkey = "sk-very-secret"\n'
        '[providers.keyless]\nbase_url = "http://127.0.0.1:2"\n'
    )
    with Workspace.open(home.root) as opened:
        listed = {item["name"]: item for item in invoke(opened.context, "looseleaf/list-settings")}
    assert listed["providers"]["setting"] == {
        "local": {"base_url": "http://127.0.0.1:1", "key": "(set)"},
        "keyless": {"base_url": "http://127.0.0.1:2", "key": "(not set)"},
    }
    assert listed["mode_models"]["setting"] == {"system": "echo"}
    assert "sk-very-secret" not in json.dumps(listed)


def test_a_change_of_the_file_says_that_a_restart_is_needed(home: Workspace) -> None:
    """Until then the process goes by what it has read."""
    with Path(home.root, "looseleaf.toml").open("a") as file:
        file.write('default_model = "echo"\n')
    listed = {item["name"]: item for item in invoke(home.context, "looseleaf/list-settings")}
    waiting = {name for name, item in listed.items() if item["restart_needed"]}
    assert waiting - {"database_url"} == {"default_model"}  # the test chose the database itself
    assert listed["default_model"]["setting"] == ""


def test_changes_and_refusals_are_in_the_audit(home: Workspace) -> None:
    """Who, by what, through what, to what; never what was written; reading is not."""
    made = invoke(home.context, "looseleaf/create-token", {"agent": "ada", "label": "laptop"})
    token = holder(home, made)
    before = home.accounts().audit.list(limit=1)[0].number
    invoke(token, "datamachine/get-agent-memory")
    invoke(token, "datamachine/append-agent-file", {"file": "notes.md", "content": "secret words"})
    with pytest.raises(Forbidden):
        invoke(token, "datamachine/write-agent-file", {"file": "SOUL.md", "content": "x"})
    refused, done = invoke(person(home, 1), "looseleaf/list-audit", {"limit": 2})
    assert done["number"] == before + 1
    assert done["event"] == {
        "action": "datamachine/append-agent-file",
        "actor": "ada (laptop)",
        "user_id": 1,
        "kind": "token",
        "credential": made["id"],
        "surface": "test",
        "target": "file=notes.md",
        "outcome": "done",
        "reason": "",
        "detail": "",
        "actor_kind": "agent",
        "origin": "agent",
        "activity": "",
        "activity_id": "",
    }
    assert refused["event"]["outcome"] == "refused"
    assert "secret words" not in str(home.accounts().audit.list())
    assert invoke(person(home, 1), "looseleaf/verify-audit") == {
        "entries": before + 2,
        "fault": "",
        "removed": 0,
    }


def test_a_change_stands_though_the_audit_cannot_be_written(
    home: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is done and in the page's history; who is told that it failed would do it twice."""
    made = invoke(home.context, "looseleaf/create-token", {"agent": "ada"})
    token = holder(home, made)

    def broken(_event: object) -> None:
        raise DiskFull("The database")

    monkeypatch.setattr(home.accounts().audit, "add", broken)
    saved = invoke(token, "datamachine/append-agent-file", {"file": "notes.md", "content": "x"})
    assert saved["changed"]
    assert "the audit has no entry for datamachine/append-agent-file" in capsys.readouterr().err


def test_the_audit_is_for_those_who_may_view_logs(home: Workspace) -> None:
    """In parts of a size that can be."""
    with pytest.raises(Forbidden):
        invoke(person(home, EVE), "looseleaf/list-audit")
    for wrong in ({"limit": 0}, {"limit": 1001}, {"number": -1}, {"number": 2**60}):
        with pytest.raises(Invalid):
            invoke(home.context, "looseleaf/list-audit", wrong)


def test_pages_need_no_database(workspace: Workspace) -> None:
    """The operator's commands open none."""
    invoke(workspace.context, "datamachine/append-agent-file", {"file": "a.md", "content": "x"})
    assert not workspace.database.exists()
    assert "database" not in {path.stem for path in Path(workspace.root, ".looseleaf").iterdir()}


def test_the_audit_is_filtered(home: Workspace, clock: Clock) -> None:
    """By actor, by a part of the action and by time; a wrong time is refused."""
    clock.advance(days=3)
    invoke(home.acting(actor="zoe"), "looseleaf/create-user", {"login": "zoe"})
    day = format_date(clock())

    def numbers(**chosen: str) -> list[int]:
        found = invoke(home.context, "looseleaf/list-audit", chosen)
        return [item["number"] for item in found]

    newest, *_older = numbers()
    assert numbers(actor="zoe") == numbers(since=day) == [newest]
    assert numbers(action="create-user")[0] == newest
    assert len(numbers(action="create-user")) == 3
    assert numbers(action="create%user") == numbers(actor="zo") == []
    assert numbers(until=day, since=day) == [newest]
    assert newest not in numbers(until="2000-01-01T00:00Z")
    with pytest.raises(Invalid, match="write a day such as"):
        numbers(since="yesterday")


def test_the_roles_of_a_user_are_listed(home: Workspace) -> None:
    """On the agents whose roles one may list, and to nobody else."""
    invoke(home.context, "looseleaf/grant-role", {"agent": "ada", "user": "bob", "role": "viewer"})

    def roles(context: Context, user: str) -> list[tuple[str, str]]:
        found = invoke(context, "looseleaf/list-grants", {"user": user})
        return [(item["agent"], item["role"]) for item in found]

    assert roles(home.context, "bob") == [("ada", "viewer"), ("bobs", "admin")]
    assert roles(person(home, BOB), "bob") == [("bobs", "admin")]
    assert roles(person(home, BOB), "nobody") == []
    with pytest.raises(Forbidden):
        roles(person(home, EVE), "bob")
