"""Clients of the official SDK: at a process over stdio, over HTTP, or in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.server import Server

from looseleaf import Workspace

Outcome = TypeVar("Outcome")
Work = Callable[[Client], Awaitable[Outcome]]
ERAS = ("auto", "legacy")  # 2026-07-28 without a handshake, and the protocols before it


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a workspace with the agents ada and bob, and the journal switched on."""
    folder = tmp_path / "memory"
    workspace = Workspace.create(folder, agent="ada")
    with open(folder / "looseleaf.toml", "a", encoding="utf-8") as settings:
        settings.write('default_agent = "ada"\ndaily_memory_enabled = true\n')
    workspace.agents.create("bob", owner=1)
    return folder.resolve()


def describe_server(root: Path, *words: str) -> StdioServerParameters:
    """Return the parameters by which a client starts the server."""
    variables = {
        name: text for name, text in os.environ.items() if not name.startswith("LOOSELEAF_")
    }
    args = ["-m", "looseleaf", "mcp", "--root", str(root), *words]
    return StdioServerParameters(command=sys.executable, args=args, env=variables)


def talk(
    server: StdioServerParameters | Server[Any] | str,
    work: Work[Outcome],
    *,
    era: str = "auto",
    seconds: float = 60,
) -> Outcome:
    """Connect a client, let it work, and return the result."""

    async def run() -> Outcome:
        with anyio.fail_after(seconds):
            async with Client(server, mode=era) as client:
                return await work(client)

    return anyio.run(run)
