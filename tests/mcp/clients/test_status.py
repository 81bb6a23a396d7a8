"""`looseleaf mcp status`: which programs are connected to which workspace, and what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from looseleaf.mcp.clients.programs import CLIENTS
from looseleaf.mcp.clients.status import has_project_hook, read_own_memory
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


def test_a_server_over_http_is_connected(run: Run, home: Path) -> None:
    """By its address and agent, in the fields that programs have for it."""
    url = "https://memory.test/mcp?agent=ada"
    entry = {"type": "http", "url": url, "headers": {"Authorization": "Bearer x"}}
    other = {"type": "http", "url": "https://other.test/mcp"}
    (home / ".claude.json").write_text(
        json.dumps({"mcpServers": {"looseleaf": entry, "other": other}})
    )
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(f'[mcp_servers.looseleaf-2]\nurl = "{url}"\n')
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(
        json.dumps({"mcpServers": {"looseleaf": {"httpUrl": url}}})
    )
    rows = run("mcp", "status", "--format", "json").json["clients"]
    connected = {row["client"]: row for row in rows if row["name"]}
    assert list(connected) == ["claude-code", "codex", "gemini"]
    for row in connected.values():
        assert (row["workspace"], row["agent"]) == ("https://memory.test/mcp", "ada")
        assert row["problems"] == []
    assert "not connected" not in run("mcp", "status").text.splitlines()[1]


OLD = "/bin/looseleaf prompt show --root /m --agent ada --host claude-code --hook session-start"


def test_one_of_two_hooks_is_silent_or_both_are_reported(run: Run, home: Path) -> None:
    """Of a user and of a project: an install says so at once, and the status says it always."""

    def hooks() -> dict[str, str]:
        rows = run("mcp", "status", "--format", "json").json["clients"]
        return {row["scope"]: row["hook"] for row in rows if row["client"] == "claude-code"}

    install = ("mcp", "install", "--client", "claude-code", "--yes")
    assert run(*install).err == ""
    assert run(*install, "--project").err == ""
    assert hooks() == {"user": "silent here", "project": "yes"}
    # An entry of an older version has a hook that is not silent.
    servers = {"looseleaf": {"command": "/bin/sh", "args": ["mcp", "--root", "/m"]}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    groups = [{"hooks": [{"type": "command", "command": OLD}]}]
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": groups}}))
    shown = run("mcp", "status").text
    assert "2 memories speak in each session here, looseleaf (user) and looseleaf (proj" in shown
    done = run("mcp", "install", "--client", "claude-code", "--project", "--no-hook", "--dry-run")
    assert "run `looseleaf mcp install --client claude-code` again" in done.err
    assert run(*install).err == ""
    assert hooks() == {"user": "silent here", "project": "yes"}


@pytest.mark.parametrize(
    ("texts", "variable", "state"),
    [
        ({}, "", "on"),
        ({}, "1", "off"),
        ({}, "0", "on"),
        ({".claude/settings.json": "{}"}, "", "on"),
        ({"home/.claude/settings.json": '{"autoMemoryEnabled": false}'}, "", "off"),
        (
            {
                "home/.claude/settings.json": '{"autoMemoryEnabled": false}',
                ".claude/settings.json": '{"autoMemoryEnabled": true}',
            },
            "",
            "on",
        ),
        (
            {
                ".claude/settings.json": '{"autoMemoryEnabled": true}',
                ".claude/settings.local.json": '{"autoMemoryEnabled": false}',
            },
            "",
            "off",
        ),
        ({".claude/settings.json": '{"autoMemoryEnabled": '}, "", "on"),
    ],
)
def test_the_own_memory_of_claude_code_is_shown(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: dict[str, str],
    variable: str, state: str,
) -> None:  # fmt: skip
    """On unless the variable or the innermost of its files says otherwise."""
    assert home.exists()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_AUTO_MEMORY", variable)
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert read_own_memory(CLIENTS["claude-code"]) == state
    assert read_own_memory(CLIENTS["codex"]) == ""


def test_two_memories_of_a_program_stand_in_the_status(run: Run, home: Path) -> None:
    """Until one of them is switched off."""
    assert home.exists()
    words = ("mcp", "install", "--client", "claude-code", "--yes")
    run(*words)
    assert "connected; Claude Code's own memory is on, too" in run("mcp", "status").text
    run(*words, "--own-memory", "off")
    assert "own memory" not in run("mcp", "status").text


def test_a_project_that_codex_does_not_trust_has_no_hook(run: Run, home: Path) -> None:
    """Codex does not read its files, so the user's hook speaks."""
    for words in ((), ("--project",)):
        assert run("mcp", "install", "--client", "codex", "--yes", *words).code == 0
    assert not has_project_hook("codex", str(Path.cwd()))
    config = home / ".codex" / "config.toml"
    trusted = f'\n[projects."{Path.cwd()}"]\ntrust_level = "trusted"\n'
    config.write_text(config.read_text() + trusted)
    assert has_project_hook("codex", str(Path.cwd()))


