"""A workspace made before there was provenance opens unchanged, and is written to.

`make_workspace.py` made the archive with the last commit before the packages were arranged anew.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Shelf, Workspace
from looseleaf.access.audit import AuditFilter
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors.pages import RevisionMissing
from looseleaf.stores.disk.history.log_line import is_intact
from tests.conftest import Clock

ARCHIVE = Path(__file__).parent / "before_provenance.tar.gz"
ADA, BOB = Shelf("agent", 0, 1), Shelf("agent", 0, 2)
NOTES, MEMORY = ADA.page("notes.md"), ADA.page("MEMORY.md")
ADAS = {"file": "notes.md", "agent": "ada"}
ENTRIES = 8  # of the audit


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Unpack the workspace."""
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "memory"


@pytest.fixture
def old(home: Path, clock: Clock) -> Iterator[Workspace]:
    """Open the workspace with the present code."""
    with Workspace.open(home, clock=clock) as workspace:
        yield workspace


def faults(workspace: Workspace) -> list[dict[str, Any]]:
    """Return what `doctor --verify` says that is not in order."""
    findings = invoke(workspace.context, "looseleaf/check-workspace", {"verify": True})
    return [finding for finding in findings if finding["status"] == "fault"]


def test_the_archive_is_small_and_says_nothing_of_its_machine(home: Path) -> None:
    """Neither a folder outside of it nor the text of a token."""
    assert ARCHIVE.stat().st_size < 200_000
    for file in home.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        for sign in (b"/home/", b"/root/", b"/tmp/", b"/work", b"llt_", b"llk_"):
            assert sign not in content, file


def test_agents_are_those_of_the_register(old: Workspace) -> None:
    """Also the deleted one, which can be brought back with its pages."""
    assert [(record.id, record.slug) for record in old.agents.records()] == [(1, "ada"), (2, "bob")]
    restored = invoke(old.context, "looseleaf/restore-agent", {"agent": "carol"})
    assert restored["id"] == 3
    assert old.pages.text(Shelf("agent", 0, 3).page("SOUL.md"))
    assert invoke(old.context, "looseleaf/create-agent", {"slug": "dan"})["id"] == 4


def test_pages_say_what_they_said(old: Workspace) -> None:
    """The journal, too."""
    assert old.pages.text(NOTES) == "note 2\n"
    assert old.pages.text(MEMORY).endswith("## Facts\n- has a cat\n- likes tea\n")
    assert old.pages.text(BOB.page("MEMORY.md")) == "# Memory\n\nby an editor\n"
    assert "Moved in." in old.pages.text(ADA.page("daily/2026/04/17.md"))


def test_history_is_read_as_it_was_written(old: Workspace) -> None:
    """Restores, an outside edit and a purge; what nobody recorded then is empty now."""
    revisions = old.history.revisions(NOTES)
    assert [
        (revision.operation, revision.actor, revision.surface, revision.actor_kind)
        for revision in revisions
    ] == [
        ("write", "operator", "cli", ""),
        ("write", "operator", "cli", ""),
        ("write", "operator", "cli", ""),
        ("outside", "", "disk", "outside"),
        ("append", "operator", "cli", ""),
        ("restore", "operator", "cli", ""),
    ]
    assert {
        (revision.origin, revision.activity, revision.activity_id) for revision in revisions
    } == {("", "", "")}
    assert revisions[4].reason == "to add"
    assert revisions[2].purged.startswith("purged by operator at ")
    contents = [old.history.content(NOTES, number) for number in (1, 2, 4, 5, 6)]
    edited = b"note 4, by an editor\n"
    assert contents == [b"note 1\n", b"note 2\n", edited, edited + b"note 5\n", b"note 2\n"]
    with pytest.raises(RevisionMissing, match="a secret"):
        old.history.content(NOTES, 3)
    written, gone = old.history.revisions(ADA.page("gone.md"))
    assert (written.hash != "", gone.hash, gone.operation) == (True, "", "delete")
    spoken = old.history.revisions(MEMORY)[-1]
    assert (spoken.actor, spoken.surface) == ("ada", "chat")
    assert spoken.reason.startswith("chat session ")
    unnoticed = old.history.revisions(BOB.page("MEMORY.md"))[-1]
    assert (unnoticed.operation, unnoticed.actor_kind) == ("outside", "outside")


