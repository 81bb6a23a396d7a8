"""OpenAI's language of chat completions: questions as JSON, and chunks of JSON as an answer."""

from __future__ import annotations

import json
import uuid

from looseleaf.models.model import Answer, Message, ToolCall, Usage, why_cut
from looseleaf.models.patient import Refusal, message_in, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.models.model import Question

# Where servers put what a model was thinking; some refuse to go on without having it back.
_THOUGHTS = ("reasoning_content", "reasoning")
_OF_A_CALL = ("index", "id", "type", "function")


def request_of(model: str, provider: str, question: Question) -> bytes:
    """Write down a question, to be answered as a stream."""
    told: list[dict[str, Any]] = [{"role": "system", "content": one} for one in question.system]
    told += [_message(one, provider) for one in question.messages]
    document: dict[str, Any] = {
        "model": model,
        "messages": told,
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


def _message(message: Message, provider: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if message.role == "user":
        return {"role": "user", "content": message.with_attachments}
    more = _more_of(message, provider)
    calls = [
        {
            "id": one.id,
            "type": "function",
            "function": {"name": one.name, "arguments": one.arguments},
            **more.get("calls", {}).get(one.id, {}),
        }
        for one in message.calls
    ]
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls:
        said["tool_calls"] = calls
    elif not message.text:
        said["content"] = ""
    return {**said, **more.get("thoughts", {})}


def _more_of(message: Message, provider: str) -> dict[str, Any]:
    """Read what the same provider said beside its answer; another's is nothing to this one."""
    if not message.native.startswith(f'{{"provider": {json.dumps(provider)}'):
        return {}
    more: dict[str, Any] = json.loads(message.native)
    return more


class Listener:
    """One answer, while its chunks come in."""

    def __init__(self, name: str) -> None:
        self.complete = False
        self._begun = False
        self._finish = ""
        self._name = name
        self._text: list[str] = []
        self._thoughts: dict[str, str] = {}
        self._calls: dict[object, dict[str, Any]] = {}
        self._usage = Usage(1)

    def hear(self, chunk: dict[str, Any]) -> str:
        """Take a chunk, or a whole answer; give the text in it, or raise `Refusal`."""
        if chunk.get("error"):
            code = (chunk["error"] if isinstance(chunk["error"], dict) else chunk).get("code")
            raise Refusal(told(None, message_in(chunk)), passing=code in (429, 500, 502, 503))
        if chunk.get("usage"):
            self._usage = _usage(chunk["usage"])
        if not chunk.get("choices"):
            return ""
        choice = chunk["choices"][0]
        self._begun = True
        if choice.get("finish_reason"):
            self.complete, self._finish = True, choice["finish_reason"]
        said = choice.get("delta") or choice.get("message") or {}
        for name in _THOUGHTS:
            if isinstance(said.get(name), str):
                self._thoughts[name] = self._thoughts.get(name, "") + said[name]
        for call in said.get("tool_calls") or ():
            self._hear_call(call)
        text = _text(said.get("content"))
        self._text.append(text)
        return text

    def end(self) -> None:
        """Be told that this was all; not every server gives a reason with its last chunk."""
        self.complete = self._begun

    def _hear_call(self, bit: dict[str, Any]) -> None:
        """Join a bit of a call to what came of it before; not every server counts its calls."""
        key = bit.get("index")
        if key is None:
            key = bit.get("id") or next(reversed(self._calls), "")
        call = self._calls.setdefault(key, {"id": "", "name": "", "arguments": "", "more": {}})
        function = bit.get("function") or {}
        arguments = function.get("arguments") or ""
        call["id"] = call["id"] or bit.get("id") or ""
        call["name"] = call["name"] or function.get("name") or ""
        call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)
        call["more"] |= {name: one for name, one in bit.items() if name not in _OF_A_CALL}

    def answer(self) -> Answer:
        """Give the whole."""
        made = list(self._calls.values())
        for one in made:
            one["id"] = one["id"] or f"call_{uuid.uuid4().hex}"
        calls = tuple(ToolCall(one["id"], one["name"], one["arguments"] or "{}") for one in made)
        beside = {one["id"]: one["more"] for one in made if one["more"]}
        more: dict[str, Any] = {"provider": self._name.partition(":")[0]}
        more |= {"thoughts": self._thoughts} if self._thoughts else {}
        more |= {"calls": beside} if beside else {}
        native = json.dumps(more) if len(more) > 1 else ""
        message = Message("assistant", "".join(self._text), calls, native=native)
        return Answer(message, self._usage, self._name, cut=why_cut(self._finish))


def _text(content: object) -> str:
    """Give the text of a content, which some servers send in typed parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _usage(told: dict[str, Any]) -> Usage:
    details = told.get("prompt_tokens_details") or {}
    return Usage(
        1,
        told.get("prompt_tokens") or 0,
        told.get("completion_tokens") or 0,
        details.get("cached_tokens") or 0,
    )