@pytest.mark.parametrize(
    ("client", "is_found"), [("claude-code", False), ("gemini", False), ("opencode", True)]
)
def test_the_hook_of_a_project_is_found_where_its_program_finds_it(
    run: Run,
    home: Path,
    command_root: Path,
    client: str,
    is_found: bool,  # noqa: FBT001
) -> None:
    """In the folder itself, and in folders above it if the program looks there."""
    assert home.exists()
    (command_root / ".git").mkdir()
    (command_root / "src").mkdir()
    run("mcp", "install", "--client", client, "--project", "--yes")
    assert has_project_hook(client, str(command_root))
    assert has_project_hook(client, str(command_root / "src")) is is_found
    assert not has_project_hook(client, "/")
    assert not has_project_hook("any", str(command_root))


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
    (home / ".codex").mkdir()
    table = 'command = "/gone/looseleaf"\nargs = ["mcp", "--root", "/m"]\nrequired = true\n'
    (home / ".codex" / "config.toml").write_text(f"[mcp_servers.looseleaf]\n{table}")
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{")
    rows = {row["client"]: row for row in run("mcp", "status", "--format", "json").json["clients"]}
    assert rows["claude-code"]["problems"] == [
        "the command /gone/looseleaf is missing",
        "/gone/memory is not a workspace",
    ]
    assert rows["claude-code"]["hook"] == "no"
    assert rows["codex"]["problems"][0].startswith("the program does not start without it")
    assert "cannot be read" in rows["cursor"]["problems"][0]


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "opencode"])
def test_a_hook_gives_the_agent_of_the_folder_or_leaves_it_to_the_project(
    run: Run, command_root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Of the session, as the program tells the hook; a project's own hook speaks instead of it."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    shop = home / "shop"
    (shop / "src").mkdir(parents=True)
    for agent in ("shop", "other"):
        run("agents", "create", agent)
        run("memory", "append", "Facts", f"- of {agent}", "--agent", agent)
    run("mcp", "project", str(shop), "--agent", "shop", "--yes")
    words = ("prompt", "show", "--agent", "main", "--root", str(command_root), "--by-folder")
    hook = (*words, "--host", host, "--hook", "session-start")

    def speak(folder: Path) -> str:
        answer = run(*hook, stdin=json.dumps({"cwd": str(folder)}).encode())
        assert (answer.code, answer.err) == (0, "")
        return str(answer.json.get("hookSpecificOutput", {}).get("additionalContext", ""))

    assert 'file="MEMORY.md" layer="agent" agent="shop"' in speak(shop / "src")
    assert "of other" not in speak(shop)
    assert 'agent="main"' in speak(home)
    monkeypatch.chdir(shop)
    assert "of shop" in run(*hook, stdin=b"no JSON").text
    install = ("mcp", "install", "--client", host, "--agent", "other", "--root", str(command_root))
    assert run(*install, "--project", "--yes").code == 0
    (home / ".codex").mkdir(exist_ok=True)
    with (home / ".codex" / "config.toml").open("a") as config:
        config.write(f'[projects."{shop}"]\ntrust_level = "trusted"\n')
    assert speak(shop) == ""
    assert 'agent="main"' in speak(home)
    if host == "claude-code":  # after `cd` in a session, cwd is another folder
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(shop))
        assert speak(home) == ""


