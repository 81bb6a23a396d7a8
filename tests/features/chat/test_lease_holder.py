"""A lease is free again as soon as its process is gone, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from looseleaf import Workspace
from looseleaf.errors.operations import SessionBusy
from looseleaf.features.chat.session import Opening, TurnOutcome, chats_of
from looseleaf.features.chat.sql_sessions import create_lease, is_gone
from looseleaf.models.model import Message, Usage
from looseleaf.values import replace

HOLDER = """
import sys
from looseleaf import Workspace
from looseleaf.features.chat.session import chats_of
from looseleaf.features.chat.session import Opening
from looseleaf.models.model import Message

message = Message(role="user", text="hello")
opening = Opening(session="", owner=1, agent=1, mode="chat", message=message)
begun = chats_of(Workspace.open(sys.argv[1])).turns.begin(opening)
print(begun.session.id, flush=True)
sys.stdin.read()
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes")


def test_the_lease_of_a_living_process_is_held() -> None:
    """One's own, and those of which nothing is known."""
    assert not is_gone(create_lease())
    for unknown in ("", "0" * 32, "secret..", "secret.machine.1.2", "secret.machine.x"):
        assert not is_gone(unknown)


@linux
def test_a_lease_of_a_process_that_ended_is_gone() -> None:
    """Even if its number was given to another process since."""
    module = "looseleaf.features.chat.sql_sessions"
    script = f"from {module} import create_lease; print(create_lease())"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert is_gone(done.stdout.strip())
    secret, machine, process, started = create_lease().split(".")
    assert is_gone(".".join((secret, machine, process, str(int(started) + 1))))


@linux
def test_a_session_is_free_again_when_its_process_was_killed(tmp_path: Path) -> None:
    """At once, though its lease would last two more minutes; before, it is busy."""
    workspace = Workspace.create(tmp_path / "memory", agent="ada")
    chats = chats_of(workspace)
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "memory")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        session = holder.stdout.readline().decode().strip()
        opening = Opening(
            session=session,
            owner=1,
            agent=1,
            mode="chat",
            message=Message(role="user", text="again"),
        )
        with pytest.raises(SessionBusy):
            chats.turns.begin(opening)
        with pytest.raises(SessionBusy):
            chats.sessions.delete(session)
        holder.kill()
    found = chats.sessions.find(session)
    assert found is not None
    assert not found.running
    assert not chats.turns.cancel(session)
    begun = chats.turns.begin(opening)
    assert begun.turn.number == 2
    assert [turn.status for turn in chats.turns.list(session)] == ["lost", "running"]
    workspace.close()


def test_a_session_is_free_again_after_the_database_failed(tmp_path: Path) -> None:
    """A turn whose end cannot be saved holds its session no longer, and counts as interrupted."""
    workspace = Workspace.create(tmp_path / "memory", agent="ada")
    chats = chats_of(workspace)
    message = Message(role="user", text="hello")
    opening = Opening(session="", owner=1, agent=1, mode="chat", message=message)
    begun = chats.turns.begin(opening)
    assert begun.lease is not None
    engine = workspace.accounts().database.engine  # type: ignore[attr-defined]
    refuse = (
        "CREATE TRIGGER broken BEFORE UPDATE ON chat_sessions BEGIN SELECT RAISE(FAIL, 'x'); END"
    )
    with engine.begin() as connection:
        connection.exec_driver_sql(refuse)
    with pytest.raises(sa.exc.IntegrityError):
        chats.turns.end(begun.lease, (), TurnOutcome("failed", Usage(), "", ()))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER broken")
    again = chats.turns.begin(replace(opening, session=begun.session.id))
    assert again.turn.number == 2
    with pytest.raises(SessionBusy):
        chats.turns.begin(replace(opening, session=begun.session.id))
