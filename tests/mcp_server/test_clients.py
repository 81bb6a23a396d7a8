"""`looseleaf mcp install` and `uninstall`: the exact change, shown first, and nothing else."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from looseleaf.errors import Unavailable
from looseleaf.mcp_server import clients
from tests.cli.conftest import Run, on_terminal, root, run, start  # noqa: F401 - fixtures

FILES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "opencode": ".config/opencode/opencode.json",
    "cursor": ".cursor/mcp.json",
}
KEYS = {
    "claude-code": "mcpServers",
    "codex": "mcp_servers",
    "opencode": "mcp",
    "cursor": "mcpServers",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a home of its own, where no program has ever been configured."""
    made = tmp_path / "home"
    made.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(made))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


def servers(client: str, file: Path) -> dict[str, dict[str, object]]:
    """Read the servers that a program knows."""
    text = file.read_text(encoding="utf-8")
    table = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    found: dict[str, dict[str, object]] = table[KEYS[client]]
    return found


@pytest.mark.parametrize("client", FILES)
def test_an_entry_is_put_in_and_taken_out(run: Run, home: Path, root: Path, client: str) -> None:  # noqa: F811
    """For every program; the entry starts this Looseleaf on this workspace for this agent."""
    done = run("mcp", "install", "--client", client, "--yes")
    assert done.code == 0, done.err
    assert f"+++ {home / FILES[client]}" in done.text
    entry = servers(client, home / FILES[client])["looseleaf"]
    command = entry["command"]
    words = command if isinstance(command, list) else [command, *entry["args"]]  # type: ignore[misc]
    assert os.path.isabs(words[0])
    assert words[-5:] == ["mcp", "--root", str(root), "--agent", "main"]
    assert (home / FILES[client]).stat().st_mode & 0o777 == 0o600
    assert "has it already" in run("mcp", "install", "--client", client, "--yes").text
    assert run("mcp", "uninstall", "--client", client, "--yes").code == 0
    assert "looseleaf" not in (home / FILES[client]).read_text().replace(str(root), "")
    assert "has no entry" in run("mcp", "uninstall", "--client", client, "--yes").text


JSON = {"theme": "dark é", "mcpServers": {"other": {"command": "x"}}, "n": 1.5}
TOML = """\
# mine
model = "o9"

[mcp_servers.looseleaf]
command = "old"
args = [
  "x",
]

[mcp_servers.looseleaf.env]
A = "1"

# about the other one
[mcp_servers.other]
command = "x"  # stays
"""


def test_what_else_a_json_file_says_stays(run: Run, home: Path) -> None:  # noqa: F811
    """Its other entries, their order, its margin, its mode; and its final newline, or none."""
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    pretty = json.dumps(JSON, indent=4)
    file.write_text(pretty)
    file.chmod(0o640)
    run("mcp", "install", "--client", "cursor", "--yes")
    changed = json.loads(file.read_text())
    assert list(changed) == ["theme", "mcpServers", "n"]
    assert list(changed["mcpServers"]) == ["other", "looseleaf"]
    assert '\n    "theme": "dark \\u00e9"' in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
    run("mcp", "uninstall", "--client", "cursor", "--yes")
    assert file.read_text() == pretty


def test_what_else_a_toml_file_says_stays(run: Run, home: Path) -> None:  # noqa: F811
    """Comments too; our table is replaced with the tables inside of it."""
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(TOML)
    run("mcp", "install", "--client", "codex", "--yes", "--tools", "full")
    text = file.read_text()
    kept = ("# mine\n", "# about the other one\n[mcp_servers.other]", "# stays")
    assert all(one in text for one in kept)
    entry = tomllib.loads(text)["mcp_servers"]["looseleaf"]
    assert set(entry) == {"command", "args"}
    assert entry["args"][-2:] == ["--tools", "full"]
    run("mcp", "uninstall", "--client", "codex", "--yes")
    text = file.read_text()
    assert all(one in text for one in kept)
    assert set(tomllib.loads(text)["mcp_servers"]) == {"other"}


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", '{"mcpServers": {}, // mine\n}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"a": 1, "a": 2}'),
        ("cursor", "[]"),
        ("codex", "mcp_servers = {looseleaf = {command = 'x'}}\n"),
        ("codex", "not toml"),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    run: Run,  # noqa: F811
    home: Path,
    client: str,
    text: str,
) -> None:
    """The entry is shown instead, to be put in by hand."""
    file = home / FILES[client]
    file.parent.mkdir(parents=True)
    file.write_text(text)
    done = run("mcp", "install", "--client", client, "--yes")
    assert done.code == 2
    assert "Edit it yourself" in done.err
    assert file.read_text() == text


