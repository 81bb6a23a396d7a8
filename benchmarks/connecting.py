"""Connecting: an MCP server over stdio in a new process, until it has listed its tools."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import looseleaf
from benchmarks import workload
from benchmarks.bench import Bench, lay
from benchmarks.starting import LIMIT, command_line
from benchmarks.table import Row, compared, fact
from benchmarks.timing import Runner, process, race, spread
from looseleaf import Workspace

GROUP = "mcp"
START_TARGET = 5.0
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Client:
    """A bare client: lines out, lines in."""

    def __init__(self, command: tuple[str, ...], env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
        """Send requests at once, and give their answers."""
        incoming, outgoing = self.process.stdout, self.process.stdin
        assert incoming is not None
        assert outgoing is not None
        for number, (method, params) in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            outgoing.write(json.dumps(message).encode() + b"\n")
        outgoing.flush()
        return [json.loads(incoming.readline()) for _ in requests]

    def close(self) -> None:
        """Close our end, and wait until the server is gone."""
        self.process.communicate()


def measure(bench: Bench) -> Iterator[Row]:
    """Start a server and list its tools, in both generations; read a page; look at its memory."""
    # An installed package is compiled; a working copy that was just edited is not yet.
    compileall.compile_dir(Path(looseleaf.__file__).parent, quiet=2)
    root = bench.folder / "connecting"
    workspace = Workspace.create(root, agent="alpha")
    workspace.accounts()  # a workspace that has been used has a database
    workspace.close()
    lay(root / "agents" / "alpha", workload.core_pages(seed=bench.seed).items())
    env = {**os.environ, "LOOSELEAF_ROOT": str(root)}
    command = (*command_line(), "mcp")
    generations = {
        "initialize and tools/list": (("initialize", _HANDSHAKE), ("tools/list", {})),
        "server/discover and tools/list": (
            ("server/discover", {"_meta": _META}),
            ("tools/list", {"_meta": _META}),
        ),
    }
    for what, requests in generations.items():

        def connect(requests: tuple[Any, ...] = requests) -> None:
            client = Client(command, env)
            answers = client.ask(*requests)
            client.process.kill()
            client.close()
            assert answers[1]["result"]["tools"]

        ours, limit = race(
            Runner(connect),
            Runner(process((sys.executable, "-c", "pass"), env)),
            rounds=bench.amount(20, 5),
            batch=2,
        )
        yield compared(GROUP, what, ours, LIMIT, limit, target=START_TARGET)
    yield from _reading(bench, command, env)


def _reading(bench: Bench, command: tuple[str, ...], env: dict[str, str]) -> Iterator[Row]:
    """Read one page again and again over one connection."""
    client = Client(command, env)
    client.ask(("initialize", _HANDSHAKE), ("tools/list", {}))
    call = ("tools/call", {"name": "get_agent_memory", "arguments": {}})
    seconds = []
    for _ in range(bench.amount(3000, 300)):
        before = time.perf_counter()
        client.ask(call)
        seconds.append(time.perf_counter() - before)
    resident = _resident(client.process.pid)
    client.close()
    yield Row(GROUP, "get_agent_memory, 8 KB (at most 0.5 ms)", spread([seconds]))
    if resident:
        yield fact(GROUP, "memory of the server (at most 40 MB)", resident, unit="bytes")


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    return int(status.read_text().split("VmRSS:")[1].split()[0]) * 1024.0