def test_a_line_in_a_repository_names_its_agent(
    run: Run, command_root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the hook and in the status; an agent that is not there is said in one line."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    shop = home / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / ".looseleaf").write_text('agent = "shop"\n')
    run("mcp", "install", "--client", "claude-code", "--root", str(command_root), "--yes")
    monkeypatch.chdir(shop)
    hook = ("--by-folder", "--host", "claude-code", "--hook", "session-start")
    words = ("prompt", "show", "--agent", "main", "--root", str(command_root), *hook)
    message = run(*words, stdin=b"{}").json["systemMessage"]
    assert "shop" in message
    assert "\n" not in message
    run("agents", "create", "shop", "--root", str(command_root))
    document = run(*words, stdin=b"{}").json
    assert 'agent="shop"' in document["hookSpecificOutput"]["additionalContext"]
    (row,) = [
        row for row in run("mcp", "status", "--format", "json").json["clients"] if row["name"]
    ]
    assert (row["agent"], row["project_agent"]) == ("main", "shop")
    assert "shop by folder" in run("mcp", "status").text
    monkeypatch.chdir(home)
    assert "main or by folder" in run("mcp", "status").text


def test_tools_of_another_memory_than_the_hooks_are_reported(run: Run, home: Path) -> None:
    """Where a project has a server without a hook; not if both are of one agent."""
    assert home.exists()
    run("agents", "create", "shop")
    install = ("mcp", "install", "--client", "claude-code", "--yes")
    run(*install, "--agent", "main")
    assert run(*install, "--project", "--no-hook", "--agent", "main").err == ""
    done = run(*install, "--project", "--no-hook", "--agent", "shop")
    assert "its tools write to another: install it with its hook" in done.err
    run("mcp", "project", ".", "--agent", "shop", "--yes")
    assert "write to another" not in run("mcp", "status").text


def test_a_hook_without_its_workspace_tells_the_person_in_one_line(run: Run, home: Path) -> None:
    """The host goes on: a message, and exit code 0."""
    hook = ("--by-folder", "--host", "codex", "--hook", "session-start")
    answer = run("prompt", "show", "--root", str(home / "gone"), *hook)
    assert answer.code == 0
    message = answer.json["systemMessage"]
    assert "there is no such folder" in message
    assert "If it was moved: looseleaf mcp install again" in message
    assert "\n" not in message
    assert "hookSpecificOutput" not in answer.json


def test_projects_have_agents(run: Run, command_root: Path, tmp_path: Path) -> None:
    """One line of the settings for each; other lines stay."""
    settings = command_root / "looseleaf.toml"
    before = settings.read_text()
    run("agents", "create", "shop")
    shop = tmp_path / "code" / "shop"
    assert run("mcp", "project", str(shop), "--agent", "nobody", "--yes").code == 3
    done = run("mcp", "project", str(shop), "--agent", "shop", "--yes")
    assert f'+"{shop}" = "shop"' in done.text
    assert "have the agent shop" in done.text
    again = run("mcp", "project", str(shop / ".." / "shop"), "--agent", "shop", "--yes")
    assert "Nothing is to be changed" in again.text
    listed = run("mcp", "project", "--format", "json").json["projects"]
    assert listed == [{"folder": str(shop), "agent": "shop"}]
    assert str(shop) in run("mcp", "project").text
    run("mcp", "project", str(shop), "--agent", "main", "--yes")
    assert settings.read_text() == f'{before}\n[projects]\n"{shop}" = "main"\n'
    run("mcp", "project", str(shop), "--remove", "--yes")
    assert settings.read_text() == f"{before}\n[projects]\n"
    for wrong in ((str(shop),), ("--agent", "shop"), (str(shop), "--remove", "--agent", "shop")):
        assert run("mcp", "project", *wrong).code == 2
