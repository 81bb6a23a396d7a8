"""Real coding agents know their memory in the very first request, and have its tools.

`python3 dev.py full tests/mcp/clients/test_programs.py` runs them; node and npm are needed,
and a gigabyte for the programs, which are kept for the next run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mcp.clients.programs import (
    APPEND,
    PROGRAMS,
    Connection,
    Missing,
    install_programs,
)

OLD = "Invoices are numbered from 4711 upwards"
NEW = "The zebra sleeps at noon"


@pytest.fixture(scope="session")
def bin_folder() -> Path:
    """Install the programs, once for all runs; if they cannot be had, say why."""
    try:
        return install_programs()
    except Missing as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("client", PROGRAMS)
def test_the_first_request_has_the_memory_and_the_tools(
    client: str, bin_folder: Path, tmp_path: Path
) -> None:
    """Three sessions of three; what the model writes down in the first is known in the next."""
    connected = Connection(client, bin_folder, tmp_path)
    connected.connect(OLD)
    program = connected.program
    fact = {"section": "Lessons Learned", "content": f"- {NEW}"}
    first = connected.ask("What do you know about me?", (program.tool, fact))
    second = connected.ask("What do you know about zebras?")
    third = connected.ask("And about invoices?")
    for session in connected.sessions:
        assert session.code == 0, session.errors
        assert program.tool in program.tools(session.first)
    assert OLD in first
    assert NEW not in first
    for later in (second, third):
        assert OLD in later
        assert NEW in later
    assert NEW in connected.looseleaf("memory", "read", "Lessons Learned")
    assert APPEND in program.tool


@pytest.mark.slow
@pytest.mark.parametrize("client", PROGRAMS)
def test_a_long_memory_arrives(client: str, bin_folder: Path, tmp_path: Path) -> None:
    """More than a program takes from a hook is fitted by us; none shows a preview instead of it."""
    connected = Connection(client, bin_folder, tmp_path)
    connected.connect(OLD)
    rows = "".join(
        f"- Customer {number} pays by invoice, within 30 days\n" for number in range(400)
    )
    connected.looseleaf("memory", "append", "State", rows)
    first = connected.ask("What do you know about me?")
    assert connected.program.tool in connected.program.tools(connected.sessions[0].first)
    assert OLD in first
    assert "Customer 7 pays" in first
    is_whole = "Customer 399 pays" in first
    assert is_whole == (client in {"gemini", "opencode"})  # the others take 10,000 characters
    assert is_whole or "get_agent_memory" in first
