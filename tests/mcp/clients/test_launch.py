"""The command that a program starts: one that stays, never a copy in a package cache."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from looseleaf.errors import Invalid
from looseleaf.mcp.clients.programs import (
    LaunchTarget,
    in_package_cache,
    read_connection,
    read_hook,
    resolve_stable_command,
)


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """Return an installed looseleaf outside of any cache."""
    file = tmp_path / "tools" / "bin" / "looseleaf"
    file.parent.mkdir(parents=True)
    file.touch(mode=0o755)
    return file


def environment(folder: Path) -> Path:
    """Make what looks like a virtual environment, tagged as uv tags those it makes."""
    (folder / "bin").mkdir(parents=True)
    (folder / "CACHEDIR.TAG").touch()
    (folder / "bin" / "looseleaf").touch(mode=0o755)
    return folder


@pytest.mark.parametrize(
    "folder", [".cache/uv/archive-v0/x1", "Library/Caches/uv/y", ".local/pipx/.cache/1", "own/z"]
)
def test_a_copy_in_a_package_cache_is_not_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Path, folder: str
) -> None:
    """The installed one is taken instead; without one it is refused, and the error says why."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "CACHEDIR.TAG").touch()
    prefix = environment(tmp_path / folder)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    monkeypatch.setenv("PATH", f"{prefix}/bin")
    with pytest.raises(Invalid, match="uv tool install"):
        resolve_stable_command()
    monkeypatch.setenv("PATH", f"{prefix}/bin:{command.parent}")
    assert resolve_stable_command() == [str(command)]


def test_a_cache_can_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variable that uv reads."""
    prefix = environment(tmp_path / "packages" / "x")
    assert not in_package_cache(str(prefix))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "packages"))
    assert in_package_cache(str(prefix))


def test_an_environment_that_stays_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own command, or its Python if it has none."""
    prefix = environment(tmp_path / "project" / ".venv")
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    assert resolve_stable_command() == [str(prefix / "bin" / "looseleaf")]
    (prefix / "bin" / "looseleaf").unlink()
    assert resolve_stable_command() == [str(prefix / "bin" / "python"), "-m", "looseleaf"]


@pytest.mark.parametrize(
    ("words", "connection"),
    [
        (["/bin/l", "mcp", "--root", "/m", "--agent", "ada"], LaunchTarget("/m", "ada", "/bin/l")),
        (["/bin/l", "mcp", "--root", "/m", "--all-agents"], LaunchTarget("/m", "", "/bin/l")),
        (["l", "mcp", "--root", "/m", "--by-folder"], LaunchTarget("/m", "", "l", by_folder=True)),
        (["npx", "mcp", "start"], None),
        (["x", 1, "mcp", "--root", "y"], None),
        ([], None),
    ],
)
def test_a_server_of_ours_is_known(words: list[object], connection: LaunchTarget | None) -> None:
    """Others are not taken for ours."""
    assert read_connection(words) == connection


@pytest.mark.parametrize(
    ("command", "connection"),
    [
        (
            "'/my l/looseleaf' prompt show --root '/my m' --agent ada --hook session-start",
            LaunchTarget("/my m", "ada", "/my l/looseleaf"),
        ),
        ("looseleaf prompt show --hook session-start", LaunchTarget("", "", "looseleaf")),
        ("other prompt --hook x", None),
        ("looseleaf mcp --root x", None),
        ("unbalanced '", None),
        (7, None),
    ],
)
def test_a_hook_of_ours_is_known(command: object, connection: LaunchTarget | None) -> None:
    """Others are not taken for ours."""
    assert read_hook(command) == connection
