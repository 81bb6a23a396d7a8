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
from benchmarks.bench import Bench, write_pages
from benchmarks.starting import LIMIT, find_command
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Runner, build_process_call, race, summarize_laps
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
        """Send requests at once, and return their answers."""
        server_output, server_input = self.process.stdout, self.process.stdin
        assert server_output is not None
        assert server_input is not None
        for number, (method, params) in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server_input.write(json.dumps(message).encode() + b"\n")
        server_input.flush()
        return [json.loads(server_output.readline()) for _ in requests]

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
    write_pages(root / "agents" / "alpha", workload.build_core_pages(seed=bench.seed).items())
    env = {**os.environ, "LOOSELEAF_ROOT": str(root)}
    command = (*find_command(), "mcp")
    generations = {
        "initialize and tools/list": (("initialize", _HANDSHAKE), ("tools/list", {})),
        "server/discover and tools/list": (
            ("server/discover", {"_meta": _META}),
            ("tools/list", {"_meta": _META}),
        ),
    }
    for title, requests in generations.items():

        def connect(requests: tuple[Any, ...] = requests) -> None:
            client = Client(command, env)
            answers = client.ask(*requests)
            client.process.kill()
            client.close()
            assert answers[1]["result"]["tools"]

        laps, limit = race(
            Runner(connect),
            Runner(build_process_call((sys.executable, "-c", "pass"), env)),
            rounds=bench.amount(20, 5),
            batch=2,
        )
        yield build_row(GROUP, title, laps, LIMIT, limit, target=START_TARGET)
    yield from _measure_reads(bench, command, env)


def _measure_reads(bench: Bench, command: tuple[str, ...], env: dict[str, str]) -> Iterator[Row]:
    """Read one page again and again over one connection."""
    client = Client(command, env)
    client.ask(("initialize", _HANDSHAKE), ("tools/list", {}))
    call = ("tools/call", {"name": "get_agent_memory", "arguments": {}})
    seconds = []
    for _ in range(bench.amount(3000, 300)):
        before = time.perf_counter()
        client.ask(call)
        seconds.append(time.perf_counter() - before)
    resident = _read_resident_bytes(client.process.pid)
    client.close()
    yield Row(GROUP, "get_agent_memory, 8 KB (at most 0.5 ms)", summarize_laps([seconds]))
    if resident:
        yield build_figure_row(
            GROUP, "memory of the server (at most 40 MB)", resident, unit="bytes"
        )


def _read_resident_bytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    return int(status.read_text().split("VmRSS:")[1].split()[0]) * 1024.0
