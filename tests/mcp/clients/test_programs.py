"""Real coding agents know their memory in the very first request, and have its tools.

`python3 dev.py full tests/mcp/clients/test_programs.py` runs them; node and npm are needed,
and a gigabyte for the programs, which are kept for the next run.
"""

from __future__ import annotations

import json
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
def test_each_project_has_one_identity(client: str, bin_folder: Path, tmp_path: Path) -> None:
    """Its own agent's memory and that of the person; the tools write to the same agent."""
    connected = Connection(client, bin_folder, tmp_path)
    connected.connect(OLD)
    connected.looseleaf("memory", "append", "USER.md", "Preferences", "- Ann is brief")
    for agent, fact in (("shop", "Shop sells tea"), ("site", "Site is in French")):
        connected.looseleaf("agents", "create", agent)
        connected.looseleaf("memory", "append", "Facts", f"- {fact}", "--agent", agent)
        (connected.home / agent).mkdir()
    connected.looseleaf("mcp", "project", "shop", "--agent", "shop", "--yes", project=".")
    (connected.home / "site" / ".looseleaf").write_text('agent = "site"\n')
    call = (connected.program.tool, {"section": "Facts", "content": f"- {NEW}"})
    shop = connected.ask("What is this?", call, project="shop")
    site = connected.ask("What is this?", project="site")
    other = connected.ask("What is this?")
    known = {"Shop sells tea": shop, "Site is in French": site, OLD: other}
    for own, text in known.items():
        assert [each for each in known if each in text] == [own]
        assert "Ann is brief" in text
    assert NEW in connected.looseleaf("memory", "read", "Facts", "--agent", "shop")
    assert NEW in connected.ask("What is this?", project="shop")
    assert NEW not in connected.ask("What is this?", project="site")


@pytest.mark.slow
@pytest.mark.parametrize("client", PROGRAMS)
def test_a_program_starts_while_the_workspace_is_away(
    client: str, bin_folder: Path, tmp_path: Path
) -> None:
    """With its tools, each of which says what to mend; they work once it is there again."""
    connected = Connection(client, bin_folder, tmp_path)
    connected.connect(OLD)
    memory = tmp_path / "memory"
    memory.rename(tmp_path / "moved")
    call = (connected.program.tool, {"section": "Facts", "content": f"- {NEW}"})
    assert OLD not in connected.ask("What is this?", call)
    session = connected.sessions[-1]
    assert session.code == 0, session.errors
    assert connected.program.tool in connected.program.tools(session.first)
    assert "mount the disk" in json.dumps(session.requests[-1])
    (tmp_path / "moved").rename(memory)
    assert OLD in connected.ask("What is this?", call)
    assert NEW in connected.looseleaf("memory", "read", "Facts")


@pytest.mark.slow
def test_codex_without_trust_says_how_to_load_the_memory(bin_folder: Path, tmp_path: Path) -> None:
    """By the instructions of the server: the tools are there, and the memory is not."""
    connected = Connection("codex", bin_folder, tmp_path)
    connected.connect(OLD, approve=False)
    first = connected.ask("What is this?")
    assert connected.program.tool in connected.program.tools(connected.sessions[0].first)
    assert OLD not in first
    assert "call compose_prompt first" in first
    assert "trusts the SessionStart hook, in /hooks" in first


@pytest.mark.slow
def test_the_own_memory_of_claude_code_is_off(bin_folder: Path, tmp_path: Path) -> None:
    """Its rules stand in the request beside ours, told apart, until it is switched off."""
    connected = Connection("claude-code", bin_folder, tmp_path)
    connected.connect(OLD)
    rules = "persistent file-based memory"
    both = connected.ask("What is this?")
    assert rules in both
    assert "its auto memory" in both
    connected.looseleaf("mcp", "install", "--client", "claude-code", "--own-memory", "off", "--yes")
    assert rules not in connected.ask("What is this?")


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
