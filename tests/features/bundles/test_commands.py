"""Bundles from the command line: an agent goes out as files and comes in elsewhere."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.cli.fixtures import Run


def test_an_agent_travels_as_a_folder_and_as_an_archive(run: Run, command_root: Path) -> None:
    """Both forms hold the same files, and the same agent is installed from either."""
    folder = run("bundles", "export", "out", "--agent", "main")
    assert folder.text.startswith("Exported main as main 1 (share): out\n2 files, sha256 ")
    archive = run("bundles", "export", "out.zip", "--agent", "main", "--format", "json").json
    assert [file["path"] for file in archive["files"]] == ["manifest.json", "memory/agent/SOUL.md"]
    assert "data" not in archive
    names = sorted(
        str(path.relative_to(command_root / "out")) for path in (command_root / "out").rglob("*.*")
    )
    assert names == sorted(zipfile.ZipFile(command_root / "out.zip").namelist())
    assert "It can be installed here" in run("bundles", "inspect", "out").text
    for number, source in enumerate(("out", "out.zip")):
        slug = f"copy-{number}"
        assert run("bundles", "install", source, "--slug", slug).code == 0
        run("bundles", "export", f"{slug}.zip", "--agent", slug, "--name", "main")
    first, second = (zipfile.ZipFile(command_root / f"copy-{number}.zip") for number in (0, 1))
    soul = "memory/agent/SOUL.md"
    assert (
        first.read(soul) == second.read(soul) == (command_root / "agents/main/SOUL.md").read_bytes()
    )


def test_an_export_replaces_only_a_bundle_and_only_when_told(run: Run, command_root: Path) -> None:
    """A folder that holds something else is never touched."""
    (command_root / "mine").mkdir()
    (command_root / "mine/diary.txt").write_text("dear diary")
    assert run("bundles", "export", "mine").code == 2
    assert run("bundles", "export", "mine", "--force").code == 2
    assert (command_root / "mine/diary.txt").read_text() == "dear diary"
    assert run("bundles", "export", "out").code == 0
    assert run("bundles", "export", "out").code == 2
    assert run("bundles", "export", "out", "--force").code == 0
    assert run("bundles", "export", "out.zip").code == 0
    assert run("bundles", "export", "out.zip").code == 2
    assert run("bundles", "export", "out.zip", "--force").code == 0
    assert run("bundles", "export").code == 2
    assert not [path.name for path in command_root.iterdir() if path.name.startswith(".out")]


def test_a_preview_shows_what_would_leave(run: Run, command_root: Path) -> None:
    """With every line that looks like a secret, which then stops the export."""
    secret = "DB_PASSWORD=" + "hunter2hunter2"
    (command_root / "agents/main/MEMORY.md").write_text(f"# M\n\n{secret}\n")
    preview = run("bundles", "export", "--profile", "backup", "--preview")
    assert "Looks like a secret: memory/agent/MEMORY.md:3 (value of a secret)" in preview.text
    assert "would leave with main (backup)" in preview.text
    refusal = run("bundles", "export", "b.zip", "--profile", "backup")
    assert refusal.code == 4
    assert "hunter2" not in refusal.err + preview.text
    assert not (command_root / "b.zip").exists()
    allowed = run("bundles", "export", "b.zip", "--profile", "backup", "--allow-secrets")
    assert allowed.code == 0


def test_an_upgrade_shows_its_plan_and_waits_for_approval(run: Run, command_root: Path) -> None:
    """A page that was edited here is shown as a diff, and replaced only when it is approved."""
    run("bundles", "export", "out", "--agent", "main")
    assert run("bundles", "list").text.startswith("No agent came from a bundle.")
    run("bundles", "install", "out", "--slug", "eve")
    (command_root / "agents/eve/SOUL.md").write_text("# Mine\n")
    (command_root / "out/memory/agent/SOUL.md").write_text("# Theirs\n")
    plan = run("bundles", "plan", "out", "--slug", "eve", "--diff").text
    assert "memory:SOUL.md  needs_approval  local_modified" in plan
    assert "-# Mine\n+# Theirs\n" in plan
    dry = run("bundles", "upgrade", "out", "--agent", "eve", "--dry-run").text
    assert "(nothing is written)" in dry
    upgrade = run("bundles", "upgrade", "out", "--agent", "eve").text
    assert "Waits for approval: memory:SOUL.md" in upgrade
    assert "Look at it: looseleaf bundles pending eve --diff" in upgrade
    assert (command_root / "agents/eve/SOUL.md").read_text() == "# Mine\n"
    assert "memory:SOUL.md  modified" in run("bundles", "show", "eve").text
    run("bundles", "upgrade", "out", "--agent", "eve", "--approve", "memory:SOUL.md")
    assert (command_root / "agents/eve/SOUL.md").read_text() == "# Theirs\n"
    assert [
        bundle["agent"] for bundle in run("bundles", "list", "--format", "json").json["bundles"]
    ] == ["eve"]


def test_a_source_that_is_no_bundle_is_refused(run: Run, command_root: Path) -> None:
    """By one line, whatever it is."""
    (command_root / "empty").mkdir()
    (command_root / "text.zip").write_text("no archive")
    for source in ("empty", "text.zip", "gone.zip"):
        for name in ("inspect", "plan", "install", "upgrade"):
            answer = run("bundles", name, source)
            assert answer.code == 2
            assert answer.err.count("\n") == 1


def test_a_secret_stops_an_export_and_is_not_shown(run: Run, command_root: Path) -> None:
    """The error names file and line; nothing is written before --allow-secrets is given."""
    page = command_root / "agents/main/SOUL.md"
    page.write_text(f"{page.read_text()}\n**Password:** Zx81kk29Akd02\n")
    line = page.read_text().count("\n")
    for target in ("out", "out.zip"):
        refusal = run("bundles", "export", target)
        assert refusal.code == 4
        assert f"memory/agent/SOUL.md:{line} (value of a secret)" in refusal.err
        assert "Zx81" not in refusal.err + refusal.text
        assert not (command_root / target).exists()
        assert run("bundles", "export", target, "--allow-secrets").code == 0
