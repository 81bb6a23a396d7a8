"""A server on loopback that speaks Google's language of Gemini, as a script tells it.

As its documentation of `streamGenerateContent`, thought signatures and errors has it, no more.
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


def refused(status: int, message: str, *details: dict[str, Any]) -> str:
    """Give an error as the provider words it."""
    error: dict[str, Any] = {"code": status, "message": message}
    error |= {"status": STATUSES.get(status, "UNKNOWN"), "details": list(details)}
    return json.dumps({"error": error})


class ScriptedGoogle(Scripted):
    """Content, generated in a stream."""

    prefix = ""
    key_header = "x-goog-api-key"

    def error(self, status: int, message: str) -> str:
        """Give an error as the provider words it."""
        return refused(status, message)

    def wrong(self, asked: dict[str, Any]) -> str:
        """Refuse what the provider refuses: calls without results or without their signature."""
        waiting: list[str] = []
        for content in asked["contents"]:
            calls = [part for part in content["parts"] if "functionCall" in part]
            results = [part for part in content["parts"] if "functionResponse" in part]
            if [one["functionResponse"]["name"] for one in results] != waiting:
                return "Each function call must be followed by its function response."
            if calls and "thoughtSignature" not in calls[0]:
                return "Function call is missing a thought_signature in functionCall parts."
            waiting = [one["functionCall"]["name"] for one in calls]
        return "A function call has no function response." if waiting else ""

    async def answer(self, send: Send, asked: dict[str, Any], reply: Reply) -> None:
        """Say a reply bit by bit; that is asked for by the address, not in the request."""
        await super().answer(send, {**asked, "stream": True}, reply)

    async def tell(self, stream: Stream, _asked: dict[str, Any]) -> None:
        """Say a reply in chunks of parts."""
        reply = stream.reply
        if reply.thought:
            await self._chunk(stream, {"text": reply.thought, "thought": True})
        async for word in stream.words():
            await self._chunk(stream, {"text": word})
        signed = {"thoughtSignature": SIGNATURE}
        for at, (name, given) in enumerate(reply.calls):
            arguments = json.loads(given) if isinstance(given, str) else given
            call = {"functionCall": {"name": name, "args": arguments}}
            await self._chunk(stream, call if at else {**call, **signed})
        last = {"text": "", **(signed if reply.thought and not reply.calls else {})}
        await self._chunk(stream, last, finishReason=reply.finish or "STOP")

    async def _chunk(self, stream: Stream, part: dict[str, Any], **more: str) -> None:
        spoken = len(stream.reply.text.split()) + 5
        usage = {"promptTokenCount": 100, "cachedContentTokenCount": 20}
        usage |= {"candidatesTokenCount": spoken, "thoughtsTokenCount": 3}
        usage |= {"totalTokenCount": 103 + spoken}
        content = {"role": "model", "parts": [part]}
        about = {"usageMetadata": usage, "responseId": f"r{len(self.requests)}"}
        candidate = {"content": content, "index": 0, **more}
        await stream.say({"candidates": [candidate], **about, "modelVersion": "scripted"})
