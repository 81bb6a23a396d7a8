"""A server on loopback with Google's Gemini API, whose answers a script fixes.

It does what its documentation says of `streamGenerateContent`, thought signatures and errors.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.models.scripted import Reply, Scripted, Send, Stream

SIGNATURE = base64.b64encode(b"what a model was thinking, in a form that only it can read").decode()
STATUSES = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def format_error(status: int, message: str, *details: dict[str, Any]) -> str:
    """Return an error as the provider words it."""
    error: dict[str, Any] = {"code": status, "message": message}
    error |= {"status": STATUSES.get(status, "UNKNOWN"), "details": list(details)}
    return json.dumps({"error": error})


class ScriptedGoogle(Scripted):
    """Content, generated in a stream."""

    prefix = ""
    key_header = "x-goog-api-key"

    def error(self, status: int, message: str) -> str:
        """Return an error as the provider words it."""
        return format_error(status, message)

    def find_fault(self, request: dict[str, Any]) -> str:
        """Refuse what the provider refuses: calls without results or without their signature."""
        open_calls: list[str] = []
        for content in request["contents"]:
            calls = [part for part in content["parts"] if "functionCall" in part]
            results = [part for part in content["parts"] if "functionResponse" in part]
            if [part["functionResponse"]["name"] for part in results] != open_calls:
                return "Each function call must be followed by its function response."
            if calls and "thoughtSignature" not in calls[0]:
                return "Function call is missing a thought_signature in functionCall parts."
            open_calls = [part["functionCall"]["name"] for part in calls]
        return "A function call has no function response." if open_calls else ""

    async def answer(self, send: Send, request: dict[str, Any], reply: Reply) -> None:
        """Send a reply as a stream; the address asks for that, not the request."""
        await super().answer(send, {**request, "stream": True}, reply)

    async def send_events(self, stream: Stream, _request: dict[str, Any]) -> None:
        """Send a reply in chunks of parts."""
        reply = stream.reply
        if reply.thought:
            await self._chunk(stream, {"text": reply.thought, "thought": True})
        async for word in stream.words():
            await self._chunk(stream, {"text": word})
        signature = {"thoughtSignature": SIGNATURE}
        for at, (name, call_arguments) in enumerate(reply.calls):
            arguments = (
                json.loads(call_arguments) if isinstance(call_arguments, str) else call_arguments
            )
            call = {"functionCall": {"name": name, "args": arguments}}
            await self._chunk(stream, call if at else {**call, **signature})
        last = {"text": "", **(signature if reply.thought and not reply.calls else {})}
        await self._chunk(stream, last, finishReason=reply.finish or "STOP")

    async def _chunk(self, stream: Stream, part: dict[str, Any], **fields: str) -> None:
        word_count = len(stream.reply.text.split()) + 5
        usage = {"promptTokenCount": 100, "cachedContentTokenCount": 20}
        usage |= {"candidatesTokenCount": word_count, "thoughtsTokenCount": 3}
        usage |= {"totalTokenCount": 103 + word_count}
        content = {"role": "model", "parts": [part]}
        metadata = {"usageMetadata": usage, "responseId": f"r{len(self.requests)}"}
        candidate = {"content": content, "index": 0, **fields}
        await stream.say({"candidates": [candidate], **metadata, "modelVersion": "scripted"})
