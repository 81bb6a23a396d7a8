"""`looseleaf mcp install` and `uninstall`: the exact change, shown first, and nothing else."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from looseleaf.errors import Unavailable
from looseleaf.mcp.clients.config_edits import ClientSetup, plan_edits, write
from looseleaf.mcp.clients.programs import CLIENTS
from tests.cli.fixtures import Run

APPLICATIONS = "Library/Application Support" if sys.platform == "darwin" else ".config"
FILES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "cursor": ".cursor/mcp.json",
    "vscode": f"{APPLICATIONS}/Code/User/mcp.json",
    "claude-desktop": f"{APPLICATIONS}/Claude/claude_desktop_config.json",
}
HOOK_FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
}
POLICY = ".gemini/policies/looseleaf.toml"
PLUGIN = ".config/opencode/plugin/looseleaf.js"
MARKS = {"claude-code": {"alwaysLoad": True}}


def servers(client: str, file: Path) -> dict[str, dict[str, Any]]:
    """Read the servers that a program knows."""
    text = file.read_text(encoding="utf-8")
    table = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    entries: dict[str, dict[str, Any]] = table.get(CLIENTS[client].key, {})
    return entries


def hook_commands(file: Path) -> list[str]:
    """Read the commands that a program runs when a session starts."""
    groups = json.loads(file.read_text()).get("hooks", {}).get("SessionStart", [])
    return [hook["command"] for group in groups for hook in group["hooks"]]


def install(run: Run, client: str, *words: str) -> str:
    done = run("mcp", "install", "--client", client, "--yes", *words)
    assert done.code == 0, done.err
    return done.text


def test_every_program_is_tested() -> None:
    """No program is in the catalog without a file in this test."""
    assert set(FILES) == set(CLIENTS)
    assert {word for word, item in CLIENTS.items() if item.hooks == "json"} == set(HOOK_FILES)
    assert [word for word, item in CLIENTS.items() if item.hooks == "plugin"] == ["opencode"]


@pytest.mark.parametrize("client", FILES)
def test_an_entry_is_put_in_and_taken_out(
    run: Run, home: Path, command_root: Path, client: str
) -> None:
    """For every program; the entry starts this Looseleaf on this workspace for this agent."""
    text = install(run, client)
    assert f"+++ {home / FILES[client]}" in text
    entry = servers(client, home / FILES[client])["looseleaf"]
    command = entry["command"]
    words = command if isinstance(command, list) else [command, *entry["args"]]
    assert os.path.isabs(words[0])
    assert words[-6:] == ["mcp", "--root", str(command_root), "--agent", "main", "--by-folder"]
    assert MARKS.get(client, {}).items() <= entry.items()
    assert "required" not in entry  # a host starts without memory, too
    assert (home / FILES[client]).stat().st_mode & 0o777 == 0o600
    before = {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    assert "has it already" in install(run, client)
    assert before == {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    removed = run("mcp", "uninstall", "--client", client, "--yes")
    assert removed.code == 0
    assert removed.text.endswith("no longer starts it; restart it if it is running.\n")
    assert not [file for file in home.rglob("*") if file.is_file()]
    assert not (home / FILES[client]).parent.exists() or (home / FILES[client]).parent == home
    assert "has no entry" in run("mcp", "uninstall", "--client", client, "--yes").text


@pytest.mark.parametrize("client", HOOK_FILES)
def test_the_hook_is_put_in_and_works_anywhere(
    run: Run,
    home: Path,
    command_root: Path,
    client: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The hook names its workspace and its agent; run in any folder, it gives the memory."""
    install(run, client)
    (command,) = hook_commands(home / HOOK_FILES[client])
    words = shlex.split(command)
    assert words[words.index("--root") + 1] == str(command_root)
    monkeypatch.chdir(home)
    output = run(*words[words.index("prompt") :]).json["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert "MEMORY.md" in output["additionalContext"]


def test_what_was_there_before_stays_after_an_uninstall(run: Run, home: Path) -> None:
    """Other entries, an empty object that is a link's target, and folders with files."""
    (home / "dotfiles.json").write_text("{}")
    (home / ".claude.json").symlink_to(home / "dotfiles.json")
    (home / ".claude" / "notes").mkdir(parents=True)
    install(run, "claude-code")
    run("mcp", "uninstall", "--client", "claude-code", "--yes")
    assert (home / ".claude.json").is_symlink()
    assert (home / "dotfiles.json").read_text().strip() == "{}"
    assert [item.name for item in (home / ".claude").iterdir()] == ["notes"]


@pytest.mark.parametrize("client", HOOK_FILES)
def test_hooks_of_others_stay(run: Run, home: Path, client: str) -> None:
    """And ours is the only one that is replaced or removed, the one without --root too."""
    file = home / HOOK_FILES[client]
    file.parent.mkdir()
    old = {"type": "command", "command": "looseleaf prompt show --hook session-start", "timeout": 9}
    other = {"type": "command", "command": "echo hello"}
    groups = [{"matcher": "startup", "hooks": [other, old]}, {"hooks": [other]}]
    file.write_text(json.dumps({"hooks": {"SessionStart": groups, "Stop": []}}, indent=2))
    install(run, client)
    first, ours, last = hook_commands(file)
    assert (first, last) == ("echo hello", "echo hello")
    assert "--root" in ours
    assert json.loads(file.read_text())["hooks"]["SessionStart"][0]["hooks"][1]["timeout"] == 9
    run("mcp", "uninstall", "--client", client, "--yes")
    assert hook_commands(file) == ["echo hello", "echo hello"]
    assert "Stop" in json.loads(file.read_text())["hooks"]


def test_two_workspaces_have_a_hook_each(run: Run, home: Path, tmp_path: Path) -> None:
    """Under two names; removing one server removes its hook alone."""
    other = str(tmp_path / "other")
    assert run("init", other).code == 0
    install(run, "claude-code")
    install(run, "claude-code", "--name", "other", "--root", other)
    assert len(hook_commands(home / HOOK_FILES["claude-code"])) == 2
    run("mcp", "uninstall", "--client", "claude-code", "--yes")
    (left,) = hook_commands(home / HOOK_FILES["claude-code"])
    assert other in left
    assert set(servers("claude-code", home / ".claude.json")) == {"other"}


def test_a_server_that_changes_its_workspace_changes_its_hook(
    run: Run,
    home: Path,
    tmp_path: Path,
) -> None:
    """There is one hook, of the new workspace."""
    install(run, "codex")
    other = str(tmp_path / "other")
    assert run("init", other).code == 0
    install(run, "codex", "--root", other)
    (command,) = hook_commands(home / HOOK_FILES["codex"])
    assert other in command


def test_a_server_can_be_installed_without_its_hook(run: Run, home: Path) -> None:
    """By --no-hook; a hook of ours that was there before goes."""
    install(run, "claude-code", "--no-hook")
    assert not (home / ".claude").exists()
    install(run, "gemini")
    install(run, "gemini", "--no-hook", "--tools", "full")
    assert hook_commands(home / HOOK_FILES["gemini"]) == []


def test_a_plugin_of_another_is_not_overwritten(run: Run, home: Path) -> None:
    """And nothing else is written."""
    (home / PLUGIN).parent.mkdir(parents=True)
    (home / PLUGIN).write_text("export const Mine = async () => ({})\n")
    done = run("mcp", "install", "--client", "opencode", "--yes")
    assert done.code == 2
    assert "cannot be edited safely" in done.err
    assert not (home / FILES["opencode"]).exists()
    assert (home / PLUGIN).read_text() == "export const Mine = async () => ({})\n"


def test_gemini_may_use_what_does_not_replace(run: Run, home: Path) -> None:
    """By a policy of our own; one of another under its name is not overwritten."""
    install(run, "gemini")
    rules = tomllib.loads((home / POLICY).read_text())["rule"]
    hints = [rule["toolAnnotations"] for rule in rules]
    assert hints == [{"readOnlyHint": True}, {"destructiveHint": False}]
    assert all((rule["mcpName"], rule["decision"]) == ("looseleaf", "allow") for rule in rules)
    run("mcp", "uninstall", "--client", "gemini", "--yes")
    assert not (home / POLICY).exists()
    (home / POLICY).parent.mkdir(parents=True)
    (home / POLICY).write_text("# mine\n")
    assert run("mcp", "install", "--client", "gemini", "--yes").code == 2
    assert (home / POLICY).read_text() == "# mine\n"
    assert not (home / FILES["gemini"]).exists()


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


def test_what_else_a_json_file_says_stays(run: Run, home: Path) -> None:
    """Its other entries, their order, its margin, its mode; and its final newline, or none."""
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    pretty = json.dumps(JSON, indent=4)
    file.write_text(pretty)
    file.chmod(0o640)
    install(run, "cursor")
    changed = json.loads(file.read_text())
    assert list(changed) == ["theme", "mcpServers", "n"]
    assert list(changed["mcpServers"]) == ["other", "looseleaf"]
    assert '\n    "theme": "dark \\u00e9"' in file.read_text()
    assert '\n        "looseleaf": {\n            "command"' in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
    run("mcp", "uninstall", "--client", "cursor", "--yes")
    assert file.read_text() == pretty


@pytest.mark.parametrize("client", ["opencode", "vscode", "gemini"])
def test_comments_of_a_json_file_stay(run: Run, home: Path, client: str) -> None:
    """Also trailing commas; and taking our entries out gives the very same bytes."""
    file = home / FILES[client]
    file.parent.mkdir(parents=True)
    text = '// mine\n{\n\t"theme": "dark", // why\n\t/* off\n\t "x": 1 */\n}\n'
    file.write_text(text)
    install(run, client)
    changed = file.read_text()
    assert all(line in changed for line in ("// mine\n", '"dark", // why\n', '/* off\n\t "x"'))
    run("mcp", "uninstall", "--client", client, "--yes")
    assert file.read_text() == text


def test_a_jsonc_file_of_opencode_is_used_where_it_exists(run: Run, home: Path) -> None:
    """Instead of a second file beside it."""
    file = home / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text("{\n  // mine\n}\n")
    install(run, "opencode")
    assert "// mine" in file.read_text()
    assert "looseleaf" in file.read_text()
    assert not (home / FILES["opencode"]).exists()


def test_a_toml_file_of_windows_keeps_its_line_ends(run: Run, home: Path) -> None:
    """Our lines have them too, and taking them out gives the very same bytes."""
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    before = b'model = "x"\r\n\r\n[other]\r\nname = "y"\r\n'
    file.write_bytes(before)
    install(run, "codex")
    changed = file.read_bytes()
    assert b"[mcp_servers.looseleaf]\r\n" in changed
    assert changed.count(b"\n") == changed.count(b"\r\n")
    run("mcp", "uninstall", "--client", "codex", "--yes")
    assert file.read_bytes() == before


def test_what_else_a_toml_file_says_stays(run: Run, home: Path) -> None:
    """Comments too; our table is replaced with the tables inside of it."""
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(TOML)
    install(run, "codex", "--tools", "full")
    text = file.read_text()
    lines = ("# mine\n", "# about the other one\n[mcp_servers.other]", "# stays")
    assert all(line in text for line in lines)
    entry = tomllib.loads(text)["mcp_servers"]["looseleaf"]
    assert set(entry) == {"command", "args"}
    assert entry["args"][-2:] == ["--tools", "full"]
    run("mcp", "uninstall", "--client", "codex", "--yes")
    text = file.read_text()
    assert all(line in text for line in lines)
    assert set(tomllib.loads(text)["mcp_servers"]) == {"other"}


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", '{"mcpServers": {}, // mine\n'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"a": 1, "a": 2}'),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": {"x": 1} "y": 2}'),
        ("vscode", "{" + '"a": {' * 200),
        ("codex", "mcp_servers = {looseleaf = {command = 'x'}}\n"),
        ("codex", "not toml"),
        ("gemini", '{"hooks": {"SessionStart": {}}}'),
        ("gemini", '{"hooks": "none"}'),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    run: Run,
    home: Path,
    client: str,
    text: str,
) -> None:
    """The entries are shown instead, as lines that can be put in by hand."""
    file = home / FILES[client]
    file.parent.mkdir(parents=True)
    file.write_text(text)
    done = run("mcp", "install", "--client", client, "--yes")
    assert done.code == 2
    assert "cannot be edited safely" in done.err
    assert "put in yourself" in done.err
    printed = run("mcp", "install", "--client", client, "--print").text
    assert done.text == printed
    assert len(printed.splitlines()) > 3
    assert "\\n" not in printed
    assert file.read_text() == text
    assert [item for item in home.rglob("*") if item.is_file()] == [file]


