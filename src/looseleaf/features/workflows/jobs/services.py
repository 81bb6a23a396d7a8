"""What the steps of a job may use, with the rights of the job's agent and no others."""

from __future__ import annotations

import json

from looseleaf.access.accounts import build_user_principal, find_job_requirement
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.json_values import to_json_value
from looseleaf.catalog.model_tools import list_model_tools
from looseleaf.catalog.operation_tools import list_operation_tools, pick_tool
from looseleaf.catalog.page_access import bind_to_agent
from looseleaf.catalog.prompt_assembly import build_request, compose
from looseleaf.catalog.resolution import scope_of
from looseleaf.catalog.tool_access import MODEL_TOOLS, confine_to_agent
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.errors.features import InvalidStep, JobForbidden
from looseleaf.errors.operations import SessionBusy, ToolMissing
from looseleaf.features.chat.events import ToolCalled, TurnEnded
from looseleaf.features.chat.session import Opening, chats_of
from looseleaf.features.chat.turn import (
    Result,
    TurnRunner,
    TurnSetup,
    choose_step_limit,
    model_of,
    run_call,
)
from looseleaf.features.workflows.access import narrow_tools
from looseleaf.features.workflows.artifacts import SecretMask, list_secrets
from looseleaf.features.workflows.jobs.effects import find_effect, note_changes
from looseleaf.features.workflows.jobs.folders import (
    build_tool_trace,
    build_transcript,
    format_json,
)
from looseleaf.features.workflows.jobs.job import MemoryWrite
from looseleaf.features.workflows.operations.system_tasks import describe_run
from looseleaf.features.workflows.packet import Packet, parse_packet
from looseleaf.features.workflows.parts import definitions_of, resources_of, system_tasks_of
from looseleaf.features.workflows.prompt_parts import (
    build_flow_part,
    build_pipeline_part,
    read_context_files,
)
from looseleaf.features.workflows.step import ToolExecution, TurnResult
from looseleaf.features.workflows.system_tasks import (
    MANUAL,
    SCHEDULE,
    RunRequest,
    TaskPrompts,
    derive_run_id,
    run_task,
)
from looseleaf.memory.provenance import JOB, Activity
from looseleaf.memory.scope import Shelf, Where
from looseleaf.models.model import Message, Offer
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.access.principals import Principal
    from looseleaf.catalog.context import Context
    from looseleaf.features.chat.session import BegunTurn
    from looseleaf.features.workflows.artifacts import ArtifactFile
    from looseleaf.features.workflows.jobs.job import Job
    from looseleaf.features.workflows.jobs.queue import Jobs, JobState
    from looseleaf.features.workflows.step import (
        EffectIntents,
        JobFiles,
        OutgoingRequests,
        ProcessedItems,
        PublishFolders,
        StepRun,
    )
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.provenance import Origin
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Change
    from looseleaf.models.model import ToolCall
    from looseleaf.prompt.request import Request
    from looseleaf.settings import Settings, WordPressSite


# The right of a job to go on: that of its user on its agent, at the time of each step.


def require_job_rights(context: Context, job: Job) -> Principal | None:
    """Return the user of a job with the rights of now, or raise `JobForbidden`.

    A user who may no longer run the job is refused before its next step. Looseleaf's own jobs have
    no user (None): they run whether the owner of the agent is active or not.
    """
    agent = context.parts.agents.resolve(job.agent_id)
    if job.source == "system":
        return None
    user_id = job.user_id or agent.owner
    accounts = context.parts.accounts()
    principal = build_user_principal(accounts, user_id, agent_id=agent.id, name=agent.slug)
    requirement = find_job_requirement(principal, agent.shelf, agent.owner)
    if requirement is not None:
        raise JobForbidden(user_id, agent.slug, requirement)
    return principal


class JobRights:
    """The rights of a job while one of its turns runs; they are read again when accounts change."""

    def __init__(self, context: Context, job: Job) -> None:
        self._context, self._job = context, job
        self._version = context.parts.accounts().version()
        self._is_lost = False

    def is_lost(self) -> bool:
        """Return whether the user of the job may no longer run it."""
        version = self._context.parts.accounts().version()
        if version != self._version and not self._is_lost:
            try:
                require_job_rights(self._context, self._job)
            except JobForbidden:
                self._is_lost = True
            self._version = version
        return self._is_lost


