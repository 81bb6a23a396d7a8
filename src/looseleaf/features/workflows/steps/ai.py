"""The step `ai`: the agent's model answers, given the packets and the prompt of the flow."""

from __future__ import annotations

import json
import re

from looseleaf.errors.features import InvalidStep
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.sources import cut_text
from looseleaf.features.workflows.step import StepOutcome, StepType
from looseleaf.models.model import Message
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.features.workflows.packet import Packet
    from looseleaf.features.workflows.step import StepRun, ToolExecution, TurnResult

MOST_PACKETS = 50
MOST_CHARACTERS = 400_000  # of all packets together
MOST_TOOLS = 200
_LONGEST_SUMMARY = 4_000
_TITLE = re.compile(r"\s*#{1,2} +(\S[^\n]{0,200})\n")
_QUEUED = ("drain", "loop")  # modes in which an empty queue means that nothing is to be done


def run_ai(run: StepRun) -> StepOutcome:
    """Have the model answer, and return its answer and the results of its tools as packets."""
    if not run.job.agent_id:
        raise InvalidStep(run.step.id, "the job has no agent, and a model answers as one")
    queue_prompt = run.parts.take_prompt(run)
    if queue_prompt is None and run.flow.queue_mode in _QUEUED:
        return StepOutcome(status="no_items", reason="The prompt queue of the flow is empty.")
    prompt = queue_prompt or run.settings.get("prompt", "")
    messages = create_messages(run.packets, prompt)
    if not messages:
        raise InvalidStep(
            run.step.id, "there is neither a packet nor a prompt; give the step or flow a prompt"
        )
    run.report_progress("asks the model")
    result = run.parts.run_turn(run, messages)
    if not result.is_complete:
        reason = f"The model {result.model} did not come to an end within its limit of questions."
        return StepOutcome(status="failed", reason=reason, usage=result.usage)
    return create_outcome(run, result)


def create_messages(packets: tuple[Packet, ...], prompt: str) -> tuple[Message, ...]:
    """Return the messages to the model: the packets as JSON, newest first, then the prompt."""
    messages = []
    if packets:
        documents = _fit([packet.to_json() for packet in packets[:MOST_PACKETS]])
        text = json.dumps({"data_packets": documents}, ensure_ascii=False)
        messages.append(Message(role="user", text=text))
    if prompt.strip():
        messages.append(Message(role="user", text=prompt))
    return tuple(messages)


def _fit(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop the oldest packets if all together are too long; the newest stays."""
    newest: list[dict[str, Any]] = []
    size = 0
    for document in documents:
        size += len(json.dumps(document, ensure_ascii=False))
        if newest and size > MOST_CHARACTERS:
            break
        newest.append(document)
    return newest


def create_outcome(run: StepRun, result: TurnResult) -> StepOutcome:
    """Return the answer of the model and the results of its tools as the outcome of the step."""
    now = run.parts.clock()
    tools = [describe_tool(tool) for tool in result.tools[:MOST_TOOLS]]
    artifacts = run.parts.keep_transcript(run, result)
    metadata: dict[str, Any] = {
        "tools": [tool["tool_name"] for tool in tools],
        "session_id": result.session_id,
        "artifact_files": [as_dict(artifact) for artifact in artifacts],
    }
    answer = {"content": result.text, "model": result.model}
    if title := _find_title(run, result.text):
        answer["title"] = title
    packets = [create_packet("ai_response", answer, now=now, metadata=metadata)]
    packets += [
        create_packet("tool_result", run.parts.mask.mask(tool), now=now) for tool in reversed(tools)
    ]
    writes = tuple(write for tool in result.tools for write in tool.writes)
    references = tuple(artifact.ref for artifact in artifacts)
    return StepOutcome(
        packets=tuple(packets), usage=result.usage, writes=writes, artifacts=references
    )


def describe_tool(tool: ToolExecution) -> dict[str, Any]:
    """Return a call of a tool as plain JSON, its texts cut."""
    arguments = {
        name: cut_text(entry, _LONGEST_SUMMARY) if isinstance(entry, str) else entry
        for name, entry in tool.arguments.items()
    }
    return {
        "tool_name": tool.name,
        "success": tool.success,
        "content": cut_text(tool.summary, _LONGEST_SUMMARY),
        "arguments": arguments,
        "writes": [
            {"layer": w.layer, "file": w.filename, "revision": w.revision} for w in tool.writes
        ],
    }


def _find_title(run: StepRun, text: str) -> str:
    """Return the heading that the answer begins with, or the title of the newest item."""
    heading = _TITLE.match(text + "\n")
    if heading:
        return heading[1].strip()
    titles = (packet.data.get("title", "") for packet in run.packets)
    return next((title for title in titles if isinstance(title, str) and title), "")


AI = StepType(
    name="ai",
    label="AI",
    description="Let the agent's model work on the packets with its memory and its tools.",
    run=run_ai,
    gives=("ai_response", "tool_result"),
    has_effect=True,
    settings={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "prompt": {
                "type": "string",
                "maxLength": 100_000,
                "title": "Prompt",
                "description": "What the model is told if the flow's prompt queue is empty.",
            },
            "max_turns": {
                "type": "integer",
                "minimum": 1,
                "maximum": 50,
                "title": "Most questions",
                "description": (
                    "How often the model is asked, once after each use of tools; without it, the "
                    "setting chat_turn_limit decides."
                ),
            },
            "enabled_tools": {
                "type": "array",
                "maxItems": 200,
                "items": {"type": "string", "maxLength": 100, "format": "tool"},
                "title": "Only these tools",
                "description": "The tools that the model gets; without it, those of its policy.",
            },
            "disabled_tools": {
                "type": "array",
                "maxItems": 200,
                "items": {"type": "string", "maxLength": 100, "format": "tool"},
                "title": "Not these tools",
                "description": "Tools that the model is not given.",
            },
            "persist_transcripts": {
                "type": "boolean",
                "title": "Keep the transcript",
                "description": (
                    "Whether the messages of the turn are kept as an artifact; without it, the "
                    "setting pipeline_transcripts decides."
                ),
            },
        },
    },
)
