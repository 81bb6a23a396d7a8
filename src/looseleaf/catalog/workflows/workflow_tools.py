"""The tools that a workflow names: they must exist, and they narrow the tools of its steps."""

from __future__ import annotations

from looseleaf.catalog.tools.names import expand_tool_names, find_unknown_tools
from looseleaf.errors.workflows import InvalidWorkflow
from looseleaf.files.folders import casefold_name
from looseleaf.memory.policy import ToolPolicy, parse_tool_policy
from looseleaf.upkeep.finding import Finding
from looseleaf.workflows.parts import definitions_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from looseleaf.catalog.operation import OperationList
    from looseleaf.upkeep.finding import CheckRun
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline, Step

_LISTS = ("enabled_tools", "disabled_tools")


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
    """Check that pipelines and flows name only tools that exist."""
    context = run.context
    if not context.parts.has_accounts():
        return
    operations, definitions = context.parts.operations(), definitions_of(context.parts)
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
