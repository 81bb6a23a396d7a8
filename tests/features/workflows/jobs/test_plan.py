"""A job runs by its plan, which survives as plain JSON."""

from __future__ import annotations

import json

from looseleaf.features.workflows.definitions import Flow, Pipeline, QueuedPrompt, Schedule, Step
from looseleaf.features.workflows.jobs.run import Plan, plan_flow_job, plan_task_job, read_plan
from looseleaf.features.workflows.packet import create_packet

STEPS = (Step("a", "input", "Read", {"url": "x"}), Step("b", "ai"))
PIPELINE = Pipeline(
    id=3,
    slug="news",
    name="News",
    agent_id=7,
    user_id=1,
    system_prompt="Be brief.",
    memory_files=("style.md",),
    tool_policy={},
    steps=STEPS,
)
FLOW = Flow(
    id=5,
    pipeline_id=3,
    slug="daily",
    name="Daily",
    agent_id=7,
    user_id=1,
    memory_files=("music.md",),
    step_settings={"b": {"model": "echo"}},
    prompt_queue=(QueuedPrompt("Write."),),
    schedule=Schedule("daily"),
)


def test_a_plan_survives_json() -> None:
    """Pipeline, flow and first packets, to the last field."""
    plan = Plan(PIPELINE, FLOW, (create_packet("item", {"content": "x"}, now=0.0),))
    assert read_plan(json.loads(json.dumps(plan.to_json()))) == plan


def test_the_job_of_a_flow_names_both_and_its_steps() -> None:
    """The steps stand before they run."""
    job = plan_flow_job(Plan(PIPELINE, FLOW), model="echo", key="k")
    assert (job.label, job.source, job.pipeline_id, job.flow_id) == (
        "News: Daily",
        "pipeline",
        3,
        5,
    )
    assert (job.agent_id, job.model, job.idempotency_key) == (7, "echo", "k")
    assert [(step.id, step.type, step.label) for step in job.steps] == [
        ("a", "input", "Read"),
        ("b", "ai", "AI"),
    ]


def test_the_job_of_a_task_has_one_step() -> None:
    """Its pipeline and flow are direct."""
    job = plan_task_job("tidy", {"days": 3}, label="Tidy", agent_id=7, not_before=9.0)
    assert (job.source, job.task_type, job.not_before, job.pipeline_id) == (
        "system",
        "tidy",
        9.0,
        0,
    )
    plan = read_plan(job.snapshot)
    assert (plan.pipeline.slug, plan.flow.slug) == ("direct", "direct")
    assert plan.pipeline.steps == (
        Step("task", "system_task", "Tidy", {"task_type": "tidy", "params": {"days": 3}}),
    )
