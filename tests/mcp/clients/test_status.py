"""`looseleaf mcp status`: which programs are connected to which workspace, and what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from looseleaf.mcp.clients.programs import CLIENTS
from tests.cli.fixtures import Run


def test_nothing_is_connected_at_first(run: Run, home: Path) -> None:
    """Every program has its line."""
    assert home.exists()
    lines = run("mcp", "status").text.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(CLIENTS)
    assert all(line.endswith("not connected") for line in lines)


def test_what_is_connected_is_shown(run: Run, home: Path, command_root: Path) -> None:
    """Workspace, agent and hook; of the user and of the project in this folder."""
    assert home.exists()
    for client in CLIENTS:
        assert run("mcp", "install", "--client", client, "--yes").code == 0
    run("mcp", "install", "--client", "codex", "--project", "--all-agents", "--no-hook", "--yes")
    rows = run("mcp", "status", "--format", "json").json["clients"]
    own = {row["client"]: row for row in rows if row["scope"] == "user"}
    assert list(own) == list(CLIENTS)
    for client, row in own.items():
        assert (row["name"], row["workspace"], row["agent"]) == (
            "looseleaf",
            str(command_root),
            "main",
        )
        hook = "not trusted" if client == "codex" else "yes"
        assert row["hook"] == (hook if CLIENTS[client].hooks else "unknown")
        assert row["problems"] == []
    (project,) = [row for row in rows if row["scope"] == "project"]
    assert (project["client"], project["agent"], project["hook"]) == ("codex", "", "no")
    assert "all" in run("mcp", "status").text


def test_a_file_of_the_user_is_listed_once(
    run: Run,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the home folder, the file of the project and that of the user are the same."""
    for client in CLIENTS:
        run("mcp", "install", "--client", client, "--yes")
    monkeypatch.chdir(home)
    rows = run("mcp", "status", "--format", "json").json["clients"]
    assert [(row["client"], row["scope"]) for row in rows] == [(name, "user") for name in CLIENTS]


def test_a_hook_that_a_person_has_trusted_is_known(run: Run, home: Path) -> None:
    """Codex keeps the hash of each under the path of its file."""
    assert run("mcp", "install", "--client", "codex", "--yes").code == 0
    config = home / ".codex" / "config.toml"
    key = f"{home}/.codex/hooks.json:session_start:0:0"
    text = config.read_text()
    for trusted, hook in ((f'[hooks.state."{key}"]\ntrusted_hash = "x"\n', "yes"),
                          ("[hooks]\nstate = 1\n", "not trusted")):  # fmt: skip
        config.write_text(text + trusted)
        rows = run("mcp", "status", "--format", "json").json["clients"]
        assert [row["hook"] for row in rows if row["client"] == "codex"] == [hook]


def test_what_is_missing_is_said(run: Run, home: Path) -> None:
    """A command, a workspace, a hook that is gone; a file that is broken."""
    gone = {"command": "/gone/looseleaf", "args": ["mcp", "--root", "/gone/memory"]}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"looseleaf": gone}}))
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{")
    rows = {row["client"]: row for row in run("mcp", "status", "--format", "json").json["clients"]}
    assert rows["claude-code"]["problems"] == [
        "the command /gone/looseleaf is missing",
        "/gone/memory is not a workspace",
    ]
    assert rows["claude-code"]["hook"] == "no"
    assert "cannot be read" in rows["cursor"]["problems"][0]