def test_nothing_is_written_without_a_yes(run: Run, home: Path) -> None:  # noqa: F811
    """The change is shown; where nobody can be asked, that is all."""
    done = run("mcp", "install", "--client", "cursor")
    assert done.code == 2
    assert '+    "looseleaf": {' in done.text
    assert "--yes" in done.err
    assert not (home / ".cursor").exists()


def test_a_person_is_asked(on_terminal: Run, home: Path) -> None:  # noqa: F811
    """And may say no."""
    no = on_terminal("mcp", "install", "--client", "cursor", prompt=b"[y/N]", keys=b"n\n")
    assert no.code == 1
    assert not (home / ".cursor").exists()
    yes = on_terminal("mcp", "install", "--client", "cursor", prompt=b"[y/N]", keys=b"y\n")
    assert yes.code == 0
    assert "looseleaf" in servers("cursor", home / FILES["cursor"])


def test_the_entry_can_be_printed_only(run: Run, home: Path) -> None:  # noqa: F811
    """As the program's file has it."""
    printed = run("mcp", "install", "--client", "codex", "--print", "--name", "notes")
    assert set(tomllib.loads(printed.text)["mcp_servers"]) == {"notes"}
    printed = run("mcp", "install", "--client", "claude-code", "--print", "--all-agents")
    assert printed.json["mcpServers"]["looseleaf"]["args"][-1] == "--all-agents"
    assert not list(home.iterdir())


@pytest.mark.usefixtures("home")
def test_a_project_can_have_its_own(run: Run, root: Path) -> None:  # noqa: F811
    """In the file that the program looks for there."""
    assert run("mcp", "install", "--client", "claude-code", "--project", "--yes").code == 0
    assert "looseleaf" in servers("claude-code", root / ".mcp.json")


def test_a_linked_file_is_changed_where_it_lies(run: Run, home: Path, tmp_path: Path) -> None:  # noqa: F811
    """As people keep their configuration who keep it elsewhere."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "claude.json").write_text("{}\n")
    (home / ".claude.json").symlink_to(tmp_path / "dotfiles" / "claude.json")
    assert run("mcp", "install", "--client", "claude-code", "--yes").code == 0
    assert (home / ".claude.json").is_symlink()
    assert "looseleaf" in servers("claude-code", tmp_path / "dotfiles" / "claude.json")


def test_a_file_that_has_just_changed_is_not_overwritten(home: Path) -> None:
    """Programs rewrite their own configuration, too."""
    file = home / ".claude.json"
    file.write_text("{}")
    edit = clients.planned(clients.CLIENTS["claude-code"], str(file), "looseleaf", ["looseleaf"])
    file.write_text('{"new": 1}')
    with pytest.raises(Unavailable, match="just changed"):
        clients.write(edit)
    assert file.read_text() == '{"new": 1}'
    assert [one.name for one in home.iterdir()] == [".claude.json"]


def test_programs_with_a_folder_of_their_own_choice_are_found(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variables that they read themselves."""
    for client, variable in (
        ("claude-code", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("opencode", "XDG_CONFIG_HOME"),
    ):
        monkeypatch.setenv(variable, str(home / "elsewhere"))
        assert clients.CLIENTS[client].file().startswith(str(home / "elsewhere"))
