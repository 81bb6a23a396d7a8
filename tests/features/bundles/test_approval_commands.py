"""Approvals from the command line: what waits is shown, applied or rejected without the bundle."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.fixtures import Run


@pytest.fixture
def eve(run: Run, command_root: Path) -> Path:
    """Install eve from a bundle, edit her, upgrade her by another version; return the bundle."""
    run("bundles", "export", "out", "--agent", "main")
    run("bundles", "install", "out", "--slug", "eve")
    (command_root / "agents/eve/SOUL.md").write_text("# Mine\n")
    (command_root / "out/memory/agent/SOUL.md").write_text("# Theirs\n")
    return command_root / "out"


def test_what_waits_is_approved_without_the_bundle(run: Run, command_root: Path, eve: Path) -> None:
    """It is listed, shown as a diff and applied by its key; no key is an error."""
    assert run("bundles", "pending").text == "Nothing waits for approval.\n"
    assert run("bundles", "pending", "eve").code == 3
    run("bundles", "upgrade", "out", "--agent", "eve")
    shutil.rmtree(eve)
    assert "memory:SOUL.md" in run("bundles", "pending").text
    (upgrade,) = run("bundles", "pending", "--format", "json").json["upgrades"]
    assert (upgrade["agent"], upgrade["waiting"]) == ("eve", ["memory:SOUL.md"])
    shown = run("bundles", "pending", "eve", "--diff").text
    assert "memory:SOUL.md  local_modified" in shown
    assert "-# Mine\n+# Theirs\n" in shown
    assert run("bundles", "approve", "eve").code == 2
    assert run("bundles", "approve", "eve", "memory:MEMORY.md").code == 2
    approval = run("bundles", "approve", "eve", "memory:SOUL.md")
    assert approval.text == "Applied for eve: memory:SOUL.md\n"
    assert (command_root / "agents/eve/SOUL.md").read_text() == "# Theirs\n"


def test_what_was_changed_meanwhile_is_refused_and_can_be_rejected(
    run: Run, command_root: Path, eve: Path
) -> None:
    """The page stays as it was edited."""
    run("bundles", "upgrade", str(eve), "--agent", "eve")
    (command_root / "agents/eve/SOUL.md").write_text("# Third\n")
    assert "changed since" in run("bundles", "pending", "eve").text
    refusal = run("bundles", "approve", "eve", "all")
    assert (refusal.code, "changed since" in refusal.err) == (4, True)
    decision = run("bundles", "reject", "eve", "memory:SOUL.md", "--format", "json").json
    assert (decision["act"], decision["waiting"]) == ("reject", [])
    assert (command_root / "agents/eve/SOUL.md").read_text() == "# Third\n"


def test_a_json_document_is_read(run: Run, command_root: Path, eve: Path) -> None:
    """A bundle may be one file of JSON with the texts of its files."""
    files = {str(path.relative_to(eve)): path.read_text() for path in eve.rglob("*.*")}
    (command_root / "eve.json").write_text(json.dumps({"files": files}))
    assert run("bundles", "install", "eve.json", "--slug", "ida").code == 0
    assert (command_root / "agents/ida/SOUL.md").read_text() == "# Theirs\n"
