"""A server on loopback that speaks Anthropic's language of Messages, as a script tells it.

As its documentation of streaming, tool use, extended thinking and errors has it, no more than that.
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
        """Give an error as the provider words it."""
        kind = ERRORS.get(status, "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}})

    def wrong(self, asked: dict[str, Any]) -> str:
        """Refuse what the provider refuses: calls without results, and the other way round."""
        if not asked.get("max_tokens"):
            return "max_tokens: Field required"
        waiting: list[str] = []
        for at, message in enumerate(asked["messages"]):
            blocks = message["content"] if isinstance(message["content"], list) else []
            results = [one["tool_use_id"] for one in blocks if one["type"] == "tool_result"]
            if results != waiting:
                return f"messages.{at}: tool_use ids {waiting}, tool_result ids {results}"
            waiting = [one["id"] for one in blocks if one["type"] == "tool_use"]
        return f"messages: tool_use ids without tool_result: {waiting}" if waiting else ""

    async def tell(self, stream: Stream, asked: dict[str, Any]) -> None:
        """Say a reply as a message of blocks."""
        reply, index = stream.reply, 0
        usage = {"input_tokens": 70, "output_tokens": 1}
        usage |= {"cache_creation_input_tokens": 10, "cache_read_input_tokens": 20}
        message: dict[str, Any] = {"id": f"msg_{len(self.requests)}", "type": "message"}
        message |= {"role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None}
        about = {**message, "model": asked["model"], "usage": usage}
        await _say(stream, "message_start", message=about)
        await _say(stream, "ping")
        if reply.thought:
            begun = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": reply.thought}]
            deltas += [{"type": "signature_delta", "signature": SIGNATURE}]
            await _block(stream, index, begun, deltas)
            index += 1
        if reply.text:
            begun = {"type": "text", "text": ""}
            await _say(stream, "content_block_start", index=index, content_block=begun)
            async for word in stream.words():
                delta = {"type": "text_delta", "text": word}
                await _say(stream, "content_block_delta", index=index, delta=delta)
            await _say(stream, "content_block_stop", index=index)
            index += 1
        for at, (name, given) in enumerate(reply.calls):
            call = f"toolu_{len(self.requests)}_{at}"
            tool = {"type": "tool_use", "id": call, "name": name, "input": {}}
            text = given if isinstance(given, str) else json.dumps(given)
            bits = ("", text[: len(text) // 2], text[len(text) // 2 :])
            deltas = [{"type": "input_json_delta", "partial_json": bit} for bit in bits]
            await _block(stream, index, tool, deltas)
            index += 1
        reason = reply.finish or ("tool_use" if reply.calls else "end_turn")
        end = {"stop_reason": reason, "stop_sequence": None}
        spoken = {"output_tokens": len(reply.text.split()) + 5}
        await _say(stream, "message_delta", delta=end, usage=spoken)
        await _say(stream, "message_stop")


async def _block(
    stream: Stream, index: int, begun: dict[str, Any], deltas: list[dict[str, Any]]
) -> None:
    await _say(stream, "content_block_start", index=index, content_block=begun)
    for delta in deltas:
        await _say(stream, "content_block_delta", index=index, delta=delta)
    await _say(stream, "content_block_stop", index=index)


async def _say(stream: Stream, kind: str, **told: object) -> None:
    await stream.say({"type": kind, **told}, kind)
