"""Access to pipelines and flows, allowed or refused by their agent; and the tools they name."""

from __future__ import annotations

from looseleaf.access.principals import find_requirement
from looseleaf.agents.record import list_readable_agents
from looseleaf.catalog.page_checks import Finding
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.catalog.tool_access import expand_tool_names, find_unknown_tools
from looseleaf.errors import Conflicted
from looseleaf.errors.features import (
    FlowMissing,
    InvalidWorkflow,
    JobMissing,
    PipelineMissing,
    WorkflowAmbiguous,
)
from looseleaf.errors.pages import AgentMissing, VersionRequired
from looseleaf.features.workflows.definitions import MANUAL
from looseleaf.features.workflows.parts import definitions_of, jobs_of, step_types_of
from looseleaf.files.folders import casefold_name
from looseleaf.memory.policy import ToolPolicy, parse_tool_policy
from looseleaf.memory.provenance import JOB
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import OperationList
    from looseleaf.catalog.page_checks import CheckRun
    from looseleaf.features.workflows.definitions import Definitions, Flow, Pipeline, Step
    from looseleaf.features.workflows.jobs.job import Job
    from looseleaf.memory.scope import Scope

    Selecting = TypeVar("Selecting", Pipeline, Flow)


_MOST_ID = 2**31 - 1  # of the column in the database


def find_pipeline(context: Context, reference: str | int) -> Pipeline:
    """Find a pipeline by id, slug or agent/slug, if its agent is allowed for this operation.

    A pipeline of an agent that the principal may not see is missing for them.
    """
    pipelines = definitions_of(context.parts).pipelines
    number = _parse_id(reference)
    if number is not None:
        pipeline = pipelines.find(number)
    else:
        agent, _, slug = str(reference).rpartition("/")
        agents = _find_agent_ids(context, agent)
        candidates = pipelines.list(agents=agents, slug=slug)[0] if slug else []
        pipeline = candidates[0] if candidates else None
        if len(candidates) > 1:
            names = tuple(
                f"{find_agent_slug(context, candidate.agent_id)}/{candidate.slug}"
                for candidate in candidates
            )
            raise WorkflowAmbiguous("pipeline", slug, names)
    if pipeline is None or not _is_visible(context, pipeline.agent_id):
        raise PipelineMissing(reference)
    return pipeline


def find_flow(context: Context, reference: str | int) -> Flow:
    """Find a flow by id, slug or pipeline/slug, if its agent is allowed for this operation."""
    flows = definitions_of(context.parts).flows
    number = _parse_id(reference)
    if number is not None:
        flow = flows.find(number)
    else:
        parent, _, slug = str(reference).rpartition("/")
        pipeline = _resolve_pipeline_id(context, parent, reference) if parent else 0
        agents = _find_agent_ids(context, "")
        candidates = flows.list(pipeline=pipeline, agents=agents, slug=slug)[0] if slug else []
        flow = candidates[0] if candidates else None
        if len(candidates) > 1:
            raise WorkflowAmbiguous("flow", slug, _name_flows(context, candidates))
    if flow is None or not _is_visible(context, flow.agent_id):
        raise FlowMissing(reference)
    return flow


def find_job(context: Context, job_id: int) -> Job:
    """Find a job, if its agent is allowed for this operation; else it is missing."""
    job = jobs_of(context.parts).jobs.find(job_id)
    if context.principal.is_local:
        return job
    if not job.agent_id:
        context.allow()
        return job
    try:
        agent_of(context, job.agent_id)
    except AgentMissing:
        raise JobMissing(job_id) from None
    return job


def find_parent_job(context: Context) -> int:
    """Find the job whose model runs this operation as a tool, or 0 outside of jobs."""
    if context.activity.kind != JOB:
        return 0
    number = context.activity.id.removeprefix("job-").partition("/")[0]
    return _parse_id(number) or 0


def list_agent_ids(context: Context, agent: str | int | None) -> Sequence[int] | None:
    """Return the agents whose pipelines are listed: the one named, or all that may be seen.

    None is every agent, deleted ones too, which only the local administrator sees.
    """
    if agent is not None:
        return [agent_of(context, agent).id]
    return (
        None
        if context.principal.is_local
        else [agent_record.id for agent_record in list_visible_agents(context)]
    )


def find_agent_slug(context: Context, agent_id: int) -> str:
    """Return the slug of an agent for people, or "" if the agent was deleted."""
    try:
        return context.parts.agents.slug_of(agent_id)
    except AgentMissing:
        return ""


def require_version(context: Context, noun: str, actual: str, if_match: str | None) -> None:
    """Raise if a change names another version, or none though a version is required."""
    change = context.change("update", if_match=if_match)
    if change.precondition is None:
        if change.must_name_version:
            raise VersionRequired(noun)
    elif not change.precondition.holds(actual):
        raise Conflicted(noun, change.precondition.expected, actual)