def test_everything_verifies(old: Workspace) -> None:
    """Pages, histories, rows and the audit, before and after the database is migrated."""
    assert faults(old) == []
    report = {"entries": ENTRIES, "fault": "", "removed": 0}
    assert invoke(old.context, "looseleaf/verify-audit") == report
    assert faults(old) == []


def test_accounts_and_conversations_are_those_it_had(old: Workspace) -> None:
    """Users, roles, the hash of a token, settings and what was said."""
    accounts = old.accounts()
    assert [user.login for user in accounts.users.list()] == ["admin", "eve"]
    assert [(grant.user_id, grant.agent_id, grant.role) for grant in accounts.grants.list()] == [
        (2, 1, "operator")
    ]
    (token,) = accounts.credentials.list("token")
    assert (token.label, token.agent_id, len(token.secret), token.ended) == ("laptop", 1, 64, 0)
    assert accounts.settings.all() == {"daily_memory_enabled": True}
    sessions = invoke(old.context, "datamachine/list-chat-sessions", {"agent": "ada"})
    titles = {session["title"] for session in sessions["sessions"]}
    assert "Good morning" in titles
    assert len(titles) == 2


def test_the_audit_says_what_it_said(old: Workspace) -> None:
    """Old entries have no kind of actor, so that a list by kind leaves them out."""
    entries = old.accounts().audit.list()
    assert [entry.number for entry in entries] == list(range(ENTRIES, 0, -1))
    assert {
        (entry.event.actor_kind, entry.event.origin, entry.event.activity) for entry in entries
    } == {("", "", "")}
    assert sorted(entry.event.action for entry in entries if entry.event.surface == "mcp") == [
        "datamachine/update-agent-memory",
        "datamachine/update-agent-memory",
    ]
    assert [entry.event.outcome for entry in entries].count("refused") == 1
    assert not old.accounts().audit.list(only=AuditFilter("agent"))


def test_it_is_written_to(old: Workspace) -> None:
    """New lines stand beside old ones, and all of them still verify."""
    before = old.history.revisions(NOTES)
    invoke(old.context, "datamachine/append-agent-file", {**ADAS, "content": "6"})
    *older, newest = old.history.revisions(NOTES)
    assert older == before
    assert (newest.number, newest.actor_kind, newest.origin) == (7, "person", "user")
    invoke(old.context, "looseleaf/restore-page", {**ADAS, "revision": "4"})
    assert old.pages.text(NOTES) == "note 4, by an editor\n"
    bobs = {"file": "MEMORY.md", "content": "- more", "agent": "bob"}
    invoke(old.context, "datamachine/append-agent-file", bobs)
    assert [revision.operation for revision in old.history.revisions(BOB.page("MEMORY.md"))][
        -2:
    ] == [
        "outside",
        "append",
    ]
    message = {"message": "Good evening", "agent": "ada", "model": "echo"}
    assert invoke(old.context, "datamachine/send-message", message)["completed"]
    invoke(old.context, "looseleaf/create-user", {"login": "dora"})
    newest_entry = old.accounts().audit.list(limit=1)[0]
    assert (newest_entry.number, newest_entry.event.actor_kind) == (ENTRIES + 1, "person")
    assert invoke(old.context, "looseleaf/verify-audit")["fault"] == ""
    assert faults(old) == []


def test_old_lines_stay_as_they_are(home: Path, old: Workspace) -> None:
    """A write adds a line, and touches none of those that are there."""
    log = home / ".looseleaf/history/agent-1/MEMORY.md/log"
    before = log.read_bytes()
    fact = {"section": "Facts", "content": "- new", "mode": "append", "agent": "ada"}
    invoke(old.context, "datamachine/update-agent-memory", fact)
    after = log.read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == len(before.splitlines()) + 1
    assert all(is_intact(line) for line in after.splitlines())
