"""Pipelines and flows of Data Machine, from answers of its REST interface to files of a bundle."""

from __future__ import annotations

from looseleaf.bundles.importers.contract import SourcePipeline
from looseleaf.bundles.importers.datamachine.fields import (
    as_list,
    as_object,
    choose_step_id,
    find_page_refusal,
    map_schedule,
    read_id,
    read_name,
    read_queue,
    read_slug,
)
from looseleaf.bundles.importers.datamachine.steps import (
    map_flow_step,
    map_pipeline_step,
    map_step_type,
)
from looseleaf.bundles.importers.left_out import NotImported
from looseleaf.errors import Invalid
from looseleaf.values import value
from looseleaf.workflows.documents import queue_prompts, read_schedule
from looseleaf.workflows.flow import QUEUE_MODES, Flow, Schedule
from looseleaf.workflows.pipeline import Pipeline, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from looseleaf.memory.registry import FileRegistry
    from looseleaf.workflows.flow import QueueMode

# Keys of a configuration that stand beside the steps.
_RESERVED = ("memory_files", "context_files", "persist_transcripts", "daily_memory")
_MOST_FLOWS = 500


@value
class SourceSite:
    """A site: its name in our settings, and the registry that knows the core pages here."""

    name: str
    registry: FileRegistry


