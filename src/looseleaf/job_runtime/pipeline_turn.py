"""A turn in pipeline mode: the agent's model answers the packets of a job, with its tools.

The turn is a turn of a conversation like any other, saved step by step under a lease. Its request
is the key of the step's effect: a process that continues the job goes on with the same turn and
asks nothing that was answered before. A call of a tool that was interrupted is found in the history
of the page that it changed; a call that has changed nothing yet is made now, if it can change
nothing but pages.
"""

from __future__ import annotations

import json

from looseleaf.catalog.prompt_assembly import build_request, compose
from looseleaf.catalog.tools.agent_turns import choose_step_limit, model_of, run_call
from looseleaf.catalog.tools.memory_tools import MODEL_TOOLS
from looseleaf.catalog.tools.model_tools import list_model_tools
from looseleaf.catalog.tools.operation_tools import list_operation_tools, pick_tool
from looseleaf.catalog.workflows.workflow_tools import narrow_tools
from looseleaf.chat.events import ToolCalled, TurnEnded
from looseleaf.chat.parts import chats_of
from looseleaf.chat.session import Opening
from looseleaf.chat.turn import Result, TurnRunner, TurnSetup
from looseleaf.errors.operations import ToolMissing
from looseleaf.job_runtime.job_rights import JobRights, require_job_rights
from looseleaf.memory.provenance import JOB, Activity
from looseleaf.memory.scope import Shelf, Where
from looseleaf.models.model import Message, Offer
from looseleaf.values import replace
from looseleaf.workflows.effects import find_effect, note_changes
from looseleaf.workflows.job import MemoryWrite
from looseleaf.workflows.parts import resources_of
from looseleaf.workflows.prompt_parts import (
    build_flow_part,
    build_pipeline_part,
    read_context_files,
)
from looseleaf.workflows.step_parts import ToolExecution, TurnResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.chat.session import BegunTurn
    from looseleaf.memory.scope import Scope
    from looseleaf.models.model import ToolCall
    from looseleaf.prompt.request import Request
    from looseleaf.workflows.step_run import StepRun

SOURCE = "pipeline"
_CLOCK_STEP = 2.0  # seconds by which the time of a file may be imprecise


def run_pipeline_turn(context: Context, run: StepRun, messages: tuple[Message, ...]) -> TurnResult:
    """Run or resume the turn of a step, and return its end."""
    request = build_pipeline_request(context, run)
    model = model_of(context, request.agent, SOURCE, "")
    chats = chats_of(context.parts)
    opening = Opening(
        session="",
        owner=request.user,
        agent=request.agent.id,
        mode=SOURCE,
        message=messages[0],
        title=f"{run.pipeline.name or run.job.label}: {run.step.title}"[:100],
        request=run.effect_key,
        model=model.name,
        source=SOURCE,
    )
    rights = JobRights(context, run.job)
    start = chats.turns.begin(opening)
    if start.lease is None:
        return _read_result(context, run, start.session.id)
    agent_context = replace(context, actor=request.agent.slug, surface=SOURCE, reason="", origin="")

    def run_tool_call(call: ToolCall) -> Result:
        return _run_call(agent_context, run, request, call)

    saved_messages = [entry.message for entry in chats.sessions.messages(start.session.id)]
    if len(saved_messages) < len(messages):
        # The turn is new, or its first process died when it had saved the first message alone.
        chats.turns.append(start.lease, messages[len(saved_messages) :])
    for message in _settle_calls(context, run, start, saved_messages, run_tool_call):
        chats.turns.append(start.lease, (message,))
    setup = TurnSetup(
        model=model,
        system=lambda: _compose_system(context, request),
        offers=tuple(
            Offer(tool.name, tool.description, tool.parameters)
            for tool in list_model_tools(agent_context, request)
        ),
        run=run_tool_call,
        limit=run.settings.get("max_turns") or choose_step_limit(context, request.agent),
        should_stop=lambda: run.is_cancelled() or rights.is_lost(),
    )
    end: TurnEnded | None = None
    for event in TurnRunner(chats, start, start.lease, setup).run():
        if isinstance(event, ToolCalled):
            run.report_progress(f"calls {event.tool}")
        elif isinstance(event, TurnEnded):
            end = event
    if rights.is_lost():
        require_job_rights(context, run.job)  # raises the reason that ended the turn
    result = _read_result(context, run, start.session.id)
    return replace(result, is_complete=end is not None and end.status == "completed")


def build_pipeline_request(context: Context, run: StepRun) -> Request:
    """Build the request of a step: agent, user, and the memory and tools of its workflow."""
    uploads = resources_of(context.parts).uploads
    context_files = read_context_files(uploads, run.pipeline.id) if run.pipeline.id else ()
    return build_request(
        context.with_permission("read"),
        SOURCE,
        where=Where(run.job.agent_id, run.job.user_id or None),
        pipeline=build_pipeline_part(run.pipeline, run.step.id, context_files),
        flow=build_flow_part(run.flow),
        **narrow_tools(context.parts.operations(), run.pipeline, run.settings),
    )


