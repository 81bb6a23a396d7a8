"""Errors speak the language of a browser: no commands, arguments, headers and long hashes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import looseleaf
from looseleaf.errors import Conflicted, InvalidArgument
from looseleaf.errors.features import JobMissing
from looseleaf.errors.pages import LossRefused
from looseleaf.web.admin.wording import describe_for_browser, find_way_out, remove_commands

SOURCE = Path(looseleaf.__file__).parent
# What a person in a browser cannot type anywhere.
FOREIGN = re.compile(
    r"looseleaf (agents|pipelines|flows|jobs|settings|tokens|memory|init|schedules|upkeep)\b"
    r"|\s--[a-z]|allow_shrink|if_match|If-Match|LOOSELEAF_|[0-9a-f]{64}"
)
SURFACES = ("cli", "mcp", "web/rest", "remote")  # whose own errors no page shows


def read_text(node: ast.expr) -> str:
    """Return the text of a string or f-string, with a word in the place of each part."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            read_text(part) if isinstance(part, ast.Constant) else "x" for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return read_text(node.left) + read_text(node.right)
    return ""


STARTING = "xlooseleaf init x"  # there is no site without a workspace


def list_messages() -> set[str]:
    """Return every message that is written where an error is raised or defined."""
    messages = set()
    for path in SOURCE.rglob("*.py"):
        if str(path.relative_to(SOURCE)).startswith(SURFACES):
            continue
        tree = ast.parse(path.read_text())
        calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
        if path.parent.name == "errors":
            calls += [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call, ast.Call):
                messages |= {text for part in call.args if " " in (text := read_text(part))}
    return messages


def test_no_message_names_what_a_browser_has_not() -> None:
    """In every message of the source; most keep all they say."""
    messages = list_messages() - {STARTING}
    assert len(messages) > 300
    shown = {message: remove_commands(message) for message in messages}
    assert not [text for text in shown.values() if FOREIGN.search(text)]
    assert sum(text == message for message, text in shown.items()) > 0.85 * len(messages)
    assert any(FOREIGN.search(message) for message in messages)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            "There is no pipeline 'x'. Show them: looseleaf pipelines list",
            "There is no pipeline 'x'.",
        ),
        ("No page my_notes.md here.", "No page my_notes.md here."),
        (f"Expected {'0123456789abcdef' * 4}.", "Expected 01234567."),
        ("Run: looseleaf init", "This cannot be done here."),
    ],
)
def test_sentences_for_terminals_are_left_out(message: str, text: str) -> None:
    """The rest stays, names with underscores too."""
    assert remove_commands(message) == text


def test_errors_have_words_and_a_way_out() -> None:
    """A conflict names no hash, a refused loss no argument, and a missing job leads to the jobs."""
    conflict = describe_for_browser(Conflicted("MEMORY.md", "a" * 64, "b" * 64))
    assert conflict.startswith("MEMORY.md was changed elsewhere since you opened this page.")
    loss = LossRefused("MEMORY.md", "a core page would shrink", "Repeat it with allow_shrink.")
    assert describe_for_browser(loss) == "MEMORY.md was not changed: a core page would shrink."
    wrong = describe_for_browser(InvalidArgument("recent_days", "it is negative"))
    assert wrong == "Recent days cannot be used: it is negative."
    assert find_way_out(JobMissing(7)) == ("Show all jobs", "/admin/jobs")
    assert find_way_out(ValueError()) == ("Show the agents", "/admin")
