"""A conversation in words: no JSON of a tool call reaches a page."""

from __future__ import annotations

from looseleaf.features.chat.session_operations import MessageInfo
from looseleaf.features.chat.views import MOST_CHARACTERS, describe_call, describe_value
from looseleaf.models.model import ToolCall


def result(content: str, *, failed: bool = False) -> MessageInfo:
    """Return the result of a tool as a session has it."""
    return MessageInfo(
        number=2, turn=1, time="2026-04-17T00:00:00Z", role="tool", content=content, failed=failed
    )


def test_a_call_is_said_in_words() -> None:
    """Its action, its arguments and what it gave."""
    call = ToolCall("c", "agent_memory", '{"action": "append", "section": "Facts", "limit": 3}')
    use = describe_call(call, result('{"success": true, "data": {"changed": true, "a": [1, 2]}}'))
    assert (use.action, use.error) == ("append", "")
    assert use.arguments == (("section", "Facts"), ("limit", "3"))
    assert use.result == (("changed", "yes"), ("a", "1\n2"))


def test_a_refusal_is_its_sentence() -> None:
    """Without its code."""
    failure = '{"success": false, "error": "No such page.", "error_code": "page_missing"}'
    use = describe_call(ToolCall("c", "t"), result(failure, failed=True))
    assert (use.error, use.result) == ("No such page.", ())
    assert describe_call(ToolCall("c", "t"), result("Interrupted.", failed=True)).error


def test_what_is_no_json_is_shown_as_it_is() -> None:
    """A model may write anything."""
    use = describe_call(ToolCall("c", "t", "{broken"), result("plain words"))
    assert use.arguments == (("text", "{broken"),)
    assert use.result == (("text", "plain words"),)
    assert not describe_call(ToolCall("c", "t"), None).has_result


def test_long_values_are_cut_and_nested_ones_are_lines() -> None:
    """A page stays readable."""
    long = describe_call(ToolCall("c", "t", '{"content": "%s"}' % ("x" * 9000)), None)
    assert len(long.arguments[0][1]) == MOST_CHARACTERS
    assert describe_value({"a": None, "b": {"c": False}}) == "a: nothing\nb: c: no"
