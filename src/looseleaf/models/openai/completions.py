"""OpenAI's protocol of chat completions: questions as JSON, and answers as chunks of JSON."""

from __future__ import annotations

import json
import uuid

from looseleaf.models.model import Answer, Message, ToolCall, Usage, describe_cut
from looseleaf.models.retries import ProviderFailure, describe_failure, extract_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.models.model import Question

# The fields in which servers send a model's reasoning; some servers require it back.
_THOUGHTS = ("reasoning_content", "reasoning")
_OF_A_CALL = ("index", "id", "type", "function")


def encode_request(model: str, provider: str, question: Question) -> bytes:
    """Encode a question as the body of a request for a stream."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": item} for item in question.system
    ]
    messages += [_build_message(item, provider) for item in question.messages]
    document: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if question.tools:
        document["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                },
            }
            for tool in question.tools
        ]
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _build_message(message: Message, provider: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if message.role == "user":
        return {"role": "user", "content": message.with_attachments}
    extra = _read_extra(message, provider)
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
            **extra.get("calls", {}).get(call.id, {}),
        }
        for call in message.calls
    ]
    document: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls:
        document["tool_calls"] = calls
    elif not message.text:
        document["content"] = ""
    return {**document, **extra.get("thoughts", {})}


def _read_extra(message: Message, provider: str) -> dict[str, Any]:
    """Read the further data of the same provider; data of another provider is ignored."""
    if not message.native.startswith(f'{{"provider": {json.dumps(provider)}'):
        return {}
    extra: dict[str, Any] = json.loads(message.native)
    return extra


class AnswerBuilder:
    """One answer, while its chunks come in."""

    def __init__(self, name: str) -> None:
        self.complete = False
        self._has_begun = False
        self._finish = ""
        self._name = name
        self._text: list[str] = []
        self._thoughts: dict[str, str] = {}
        self._calls: dict[object, dict[str, Any]] = {}
        self._usage = Usage(1)

    def add_chunk(self, chunk: dict[str, Any]) -> str:
        """Add a chunk, or a whole answer; return its text, or raise `ProviderFailure`."""
        if chunk.get("error"):
            code = (chunk["error"] if isinstance(chunk["error"], dict) else chunk).get("code")
            raise ProviderFailure(
                describe_failure(None, extract_message(chunk)),
                is_temporary=code in (429, 500, 502, 503),
            )
        if chunk.get("usage"):
            self._usage = _parse_usage(chunk["usage"])
        if not chunk.get("choices"):
            return ""
        choice = chunk["choices"][0]
        self._has_begun = True
        if choice.get("finish_reason"):
            self.complete, self._finish = True, choice["finish_reason"]
        delta = choice.get("delta") or choice.get("message") or {}
        for name in _THOUGHTS:
            if isinstance(delta.get(name), str):
                self._thoughts[name] = self._thoughts.get(name, "") + delta[name]
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        text = _extract_text(delta.get("content"))
        self._text.append(text)
        return text

    def end(self) -> None:
        """End the answer; not every server sends a finish reason with its last chunk."""
        self.complete = self._has_begun

    def _add_call(self, bit: dict[str, Any]) -> None:
        """Add a part of a call to its earlier parts; not every server numbers its calls."""
        key = bit.get("index")
        if key is None:
            key = bit.get("id") or next(reversed(self._calls), "")
        call = self._calls.setdefault(key, {"id": "", "name": "", "arguments": "", "more": {}})
        function = bit.get("function") or {}
        arguments = function.get("arguments") or ""
        call["id"] = call["id"] or bit.get("id") or ""
        call["name"] = call["name"] or function.get("name") or ""
        call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)
        call["more"] |= {name: field for name, field in bit.items() if name not in _OF_A_CALL}

    def answer(self) -> Answer:
        """Build the whole answer."""
        raw_calls = list(self._calls.values())
        for raw_call in raw_calls:
            raw_call["id"] = raw_call["id"] or f"call_{uuid.uuid4().hex}"
        calls = tuple(
            ToolCall(raw_call["id"], raw_call["name"], raw_call["arguments"] or "{}")
            for raw_call in raw_calls
        )
        beside = {raw_call["id"]: raw_call["more"] for raw_call in raw_calls if raw_call["more"]}
        extra: dict[str, Any] = {"provider": self._name.partition(":")[0]}
        extra |= {"thoughts": self._thoughts} if self._thoughts else {}
        extra |= {"calls": beside} if beside else {}
        native = json.dumps(extra) if len(extra) > 1 else ""
        message = Message(role="assistant", text="".join(self._text), calls=calls, native=native)
        return Answer(message, self._usage, self._name, warning=describe_cut(self._finish))


def _extract_text(content: object) -> str:
    """Return the text of the content, which some servers send in typed parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _parse_usage(counts: dict[str, Any]) -> Usage:
    details = counts.get("prompt_tokens_details") or {}
    return Usage(
        1,
        counts.get("prompt_tokens") or 0,
        counts.get("completion_tokens") or 0,
        details.get("cached_tokens") or 0,
    )
