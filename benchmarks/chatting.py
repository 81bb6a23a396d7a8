"""Chatting: messages stored and read, and what a turn adds to a bare call of the provider."""

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
from benchmarks.bench import Bench, settle, write_pages
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Runner, race, summarize_laps
from looseleaf import Workspace
from looseleaf.catalog.tool_access import MODEL_TOOLS
from looseleaf.features.chat.operations import converse
from looseleaf.features.chat.session import ChatInput, Opening, TurnOutcome
from looseleaf.features.chat.sql_turns import SqlChats
from looseleaf.models.model import Message, Usage
from looseleaf.models.pydantic_ai import ProviderConnection
from looseleaf.models.retries import LoopThread, RetryingModel
from looseleaf.stores.database.database import Database

GROUP = "chat"
PEER = "OpenAI Agents SDK, SQLiteSession"
SDK = "the provider's own SDK"
FEW, MANY, SESSIONS = 1_000, 100_000, 2_000
LAST = 50
FLAT = 1.2
ADDED = 1.25
THINKING = 0.05  # seconds; no real provider sends its first word sooner
TEXT = "A sentence of about the length that people and models say, more or less. " * 4


def measure(bench: Bench) -> Iterator[Row]:
    """Store and read messages among few and many, then take turns against a scripted server."""
    small = FilledChats(bench.folder / "chat-few", FEW, FEW // LAST)
    large = FilledChats(
        bench.folder / "chat-many", bench.amount(MANY, 10_000), bench.amount(SESSIONS, 200)
    )
    yield from _compare_sizes(bench, small, large)
    yield from _compare_with_peer(bench, large)
    small.close()
    large.close()
    yield from _measure_turns(bench)


class FilledChats:
    """Our conversations, with so many messages in so many sessions of the same length."""

    def __init__(self, root: Path, messages: int, sessions: int) -> None:
        (root / ".looseleaf").mkdir(parents=True)
        self.database = Database("", str(root))
        self.chats = SqlChats(self.database)
        length = messages // sessions
        replies = [
            Message(role="user" if at % 2 else "assistant", text=TEXT) for at in range(length - 1)
        ]
        for number in range(sessions):
            turn = self._begin_turn(f"question {number}")
            assert turn.lease is not None
            self.chats.turns.end(turn.lease, replies, TurnOutcome("completed", Usage()))
            self.session = turn.session.id
        turn = self._begin_turn("and now?", self.session)
        assert turn.lease is not None
        self.lease = turn.lease

    def _begin_turn(self, text: str, session: str = "") -> Any:  # noqa: ANN401 - a turn that has begun
        return self.chats.turns.begin(
            Opening(
                session=session,
                owner=1,
                agent=1,
                mode="chat",
                message=Message(role="user", text=text),
            )
        )

    def append(self) -> None:
        """Store one message, durably."""
        self.chats.turns.append(self.lease, (Message(role="assistant", text=TEXT),))

    def read_last(self) -> int:
        """Read the last messages."""
        return len(self.chats.sessions.messages(self.session, last=LAST))

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def _compare_sizes(bench: Bench, small: FilledChats, large: FilledChats) -> Iterator[Row]:
    rounds = bench.amount(60, 10)
    against = f"the same among {FEW:,} messages"
    total = bench.amount(MANY, 10_000)
    large_laps, small_laps = race(
        Runner(large.append), Runner(small.append), rounds=rounds, batch=5
    )
    title = f"append a message among {total:,}"
    yield build_row(GROUP, title, large_laps, against, small_laps, target=FLAT)
    large_laps, small_laps = race(
        Runner(large.read_last), Runner(small.read_last), rounds=rounds, batch=20
    )
    wrong = "" if large.read_last() == LAST else f"{large.read_last()} messages"
    title = f"read the last {LAST} among {total:,}"
    yield build_row(GROUP, title, large_laps, against, small_laps, target=FLAT, wrong=wrong)


def _compare_with_peer(bench: Bench, large: FilledChats) -> Iterator[Row]:
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
        length = bench.amount(MANY, 10_000) // sessions
        for number in range(sessions):
            session = sqlite_session(f"session-{number}", file)
            run(session.add_items([item] * length))
            if number < sessions - 1:
                session.close()
        rounds = bench.amount(60, 10)
        laps, peer_laps = race(
            Runner(large.append), Runner(lambda: run(session.add_items([item]))),
            rounds=rounds, batch=5,
        )  # fmt: skip
        yield build_row(GROUP, "append a message", laps, PEER, peer_laps, target=1.0)
        laps, peer_laps = race(
            Runner(large.read_last), Runner(lambda: run(session.get_items(LAST))),
            rounds=rounds, batch=20,
        )  # fmt: skip
        yield build_row(GROUP, f"read the last {LAST}", laps, PEER, peer_laps, target=1.0)
        session.close()


def _measure_turns(bench: Bench) -> Iterator[Row]:
    """Take turns against a server that answers at once, and one that thinks for a moment."""
    for delay, title in (
        (0.0, "a whole turn"),
        (THINKING, "a whole turn, the model thinks 50 ms"),
    ):
        with _serve_script(bench.folder, delay) as url:
            root = bench.folder / f"chat-turns-{delay}"
            workspace = _create_workspace(bench, root, url)
            client = OpenAI(base_url=url, api_key="none")
            loop_thread = LoopThread()
            workspace.models().register("library", partial(_open_library_model, url, loop_thread))
            laps, library_laps, sdk_laps = race(
                Runner(lambda w=workspace: _take_turn(w)),  # type: ignore[misc]
                Runner(lambda w=workspace: _take_turn(w, "library:m")),  # type: ignore[misc]
                Runner(_build_sdk_call(client, workspace)),
                rounds=bench.amount(40, 8),
                batch=5,
            )
            yield build_row(GROUP, title, laps, SDK, sdk_laps, target=ADDED)
            overhead = max(summarize_laps(laps).p95 - summarize_laps(sdk_laps).p95, 0.0)
            yield build_figure_row(GROUP, f"{title}: added at p95", overhead, unit="seconds")
            yield build_row(GROUP, f"{title}, by the provider library", library_laps, SDK, sdk_laps)
            workspace.models().close()
            loop_thread.close()
            client.close()
    yield from _measure_without_model(bench, workspace)


def _open_library_model(url: str, loop_thread: LoopThread, name: str) -> RetryingModel:
    """Open the same server by the library for providers that are not OpenAI-compatible."""
    provider = OpenAICompatibleProvider("library", base_url=url, api_key="none")
    line = ProviderConnection(name, OpenAIChatModel("m", provider=provider))
    return RetryingModel(name, line, loop_thread)


def _measure_without_model(bench: Bench, workspace: Workspace) -> Iterator[Row]:
    """Take turns with a model that costs nothing, beside two bare commits to the same disk."""
    connection = sqlite3.connect(bench.folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE messages (text)")

    def commit_twice() -> None:
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO messages VALUES (?)", (TEXT,))
            connection.execute("COMMIT")

    laps, limit = race(
        Runner(lambda: _take_turn(workspace, "echo")),
        Runner(commit_twice),
        rounds=bench.amount(40, 8),
        batch=5,
    )
    yield build_row(GROUP, "a turn without its model", laps, "two bare SQLite commits", limit)
    connection.close()


def _create_workspace(bench: Bench, root: Path, url: str) -> Workspace:
    Workspace.create(root, agent="alpha")
    write_pages(root / "agents" / "alpha", workload.build_core_pages(seed=bench.seed).items())
    settings = f'default_model = "local:m"\n[providers.local]\nbase_url = "{url}"\n'
    (root / "looseleaf.toml").write_text(settings)
    settle()
    return Workspace.open(root)


def _take_turn(workspace: Workspace, model: str = "") -> None:
    for _ in converse(workspace.context, ChatInput("Hello", model=model)):
        pass


def _build_sdk_call(client: OpenAI, workspace: Workspace) -> Callable[[], None]:
    """Return a call that sends the same messages by the SDK, and stores nothing."""
    pages = workspace.compose("chat", "alpha").messages
    messages: Any = [{"role": "system", "content": text} for text in pages]
    messages.append({"role": "user", "content": "Hello"})
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

    def call_provider() -> None:
        for _ in client.chat.completions.create(
            model="m",
            messages=messages,
            tools=tools,
            stream=True,
            stream_options={"include_usage": True},
        ):
            pass

    return call_provider


@contextmanager
def _serve_script(folder: Path, delay: float) -> Iterator[str]:
    """Serve one answer again and again, from a process of its own."""
    root = Path(__file__).parent.parent
    script = folder / "script.json"
    script.write_text(json.dumps([{"text": "Hello.", "delay": delay}]))
    command = [sys.executable, "-m", "tests.models.scripted", str(script)]
    server = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()