class PipelineReader:
    """Reads one pipeline with its flows; settings without an equivalent are noted in `left_out`."""

    def __init__(self, site: SourceSite, left_out: list[NotImported]) -> None:
        self._site, self._left_out = site, left_out
        self._place = ""

    def read_pipeline(
        self, pipeline: Mapping[str, Any], flows: list[Any], agent: str, slugs: Collection[str]
    ) -> SourcePipeline | None:
        """Read a pipeline, or None if it has no id. `slugs` are taken by other pipelines."""
        pipeline_id, name = read_id(pipeline.get("pipeline_id")), read_name(pipeline, "pipeline")
        if not pipeline_id:
            self._left_out.append(NotImported(f"pipeline {name}", "the site gives no id for it"))
            return None
        self._place = f"pipeline {pipeline_id}"
        slug = read_slug(pipeline, name, "pipeline", slugs)
        config = as_object(pipeline.get("pipeline_config"))
        steps = self._order_steps(config)
        new_pipeline = Pipeline(
            id=pipeline_id,
            slug=slug,
            name=name,
            agent_id=0,
            user_id=0,
            system_prompt=self._join_prompts(steps),
            memory_files=self._read_memory_files(config),
            steps=tuple(
                self._map_step(position, step_id, step, config)
                for position, (step_id, step) in enumerate(steps)
            ),
        )
        if as_list(as_object(config.get("context_files")).get("uploaded_files")):
            self._note("context files", "their bytes are in the datamachine-files folder alone")
        flow_slugs: list[str] = []
        source_flows = []
        for flow in flows[:_MOST_FLOWS]:
            source_flow = self._read_flow(as_object(flow), pipeline_id, steps, flow_slugs)
            if source_flow is not None:
                flow_slugs.append(source_flow.slug)
                source_flows.append(source_flow)
        if len(flows) > _MOST_FLOWS:
            self._note("flows", f"there are more than {_MOST_FLOWS}; the others are left out")
        return SourcePipeline(new_pipeline, tuple(source_flows), agent)

    def _order_steps(self, config: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the steps that have a type here, in the order in which they run."""
        rows: list[tuple[int, str, Mapping[str, Any]]] = []
        for step_id, step in config.items():
            if step_id in _RESERVED:
                continue
            fields = as_object(step)
            if not map_step_type(fields.get("step_type")):
                step_type = fields.get("step_type")
                self._note(f"step {step_id}", f"there is no type of step {step_type!r} here")
                continue
            order = fields.get("execution_order")
            rows.append((order if isinstance(order, int) else len(rows), step_id, fields))
        return [(step_id, fields) for _, step_id, fields in sorted(rows, key=lambda row: row[0])]

    def _map_step(
        self, position: int, step_id: str, step: Mapping[str, Any], config: Mapping[str, Any]
    ) -> Step:
        mapped_step = map_pipeline_step(step)
        for problem in mapped_step.problems:
            self._note(_name_step(position, step), problem)
        settings = dict(mapped_step.settings)
        step_type = map_step_type(step.get("step_type"))
        if step_type == "ai" and isinstance(config.get("persist_transcripts"), bool):
            settings["persist_transcripts"] = config["persist_transcripts"]
        label = step.get("label")
        label = label if isinstance(label, str) else ""
        return Step(choose_step_id(step_id, position), step_type, label, settings)

    def _join_prompts(self, steps: list[tuple[str, Mapping[str, Any]]]) -> str:
        """Join the system prompts of the steps: a pipeline has one here, for all its steps."""
        prompts: dict[str, str] = {}
        for position, (step_id, step) in enumerate(steps):
            queue = read_queue(step.get("system_prompt_queue"))
            if len(queue) > 1:
                title = _name_step(position, step)
                self._note(title, "only the first of its system prompts is imported")
            prompt = step.get("system_prompt") or (queue[0] if queue else "")
            if isinstance(prompt, str) and prompt.strip():
                prompts.setdefault(prompt, str(step.get("label") or step_id))
        if len(prompts) > 1:
            reason = "several steps have one each; here they stand together, under their labels"
            self._note("system prompts", reason)
            return "\n\n".join(f"## {label}\n\n{prompt}" for prompt, label in prompts.items())
        return next(iter(prompts), "")

    def _read_memory_files(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        names = []
        for name in as_list(config.get("memory_files")):
            reason = find_page_refusal(name, self._site.registry)
            if reason:
                self._note(f"memory file {name}", reason)
            else:
                names.append(name)
        return tuple(dict.fromkeys(names))

    def _read_flow(
        self,
        flow: Mapping[str, Any],
        pipeline_id: int,
        steps: list[tuple[str, Mapping[str, Any]]],
        slugs: Collection[str],
    ) -> Flow | None:
        flow_id, name = read_id(flow.get("flow_id")), read_name(flow, "flow")
        if not flow_id:
            self._note(f"flow {name}", "the site gives no id for it")
            return None
        self._place = f"pipeline {pipeline_id}, flow {flow_id}"
        config = as_object(flow.get("flow_config"))
        queue: tuple[list[str], QueueMode] = ([], "static")
        step_settings: dict[str, dict[str, Any]] = {}
        for position, (step_id, pipeline_step) in enumerate(steps):
            step = as_object(config.get(f"{step_id}_{flow_id}"))
            if not step:
                continue
            mapped_step = map_flow_step(step, self._site.name)
            title = _name_step(position, pipeline_step)
            for problem in mapped_step.problems:
                self._note(title, problem)
            settings = dict(mapped_step.settings)
            if map_step_type(step.get("step_type")) == "ai":
                queue = self._take_queue(title, step, queue, settings)
            if settings:
                step_settings[choose_step_id(step_id, position)] = settings
        return Flow(
            id=flow_id,
            pipeline_id=pipeline_id,
            slug=read_slug(flow, name, "flow", slugs),
            name=name,
            agent_id=0,
            user_id=0,
            memory_files=self._read_memory_files(config),
            step_settings=step_settings,
            prompt_queue=queue_prompts(queue[0], 0.0),
            queue_mode=queue[1],
            schedule=self._read_schedule(as_object(flow.get("scheduling_config"))),
        )

    def _take_queue(
        self,
        title: str,
        step: Mapping[str, Any],
        queue: tuple[list[str], QueueMode],
        settings: dict[str, Any],
    ) -> tuple[list[str], QueueMode]:
        """Choose the queue of the flow: that of its first AI step, since a flow has one here."""
        prompts, mode = read_queue(step.get("prompt_queue")), step.get("queue_mode")
        message = step.get("user_message")
        if isinstance(message, str) and message.strip():
            settings["prompt"] = message
        if not prompts:
            return queue
        if not queue[0]:
            return prompts, mode if mode in QUEUE_MODES else "static"
        settings["prompt"] = prompts[0]
        if len(prompts) > 1:
            reason = "a flow has one queue here, that of its first AI step; of this one, the first"
            self._note(title, f"{reason} prompt is imported")
        return queue

    def _read_schedule(self, config: Mapping[str, Any]) -> Schedule:
        """Return the schedule, which is paused until a person enables it."""
        try:
            schedule = read_schedule(map_schedule(config))
        except Invalid as error:
            self._note("schedule", f"it becomes manual: {str(error).rstrip('.')}")
            schedule = Schedule(enabled=False)
        for key in ("run_artifacts", "max_items"):
            if config.get(key):
                self._note("schedule", f"{key} is not imported; set it here")
        return schedule

    def _note(self, subject: str, reason: str) -> None:
        self._left_out.append(NotImported(f"{self._place}: {subject}", reason))


def _name_step(position: int, step: Mapping[str, Any]) -> str:
    """Name a step for the report: its number, and its label or type."""
    return f"step {position + 1} ({step.get('label') or step.get('step_type')})"
