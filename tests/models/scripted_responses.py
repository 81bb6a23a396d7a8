"""A server on loopback that speaks OpenAI's language of Responses, as a script tells it.

As its documentation of streaming, function calls and reasoning items has it, no more than that.
"""

from __future__ import annotations

import json
from typing import Any

from tests.models.scripted import Scripted, Stream

SIGNATURE = "gAAAAABoISQ24OyVRYbkYfukdJoqdzWT-encrypted"


class ScriptedResponses(Scripted):
    """Responses, streamed."""

    def wrong(self, asked: dict[str, Any]) -> str:
        """Refuse what the provider refuses: calls without results, and the other way round."""
        items = asked["input"]
        calls = [one["call_id"] for one in items if one.get("type") == "function_call"]
        results = [one["call_id"] for one in items if one.get("type") == "function_call_output"]
        if calls != results:
            return f"No tool output found for function call: {calls} {results}"
        lonely = [
            one
            for one, after in zip(items, [*items[1:], {}], strict=True)
            if one.get("type") == "reasoning" and after.get("role", "assistant") != "assistant"
        ]
        return "Item of type 'reasoning' without its following item." if lonely else ""

    async def tell(self, stream: Stream, asked: dict[str, Any]) -> None:
        """Say a reply item by item."""
        reply, number = stream.reply, len(self.requests)
        about: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "created_at": 1}
        about |= {"model": asked["model"], "parallel_tool_calls": True, "tool_choice": "auto"}
        about |= {"tools": [], "output": []}
        await _say(stream, "response.created", response={**about, "status": "in_progress"})
        output: list[dict[str, Any]] = []
        if reply.thought:
            thought = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
            output.append({**thought, "encrypted_content": SIGNATURE})
            at = {"output_index": 0}
            await _say(stream, "response.output_item.added", item=thought, **at)
            await _say(stream, "response.output_item.done", item=output[0], **at)
        if reply.text:
            output.append(await _message(stream, f"msg_{number}", len(output)))
        for name, given in reply.calls:
            text = given if isinstance(given, str) else json.dumps(given)
            place = f"{number}_{len(output)}"
            call = {"type": "function_call", "id": f"fc_{place}", "call_id": f"call_{place}"}
            call |= _called(name, asked.get("tools", []))
            output.append(await _call(stream, call, text, len(output)))
        spoken = len(reply.text.split()) + 5
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 20}}
        usage |= {"output_tokens": spoken, "output_tokens_details": {"reasoning_tokens": 3}}
        usage |= {"total_tokens": 100 + spoken}
        status = "incomplete" if reply.finish else "completed"
        whole = {**about, "status": status, "output": output, "usage": usage}
        whole |= {"incomplete_details": {"reason": reply.finish} if reply.finish else None}
        await _say(stream, f"response.{status}", response=whole)


def _called(name: str, tools: list[dict[str, Any]]) -> dict[str, str]:
    """Name a tool as the provider does: those of a namespace, here before `__`, by both names."""
    for tool in tools:
        space = tool.get("name", "") if tool.get("type") == "namespace" else ""
        if space and name.startswith(f"{space}__"):
            return {"name": name.removeprefix(f"{space}__"), "namespace": space}
    return {"name": name}


async def _message(stream: Stream, name: str, index: int) -> dict[str, Any]:
    item = {"type": "message", "id": name, "role": "assistant"}
    at = {"item_id": name, "output_index": index, "content_index": 0}
    begun = {**item, "status": "in_progress", "content": []}
    await _say(stream, "response.output_item.added", output_index=index, item=begun)
    part = {"type": "output_text", "text": "", "annotations": []}
    await _say(stream, "response.content_part.added", part=part, **at)
    async for word in stream.words():
        await _say(stream, "response.output_text.delta", delta=word, logprobs=[], **at)
    part = {**part, "text": stream.reply.text}
    await _say(stream, "response.output_text.done", text=stream.reply.text, logprobs=[], **at)
    await _say(stream, "response.content_part.done", part=part, **at)
    done = {**item, "status": "completed", "content": [part]}
    await _say(stream, "response.output_item.done", output_index=index, item=done)
    return done


async def _call(stream: Stream, call: dict[str, Any], arguments: str, index: int) -> dict[str, Any]:
    at = {"item_id": call["id"], "output_index": index}
    begun = {**call, "arguments": "", "status": "in_progress"}
    await _say(stream, "response.output_item.added", output_index=index, item=begun)
    for bit in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
        await _say(stream, "response.function_call_arguments.delta", delta=bit, **at)
    kind = "response.function_call_arguments.done"
    await _say(stream, kind, arguments=arguments, name=call["name"], **at)
    done = {**call, "arguments": arguments, "status": "completed"}
    await _say(stream, "response.output_item.done", output_index=index, item=done)
    return done


async def _say(stream: Stream, kind: str, **told: object) -> None:
    await stream.say({"type": kind, "sequence_number": 0, **told}, kind)
