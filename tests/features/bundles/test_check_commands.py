"""Checks of bundles from the command line: what fits, what has drifted, and how it would merge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.fixtures import Run


@pytest.fixture
def eve(run: Run, command_root: Path) -> None:
    """Install eve from a bundle, then edit both."""
    run("bundles", "export", "out", "--agent", "main")
    run("bundles", "install", "out", "--slug", "eve")
    (command_root / "agents/eve/SOUL.md").write_text("# Mine\n")
    (command_root / "out/memory/agent/SOUL.md").write_text("# Theirs\n")


@pytest.mark.usefixtures("eve")
def test_drift_and_merge_are_shown(run: Run, command_root: Path) -> None:
    """The exit code says whether the agent is at the version of the bundle."""
    status = run("bundles", "status", "out", "--slug", "eve")
    assert (status.code, status.text.split()[1]) == (1, "source_drift")
    assert "Differs: memory:SOUL.md" in status.text
    assert run("bundles", "status", "out").text.startswith("main: not_installed (no bundle")
    rebase = run("bundles", "rebase", "out", "--agent", "eve", "--diff").text
    assert "memory:SOUL.md  conflict" in rebase
    run("bundles", "upgrade", "out", "--agent", "eve", "--approve", "all")
    status = run("bundles", "status", "out", "--slug", "eve")
    assert (status.code, status.text) == (0, "eve: current (main 1 is installed)\n")
    title = ("--name", "main", "--bundle-version", "2")
    run("bundles", "export", "second", "--agent", "main", *title)
    status = run("bundles", "status", "second", "--slug", "eve", "--format", "json").json
    assert (status["status"], status["bundle_version"]) == ("version_drift", "2")
    nothing = run("bundles", "rebase", "out", "--agent", "eve").text
    assert nothing == "eve has nothing to merge with main.\n"
    manifest = json.loads((command_root / "out/manifest.json").read_text())
    assert run("bundles", "validate", "out").text == "main 1 is compatible.\n"
    (command_root / "out/manifest.json").write_text(
        json.dumps(manifest | {"capabilities": ["browser"]})
    )
    (command_root / "out/rubrics").mkdir()
    (command_root / "out/rubrics/tone.md").write_text("Kind.\n")
    invalid = run("bundles", "validate", "out")
    assert (invalid.code, "browser" in invalid.text) == (1, True)
    assert "Kept and not used here: rubrics/" in invalid.text
    report = run("bundles", "validate", "out", "--format", "json").json
    assert report["unsupported_capabilities"] == ["browser"]
