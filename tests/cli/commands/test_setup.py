"""The first commands: init, and completion in a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import CAPABILITIES, Principal
from looseleaf.errors import InvalidSetting
from looseleaf.operations.settings import set_setting
from tests.cli.fixtures import COMMAND, Run


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_init_makes_a_workspace_and_says_what_next(run: Run, tmp_path: Path) -> None:
    """Every page that it made, and the first commands to try."""
    answer = run("init", str(tmp_path / "new"), "--name", "Shop", "--agent", "ada")
    lines = answer.text.splitlines()
    assert lines[0] == f"Made a workspace in {tmp_path}/new"
    assert "  agents/ada/MEMORY.md" in lines
    assert f"  cd {tmp_path}/new" in lines
    assert 'name = "Shop"' in (tmp_path / "new" / "looseleaf.toml").read_text()
    assert run("--root", str(tmp_path / "new"), "agents", "list").text.count("ada") == 1


@pytest.mark.parametrize("is_empty", [True, False])
def test_init_leaves_nothing_that_the_doctor_warns_of(
    run: Run, tmp_path: Path, *, is_empty: bool
) -> None:
    """An empty folder that others may use is closed; with files in it, the warning comes now."""
    folder = tmp_path / "open"
    folder.mkdir()
    if not is_empty:
        (folder / "notes.md").write_text("# Notes\n")
        (folder / "notes.md").chmod(0o644)
    folder.chmod(0o755)
    answer = run("init", str(folder))
    assert answer.code == 0
    doctor = run("--root", str(folder), "doctor", "--format", "json").json
    warned = [one for one in doctor["findings"] if one["status"] != "ok"]
    assert folder.stat().st_mode & 0o777 == (0o700 if is_empty else 0o755)
    if is_empty:
        assert (warned, answer.err) == ([], "")
    else:
        assert [one["check"] for one in warned] == ["permissions"]
        assert warned[0]["advice"] in answer.err


@pytest.mark.parametrize("slugs", [(), ("ada",), ("ada", "bob")])
def test_the_next_steps_work_as_they_are_printed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slugs: tuple[str, ...]
) -> None:
    """Also on a folder of pages from elsewhere that has several agents, or none."""
    for slug in slugs:
        (tmp_path / "new" / "agents" / slug).mkdir(parents=True)
    lines = run("init", str(tmp_path / "new")).text.partition("Next:\n")[2].splitlines()
    commands = [line.strip().partition("   ")[0] for line in lines]
    assert [line for line in commands if "default_agent" in line] == (
        ["looseleaf settings set default_agent ada"] if len(slugs) > 1 else []
    )
    for line in commands:
        word, *words = shlex.split(line)
        if word == "cd":
            monkeypatch.chdir(words[0])
        else:
            dry_run = ["--dry-run"] if words[:2] == ["mcp", "install"] else []
            answer = run(*words, *dry_run)
            assert answer.code == 0, (line, answer.err)


@pytest.mark.parametrize(("option", "enabled"), [("--journal", True), ("--no-journal", False)])
def test_init_opens_the_journal_in_one_step(
    run: Run, tmp_path: Path, option: str, *, enabled: bool
) -> None:
    """In a new workspace by its settings file, in an older one by a setting made while running."""
    for folder in (tmp_path / "new", tmp_path / "memory"):
        assert run("init", str(folder), option).code == 0
        workspace = Workspace.open(folder)
        assert workspace.database.settings().daily_memory_enabled == enabled
    config = Workspace.open(tmp_path / "new").agents.resolve("main").config
    assert config == ({"daily_memory": {"enabled": True}} if enabled else {})
    assert run("init", str(tmp_path / "plain")).code == 0
    assert not Workspace.open(tmp_path / "plain").settings.daily_memory_enabled


def test_init_says_that_it_has_opened_the_journal_of_an_older_workspace(
    run: Run, root: Path
) -> None:
    """And of the agents that were there no prompt changes."""
    before = Workspace.open(root).agents.records()
    opened = run("init", str(root), "--journal").text.split("\n")
    assert opened[0] == "Agents may write their daily journal here."
    assert opened[1] == f"{root} is a workspace already; no file was changed."
    closed = run("init", str(root), "--no-journal").text
    assert closed.startswith("Agents may no longer write their daily journal here.\n")
    assert run("init", str(root), "--no-journal").text.endswith("nothing was changed.\n")
    assert Workspace.open(root).agents.records() == before


@pytest.mark.parametrize(("keys", "enabled"), [(b"\n", True), (b"n\n", False)])
def test_init_asks_for_the_journal_at_a_terminal(
    on_terminal: Run, tmp_path: Path, keys: bytes, *, enabled: bool
) -> None:
    """Once, when the workspace is made; to agree is the first choice."""
    folder = str(tmp_path / "asked")
    shown = on_terminal("init", folder, prompt=b"journal", keys=keys)
    assert shown.code == 0
    assert Workspace.open(folder).settings.daily_memory_enabled == enabled
    again = on_terminal("init", folder)
    assert "daily journal here" not in again.text + again.err


def test_init_again_changes_nothing_and_says_so(run: Run, root: Path) -> None:
    """Not even the time of a file."""
    before = contents(root)
    assert run("init").text == f"{root} is a workspace already; nothing was changed.\n"
    assert contents(root) == before
    document = run("init", "--format", "json").json
    assert document == {"root": str(root), "made": [], "changed": []}


def test_init_completes_what_is_missing(run: Run, root: Path) -> None:
    """And leaves the rest alone."""
    (root / "shared" / "RULES.md").unlink()
    assert run("init").text.splitlines()[:2] == [
        f"Completed the workspace in {root}",
        "  shared/RULES.md",
    ]
    answer = run("init", "--agent", "ada", "--format", "json").json
    assert "agents/ada/SOUL.md" in answer["made"]
    assert answer["changed"] == ["agents/register.json", "shared/SITE.md"]


def test_init_takes_over_a_folder_of_the_wordpress_plugin(run: Run, tmp_path: Path) -> None:
    """Every page stays byte for byte, the page that the plugin generated too; twice."""
    folder = tmp_path / "datamachine-files"
    pages = {
        "shared/SITE.md": "# SITE.md\n\n## Site\n- **name:** Oracle Site\n",
        "shared/RULES.md": "# Site Rules\n\n- No secrets\n",
        "agents/writer-bot/SOUL.md": "# Writer Bot\n",
        "agents/writer-bot/MEMORY.md": "# Agent Memory\n\n## State\n- migrating\n",
        "agents/writer-bot/daily/2026/03/16.md": "# 2026-03-16\n\n- Deployed v0.41.0\n",
        "agents/writer-bot/index.php": "<?php // Silence is golden.\n",
        "users/1/USER.md": "# About the operator\n",
    }
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for _ in range(2):
        answer = run("init", str(folder), "--format", "json").json
        assert answer["changed"] == []
        assert {name: (folder / name).read_text() for name in pages} == pages
    there = ("--root", str(folder))
    assert run(*there, "memory", "read", "State").text.strip() == "- migrating"
    assert run(*there, "memory", "daily", "list").text.count("2026") >= 1
    assert "SITE.md" in run(*there, "memory", "compose", "SITE.md").text
    assert (folder / "shared/SITE.md").read_text() != pages["shared/SITE.md"]


def test_a_name_for_a_workspace_that_is_there_is_not_forgotten_silently(run: Run) -> None:
    """The settings file is the operator's own."""
    assert "Set the name in it yourself" in run("init", "--name", "Other").err