# A turn in pipeline mode: the agent's model answers the packets of a job, with its tools.
# The turn is a turn of a conversation like any other, saved step by step under a lease. Its
# request is the key of the step's effect: a process that continues the job goes on with the
# same turn and asks nothing that was answered before. A call of a tool that was interrupted is
# found in the history of the page that it changed; a call that has changed nothing yet is made
# now, if it can change nothing but pages.


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
    user_id = run.job.user_id if layer in ("user", "principal") else 0
    agent_id = run.job.agent_id if layer in ("agent", "principal") else 0
    return (MemoryWrite(layer, user_id, agent_id, file, data["revision"], call.name),)


def _read_json(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


SURFACE = "pipeline"


class JobStepServices:
    """The services of a workspace as the steps of one job see them."""

    def __init__(self, context: Context, job: Job, intents: EffectIntents) -> None:
        self._context, self._job = context, job
        self.intents = intents
        self._agent_context = act_in_job(context, job)
        self._resources = resources_of(context.parts)
        self.mask = SecretMask(list_secrets(context.settings))

    @property
    def pages(self) -> MemoryPages:
        """The pages that the agent may reach."""
        return self._agent_context.pages

    @property
    def history(self) -> History:
        """The history of these pages."""
        return self._agent_context.history

    @property
    def requests(self) -> OutgoingRequests:
        """Outgoing requests, to the hosts of the allow-list and to the sites of the settings."""
        return self._resources.http_client()

    @property
    def processed_items(self) -> ProcessedItems:
        """The items that were processed before."""
        return self._resources.processed_items()

    @property
    def files(self) -> JobFiles:
        """The files of flows and jobs."""
        return self._resources.files

    @property
    def publish_folders(self) -> PublishFolders:
        """The folders that may be published to."""
        return self._resources.publish_folders

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""
        return self._context.clock()

    def find_site(self, name: str) -> WordPressSite:
        """Return a site of the settings, or raise `InvalidStep`."""
        sites = {site.name: site for site in self._context.settings.wordpress_sites}
        if name not in sites:
            names = ", ".join(sorted(sites)) or "none"
            reason = f"the setting wordpress_sites of looseleaf.toml names: {names}"
            raise InvalidStep("publish", f"there is no site {name!r}; {reason}")
        return sites[name]

    def page_scope(self, run: StepRun, file: str, permission: str) -> Scope:
        """Return the page of a name, or raise if the agent may not make this change."""
        if not self._job.agent_id:
            raise InvalidStep(run.step.id, "the job has no agent whose memory it could change")
        return scope_of(
            self._agent_context.with_permission(permission), file, Where(self._job.agent_id)
        )

    def change(self, run: StepRun, operation: str, *, origin: Origin) -> Change:
        """Return a change by the agent, made in this job."""
        reason = f"{run.pipeline.name}: {run.step.title}" if run.pipeline.name else run.step.title
        return self._agent_context.change(operation, reason=reason, origin=origin)

    def take_prompt(self, run: StepRun) -> str | None:
        """Pop the flow's next queued prompt, idempotently per job step; return None if empty."""
        if not run.flow.id:
            return None
        return definitions_of(self._context.parts).flows.take_prompt(run.flow.id, run.effect_key)

    def run_turn(self, run: StepRun, messages: tuple[Message, ...]) -> TurnResult:
        """Have the agent's model answer messages in pipeline mode, with its tools."""
        return run_pipeline_turn(self._context, run, messages)

    def keep_transcript(self, run: StepRun, result: TurnResult) -> tuple[ArtifactFile, ...]:
        """Keep the tool trace, and the transcript if that is wanted."""
        files = self.files
        artifacts = []
        if result.tools:
            trace = format_json(build_tool_trace(result.tools, self.mask))
            artifacts.append(files.write_artifact(self._job.id, f"tool-trace/{run.step.id}", trace))
        if wants_transcript(run.settings, self._context.settings):
            transcript = format_json(build_transcript(result.transcript, self.mask))
            artifacts.append(
                files.write_artifact(self._job.id, f"transcript/{run.step.id}", transcript)
            )
        return tuple(artifacts)

    def run_task(self, run: StepRun, task_type: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run a system task for the job's agent and return its runs.

        Looseleaf's own jobs also run operations that a plugin has scheduled, and tasks of the whole
        workspace. Any other job is written by someone who may have no more than the rights of its
        agent, and runs tasks of that agent alone.
        """
        activity = Activity(JOB, run.effect_key)
        context = replace(self._context, surface=SURFACE, activity=activity)
        job, is_own_job = self._job, self._job.source == "system"
        if is_own_job and task_type in context.parts.operations():
            return {"result": invoke(context, task_type, dict(params))}
        task = system_tasks_of(context.parts).get(task_type)
        if not is_own_job and not task.per_agent:
            raise InvalidStep(run.step.id, f"{task_type} is a task of the whole workspace")
        agent = context.parts.agents.resolve(job.agent_id) if job.agent_id else None
        trigger = SCHEDULE if job.idempotency_key.startswith("task:") else MANUAL
        request = RunRequest(params, trigger, SURFACE, derive_run_id(job.created_at, job.id))
        prompts = TaskPrompts(context.settings.root)
        record = run_task(
            task,
            context.parts,
            context.settings,
            agent,
            request,
            prompt=lambda key: prompts.text(task, key),
            is_cancelled=run.is_cancelled,
        )
        if record.is_failure and record.is_retryable:
            raise Unavailable(f"The task {task_type}", f"{record.reason}; try again later")
        return {"runs": [to_json_value(describe_run(record))]}


def act_in_job(context: Context, job: Job) -> Context:
    """Return a context in which the agent of a job acts, unattended and under its policies.

    It has the rights that the user of the job has on the agent at this time, and no more than an
    operator's.
    """
    if not job.agent_id:
        return replace(context, surface=SURFACE)
    person = require_job_rights(context, job)
    place = Where(job.agent_id, job.user_id or None)
    request = build_request(context.with_permission("read"), SURFACE, where=place)
    agent_context = replace(
        context,
        actor=request.agent.slug,
        surface=SURFACE,
        reason="",
        activity=Activity(JOB, f"job-{job.id}"),
    )
    return bind_to_agent(confine_to_agent(agent_context, request, person=person))


def wants_transcript(settings: Mapping[str, Any], defaults: Settings) -> bool:
    """Return whether a transcript is kept: the flow decides, then the pipeline, then the settings.

    Only true and false decide; anything else leaves the decision to the next one.
    """
    choice = settings.get("persist_transcripts")
    return choice if isinstance(choice, bool) else defaults.pipeline_transcripts


# The memory of a job: its packets as a file that grows, and what is cleared when it ends.


class JobMemory:
    """Follows jobs: writes `data.json` after each step, and clears up after the last.

    Every call may come again after a crash, and then writes the same bytes again.
    """

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context, self._jobs = context, jobs
        self._mask = SecretMask(list_secrets(context.settings))

    def step_ended(self, state: JobState, step_id: str) -> None:  # noqa: ARG002 - as the contract has it
        """Write the packets of all steps so far, newest first."""
        packets = [
            Packet(packet.type, packet.timestamp, self._mask.mask(packet.data), packet.metadata)
            for packet in list_packets(state)
        ]
        resources_of(self._context.parts).files.write_packets(state.job, packets)

    def job_ended(self, job: Job) -> None:
        """Clear what the job no longer needs; a failure here leaves the job as it ended."""
        resources = resources_of(self._context.parts)
        try:
            self._delete_sessions(job)
            if job.status in ("failed", "cancelled"):
                resources.processed_items().release(job.id)
            if job.status == "failed" and self._context.settings.cleanup_job_data_on_failure:
                resources.files.remove_packets(job)
        except LooseleafError as error:
            self._context.parts.report(f"The memory of job {job.id} was not cleared", error)

    def _delete_sessions(self, job: Job) -> None:
        """Delete the conversations that the steps were saved in; transcripts are artifacts."""
        sessions = chats_of(self._context.parts).sessions
        for packet in list_packets(self._jobs.state(job.id)):
            session_id = packet.metadata.get("session_id", "")
            if packet.type == "ai_response" and session_id:
                try:
                    sessions.delete(session_id)
                except SessionBusy:
                    continue  # a process that seemed dead still writes; retention deletes it later


def list_packets(state: JobState) -> list[Packet]:
    """List the packets of a job, newest first, down to those it was started with."""
    packets = list(map(parse_packet, state.snapshot.get("packets", ())))
    for step in state.job.steps:
        outcome = state.outcomes.get(step.id)
        packets[:0] = outcome.packets if outcome else ()
    return packets
