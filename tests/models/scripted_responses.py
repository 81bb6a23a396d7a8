"""A server on loopback with OpenAI's Responses API, whose answers a script fixes.

It does what its documentation says of streaming, function calls and reasoning items, no more.
"""

from __future__ import annotations

import json
from typing import Any

from tests.models.scripted import Scripted, Stream

SIGNATURE = "gAAAAABoISQ24OyVRYbkYfukdJoqdzWT-encrypted"


class ScriptedResponses(Scripted):
    """Responses, streamed."""

    def find_fault(self, request: dict[str, Any]) -> str:
        """Refuse what the provider refuses: calls without results, and the other way round."""
        items = request["input"]
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        if calls != results:
            return f"No tool output found for function call: {calls} {results}"
        lonely = [
            item
            for item, after in zip(items, [*items[1:], {}], strict=True)
            if item.get("type") == "reasoning" and after.get("role", "assistant") != "assistant"
        ]
        return "Item of type 'reasoning' without its following item." if lonely else ""

    async def send_events(self, stream: Stream, request: dict[str, Any]) -> None:
        """Send a reply item by item."""
        reply, number = stream.reply, len(self.requests)
        response: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "created_at": 1}
        response |= {"model": request["model"], "parallel_tool_calls": True, "tool_choice": "auto"}
        response |= {"tools": [], "output": []}
        await _say(stream, "response.created", response={**response, "status": "in_progress"})
        output: list[dict[str, Any]] = []
        if reply.thought:
            reasoning = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
            output.append({**reasoning, "encrypted_content": SIGNATURE})
            at = {"output_index": 0}
            await _say(stream, "response.output_item.added", item=reasoning, **at)
            await _say(stream, "response.output_item.done", item=output[0], **at)
        if reply.text:
            output.append(await _send_message(stream, f"msg_{number}", len(output)))
        for name, arguments in reply.calls:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            place = f"{number}_{len(output)}"
            call = {"type": "function_call", "id": f"fc_{place}", "call_id": f"call_{place}"}
            call |= _build_tool_name(name, request.get("tools", []))
            output.append(await _send_call(stream, call, text, len(output)))
        word_count = len(reply.text.split()) + 5
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 20}}
        usage |= {"output_tokens": word_count, "output_tokens_details": {"reasoning_tokens": 3}}
        usage |= {"total_tokens": 100 + word_count}
        status = "incomplete" if reply.finish else "completed"
        result = {**response, "status": status, "output": output, "usage": usage}
        result |= {"incomplete_details": {"reason": reply.finish} if reply.finish else None}
        await _say(stream, f"response.{status}", response=result)


def _build_tool_name(name: str, tools: list[dict[str, Any]]) -> dict[str, str]:
    """Name a tool as the provider does: those of a namespace, here before `__`, by both names."""
    for tool in tools:
        space = tool.get("name", "") if tool.get("type") == "namespace" else ""
        if space and name.startswith(f"{space}__"):
            return {"name": name.removeprefix(f"{space}__"), "namespace": space}
    return {"name": name}


async def _send_message(stream: Stream, name: str, index: int) -> dict[str, Any]:
    item = {"type": "message", "id": name, "role": "assistant"}
    at = {"item_id": name, "output_index": index, "content_index": 0}
    new_item = {**item, "status": "in_progress", "content": []}
    await _say(stream, "response.output_item.added", output_index=index, item=new_item)
    part = {"type": "output_text", "text": "", "annotations": []}
    await _say(stream, "response.content_part.added", part=part, **at)
    async for word in stream.words():
        await _say(stream, "response.output_text.delta", delta=word, logprobs=[], **at)
    part = {**part, "text": stream.reply.text}
    await _say(stream, "response.output_text.done", text=stream.reply.text, logprobs=[], **at)
    await _say(stream, "response.content_part.done", part=part, **at)
    final_item = {**item, "status": "completed", "content": [part]}
    await _say(stream, "response.output_item.done", output_index=index, item=final_item)
    return final_item


async def _send_call(
    stream: Stream, call: dict[str, Any], arguments: str, index: int
) -> dict[str, Any]:
    at = {"item_id": call["id"], "output_index": index}
    new_item = {**call, "arguments": "", "status": "in_progress"}
    await _say(stream, "response.output_item.added", output_index=index, item=new_item)
    for bit in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
        await _say(stream, "response.function_call_arguments.delta", delta=bit, **at)
    kind = "response.function_call_arguments.done"
    await _say(stream, kind, arguments=arguments, name=call["name"], **at)
    final_item = {**call, "arguments": arguments, "status": "completed"}
    await _say(stream, "response.output_item.done", output_index=index, item=final_item)
    return final_item


async def _say(stream: Stream, kind: str, **fields: object) -> None:
    await stream.say({"type": kind, "sequence_number": 0, **fields}, kind)
