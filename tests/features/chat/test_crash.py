"""A turn that is killed at any statement: what was said is there, and the session goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.features.chat.turn import Result, TurnRunner, TurnSetup
from looseleaf.stores.database.database import Database
from tests.conftest import Clock
from tests.features.chat.conftest import Script, build_opening, lease_of

ROOT = Path(__file__).parents[3]


def killed(database_url: str, home: Path) -> list[dict[str, Any]]:
    """Run the turns that are killed; return what each of their persons was told."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.features.chat.killed", database_url, str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_turn_can_be_killed_at_any_statement(
    tmp_path: Path, database_url: str, clock: Clock
) -> None:
    """Nothing that anyone was told is lost, no number is used twice, and all can be answered."""
    home = tmp_path / "home"
    (home / ".looseleaf").mkdir(parents=True)
    runs = killed(database_url, home)
    assert len(runs) > 30
    assert runs[-1]["events"][-1]["status"] == "completed"
    database = Database(database_url, str(home))
    chats = SqlChats(database, clock=clock)  # a clock that is years ahead: every lease is over
    sessions = {item.title: item for item in chats.sessions.list(limit=1000)[0]}
    for run in runs:
        events = run["events"]
        session = sessions.get(run["message"])
        assert session is not None or not events
        if session is None:
            continue
        entries = chats.sessions.messages(session.id)
        assert [entry.number for entry in entries] == [*range(1, session.messages + 1)]
        said = [entry.message for entry in entries]
        assert said[0].text == run["message"]
        returned = [event["text"] for event in events if event["event"] == "returned"]
        assert [item.text for item in said if item.role == "tool"][: len(returned)] == returned
        goes_on(chats, session.id)
    database.close()


def goes_on(chats: SqlChats, session: str) -> None:
    """Say something more; every call the model is shown has its result."""
    begun = chats.turns.begin(build_opening("And now?", session))
    script = Script("It goes on.")
    setup = TurnSetup(
        model=script, system=lambda: (), offers=(), run=lambda _call: Result(""), limit=9
    )
    *_, end = TurnRunner(chats, begun, lease_of(begun), setup).run()
    assert getattr(end, "status", "") == "completed"
    asked = script.questions[0].messages
    calls = [call.id for item in asked for call in item.calls]
    assert calls == [item.call for item in asked if item.role == "tool"]
    assert asked[-1].text == "And now?"
