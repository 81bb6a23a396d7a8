"""Users, grants, tokens, settings and the audit from the command line."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.cli.commands.accounts import parse_seconds
from looseleaf.errors import Invalid
from tests.cli.fixtures import Run


def test_a_user_is_created_shown_and_changed(run: Run) -> None:
    """For people and for programs."""
    assert run("users", "create", "eve", "--can", "chat", "--can=view_logs").text == (
        "Created user eve (id 2).\n"
    )
    assert run("users", "list").text.splitlines()[-1].split() == [
        "2", "eve", "eve", "active", "chat,", "view_logs",
    ]  # fmt: skip
    assert "can       chat, view_logs\n" in run("users", "show", "eve").text
    assert run("users", "update", "2", "--status", "disabled").code == 0
    document = run("users", "show", "eve", "--format", "json").json
    assert (document["status"], document["capabilities"]) == ("disabled", ["chat", "view_logs"])
    assert (
        run("users", "update", "eve", "--can-nothing", "--format=json").json["capabilities"] == []
    )
    assert run("users", "update", "eve", "--can-nothing", "--can", "chat").code == 2
    assert run("users", "show", "nobody").code == 3
    assert run("users", "create", "eve").code == 4
    assert run("users", "create", "not a login").code == 2


def test_a_password_comes_from_standard_input(run: Run, root: Path) -> None:
    """Never from the command line, which others can see."""
    made = run("users", "create", "eve", "--password-stdin", stdin=b"correct horse battery\n")
    assert made.code == 0
    workspace = Workspace.open(root)
    event = workspace.accounts().audit.list(limit=1)[0].event
    assert workspace.authentication().sign_in("eve", "correct horse battery", event).text
    assert run("users", "update", "eve", "--password-stdin", stdin=b"short\n").code == 2


def test_a_role_is_given_and_taken(run: Run) -> None:
    """The owner's is listed, too."""
    run("users", "create", "eve")
    assert run("grants", "give", "main", "eve", "viewer").text == (
        "eve is now viewer of agent main.\n"
    )
    rows = [line.split() for line in run("grants", "list").text.splitlines()]
    assert rows[1:] == [["main", "1", "admin", "admin"], ["main", "2", "eve", "viewer"]]
    listed = run("grants", "list", "main", "--format", "json").json["grants"]
    assert [item["role"] for item in listed] == ["admin", "viewer"]
    assert run("grants", "take", "main", "eve").code == 0
    assert run("grants", "take", "main", "eve").code == 3
    assert run("grants", "take", "main", "admin").code == 4
    assert run("grants", "give", "main", "eve", "king").code == 2


def test_a_token_is_shown_once_and_works_until_it_is_revoked(run: Run, root: Path) -> None:
    """Its last line is the token, for scripts."""
    made = run("tokens", "create", "--agent", "main", "--label", "laptop", "--expires", "90d")
    text = made.text.splitlines()[-1]
    door = Workspace.open(root).authentication()
    identity = door.bearer(text).credential
    listed = run("tokens", "list").text
    assert identity in listed
    assert text not in listed
    assert "laptop" in listed
    assert run("tokens", "revoke", identity).text == f"Revoked token {identity}.\n"
    assert "There are none." in run("tokens", "list").text
    assert identity in run("tokens", "list", "--ended").text
    assert run("tokens", "revoke", identity).code == 3
    assert text.encode() not in b"".join(item.read_bytes() for item in root.rglob("*.db*"))


def test_a_token_takes_less_when_told(run: Run) -> None:
    """A role, capabilities, a user."""
    arguments = ("--agent", "main", "--role", "viewer", "--can", "chat", "--format", "json")
    document = run("tokens", "create", *arguments).json
    assert (document["role"], document["capabilities"]) == ("viewer", ["chat"])
    assert document["token"].startswith("llt_")
    assert run("tokens", "create", "--user", "nobody").code == 3
    assert run("tokens", "create", "--agent", "nobody").code == 3
    assert run("tokens", "create", "--agent", "main", "--expires", "soon").code == 2


