"""Workflows of a bundle as definitions that a workspace can store, checked by its rules."""

from __future__ import annotations

from looseleaf.bundles.layout.bundle import FLOWS, PIPELINES
from looseleaf.bundles.layout.workflow_files import (
    format_flow,
    format_pipeline,
    parse_flow,
    parse_pipeline,
)
from looseleaf.values import replace, value
from looseleaf.workflows.definition_checks import check_flow, check_pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline
    from looseleaf.workflows.step import StepTypes


@value
class Owner:
    """The owner of a new definition, and the time; ids are 0 if it is only read."""

    agent_id: int = 0
    user_id: int = 0
    now: float = 0.0


@value
class WorkflowRules:
    """The registries that a definition is checked by, and its owner."""

    registry: FileRegistry
    types: StepTypes
    owner: Owner = Owner()


def build_pipeline(slug: str, document: Mapping[str, Any], rules: WorkflowRules) -> Pipeline:
    """Build a pipeline from its file, or raise `InvalidWorkflow`."""
    return check_pipeline(_read_pipeline(slug, document, rules.owner), rules.registry, rules.types)


def _read_pipeline(slug: str, document: Mapping[str, Any], owner: Owner) -> Pipeline:
    pipeline = parse_pipeline(f"{PIPELINES}{slug}.json", document)
    return replace(pipeline, agent_id=owner.agent_id, user_id=owner.user_id)


def build_flow(
    slug: str, document: Mapping[str, Any], pipeline: Pipeline, rules: WorkflowRules
) -> Flow:
    """Build a flow from its file, its schedule as the file says, or raise `InvalidWorkflow`."""
    flow = _read_flow(slug, document, pipeline, rules.owner)
    return check_flow(flow, pipeline, rules.registry, rules.types)


def _read_flow(slug: str, document: Mapping[str, Any], pipeline: Pipeline, owner: Owner) -> Flow:
    flow = parse_flow(f"{FLOWS}{slug}.json", document, now=owner.now)
    return replace(flow, pipeline_id=pipeline.id, agent_id=owner.agent_id, user_id=owner.user_id)


def normalize_workflows(
    bundle: Bundle,
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the files of pipelines and flows as this program writes them.

    A field that another program left out gets its default, so that the same definition gives the
    same file, whichever program wrote it.
    """
    pipelines = {
        slug: _read_pipeline(slug, document, Owner()) for slug, document in bundle.pipelines.items()
    }
    flows = {}
    for slug, document in bundle.flows.items():
        pipeline = pipelines[document["pipeline_slug"]]
        flow = _read_flow(slug, document, pipeline, Owner())
        flows[slug] = format_flow(flow, slug, pipeline, pipeline.slug)
    return {slug: format_pipeline(pipeline, slug) for slug, pipeline in pipelines.items()}, flows


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
