"""Take one turn after the other, each killed a database statement later than the one before.

`python -m tests.features.chat.killed URL ROOT` prints a line of JSON for each: what its person
was told before it died, and whether it came to its end.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import sqlalchemy as sa

from looseleaf.features.chat.events import build_event_document
from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.features.chat.turn import Result, TurnRunner, TurnSetup
from looseleaf.models.model import ToolCall
from looseleaf.stores.database.database import Database
from tests.features.chat.conftest import Script, build_opening, lease_of

CALLS = (ToolCall("c1", "agent_memory", "{}"), ToolCall("c2", "agent_memory", '{"n": 2}'))


def kill_after(statements: int) -> None:
    """Kill this process before it has run one statement more."""
    statements_left = statements

    def count(*_: object) -> None:
        nonlocal statements_left
        statements_left -= 1
        if statements_left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for moment in ("before_cursor_execute", "after_cursor_execute", "commit"):
        sa.event.listen(sa.Engine, moment, count)


def take_turn(url: str, root: str, statements: int, out: int) -> None:
    """Take a turn with two tool calls, and write every event to a pipe."""
    database = Database(url, root)
    chats = SqlChats(database)
    kill_after(statements)
    turn = chats.turns.begin(build_opening(f"message {statements}"))
    script = Script(("Let me see.", *CALLS), ("All", " done."))
    setup = TurnSetup(
        model=script, system=lambda: (), offers=(), run=lambda call: Result(call.arguments), limit=9
    )
    for event in TurnRunner(chats, turn, lease_of(turn), setup).run():
        os.write(out, json.dumps(build_event_document(event)).encode() + b"\n")
    database.close()


def main(url: str, root: str) -> None:
    """Kill turns at every statement, until one is not killed."""
    Database(url, root).close()
    for statements in range(1000):
        read_end, write_end = os.pipe()
        child = os.fork()
        if not child:
            os.close(read_end)
            take_turn(url, root, statements, write_end)
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            events = [json.loads(line) for line in pipe]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"message": f"message {statements}", "events": events}), flush=True)  # noqa: T201
        if code == 0:
            return
        if code != -signal.SIGKILL:
            sys.exit(f"died of {code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