def _compose_system(context: Context, request: Request) -> tuple[str, ...]:
    return compose(
        context.with_permission("read"),
        request.mode,
        where=Where(request.agent.id, request.user),
        pipeline=request.pipeline,
        flow=request.flow,
    ).messages


def _run_call(context: Context, run: StepRun, request: Request, call: ToolCall) -> Result:
    """Run a tool as the agent; its change of a page carries the key of the call."""
    key = _call_key(run, call)
    pages = note_changes(context.pages, run.parts.intents, key)
    return run_call(replace(context, pages=pages, activity=Activity(JOB, key)), request, call)


def _call_key(run: StepRun, call: ToolCall) -> str:
    plain = "".join(letter for letter in call.id if letter.isascii() and letter.isalnum())
    return f"{run.effect_key}/{plain[:80]}"


def _settle_calls(
    context: Context,
    run: StepRun,
    start: BegunTurn,
    messages: list[Message],
    run_tool_call: Callable[[ToolCall], Result],
) -> Iterator[Message]:
    """Find calls of tools that a killed process made, and return the results it could not save.

    A call whose change is in the history was made. A call without a change is made now, if it can
    change nothing but pages; else it gets no result, and the model learns of the interruption.
    """
    result_ids = {message.call for message in messages if message.role == "tool"}
    calls = [call for message in messages for call in message.calls if call.id not in result_ids]
    pages = _list_changed_pages(context, run, since=start.turn.started) if calls else []
    for call in calls:
        text = _find_result(run, call, pages)
        if text:
            yield Message(role="tool", text=text, call=call.id, name=call.name)
        elif _can_repeat(context, call):
            result = run_tool_call(call)
            yield Message(
                role="tool", text=result.text, call=call.id, name=call.name, failed=result.failed
            )


def _find_result(run: StepRun, call: ToolCall, pages: list[Scope]) -> str:
    """Return the result of a call that has changed a page, or "" if none was changed."""
    change = run.parts.change(run, "append", origin="agent")
    for scope in pages:
        revision = find_effect(run.parts, scope, _call_key(run, call), change)
        if revision is not None:
            data = {"filename": scope.filename, "revision": revision, "changed": True}
            envelope = {"success": True, "data": data, "tool_name": call.name}
            return json.dumps(envelope, ensure_ascii=False)
    return ""


def _can_repeat(context: Context, call: ToolCall) -> bool:
    """Return whether a call that has changed no page can be made again."""
    if call.name in MODEL_TOOLS:
        return True
    try:
        operation = pick_tool(list_operation_tools(context), call.name).operation
    except ToolMissing:
        return True  # an error for the model to read, and nothing else
    is_of_memory = bool({"memory", "daily"} & {*operation.categories})
    return operation.read_only or (is_of_memory and not operation.destructive)


def _list_changed_pages(context: Context, run: StepRun, *, since: float) -> list[Scope]:
    """List the pages of the agent and its user that changed since the turn began."""
    pages = context.parts.pages
    shelves = [context.parts.agents.resolve(run.job.agent_id).shelf]
    if run.job.user_id:
        shelves.append(Shelf("user", run.job.user_id))
    return [
        shelf.page(entry.filename)
        for shelf in shelves
        for entry in pages.list(shelf)
        if entry.updated >= since - _CLOCK_STEP
    ]


def _read_result(context: Context, run: StepRun, session_id: str) -> TurnResult:
    """Return the end of a turn as it was saved, by whichever process."""
    chats = chats_of(context.parts)
    messages = tuple(entry.message for entry in chats.sessions.messages(session_id))
    turn = chats.turns.list(session_id)[-1]
    answers = [message.text for message in messages if message.role == "assistant"]
    results = {message.call: message for message in messages if message.role == "tool"}
    tools = tuple(
        _describe_call(context, run, call, results.get(call.id))
        for message in messages
        for call in message.calls
    )
    text = answers[-1] if answers else ""
    return TurnResult(
        text=text,
        model=turn.model,
        usage=turn.usage,
        tools=tools,
        transcript=messages,
        is_complete=True,
        session_id=session_id,
    )


def _describe_call(
    context: Context, run: StepRun, call: ToolCall, result: Message | None
) -> ToolExecution:
    arguments = _read_json(call.arguments)
    if result is None:
        return ToolExecution(call.name, arguments, False, "It was interrupted.")
    data = _read_json(result.text).get("data")
    writes: tuple[MemoryWrite, ...] = ()
    if not result.failed and isinstance(data, dict) and isinstance(data.get("revision"), int):
        writes = _describe_write(context, run, call, data)
    return ToolExecution(call.name, arguments, not result.failed, result.text, writes)


def _describe_write(
    context: Context, run: StepRun, call: ToolCall, data: dict[str, Any]
) -> tuple[MemoryWrite, ...]:
    file = data.get("filename") or data.get("file")
    if not isinstance(file, str) or not data.get("changed", True):
        return ()
    layer = context.parts.pages.registry.layer_of(file)
    user_id = run.job.user_id if layer == "user" else 0
    agent_id = run.job.agent_id if layer == "agent" else 0
    return (MemoryWrite(layer, user_id, agent_id, file, data["revision"], call.name),)


def _read_json(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