def test_init_works_where_one_stands(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or where LOOSELEAF_ROOT or --root say; never in a workspace found above."""
    for name in ("here", "environment", "option"):
        (tmp_path / name).mkdir()
    inside = tmp_path / "memory" / "shared"
    monkeypatch.chdir(inside)
    assert run("init").text.startswith(f"Made a workspace in {inside.resolve()}")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("LOOSELEAF_ROOT", str(tmp_path / "environment"))
    assert run("init").text.startswith(f"Made a workspace in {tmp_path}/environment")
    assert run("init", "--root", str(tmp_path / "option")).text.startswith(
        f"Made a workspace in {tmp_path}/option"
    )
    assert not list((tmp_path / "here").iterdir())


def test_init_refuses_what_cannot_be(run: Run, tmp_path: Path) -> None:
    """A slug that no agent can have, or a file in place of the folder."""
    assert run("init", str(tmp_path / "x"), "--agent", "Not A Slug").code == 2
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").write_text("")
    assert run("init", str(tmp_path / "file")).code == 6


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_the_shell_understands(shell: str, run: Run) -> None:
    """And that asks us for the words."""
    script = run("completion", shell).text
    assert "_LOOSELEAF_COMPLETE" in script
    found = shutil.which(shell)
    if found:
        subprocess.run([found, "-n"], input=script, text=True, check=True)
    assert run("completion", "csh").code == 2


def completed(root: Path, *words: str) -> list[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "COMP_WORDS": " ".join(("looseleaf", *words)),
        "COMP_CWORD": str(len(words)),
        "_LOOSELEAF_COMPLETE": "bash_complete",
    }
    done = subprocess.run(
        COMMAND, cwd=root, env={**_python_path(), **environment}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def _python_path() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["mem"], ["memory"]),
        (["memory", "daily", "re"], ["read"]),
        (["memory", "read", "S"], ["SITE.md", "SOUL.md"]),
        (["memory", "read", "--agent", ""], ["main"]),
        (["agents", "show", "m"], ["main"]),
        (["memory", "write", "MEMORY.md", "--if"], ["--if-match"]),
        (["--agent", "main", "memory", "history", "M"], ["MEMORY.md"]),
        (["memory", "read", "--root", "/nowhere", "--agent", ""], []),
    ],
)  # fmt: skip
def test_commands_options_agents_and_pages_are_completed(
    words: list[str], offered: list[str], root: Path
) -> None:
    """If there is no workspace, nothing is offered and nothing is said."""
    assert completed(root, *words) == offered


def test_a_default_agent_is_set_where_a_second_agent_made_it_necessary(run: Run) -> None:
    """The advice of the message works as printed, and the rest of the file stays as it is."""
    file = Path("looseleaf.toml")
    before = file.read_text().splitlines()
    mode = file.stat().st_mode
    run("agents", "create", "bob")
    refused = run("memory", "read")
    advice = refused.err.rpartition("looseleaf ")[2].split()
    assert (refused.code, advice) == (3, ["settings", "set", "default_agent", "bob"])
    assert run("settings", "set", "default_agent", "nobody").code == 3
    answer = run(*advice)
    assert answer.text.splitlines()[0] == 'default_agent = "bob" (file)'
    assert "a running server takes it at its next start" in answer.text
    assert "bob" in run("status").text
    assert run("settings", "get", "default_agent", "--format", "json").json["setting"] == "bob"
    added = [line for line in file.read_text().splitlines() if line not in before]
    assert added == ['default_agent = "bob"']
    assert file.stat().st_mode == mode
    assert run("settings", "set", "default_agent", "main").code == 0
    assert run("memory", "read").code == 0
    assert run("settings", "unset", "default_agent").code == 0
    assert file.read_text().splitlines() == before


@pytest.mark.parametrize(
    ("before", "name", "setting", "after"),
    [
        ("", "name", '"a \\"b\\""', 'name = "a \\"b\\""\n'),
        ('name = "x" # why', "name", '"y"', 'name = "y"\n'),
        ("[projects]\n", "retention_days", "30", "retention_days = 30\n[projects]\n"),
        ("port = 1\n[projects]\n", "port", "2", "port = 2\n[projects]\n"),
        ("#port = 1\n", "group_writable", "true", "#port = 1\ngroup_writable = true\n"),
    ],
)
def test_a_plain_setting_is_one_line_of_the_file(
    before: str, name: str, setting: str, after: str, run: Run
) -> None:
    """Replaced, or added above all tables."""
    file = Path("looseleaf.toml")
    file.write_text(before)
    answer = run("settings", "set", name, setting)
    assert (answer.code, file.read_text()) == (0, after), answer.err


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("port", "-1"),
        ("name", "5"),
        ("plugins", "x"),
        ("mcp_tools", "many"),
        ("name", '"a\\ud800"'),
    ],
)
def test_a_setting_that_cannot_be_leaves_the_file_as_it_is(
    name: str, setting: str, run: Run
) -> None:
    """By its type or its value."""
    before = Path("looseleaf.toml").read_bytes()
    answer = run("settings", "set", name, setting)
    assert answer.code == 2, answer
    assert Path("looseleaf.toml").read_bytes() == before


def test_a_file_that_cannot_be_changed_by_lines_stays_as_it_is(run: Run) -> None:
    """A name in quotes, or the same words within a text of several lines."""
    file = Path("looseleaf.toml")
    for text in ('"name" = "a"\n', 'language = """\nname = 1\n"""\n'):
        file.write_text(text)
        answer = run("settings", "set", "name", '"b"')
        assert answer.code == 2
        assert "edit looseleaf.toml yourself" in answer.err
        assert file.read_text() == text


def test_others_cannot_change_the_file(run: Run) -> None:
    """Only the operator on this machine can: not an administrator, and no model."""
    workspace = Workspace.open(Path())
    admin = Principal(kind="session", user_id=1, name="a", capabilities=frozenset(CAPABILITIES))
    assert run("settings", "get", "name").code == 0
    with pytest.raises(InvalidSetting, match=r"it is set in looseleaf\.toml"):
        set_setting(workspace.acting(principal=admin), "default_agent", setting="main")


def test_the_doctor_ends_with_what_it_found(run: Run) -> None:
    """Not with "in order" below a warning; its advice works as printed."""
    os.chmod("looseleaf.toml", 0o644)
    answer = run("doctor")
    assert answer.text.splitlines()[-1] == "No fault, 1 warning."
    advice = answer.text.partition("To close it to others: ")[2].splitlines()[0]
    subprocess.run(shlex.split(advice), check=True)
    assert run("doctor").text.splitlines()[-1] == "Everything is in order."
