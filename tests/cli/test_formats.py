"""Colour on a terminal, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures import Run


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a terminal that knows colour."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_match_is_highlighted(on_terminal: Run, page: Path) -> None:
    """In its own case, with every other byte as it was."""
    page.write_text("# Memory\n\n## Lessons\n\n- The Cache is cold\n")
    screen = on_terminal("memory", "search", "cache").out
    assert b"- The \x1b[1;33mCache\x1b[0m is cold" in screen
    assert b"\x1b[1m--- [MEMORY.md: Lessons] line 5 ---\x1b[0m" in screen


def test_no_color_is_honoured(
    on_terminal: Run, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its variable, and by a terminal that knows none."""
    page.write_text("- The Cache is cold\n")
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b[" not in on_terminal("memory", "search", "cache").out
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert b"\x1b[" not in on_terminal("memory", "search", "cache").out


def test_a_pipe_gets_no_color(start: Run, page: Path) -> None:
    """A program reads it."""
    page.write_text("- The Cache is cold\n")
    assert b"\x1b[" not in start("memory", "search", "cache").out
    assert b"\x1b[" not in start("agents", "list").out


def test_the_doctor_and_tables_are_painted(on_terminal: Run) -> None:
    """States by their colour, headings bold."""
    assert b"\x1b[32mok     \x1b[0m" in on_terminal("doctor").out
    assert on_terminal("agents", "list").out.startswith(b"\x1b[1m")


def test_memory_cannot_color_the_terminal(on_terminal: Run, page: Path) -> None:
    """Only our own codes reach it."""
    page.write_text("- The \x1b[31mcache\n")
    screen = on_terminal("memory", "search", "cache").out
    assert b"\x1b[31m" not in screen
    assert b"\\x1b[31m\x1b[1;33mcache\x1b[0m" in screen
