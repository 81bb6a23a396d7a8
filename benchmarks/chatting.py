"""Chatting: messages kept and read back, and what a turn adds to a bare call of the provider."""

from __future__ import annotations

import asyncio
import importlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from openai import OpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from benchmarks import workload
from benchmarks.bench import Bench, lay, settle
from benchmarks.table import Row, compared, fact
from benchmarks.timing import Runner, race, spread
from looseleaf import Workspace
from looseleaf.catalog.tools.memory_tools import MODEL_TOOLS
from looseleaf.chat.session import Opening, Outcome, Saying
from looseleaf.models.model import Message, Usage
from looseleaf.models.pydantic_ai.event_loop import Bridge
from looseleaf.models.pydantic_ai.model import ProvidedLine
from looseleaf.models.retries import PatientModel
from looseleaf.operations.chat import converse
from looseleaf.stores.database.chat.chats import SqlChats
from looseleaf.stores.database.database import Database

GROUP = "chat"
PEER = "OpenAI Agents SDK, SQLiteSession"
SDK = "the provider's own SDK"
FEW, MANY, SESSIONS = 1_000, 100_000, 2_000
LAST = 50
FLAT = 1.2
ADDED = 1.25
THINKING = 0.05  # seconds; no real provider says its first word sooner
TEXT = "A sentence of about the length that people and models say, more or less. " * 4