def test_nothing_is_written_without_a_yes(run: Run, home: Path) -> None:
    """The change is shown; if nobody can be asked, that is all."""
    done = run("mcp", "install", "--client", "cursor")
    assert done.code == 2
    assert '+    "looseleaf": {' in done.text
    assert "--yes" in done.err
    assert not (home / ".cursor").exists()


def test_a_dry_run_changes_nothing(run: Run, home: Path) -> None:
    """It shows every change, and what would still be to approve."""
    done = run("mcp", "install", "--client", "codex", "--dry-run")
    assert done.code == 0
    assert "[mcp_servers.looseleaf]" in done.text
    assert "hooks.json" in done.text
    assert "/hooks" in done.text
    assert not list(home.iterdir())
    install(run, "codex")
    assert "Nothing was changed" in run("mcp", "uninstall", "--client", "codex", "--dry-run").text
    assert "looseleaf" in servers("codex", home / FILES["codex"])


@pytest.mark.parametrize(
    ("client", "words", "approval"),
    [
        ("claude-code", (), "asks before a memory tool"),
        ("claude-code", ("--project",), "whether the server of its .mcp.json may start"),
        ("codex", (), "trust the SessionStart hook"),
        ("gemini", (), "folders that you trust"),
        ("vscode", (), "asks whether you trust the server"),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_is_to_approve_is_said(
    run: Run,
    client: str,
    words: tuple[str, ...],
    approval: str,
) -> None:
    """A person is told what the program still asks."""
    lines = install(run, client, *words).splitlines()
    assert any(line.startswith("To approve: ") and approval in line for line in lines)


def test_the_own_memory_of_a_program_is_switched_off_and_on(run: Run, home: Path) -> None:
    """Only if a person says so, shown before it is written; the install says that there are two."""
    words = ("mcp", "install", "--client", "claude-code")
    file = home / ".claude" / "settings.json"
    said = run(*words, "--yes").text
    assert "Claude Code has a memory of its own, too; --own-memory off switches it off." in said
    assert "looseleaf import ~/.claude/projects/PROJECT/memory" in said
    assert "autoMemoryEnabled" not in file.read_text()
    before = file.read_text()
    off = run(*words, "--own-memory", "off", "--yes").text
    assert '+  "autoMemoryEnabled": false' in off
    assert "of its own, too" not in off
    assert json.loads(file.read_text())["autoMemoryEnabled"] is False
    assert '"autoMemoryEnabled": false' in run(*words, "--own-memory", "off", "--print").text
    run(*words, "--own-memory", "on", "--yes")
    assert file.read_text() == before
    run(*words, "--own-memory", "off", "--yes")
    gone = run("mcp", "uninstall", "--client", "claude-code", "--yes").text
    assert "Its own memory is off; to have it again" in gone
    assert json.loads(file.read_text()) == {"autoMemoryEnabled": False}
    run("mcp", "uninstall", "--client", "claude-code", "--own-memory", "on", "--yes")
    assert not file.parent.exists()
    refused = run("mcp", "install", "--client", "codex", "--own-memory", "off", "--yes")
    assert refused.code == 2
    assert "Codex has no memory of its own" in refused.err


def test_a_person_is_asked_about_two_memories(on_terminal: Run, home: Path) -> None:
    """Before the change is shown and the second question asked; here a yes to both."""
    words = ("mcp", "install", "--client", "claude-code")
    done = on_terminal(*words, prompt=b"[y/N]", keys=b"y\n")
    assert "Switch that one off, so that there is one memory?" in done.text
    assert done.code == 0
    written = json.loads((home / ".claude" / "settings.json").read_text())
    assert written["autoMemoryEnabled"] is False
    assert written["hooks"]


URL = "https://memory.test/mcp?agent=ada"
HEADER = {
    "claude-code": "Bearer ${LOOSELEAF_TOKEN}",
    "gemini": "Bearer $LOOSELEAF_TOKEN",
    "opencode": "Bearer {env:LOOSELEAF_TOKEN}",
    "cursor": "Bearer ${env:LOOSELEAF_TOKEN}",
    "vscode": "Bearer ${env:LOOSELEAF_TOKEN}",
}


@pytest.mark.parametrize("client", [name for name in CLIENTS if CLIENTS[name].remote_entry])
def test_a_program_is_connected_to_a_server(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """By its address; the token is in no file, and the hook asks the same server."""
    monkeypatch.setenv("LOOSELEAF_TOKEN", "very-secret")
    remote = ("--remote", "https://memory.test", "--agent", "ada")
    said = run("mcp", "install", "--client", client, *remote, "--yes")
    assert (said.code, said.err) == (0, "")
    assert "It reads the token from LOOSELEAF_TOKEN" in said.text
    entry = servers(client, home / FILES[client])["looseleaf"]
    assert entry.get("url", entry.get("httpUrl")) == URL
    if client == "codex":
        assert entry["bearer_token_env_var"] == "LOOSELEAF_TOKEN"
    else:
        assert entry["headers"] == {"Authorization": HEADER[client]}
    assert not [item for item in home.rglob("*") if item.is_file() and b"very" in item.read_bytes()]
    rows = run("mcp", "status", "--format", "json").json["clients"]
    (row,) = [row for row in rows if row["name"]]
    assert (row["workspace"], row["agent"], row["problems"]) == (URL.partition("?")[0], "ada", [])
    hook = {"": "unknown"}.get(CLIENTS[client].hooks, "yes")
    assert row["hook"] == ("not trusted" if client == "codex" else hook)
    if client in HOOK_FILES:
        (command,) = hook_commands(home / HOOK_FILES[client])
        assert "--remote https://memory.test --agent ada --by-folder" in command
    install(run, client)  # of this machine again: the hook of the server goes
    if client in HOOK_FILES:
        assert len(hook_commands(home / HOOK_FILES[client])) == 1
    run("mcp", "install", "--client", client, *remote, "--yes")
    run("mcp", "uninstall", "--client", client, "--yes")
    assert not [item for item in home.rglob("*") if item.is_file()]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--tools", "full"), "the token and mcp_tools"),
        (("--all-agents",), "the token and mcp_tools"),
        (("--token", "x"), "No file of a program has the token"),
        (("--client", "claude-desktop"), "only on its own screen"),
        (("--remote", "http://memory.test"), "use https"),
    ],
)
def test_what_a_server_decides_is_refused(
    run: Run, home: Path, words: tuple[str, ...], reason: str
) -> None:
    """With the way that there is, and nothing is written."""
    remote = ("--client", "cursor", "--remote", "https://memory.test")
    done = run("mcp", "install", *remote, *words, "--yes")
    assert done.code == 2
    assert reason in done.err
    assert not list(home.iterdir())


def test_a_person_is_asked(on_terminal: Run, home: Path) -> None:
    """And may say no."""
    no = on_terminal("mcp", "install", "--client", "cursor", prompt=b"[y/N]", keys=b"n\n")
    assert no.code == 1
    assert not (home / ".cursor").exists()
    yes = on_terminal("mcp", "install", "--client", "cursor", prompt=b"[y/N]", keys=b"y\n")
    assert yes.code == 0
    assert "looseleaf" in servers("cursor", home / FILES["cursor"])


def test_the_entry_can_be_printed_only(run: Run, home: Path) -> None:
    """As the program's file has it; with the hook, under the names of their files."""
    words = ("mcp", "install", "--print")
    printed = run(*words, "--client", "codex", "--name", "notes", "--no-hook")
    assert set(tomllib.loads(printed.text)["mcp_servers"]) == {"notes"}
    printed = run(*words, "--client", "claude-code", "--all-agents", "--no-hook")
    assert "--all-agents" in printed.json["mcpServers"]["looseleaf"]["args"]
    both = run(*words, "--client", "claude-code").text
    _, first, second = both.split("# In ")
    gemini = run(*words, "--client", "gemini").text
    assert set(json.loads(gemini.split("# In ")[1].partition("\n")[2])) == {"mcpServers", "hooks"}
    assert first.startswith(f"{home}/.claude.json:\n")
    assert json.loads(second.partition("\n")[2])["hooks"]["SessionStart"]
    assert not list(home.iterdir())


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("client", "files"),
    [
        ("claude-code", (".mcp.json", ".claude/settings.json")),
        ("codex", (".codex/config.toml", ".codex/hooks.json")),
        ("gemini", (".gemini/settings.json",)),
        ("opencode", ("opencode.json", ".opencode/plugin/looseleaf.js")),
        ("vscode", (".vscode/mcp.json",)),
    ],
)
def test_a_project_can_have_its_own(
    run: Run,
    command_root: Path,
    client: str,
    files: tuple[str, ...],
) -> None:
    """In the files that the program looks for there."""
    install(run, client, "--project")
    assert all("looseleaf" in (command_root / file).read_text() for file in files)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--client", "claude-desktop", "--project"), "no configuration of its own"),
        (("--client", "opencode", "--name", "../x"), "Invalid name"),
        (("--client", "codex", "--name", "a.b"), "Invalid name"),
    ],
)
def test_what_cannot_be_is_refused(
    run: Run,
    home: Path,
    words: tuple[str, ...],
    reason: str,
) -> None:
    """With one clear error, and nothing is written."""
    for command in ("install", "uninstall"):
        done = run("mcp", command, *words, "--yes")
        assert done.code == 2
        assert reason in done.err
    assert not list(home.iterdir())


