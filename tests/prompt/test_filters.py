"""Functions others add: a visible list, in order, that cannot undo a policy."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.errors import Invalid, Refused
from looseleaf.prompt.directive import Filters, PageFacts
from tests.prompt.conftest import list_left_out, list_pages, open_parts


def test_filters_apply_by_priority_then_by_name() -> None:
    """Whoever registered first."""
    filters = Filters("content filter", "register_content_filters")
    for name, priority in (("b", 2), ("c", 1), ("a", 2)):
        filters.register(name, priority, str)
    assert [item.name for item in filters.all()] == ["c", "a", "b"]
    with pytest.raises(Invalid):
        filters.register("a", 3, str)
    assert filters.deregister("a")
    filters.freeze()
    with pytest.raises(Refused):
        filters.register("d", 1, str)


def test_content_can_be_changed_on_its_way(workspace: Workspace) -> None:
    """The page stays as it is; the label counts the bytes that are shown."""
    told: list[PageFacts] = []

    def shout(text: str, about: PageFacts) -> str:
        told.append(about)
        return text.upper() if about.file == "SOUL.md" else text

    open_parts(workspace).content_filters.register("shout", 1, shout)
    text = workspace.compose("chat", "ada").text
    assert "I AM ADA" in text
    assert "# Agent Memory" in text
    assert {(item.file, item.layer, item.mode, item.agent) for item in told} >= {
        ("SOUL.md", "agent", "chat", "ada"),
        ("USER.md", "user", "chat", "ada"),
    }


def test_content_filtered_to_nothing_is_empty(workspace: Workspace) -> None:
    """And what is no text is refused."""
    filters = open_parts(workspace).content_filters
    filters.register("blank", 1, lambda text, about: "" if about.file == "SOUL.md" else text)
    assert list_left_out(workspace.compose("chat", "ada"))["SOUL.md"] == "empty"
    filters.deregister("blank")
    filters.register("odd", 1, lambda _text, _about: None)
    with pytest.raises(Invalid, match="content filter odd"):
        workspace.compose("pipeline", "ada")


def test_files_can_only_be_taken_away(workspace: Workspace) -> None:
    """An organisation's own rule may narrow an agent's policy, never widen it."""
    filters = open_parts(workspace).file_filters

    def no_user(files: tuple[Any, ...], _request: object) -> tuple[Any, ...]:
        return tuple(file for file in files if file.filename != "USER.md")

    filters.register("no-user", 1, no_user)
    assembly = workspace.compose("chat", "ada")
    assert list_left_out(assembly)["USER.md"] == "filtered"
    assert "SOUL.md" in list_pages(assembly)
    everything = workspace.registry.files()
    filters.register("everything", 2, lambda _files, _request: everything)
    with pytest.raises(Invalid, match="may only take files away"):
        workspace.compose("chat", "ada", deny=("SOUL.md",))
