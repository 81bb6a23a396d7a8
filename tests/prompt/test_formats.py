"""A prompt as others take it."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.catalog.json_values import to_json_value
from looseleaf.errors import Invalid
from looseleaf.prompt import formats
from looseleaf.prompt.request import ContextFile, PipelinePart


def test_openai_takes_system_messages(workspace: Workspace) -> None:
    """One for each part."""
    assembly = workspace.compose("chat", "ada")
    messages = formats.build_openai(assembly)["messages"]
    assert [message["role"] for message in messages] == ["system"] * len(messages)
    assert "\n\n".join(message["content"] for message in messages) == assembly.text


def test_anthropic_takes_system_blocks(workspace: Workspace) -> None:
    """The last one of the stable beginning is marked for the cache, and no other."""
    assembly = workspace.compose("chat", "ada")
    blocks = formats.build_anthropic(assembly)["system"]
    marked = [place for place, block in enumerate(blocks) if "cache_control" in block]
    assert marked == [len(blocks) - 2]
    assert blocks[-1]["text"].startswith("SITE CONTEXT")


def test_json_says_where_each_message_comes_from(workspace: Workspace) -> None:
    """And gives files as references."""
    image = ContextFile("cover.png", "/up/cover.png", "image/png", bytes=3)
    pipeline = PipelinePart(id=1, context_files=(image,))
    assembly = workspace.compose("pipeline", "ada", pipeline=pipeline)
    document = to_json_value(formats.build_document(assembly, "json"))
    by_name = {message["name"]: message for message in document["messages"]}
    assert by_name["SOUL.md"]["directive"] == "core-memory-files"
    reference = {"path": "/up/cover.png", "media_type": "image/png", "bytes": 3}
    assert by_name["cover.png"]["file"] == reference
    assert document["agent"] == "ada"


def test_a_hook_gets_the_text_as_context(workspace: Workspace) -> None:
    """In the shape that Claude Code and Codex read."""
    assembly = workspace.compose("chat", "ada")
    context = {"hookEventName": "SessionStart", "additionalContext": assembly.text}
    assert formats.build_document(assembly, "hook") == {"hookSpecificOutput": context}


def test_an_unknown_format_names_the_known(workspace: Workspace) -> None:
    """In one sentence."""
    assembly = workspace.compose("chat", "ada")
    with pytest.raises(Invalid, match="text, json, openai, anthropic"):
        formats.build_document(assembly, "xml")