def test_a_linked_file_is_changed_where_it_lies(run: Run, home: Path, tmp_path: Path) -> None:
    """As people keep their configuration who keep it elsewhere."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "claude.json").write_text("{}\n")
    (home / ".claude.json").symlink_to(tmp_path / "dotfiles" / "claude.json")
    install(run, "claude-code")
    assert (home / ".claude.json").is_symlink()
    assert "looseleaf" in servers("claude-code", tmp_path / "dotfiles" / "claude.json")


def test_a_file_that_has_just_changed_is_not_overwritten(home: Path) -> None:
    """Programs rewrite their own configuration, too; what was written before is undone."""
    plan = ClientSetup(
        client=CLIENTS["claude-code"], name="looseleaf", words=("looseleaf",), hook=("looseleaf",)
    )
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    edits = plan_edits(plan)
    assert len(edits) == 2
    settings.write_text('{"new": 1}')
    with pytest.raises(Unavailable, match="just changed"):
        write(edits)
    assert settings.read_text() == '{"new": 1}'
    assert sorted(item.name for item in home.rglob("*")) == [".claude", "settings.json"]


def test_programs_with_a_folder_of_their_own_choice_are_found(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variables that they read themselves."""
    for client, variable in (
        ("claude-code", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("gemini", "GEMINI_CLI_HOME"),
        ("opencode", "XDG_CONFIG_HOME"),
    ):
        folder = str(home / "elsewhere")
        monkeypatch.setenv(variable, folder)
        assert CLIENTS[client].server_file(project=False).startswith(folder)
        assert CLIENTS[client].hook_file("looseleaf", project=False).startswith(folder)
