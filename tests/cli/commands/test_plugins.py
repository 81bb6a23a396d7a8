"""`looseleaf plugins list` shows who extends a workspace."""

from __future__ import annotations

from pathlib import Path

from looseleaf import __version__
from looseleaf.plugins.defaults import Defaults
from tests.cli.fixtures import Run


def test_our_own_plugin_is_listed_like_any(run: Run) -> None:
    """With its hooks and what it registered."""
    answer = run("plugins", "list")
    assert answer.code == 0
    lines = answer.text.splitlines()
    hooks = str(sum(not name.startswith("_") for name in vars(Defaults)))
    assert lines[0].split() == ["NAME", "VERSION", "ORIGIN", "HOOKS"]
    assert lines[1].split() == ["looseleaf", __version__, "built", "in", hooks]
    assert "  files: SITE.md, RULES.md, SOUL.md, USER.md, USER_MEMORY.md, MEMORY.md" in lines


def test_a_program_gets_one_document(run: Run) -> None:
    """Each plugin has the same keys."""
    [plugin] = run("plugins", "list", "--format", "json").json["plugins"]
    assert list(plugin) == [
        "name",
        "origin",
        "module",
        "package",
        "version",
        "enabled",
        "hooks",
        "registered",
    ]
    assert (plugin["name"], plugin["version"]) == ("looseleaf", __version__)
    assert plugin["registered"]["starters"] == ["core"]


def test_a_plugin_that_is_not_there_is_one_clear_error(run: Run, root: Path) -> None:
    """For every command, also for a plain read."""
    (root / "looseleaf.toml").write_text('plugins = ["not_there_at_all"]\n')
    for words in (["plugins", "list"], ["memory", "read"]):
        answer = run(*words)
        assert (answer.code, answer.out) == (2, b"")
        assert answer.err.startswith("looseleaf: The setting plugins cannot be used: ")
        assert "install it beside Looseleaf, or remove it from the list" in answer.err
