"""Which pages there are, from the command line."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.fixtures import Run


def test_files_lists_the_pages_of_every_layer(run: Run, root: Path) -> None:
    """What they are, how large and how old; the journal only if asked."""
    (root / "agents" / "main" / "notes.md").write_text("x")
    run("memory", "daily", "append", "2026-04-17", "x")
    lines = run("memory", "files").text.splitlines()
    assert lines[0].split() == ["FILE", "LAYER", "KIND", "BYTES", "CHANGED", "AGE"]
    rows = {line.split()[0]: line.split() for line in lines[1:]}
    assert rows.keys() == {"RULES.md", "SITE.md", "MEMORY.md", "SOUL.md", "USER.md", "notes.md"}
    assert rows["SITE.md"][1:3] == ["shared", "generated"]
    assert rows["MEMORY.md"][1:3] == ["agent", "core"]
    assert rows["notes.md"][1:3] == ["agent", "1"]
    assert "daily/2026/04/17.md" in run("memory", "files", "list", "--daily").text
    assert run("memory", "files", "--layer", "network").text == "There are no pages.\n"


def test_check_says_which_pages_are_stale(run: Run, root: Path) -> None:
    """By their age; that is no error."""
    old = root / "agents" / "main" / "MEMORY.md"
    os.utime(old, (old.stat().st_atime, old.stat().st_mtime - 10 * 86_400))
    answer = run("memory", "files", "check")
    rows = {line.split()[0]: line for line in answer.text.splitlines()}
    assert answer.code == 0
    assert rows["MEMORY.md"].endswith("10 days  STALE")
    assert rows["SOUL.md"].endswith("today    OK")
    assert "STALE" not in run("memory", "files", "check", "--days", "30").text


def test_files_tell_a_program_the_same(run: Run) -> None:
    """Times are UTC; check adds the status."""
    plain = run("memory", "files", "--format", "json").json["files"][0]
    assert plain.keys() == {
        "file",
        "layer",
        "bytes",
        "updated",
        "registered",
        "protected",
        "editable",
        "label",
        "age_days",
    }
    assert plain["updated"].endswith("Z")
    checked = run("memory", "files", "check", "--format", "json").json
    assert (checked["stale_after_days"], checked["files"][0]["status"]) == (7, "OK")
    assert run("memory", "files", "remove").code == 2


def test_paths_show_where_the_pages_of_a_prompt_lie(run: Run, root: Path) -> None:
    """In the order they are injected, there or not."""
    (root / "users" / "1" / "USER.md").unlink()
    lines = run("memory", "paths").text.splitlines()
    assert lines[0].split() == ["PRIORITY", "FILE", "LAYER", "EXISTS", "PATH"]
    assert lines[1].split() == ["5", "SITE.md", "shared", "yes", f"{root}/shared/SITE.md"]
    assert lines[4].split() == ["20", "USER.md", "user", "no", f"{root}/users/1/USER.md"]
    assert run("memory", "paths", "--relative").text.splitlines()[1].endswith("  shared/SITE.md")


def test_paths_tell_a_program_what_the_original_told(run: Run, root: Path) -> None:
    """Agent, user, every file by name, and those that are there as relative paths."""
    document = run("memory", "paths", "--format", "json", "--agent", "main").json
    relative = document.pop("relative_files")
    assert relative == [
        "shared/SITE.md", "shared/RULES.md", "agents/main/SOUL.md", "users/1/USER.md",
        "agents/main/MEMORY.md",
    ]  # fmt: skip
    assert document.pop("files")["SOUL.md"] == {
        "layer": "agent",
        "priority": 10,
        "path": f"{root}/agents/main/SOUL.md",
        "relative": "agents/main/SOUL.md",
        "exists": True,
        "convention_path": "",
    }
    assert document == {"root": str(root), "agent_id": 1, "agent_slug": "main", "user_id": 1}


def test_compose_makes_generated_pages_anew(run: Run, root: Path) -> None:
    """All of them or one, and says whether anything changed."""
    assert run("memory", "compose").text.endswith("bytes, as before).\n")
    page = root / "shared/SITE.md"
    page.write_text(page.read_text() + "\nA line by hand.\n")
    answer = run("memory", "compose", "SITE.md")
    assert answer.text == f"Composed SITE.md ({page.stat().st_size} bytes).\n"
    document = run("memory", "compose", "--format", "json").json
    assert document["composed"][0].keys() == {"file", "bytes", "changed", "projected"}
    assert run("memory", "compose", "SOUL.md").code == 3


def test_a_composed_page_says_where_its_copy_is(run: Run, root: Path) -> None:
    """AGENTS.md, for coding agents."""
    (root / "looseleaf.toml").write_text('agents_md = true\nproject_folder = "."\n')
    answer = run("memory", "compose", "AGENTS.md")
    assert answer.text.endswith(f"Its copy: {root}/AGENTS.md\n")
    assert (root / "AGENTS.md").exists()


def test_compose_can_only_list(run: Run, root: Path) -> None:
    """What a page is made of, without making it."""
    (root / "shared" / "SITE.md").unlink()
    assert run("memory", "compose", "--list").text.splitlines()[1].split()[:3] == [
        "SITE.md",
        "0",
        "header",
    ]
    document = run("memory", "compose", "--list", "SITE.md", "--format", "json").json
    assert document["sections"][0]["owner"] == "looseleaf"
    assert run("memory", "compose", "--list", "SOUL.md").code == 3
    assert not (root / "shared" / "SITE.md").exists()
