"""Workflows of a bundle as definitions that a workspace can store, checked by its rules."""

from __future__ import annotations

from looseleaf.bundles.layout.bundle import FLOWS, PIPELINES
from looseleaf.bundles.layout.workflow_files import parse_flow, parse_pipeline
from looseleaf.values import changed, value
from looseleaf.workflows.definition_checks import check_flow, check_pipeline, number_steps
from looseleaf.workflows.documents import queue_prompts, read_schedule, read_steps
from looseleaf.workflows.flow import Flow
from looseleaf.workflows.pipeline import Pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.workflows.step import StepTypes


@value
class WorkflowRules:
    """What a definition is checked by, and whose it becomes; ids are 0 where it is only checked."""

    registry: FileRegistry
    types: StepTypes
    agent_id: int = 0
    user_id: int = 0
    now: float = 0.0


def build_pipeline(slug: str, document: Mapping[str, Any], rules: WorkflowRules) -> Pipeline:
    """Build a pipeline from its file, or raise `InvalidWorkflow`."""
    file = parse_pipeline(f"{PIPELINES}{slug}.json", document)
    pipeline = Pipeline(
        0,
        slug,
        file.name,
        rules.agent_id,
        rules.user_id,
        file.system_prompt,
        file.memory_files,
        dict(file.tool_policy),
        number_steps(read_steps(file.steps)),
    )
    return check_pipeline(pipeline, rules.registry, rules.types)


def build_flow(
    slug: str, document: Mapping[str, Any], pipeline: Pipeline, rules: WorkflowRules
) -> Flow:
    """Build a flow from its file, its schedule as the file says, or raise `InvalidWorkflow`."""
    file = parse_flow(f"{FLOWS}{slug}.json", document).flow
    flow = Flow(
        0,
        pipeline.id,
        slug,
        file.name,
        rules.agent_id,
        rules.user_id,
        file.memory_files,
        {step: dict(settings) for step, settings in file.step_settings.items()},
        queue_prompts(file.prompt_queue, rules.now),
        file.queue_mode,  # type: ignore[arg-type]  # checked with the flow
        read_schedule(file.schedule),
        dict(file.run_artifacts),
    )
    return check_flow(flow, pipeline, rules.registry, rules.types)


def build_definitions(
    bundle: Bundle, slug: str, rules: WorkflowRules
) -> tuple[Pipeline, list[Flow]]:
    """Build a pipeline of a bundle with its flows."""
    pipeline = build_pipeline(slug, bundle.pipelines[slug], rules)
    flows = [
        build_flow(flow_slug, document, pipeline, rules)
        for flow_slug, document in sorted(bundle.flows.items())
        if document["pipeline_slug"] == slug
    ]
    return pipeline, flows


def pause(flow: Flow) -> Flow:
    """Give a flow whose schedule does not count before a person has approved it."""
    return changed(flow, schedule=changed(flow.schedule, enabled=False))