def _parse_id(reference: str | int) -> int | None:
    text = str(reference)
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text[:12]) if int(text[:12]) <= _MOST_ID else 0


def _is_visible(context: Context, agent_id: int) -> bool:
    """Return whether the agent of a workflow is seen; raise `Forbidden` if more is needed."""
    if context.principal.is_local:
        return True
    try:
        agent_of(context, agent_id)
    except AgentMissing:
        return False
    return True


def _find_agent_ids(context: Context, agent: str) -> Sequence[int] | None:
    try:
        return list_agent_ids(context, agent or None)
    except AgentMissing:
        return []


def _name_flows(context: Context, flows: Sequence[Flow]) -> tuple[str, ...]:
    """Name flows so that each name means one of them."""
    pipelines = definitions_of(context.parts).pipelines
    parents = [pipelines.find(flow.pipeline_id) for flow in flows]
    return tuple(
        f"{parent.slug}/{flow.slug}" if parent is not None else str(flow.id)
        for parent, flow in zip(parents, flows, strict=True)
    )


def _resolve_pipeline_id(context: Context, parent: str, reference: str | int) -> int:
    try:
        return find_pipeline(context, parent).id
    except PipelineMissing:
        raise FlowMissing(reference) from None


# The tools that a workflow names: they must exist, and they narrow the tools of its steps.


_LISTS = ("enabled_tools", "disabled_tools")
_NAMES = {"type": "string", "maxLength": 100}
# The tool policy of a pipeline as people fill it in: by forms, and by --set tool_policy.NAME=VALUE.
TOOL_POLICY_SETTINGS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "mode": {
            "type": "string",
            "enum": ["deny", "allow"],
            "title": "The lists below",
            "description": (
                "deny takes the listed tools from its AI steps; allow leaves them these alone. "
                "Without it, the agent's own policy alone counts."
            ),
        },
        "tools": {
            "type": "array",
            "maxItems": 200,
            "items": {**_NAMES, "format": "tool"},
            "title": "Tools",
            "description": "Names of tools.",
        },
        "categories": {
            "type": "array",
            "maxItems": 100,
            "items": {**_NAMES, "format": "tool-category"},
            "title": "Categories",
            "description": "Categories, each of which stands for all of its tools.",
        },
        "outside_tools": {
            "type": "array",
            "maxItems": 200,
            "items": _NAMES,
            "title": "Tools of programs",
            "description": "Tools that programs bring with their requests.",
        },
    },
}