def measure(bench: Bench) -> Iterator[Row]:
    """Keep and read messages among few and many, then take turns against a scripted server."""
    few = Kept(bench.folder / "chat-few", FEW, FEW // LAST)
    many = Kept(bench.folder / "chat-many", bench.amount(MANY, 10_000), bench.amount(SESSIONS, 200))
    yield from _flat(bench, few, many)
    yield from _beside_peer(bench, many)
    few.close()
    many.close()
    yield from _turns(bench)


class Kept:
    """Our conversations, filled: so many messages in so many sessions of the same length."""

    def __init__(self, root: Path, messages: int, sessions: int) -> None:
        (root / ".looseleaf").mkdir(parents=True)
        self.database = Database("", str(root))
        self.chats = SqlChats(self.database)
        each = messages // sessions
        said = [Message("user" if at % 2 else "assistant", TEXT) for at in range(each - 1)]
        for number in range(sessions):
            begun = self._begun(f"question {number}")
            assert begun.lease is not None
            self.chats.turns.end(begun.lease, said, Outcome("completed", Usage()))
            self.session = begun.session.id
        begun = self._begun("and now?", self.session)
        assert begun.lease is not None
        self.lease = begun.lease

    def _begun(self, text: str, session: str = "") -> Any:  # noqa: ANN401 - a turn that has begun
        return self.chats.turns.begin(Opening(session, 1, 1, "chat", Message("user", text)))

    def append(self) -> None:
        """Keep one message, durably."""
        self.chats.turns.append(self.lease, (Message("assistant", TEXT),))

    def last(self) -> int:
        """Read the last messages."""
        return len(self.chats.sessions.messages(self.session, last=LAST))

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()


def _flat(bench: Bench, few: Kept, many: Kept) -> Iterator[Row]:
    rounds = bench.amount(60, 10)
    against = f"the same among {FEW:,} messages"
    total = bench.amount(MANY, 10_000)
    more, less = race(Runner(many.append), Runner(few.append), rounds=rounds, batch=5)
    what = f"append a message among {total:,}"
    yield compared(GROUP, what, more, against, less, target=FLAT)
    more, less = race(Runner(many.last), Runner(few.last), rounds=rounds, batch=20)
    wrong = "" if many.last() == LAST else f"{many.last()} messages"
    what = f"read the last {LAST} among {total:,}"
    yield compared(GROUP, what, more, against, less, target=FLAT, wrong=wrong)


def _beside_peer(bench: Bench, many: Kept) -> Iterator[Row]:
    try:
        # Installed for this benchmark alone, or not at all.
        sqlite_session = importlib.import_module("agents").SQLiteSession
    except ImportError:
        bench.say("  openai-agents is not installed: nothing to compare with")
        return
    with asyncio.Runner() as runner:
        run: Callable[[Coroutine[Any, Any, Any]], Any] = runner.run
        file = bench.folder / "peer.db"
        item = {"role": "assistant", "content": TEXT}
        sessions = bench.amount(SESSIONS, 200)
        each = bench.amount(MANY, 10_000) // sessions
        for number in range(sessions):
            theirs = sqlite_session(f"session-{number}", file)
            run(theirs.add_items([item] * each))
            if number < sessions - 1:
                theirs.close()
        rounds = bench.amount(60, 10)
        ours, peer = race(
            Runner(many.append), Runner(lambda: run(theirs.add_items([item]))),
            rounds=rounds, batch=5,
        )  # fmt: skip
        yield compared(GROUP, "append a message", ours, PEER, peer, target=1.0)
        ours, peer = race(
            Runner(many.last), Runner(lambda: run(theirs.get_items(LAST))),
            rounds=rounds, batch=20,
        )  # fmt: skip
        yield compared(GROUP, f"read the last {LAST}", ours, PEER, peer, target=1.0)
        theirs.close()


def _turns(bench: Bench) -> Iterator[Row]:
    """Take turns against a server that answers at once, and one that thinks for a moment."""
    for thinking, what in (
        (0.0, "a whole turn"),
        (THINKING, "a whole turn, the model thinks 50 ms"),
    ):
        with _scripted(bench.folder, thinking) as url:
            root = bench.folder / f"chat-turns-{thinking}"
            workspace, client = _laid(bench, root, url), OpenAI(base_url=url, api_key="none")
            bridge = Bridge()
            workspace.models().register("library", partial(_native, url, bridge))
            ours, library, theirs = race(
                Runner(lambda w=workspace: _turn(w)),  # type: ignore[misc]
                Runner(lambda w=workspace: _turn(w, "library:m")),  # type: ignore[misc]
                Runner(_bare(client, workspace)),
                rounds=bench.amount(40, 8),
                batch=5,
            )
            yield compared(GROUP, what, ours, SDK, theirs, target=ADDED)
            added = max(spread(ours).p95 - spread(theirs).p95, 0.0)
            yield fact(GROUP, f"{what}: added at p95", added, unit="seconds")
            yield compared(GROUP, f"{what}, by the provider library", library, SDK, theirs)
            workspace.models().close()
            bridge.close()
            client.close()
    yield from _alone(bench, workspace)


def _native(url: str, bridge: Bridge, name: str) -> PatientModel:
    """Ask the same server as those are asked that speak another language than OpenAI's."""
    provider = OpenAICompatibleProvider("library", base_url=url, api_key="none")
    line = ProvidedLine(name, OpenAIChatModel("m", provider=provider))
    return PatientModel(name, line, bridge)


def _alone(bench: Bench, workspace: Workspace) -> Iterator[Row]:
    """Take turns with a model that costs nothing, beside two bare commits to the same disk."""
    bare = sqlite3.connect(bench.folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE messages (text)")

    def twice() -> None:
        for _ in range(2):
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO messages VALUES (?)", (TEXT,))
            bare.execute("COMMIT")

    ours, limit = race(
        Runner(lambda: _turn(workspace, "echo")),
        Runner(twice),
        rounds=bench.amount(40, 8),
        batch=5,
    )
    yield compared(GROUP, "a turn without its model", ours, "two bare SQLite commits", limit)
    bare.close()


def _laid(bench: Bench, root: Path, url: str) -> Workspace:
    Workspace.create(root, agent="alpha")
    lay(root / "agents" / "alpha", workload.core_pages(seed=bench.seed).items())
    settings = f'default_model = "local:m"\n[providers.local]\nbase_url = "{url}"\n'
    (root / "looseleaf.toml").write_text(settings)
    settle()
    return Workspace.open(root)


def _turn(workspace: Workspace, model: str = "") -> None:
    for _ in converse(workspace.context, Saying("Hello", model=model)):
        pass


def _bare(client: OpenAI, workspace: Workspace) -> Callable[[], None]:
    """Give a call that asks for the same with the same words, and keeps nothing."""
    pages = workspace.compose("chat", "alpha").messages
    asked: Any = [{"role": "system", "content": text} for text in pages]
    asked.append({"role": "user", "content": "Hello"})
    tools: Any = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in MODEL_TOOLS.values()
    ]

    def call() -> None:
        for _ in client.chat.completions.create(
            model="m",
            messages=asked,
            tools=tools,
            stream=True,
            stream_options={"include_usage": True},
        ):
            pass

    return call


@contextmanager
def _scripted(folder: Path, thinking: float) -> Iterator[str]:
    """Serve one answer again and again, from a process of its own."""
    root = Path(__file__).parent.parent
    script = folder / "script.json"
    script.write_text(json.dumps([{"text": "Hello.", "delay": thinking}]))
    command = [sys.executable, "-m", "tests.models.scripted", str(script)]
    server = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()
