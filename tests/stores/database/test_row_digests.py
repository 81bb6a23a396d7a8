"""A changed, deleted or set-back database is found by verifying it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.features.chat import tables as chat_tables
from looseleaf.features.chat.session import Opening, TurnOutcome, chats_of
from looseleaf.models.model import Message, Usage
from looseleaf.operations.doctor import check_workspace
from looseleaf.stores.database import tables
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.values import replace
from tests.conftest import Clock


@pytest.fixture
def home(workspace: Workspace, database_url: str, clock: Clock) -> Iterator[Workspace]:
    """Yield a workspace on each database, with users, roles, tokens, a setting and two chats."""
    opened = Workspace(replace(workspace.settings, database_url=database_url), clock=clock)
    local = opened.context
    for login in ("eve", "bob"):
        invoke(local, "looseleaf/create-user", {"login": login})
    invoke(local, "looseleaf/grant-role", {"agent": "ada", "user": 2, "role": "viewer"})
    invoke(local, "looseleaf/create-token", {"agent": "ada"})
    invoke(local, "looseleaf/set-setting", {"name": "require_if_match", "setting": True})
    for text in ("One", "Two"):
        begun = chats_of(opened).turns.begin(
            Opening(
                session="",
                owner=1,
                agent=1,
                mode="chat",
                message=Message(role="user", text=text),
                title=text,
                request="",
                model="echo",
            )
        )
        assert begun.lease is not None
        done = TurnOutcome("completed", Usage(), "", ())
        chats_of(opened).turns.end(begun.lease, (Message(role="assistant", text=text),), done)
    yield opened
    opened.close()


def execute(home: Workspace, statement: sa.Executable) -> None:
    """Change the database behind our back."""
    accounts = home.accounts()
    assert isinstance(accounts, SqlAccounts)
    with accounts.database.writing() as connection:
        connection.execute(statement)


def test_what_is_sound_has_no_fault(home: Workspace) -> None:
    """After every kind of change there is."""
    local = home.context
    invoke(local, "looseleaf/update-user", {"user": 2, "name": "Eve"})
    invoke(local, "looseleaf/grant-role", {"agent": "ada", "user": 2, "role": "operator"})
    invoke(local, "looseleaf/grant-role", {"agent": "ada", "user": 3, "role": "viewer"})
    invoke(local, "looseleaf/create-token", {"agent": "ada"})
    invoke(local, "looseleaf/revoke-role", {"agent": "ada", "user": 2})
    token = invoke(local, "looseleaf/list-tokens", {"agent": "ada"})[0]["id"]
    invoke(local, "looseleaf/revoke-token", {"id": token})
    invoke(local, "looseleaf/set-setting", {"name": "require_if_match", "setting": None})
    sessions = chats_of(home).sessions.list()[0]
    invoke(local, "looseleaf/rename-chat-session", {"session": sessions[0].id, "title": "New"})
    invoke(local, "datamachine/delete-chat-session", {"session": sessions[1].id})
    invoke(local, "looseleaf/delete-agent", {"agent": "ada"})
    assert home.accounts().verify() == []
    assert home.accounts().audit.verify().fault == ""


CHANGES = {
    "users": tables.users.update().where(tables.users.c.id == 2).values(capabilities="chat"),
    "grants": tables.grants.update().values(role="admin"),
    "credentials": tables.credentials.update().values(role="admin"),
    "settings": tables.settings.update().values(setting="false"),
    "chat_sessions": chat_tables.chat_sessions.update().values(title="Ope"),
    "chat_messages": chat_tables.chat_messages.update()
    .where(chat_tables.chat_messages.c.text == "One")
    .values(text="Ome"),
}


@pytest.mark.parametrize("table", CHANGES)
def test_a_changed_row_is_found(home: Workspace, table: str) -> None:
    """One bit of it is enough."""
    execute(home, CHANGES[table])
    assert any(f"rows of {table} are not what was written" in x for x in home.accounts().verify())


DELETIONS = {
    "users has 2 rows, and had 3": tables.users.delete().where(tables.users.c.id == 3),
    "grants has 0 rows, and had 1": tables.grants.delete(),
    "credentials has 0 rows, and had 1": tables.credentials.delete(),
    "settings has 0 rows, and had 1": tables.settings.delete(),
    "chat_sessions has 1 rows, and had 2": chat_tables.chat_sessions.delete().where(
        chat_tables.chat_sessions.c.title == "One"
    ),
    "1 messages, and had 2": chat_tables.chat_messages.delete().where(
        chat_tables.chat_messages.c.text == "One", chat_tables.chat_messages.c.role == "user"
    ),
    "0 turns, and had 1": chat_tables.chat_turns.delete(),
}


@pytest.mark.parametrize("fault", DELETIONS)
def test_a_deleted_row_is_missed(home: Workspace, fault: str) -> None:
    """Of users, rights and conversations."""
    execute(home, DELETIONS[fault])
    assert any(fault in found for found in home.accounts().verify())


def test_a_cut_audit_is_found(home: Workspace) -> None:
    """Also by whoever cuts the note of its end in the database, too."""
    entries = home.accounts().audit.list(limit=100)
    last, before = entries[0].number, entries[3]
    execute(home, tables.audit.delete().where(tables.audit.c.number > before.number))
    assert f"there were {last}" in home.accounts().audit.verify().fault
    end = tables.state.update().where(tables.state.c.name == "audit")
    execute(home, end.values(number=before.number, text=before.hash))
    assert "older than the workspace" in home.accounts().audit.verify().fault


def test_a_database_that_was_set_back_is_found(workspace: Workspace, tmp_path: Path) -> None:
    """Also after the next entries, which follow the old ones and not those that were noted."""
    invoke(workspace.context, "looseleaf/create-user", {"login": "eve"})
    workspace.close()
    file, copy = Path(workspace.root, ".looseleaf/looseleaf.db"), tmp_path / "copy.db"
    shutil.copy(file, copy)
    invoke(workspace.context, "looseleaf/create-user", {"login": "bob"})
    workspace.close()
    shutil.copy(copy, file)
    found = [
        item for item in check_workspace(workspace.context, verify=True) if item.check == "audit"
    ]
    assert [item.status for item in found] == ["fault"]
    for login in ("carl", "dora"):
        invoke(workspace.context, "looseleaf/create-user", {"login": login})
        workspace.close()  # a process of its own
    assert "is not the one that was noted" in workspace.accounts().audit.verify().fault


def test_a_flipped_bit_in_the_file_is_found(workspace: Workspace) -> None:
    """Wherever a name of a person stands, of which SQLite itself takes no notice."""
    invoke(workspace.context, "looseleaf/create-user", {"login": "eve", "name": "Evelyn Waugh"})
    workspace.close()
    file = Path(workspace.root, ".looseleaf/looseleaf.db")
    content = bytearray(file.read_bytes())
    content[content.index(b"Evelyn Waugh")] ^= 0x01
    file.write_bytes(content)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = check_workspace(workspace.context, verify=True)
    assert [item.check for item in found if item.status == "fault"] == ["accounts"]


def test_events_of_pages_are_noted_from_time_to_time(workspace: Workspace) -> None:
    """The first of a process is; those right after it are not, and need no sync of their own."""
    invoke(workspace.context, "looseleaf/create-user", {"login": "eve"})
    accounts = workspace.accounts()
    assert isinstance(accounts, SqlAccounts)
    noted = accounts.database.anchor.read()[0]
    event = accounts.audit.list(limit=1)[0].event
    accounts.audit.add(event)
    assert accounts.database.anchor.read()[0] == noted
    accounts.database.anchor._next = -1.0
    accounts.audit.add(event)
    assert accounts.database.anchor.read()[0] == noted + 2


def test_an_end_of_the_audit_that_is_gone_is_found(home: Workspace) -> None:
    """The doctor goes on, and says so."""
    execute(home, tables.state.delete().where(tables.state.c.name == "audit"))
    assert "nothing says" in home.accounts().audit.verify().fault
