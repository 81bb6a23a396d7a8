"""`looseleaf status`: where one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace, __version__
from tests.cli.fixtures import Run
from tests.web.fixtures import Clock, Site


def test_the_workspace_agent_and_version_are_named(run: Run, root: Path) -> None:
    """With what finds them."""
    (root / "looseleaf.toml").write_text('name = "Shop"\ndefault_model = "echo"\nport = 1\n')
    text = run("status").text
    assert f"workspace  {root} 'Shop' (found from this folder)" in text
    assert "agent      main (of 1 agent)" in text
    assert "model      echo" in text
    assert "journal    off" in text
    assert "server     not running" in text
    assert f"version    looseleaf {__version__}\n" in text
    document = run("status", "--root", str(root), "--format", "json").json
    assert (document["agent"], document["found_by"], document["server"]) == ("main", "--root", None)


def test_several_agents_are_to_be_chosen_from(run: Run, root: Path) -> None:
    """One that is named must be there."""
    (root / "looseleaf.toml").write_text("port = 1\n")
    run("agents", "create", "ada")
    assert "choose one with --agent: ada, main" in run("status").text
    assert "agent      ada (of 2 agents)" in run("status", "--agent", "ada").text
    assert run("status", "--agent", "eve").code == 3


def test_a_server_tells_the_same(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found where the settings say, or asked by --remote; the folder stays its own business."""
    site = Site(Workspace.open(root, surface="rest"), Clock())
    site.start()
    try:
        (root / "looseleaf.toml").write_text(f"port = {site.port}\n")
        assert f"server     {site.base}\n" in run("status").text
        monkeypatch.setenv("LOOSELEAF_REMOTE", site.base)
        monkeypatch.setenv("LOOSELEAF_TOKEN", site.token(agent="main"))
        document = run("status", "--format", "json").json
        assert document["root"] == ""
        assert document["found_by"] == "LOOSELEAF_REMOTE"
        assert document["agent"] == "main"
    finally:
        site.stop()