def narrow_tools(
    operations: OperationList, pipeline: Pipeline, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of a request by which a pipeline and the settings of its step narrow tools.

    The agent's own policy also holds: a workflow only takes tools away.
    """
    policy = parse_tool_policy(pipeline.tool_policy or None)
    names = expand_tool_names(operations, policy)
    deny = (*settings.get("disabled_tools", ()), *(names if policy.mode == "deny" else ()))
    allow_only = settings.get("enabled_tools")
    if policy.mode == "allow":
        allowed_names = set(map(casefold_name, names))
        allow_only = [
            name
            for name in (names if allow_only is None else allow_only)
            if casefold_name(name) in allowed_names
        ]
    return {
        "tool_deny": deny,
        "tool_allow_only": None if allow_only is None else tuple(allow_only),
    }


def check_workflow_names(
    operations: OperationList, pipeline: Pipeline, flows: Iterable[Flow]
) -> None:
    """Refuse a pipeline with its flows if one of them names an unknown tool."""
    check_policy_names(operations, pipeline.tool_policy)
    check_step_names(operations, pipeline.steps)
    for flow in flows:
        check_flow_names(operations, flow)


def check_policy_names(operations: OperationList, policy: Mapping[str, Any]) -> None:
    """Refuse the tool policy of a pipeline that names an unknown tool or category."""
    for fault in find_policy_faults(operations, policy):
        raise InvalidWorkflow("pipeline", fault)


def check_step_values(
    context: Context, noun: str, steps: Iterable[tuple[Step, Mapping[str, Any]]], *, is_whole: bool
) -> None:
    """Refuse settings of steps that cannot work here, although they fit the schema."""
    types = step_types_of(context.parts)
    for step, settings in steps:
        fault = types.get(step.type).find_fault(settings, context.settings, is_whole=is_whole)
        if fault:
            raise InvalidWorkflow(noun, f"step {step.id}: {fault}")


def check_flow_values(context: Context, flow: Flow) -> None:
    """Refuse the settings of a flow that cannot work; those of a flow at rest may be unfinished."""
    pipeline = definitions_of(context.parts).pipelines.find(flow.pipeline_id)
    steps = pipeline.steps if pipeline is not None else ()
    row = [(step, flow.settings_of(step)) for step in steps]
    is_manual = flow.schedule.interval == MANUAL
    check_step_values(context, "flow", row, is_whole=bool(flow.step_settings) or not is_manual)


def check_step_names(operations: OperationList, steps: Iterable[Step]) -> None:
    """Refuse steps whose settings name an unknown tool."""
    for step in steps:
        for fault in find_step_faults(operations, step.id, step.settings):
            raise InvalidWorkflow("pipeline", fault)


def check_flow_names(operations: OperationList, flow: Flow) -> None:
    """Refuse a flow whose settings of steps name an unknown tool."""
    for step_id, settings in flow.step_settings.items():
        for fault in find_step_faults(operations, step_id, settings):
            raise InvalidWorkflow("flow", fault)


def find_policy_faults(operations: OperationList, policy: Mapping[str, Any]) -> Iterator[str]:
    """Describe each unknown name in the tool policy of a pipeline."""
    for fault in find_unknown_tools(operations, parse_tool_policy(policy or None)):
        yield f"in its tool_policy {fault}"


def find_step_faults(
    operations: OperationList, step_id: str, settings: Mapping[str, Any]
) -> Iterator[str]:
    """Describe each unknown tool in the settings of a step."""
    for name in _LISTS:
        tools = tuple(settings.get(name) or ())
        for fault in find_unknown_tools(operations, ToolPolicy(tools=tools)) if tools else ():
            yield f"in {name} of step {step_id} {fault.partition('. ')[0]}"


def check_workflows(run: CheckRun) -> Iterator[Finding]:
    """Check that pipelines and flows name only tools and pages that exist."""
    context = run.context
    if not context.parts.has_accounts():
        return
    operations, definitions = context.parts.operations(), definitions_of(context.parts)
    yield from _find_missing_pages(context, definitions)
    for pipeline in definitions.pipelines.list()[0]:
        advice = f"Correct it: looseleaf pipelines update {pipeline.id} …"
        faults = [*find_policy_faults(operations, pipeline.tool_policy)]
        for step in pipeline.steps:
            faults += find_step_faults(operations, step.id, step.settings)
        for fault in faults:
            yield Finding("workflows", "warning", f"pipeline {pipeline.slug}: {fault}", advice)
    for flow in definitions.flows.list()[0]:
        advice = f"Correct it: looseleaf flows update {flow.id} --set …"
        for step_id, settings in flow.step_settings.items():
            for fault in find_step_faults(operations, step_id, settings):
                yield Finding("workflows", "warning", f"flow {flow.slug}: {fault}", advice)


def _find_missing_pages(context: Context, definitions: Definitions) -> Iterator[Finding]:
    """Find pages that pipelines and flows select and that their agents do not have."""
    agents = {agent.id: agent for agent in list_readable_agents(context.parts.agents)}
    selections: list[tuple[str, Pipeline | Flow]] = [
        *(("pipeline", pipeline) for pipeline in definitions.pipelines.list()[0]),
        *(("flow", flow) for flow in definitions.flows.list()[0]),
    ]
    for kind, workflow in selections:
        agent = agents.get(workflow.agent_id)
        for name in workflow.memory_files if agent is not None else ():
            # A page of a registered name may be composed, or lie in another layer.
            is_registered = context.pages.registry.get(name) is not None
            if agent is None or is_registered or context.pages.exists(agent.shelf.page(name)):
                continue
            detail = f"{kind} {workflow.slug} selects {name}, which {agent.slug} does not have"
            advice = f"Write it: looseleaf memory write {name} --agent {agent.slug}"
            yield Finding("workflows", "warning", detail, advice)


def follow_page(
    context: Context, scope: Scope, name: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Let the selections of an agent's pipelines and flows follow a page to its new name.

    Returned are those that follow, and those that the principal may not change.
    """
    definitions, agents = definitions_of(context.parts), [scope.agent_id]
    owner = context.parts.agents.resolve(scope.agent_id).owner
    requirement = find_requirement(context.principal, "flows", scope.shelf, owner=owner)

    def rename(workflow: Selecting) -> Selecting:
        files = [name if file == scope.filename else file for file in workflow.memory_files]
        return replace(workflow, memory_files=tuple(dict.fromkeys(files)))

    names = []
    for noun, table in (("pipeline", definitions.pipelines), ("flow", definitions.flows)):
        for workflow in table.list(agents=agents)[0]:
            if scope.filename in workflow.memory_files:
                names.append(f"the {noun} {workflow.name}")
                if requirement is None:
                    table.change(workflow.id, rename)
    return (tuple(names), ()) if requirement is None else ((), tuple(names))
