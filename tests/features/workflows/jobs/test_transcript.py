"""Transcripts and tool traces: bounded, without secrets, in one form."""

from __future__ import annotations

import json

from looseleaf.features.workflows.artifacts import MASK, SecretMask
from looseleaf.features.workflows.jobs.folders import (
    LONGEST_TEXT,
    build_tool_trace,
    build_transcript,
    format_json,
)
from looseleaf.features.workflows.step import ToolExecution
from looseleaf.models.model import Message, ToolCall

SECRET = "correct-horse-battery"


def test_a_transcript_has_the_newest_messages() -> None:
    """At most 200, each with at most 4000 characters; the true number is told."""
    messages = [Message(role="user", text=f"{number} " + "x" * 5000) for number in range(250)]
    transcript = build_transcript(messages, SecretMask())
    assert len(transcript["messages"]) == 200
    assert transcript["total"] == 250
    assert transcript["bounded"] is transcript["redacted"] is True
    assert transcript["messages"][-1]["content"].startswith("249 ")
    assert all(len(entry["content"]) == LONGEST_TEXT for entry in transcript["messages"])


def test_secrets_are_masked_in_texts_and_arguments() -> None:
    """By key, by shape and by value; also in arguments that are no JSON."""
    calls = (
        ToolCall("1", "fetch", json.dumps({"url": "x", "api_key": SECRET})),
        ToolCall("2", "fetch", f"password={SECRET} {{"),
    )
    messages = [
        Message(role="user", text=f"Use Bearer {SECRET}"),
        Message(role="assistant", text="", calls=calls),
        Message(role="tool", text=f"the value is {SECRET}", call="1", name="fetch", failed=True),
    ]
    transcript = build_transcript(messages, SecretMask((SECRET,)))
    assert SECRET not in json.dumps(transcript)
    entries = transcript["messages"]
    assert entries[1]["tool_calls"][0]["arguments"] == {"url": "x", "api_key": MASK}
    assert entries[2]["success"] is False
    assert entries[2]["tool_name"] == "fetch"


def test_a_tool_trace_has_the_first_calls() -> None:
    """At most 200 entries, their texts cut and masked."""
    tools = [
        ToolExecution("agent_memory", {"content": "x" * 9000, "token": SECRET}, True, "y" * 9000)
        for _ in range(220)
    ]
    trace = build_tool_trace(tools, SecretMask())
    assert (len(trace["entries"]), trace["total"]) == (200, 220)
    first = trace["entries"][0]
    assert len(first["arguments"]["content"]) == len(first["summary"]) == LONGEST_TEXT
    assert first["arguments"]["token"] == MASK


def test_the_same_run_has_the_same_bytes() -> None:
    """Sorted keys, indented, a line end; the hash is that of the payload."""
    messages = [Message(role="user", text="Grüße")]
    one, two = (format_json(build_transcript(messages, SecretMask())) for _ in range(2))
    assert one == two
    assert one.endswith(b"}\n")
    assert "Grüße".encode() in one
    document = json.loads(one)
    assert list(document) == sorted(document)
    assert format_json("\ud800") == b'"\\ud800"\n'
