"""A server on loopback with Anthropic's Messages API, whose answers a script fixes.

It does what its documentation says of streaming, tool use, extended thinking and errors, no more.
"""

from __future__ import annotations

import json
from typing import Any

from tests.models.scripted import Scripted, Stream

SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class ScriptedAnthropic(Scripted):
    """Messages, streamed."""

    prefix = ""
    key_header = "x-api-key"

    def error(self, status: int, message: str) -> str:
        """Return an error as the provider words it."""
        kind = ERRORS.get(status, "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}})

    def find_fault(self, request: dict[str, Any]) -> str:
        """Refuse what the provider refuses: calls without results, and the other way round."""
        if not request.get("max_tokens"):
            return "max_tokens: Field required"
        open_calls: list[str] = []
        for at, message in enumerate(request["messages"]):
            blocks = message["content"] if isinstance(message["content"], list) else []
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            if results != open_calls:
                return f"messages.{at}: tool_use ids {open_calls}, tool_result ids {results}"
            open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        return f"messages: tool_use ids without tool_result: {open_calls}" if open_calls else ""

    async def send_events(self, stream: Stream, request: dict[str, Any]) -> None:
        """Send a reply as a message of blocks."""
        reply, index = stream.reply, 0
        usage = {"input_tokens": 70, "output_tokens": 1}
        usage |= {"cache_creation_input_tokens": 10, "cache_read_input_tokens": 20}
        message: dict[str, Any] = {"id": f"msg_{len(self.requests)}", "type": "message"}
        message |= {"role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None}
        start = {**message, "model": request["model"], "usage": usage}
        await _say(stream, "message_start", message=start)
        await _say(stream, "ping")
        if reply.thought:
            content_block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": reply.thought}]
            deltas += [{"type": "signature_delta", "signature": SIGNATURE}]
            await _send_block(stream, index, content_block, deltas)
            index += 1
        if reply.text:
            content_block = {"type": "text", "text": ""}
            await _say(stream, "content_block_start", index=index, content_block=content_block)
            async for word in stream.words():
                delta = {"type": "text_delta", "text": word}
                await _say(stream, "content_block_delta", index=index, delta=delta)
            await _say(stream, "content_block_stop", index=index)
            index += 1
        for at, (name, arguments) in enumerate(reply.calls):
            call = f"toolu_{len(self.requests)}_{at}"
            tool = {"type": "tool_use", "id": call, "name": name, "input": {}}
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            bits = ("", text[: len(text) // 2], text[len(text) // 2 :])
            deltas = [{"type": "input_json_delta", "partial_json": bit} for bit in bits]
            await _send_block(stream, index, tool, deltas)
            index += 1
        reason = reply.finish or ("tool_use" if reply.calls else "end_turn")
        end = {"stop_reason": reason, "stop_sequence": None}
        output_usage = {"output_tokens": len(reply.text.split()) + 5}
        await _say(stream, "message_delta", delta=end, usage=output_usage)
        await _say(stream, "message_stop")


async def _send_block(
    stream: Stream, index: int, content_block: dict[str, Any], deltas: list[dict[str, Any]]
) -> None:
    await _say(stream, "content_block_start", index=index, content_block=content_block)
    for delta in deltas:
        await _say(stream, "content_block_delta", index=index, delta=delta)
    await _say(stream, "content_block_stop", index=index)


async def _say(stream: Stream, kind: str, **fields: object) -> None:
    await stream.say({"type": kind, **fields}, kind)