def test_programs_get_passwords_and_people_codes(run: Run, root: Path) -> None:
    """Both are shown once."""
    password = run("tokens", "password", "--label", "backup").text.splitlines()[-1]
    door = Workspace.open(root).authentication()
    assert door.basic("admin", password).user_id == 1
    code = run("tokens", "login").text.splitlines()[-1]
    assert code.startswith("lll_")
    kinds = [token["kind"] for token in run("tokens", "list", "--format", "json").json["tokens"]]
    assert kinds == ["application", "login_link"]


@pytest.mark.parametrize(
    ("text", "expected"), [("90d", 7_776_000), ("12h", 43_200), ("30m", 1800), ("2w", 1_209_600)]
)
def test_a_time_is_read(text: str, expected: float) -> None:
    """In days, hours, minutes or weeks."""
    assert parse_seconds(text) == expected


@pytest.mark.parametrize("text", ["", "d", "1", "-1d", "1.5h", "١d", "1y"])
def test_another_time_is_refused(text: str) -> None:
    """With an example of one that can be."""
    with pytest.raises(Invalid, match="90d"):
        parse_seconds(text)


def test_a_setting_is_made_and_unmade(run: Run) -> None:
    """One that applies at the next start is written into the settings file."""
    assert run("settings", "set", "daily_memory_enabled", "true").text == (
        "daily_memory_enabled = true (database)\n"
    )
    rows = {line.split()[0]: line.split()[1:] for line in run("settings", "list").text.splitlines()}
    assert rows["daily_memory_enabled"] == ["true", "database", "at", "once"]
    assert run("settings", "unset", "daily_memory_enabled", "--format", "json").json == {
        "name": "daily_memory_enabled",
        "setting": False,
        "source": "default",
        "runtime": True,
        "restart_needed": False,
        "owner": "looseleaf",
        "summary": "",
    }
    written = run("settings", "set", "retention_days", "3")
    assert written.text.startswith("retention_days = 3 (file)\n")
    assert "at its next start" in written.text
    assert run("settings", "get", "retention_days").text == "retention_days = 3 (file)\n"
    assert run("settings", "set", "daily_memory_enabled", "maybe").code == 2
    assert "settings" in run("settings", "list", "--format", "json").json


def test_the_audit_is_listed_and_verified(run: Run, root: Path) -> None:
    """A forged entry is an error that says which."""
    run("users", "create", "eve", "--reason", "a new colleague")
    last = run("audit", "list", "--format", "json").json["entries"][0]
    assert (last["action"], last["actor"], last["reason"]) == (
        "looseleaf/create-user",
        "tester",
        "a new colleague",
    )
    assert (last["actor_kind"], last["origin"], last["activity"]) == ("person", "user", "")
    tasks = run("audit", "list", "--actor-kind", "task").text.splitlines()
    assert len(tasks) == 2
    assert "- (task)" in tasks[1]
    assert run("audit", "list", "--actor-kind", "nobody").code == 2
    assert "create-user" in run("audit", "list", "--limit", "1").text
    assert "first start" in run("audit", "list", "--before", "2").text
    assert run("audit", "verify").text == "The audit is whole, from entry 1 to entry 2.\n"
    assert run("audit", "verify", "--format=json").json == {
        "entries": 2,
        "fault": "",
        "removed": 0,
    }
    database = sqlite3.connect(root / ".looseleaf" / "looseleaf.db")
    with database:
        database.execute("UPDATE audit SET actor = 'someone else' WHERE number = 2")
    database.close()
    forged = run("audit", "verify")
    assert forged.code == 6
    assert "entry 2 is not what was written" in forged.err


@pytest.mark.parametrize(
    "line",
    [
        "memory read",
        "memory append Notes x",
        "memory daily append x",
        "memory search x",
        "memory history MEMORY.md",
        "memory files",
        "agents list",
        "agents create bob",
    ],
)
def test_a_command_about_pages_opens_no_database(line: str, run: Run, root: Path) -> None:
    """None is even made."""
    run(*line.split())
    assert not list((root / ".looseleaf").glob("*.db*"))
