"""Hidden characters in pages: the writer is told of them, and so is whoever runs the doctor."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.memory.hidden_characters import describe_hidden
from looseleaf.operations.doctor import check_workspace

HIDDEN = {
    "an order of its own": "pay \u202eecila\u202c",
    "an isolate": "pay \u2066alice\u2069",
    "no width": "pay\u200b alice",
    "tags": "hello\U000e0041\U000e0042",
    "a mark of order": "alice\u200f",
    "a blank letter": "alice\u3164",
    "a control character": "alice\x1b[31m",
    "a joiner between Latin letters": "al\u200dice",
}
PLAIN = (
    "Ünïcödé, 日本語　全角, no\u00a0break, tab\tand\r\nlines",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 and \u2764\ufe0f",
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # a word of Persian with its joiner
)


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN.keys())
def test_hidden_characters_are_described(text: str) -> None:
    """How many, which one comes first, and in which line."""
    described = describe_hidden(f"first line\n{text}\n")
    assert "line 2" in described
    assert "U+" in described


@pytest.mark.parametrize("text", PLAIN)
def test_what_people_write_is_not_hidden(text: str) -> None:
    """Scripts, emoji, spaces and line ends."""
    assert describe_hidden(text) == ""


WRITES = sorted(
    name
    for name, operation in CATALOG.items()
    if operation.changes_page and "content" in build_input_schema(operation)["properties"]
)


@pytest.mark.parametrize("name", WRITES)
def test_every_write_tells_its_writer(name: str, workspace: Workspace) -> None:
    """In the answer, whatever the way of writing."""
    shape = build_input_schema(CATALOG[name])["properties"]
    given: dict[str, object] = {"content": HIDDEN["an order of its own"]}
    given |= {"file": "notes.md"} if "file" in shape else {}
    given |= {"section": "Facts"} if "section" in shape else {}
    given |= {"mode": "append"} if "mode" in shape else {}
    saved = invoke(workspace.context, name, given)
    assert any("U+202E" in warning for warning in saved["warnings"]), saved


def test_the_doctor_reports_hidden_characters(workspace: Workspace) -> None:
    """On core pages always, on every page if all are verified."""
    for name in ("SOUL.md", "notes.md"):
        Path(workspace.root, "agents/ada", name).write_text(HIDDEN["no width"], encoding="utf-8")

    def details(*, verify: bool) -> list[str]:
        found = check_workspace(workspace.context, verify=verify)
        return [item.detail for item in found if item.check == "hidden text"]

    assert [("SOUL.md" in detail, "U+200B" in detail) for detail in details(verify=False)] == [
        (True, True)
    ]
    assert len(details(verify=True)) == 2
