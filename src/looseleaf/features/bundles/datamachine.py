"""Pipelines and flows of Data Machine, translated into workflows of our types."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.features.bundles.bundle import FLOWS, PIPELINES, format_flow, format_pipeline
from looseleaf.features.bundles.manifest import format_json, parse_json
from looseleaf.features.bundles.secret_scan import scan_text
from looseleaf.features.bundles.source_tree import NotImported, SourcePipeline
from looseleaf.features.workflows.definitions import (
    CRON,
    MANUAL,
    ONE_TIME,
    QUEUE_MODES,
    Flow,
    Pipeline,
    Schedule,
    Step,
    is_core,
    is_step_id,
    make_slug,
)
from looseleaf.features.workflows.documents import (
    PLUGIN_STEP_SETTINGS,
    PLUGIN_STEP_TYPES,
    ScheduleFields,
    queue_prompts,
    read_schedule,
)
from looseleaf.memory.scope import check_filename
from looseleaf.times import format_time
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from looseleaf.features.workflows.definitions import QueueMode
    from looseleaf.memory.registry import FileRegistry


# Fields of the JSON that a site of Data Machine gives, read without trust in their types.


def as_object(document: object) -> dict[str, Any]:
    """Return an object of JSON; {} for anything else, such as the empty list that PHP writes."""
    return document if isinstance(document, dict) else {}


def as_list(document: object) -> list[Any]:
    """Return a list of JSON; [] for anything else."""
    return document if isinstance(document, list) else []


def map_schedule(config: Mapping[str, Any]) -> ScheduleFields:
    """Return a schedule of the source, paused; it is not checked."""
    interval, at = str(config.get("interval") or MANUAL), config.get("timestamp")
    if interval == ONE_TIME:
        is_time = isinstance(at, int | float) and not isinstance(at, bool)
        text = format_time(float(at)) if is_time else str(at or "")  # type: ignore[arg-type]
        return ScheduleFields(ONE_TIME, at=text, enabled=False)
    if interval == CRON:
        return ScheduleFields(CRON, cron=str(config.get("cron_expression") or ""), enabled=False)
    seconds = config.get("interval_seconds")
    fields = ScheduleFields(interval, enabled=False)
    try:
        read_schedule(fields)
    except Invalid:
        if read_id(seconds):
            return ScheduleFields(f"{seconds}s", enabled=False)
    return fields


def find_page_refusal(name: object, registry: FileRegistry) -> str:
    """Return why a pipeline or flow cannot select a page, or "" if it can."""
    if not isinstance(name, str):
        return "it is no name of a page"
    try:
        registered_file = registry.get(check_filename(name))
    except Invalid as error:
        return str(error)
    if registered_file is not None and is_core(registered_file):
        return "it is a core page here, which every prompt has already"
    return ""


def read_queue(queue: object) -> list[str]:
    """Read the prompts of a queue; empty ones do not count."""
    prompts = [
        entry.get("prompt") if isinstance(entry, dict) else entry for entry in as_list(queue)
    ]
    return [prompt for prompt in prompts if isinstance(prompt, str) and prompt.strip()]


def read_name(document: Mapping[str, Any], noun: str) -> str:
    """Read the name of a pipeline or flow on one line; without one, the noun."""
    name = document.get(f"{noun}_name")
    return " ".join(name.split()) if isinstance(name, str) and name.strip() else noun.capitalize()


def read_slug(document: Mapping[str, Any], name: str, noun: str, slugs: Collection[str]) -> str:
    """Read the slug of a pipeline or flow, with a number if it is taken."""
    slug = document.get("portable_slug")
    return make_slug(
        slug if isinstance(slug, str) and slug else name, fallback=noun, used_slugs=slugs
    )


def choose_step_id(step_id: str, position: int) -> str:
    """Choose the id of a step here: that of the source, if it is valid."""
    return step_id if is_step_id(step_id) else f"step-{position + 1}"


def read_id(number: object) -> int:
    """Read an id, a whole number above 0, which PHP may write as text, or 0 if it is none."""
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 16:
        return int(number)
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return number if is_number and number > 0 else 0  # type: ignore[operator, return-value]


# The steps of Data Machine as steps of our types, with each setting that has an equivalent
# here.
# Only settings that are named in this module are taken, so that no credential of a handler is.


_SOURCES = {  # the fetch handlers that have an equivalent, with the setting of their address
    "rss": ("feed", "feed_url"),
    "wordpress_api": ("json", "endpoint_url"),
    "files": ("files", ""),
    "webhook_payload": ("packet", ""),
}
_STATUSES = ("draft", "pending", "private", "publish")
_MOST_ITEMS = 50
_HOUR = 3_600
_SHORTEST_WAIT, _LONGEST_WAIT = 60, 30 * 24 * _HOUR
# Keys of a step that are read elsewhere, or add nothing to other keys.
_KNOWN_KEYS = frozenset(
    (
        "step_type",
        "execution_order",
        "label",
        "enabled",
        "flow_step_id",
        "pipeline_step_id",
        "pipeline_id",
        "flow_id",
        "handler_slug",
        "handler_slugs",
        "handler_config",
        "handler_configs",
        "flow_step_settings",
        "prompt_queue",
        "queue_mode",
        "user_message",
        "enabled_tools",
        "disabled_tools",
        "settings_display",
        "settings_summary",
        "handler_settings_displays",
        "system_prompt",
        "system_prompt_queue",
        "system_prompt_queue_mode",
    )
)


@value
class MappedSettings:
    """The settings of a step here, and a sentence for each thing that has no equivalent."""

    settings: Mapping[str, Any] = FrozenDict()
    problems: tuple[str, ...] = ()


def map_step_type(step_type: object) -> str:
    """Return the type of step here, or "" if there is none."""
    return PLUGIN_STEP_TYPES.get(step_type, "") if isinstance(step_type, str) else ""


def map_pipeline_step(step: Mapping[str, Any]) -> MappedSettings:
    """Return the settings that a step has in its pipeline."""
    step_type = map_step_type(step.get("step_type"))
    settings = dict(PLUGIN_STEP_SETTINGS.get(step_type, {}))
    problems = list(_name_unknown(step))
    if step_type == "ai":
        settings |= _read_tools(step)
    if step_type == "system_task":
        mapped_step = _map_task(step)
        settings |= mapped_step.settings
        problems += mapped_step.problems
    return MappedSettings(settings, tuple(problems))


def map_flow_step(step: Mapping[str, Any], site: str) -> MappedSettings:
    """Return the settings of a step in a flow; `site` is the name of the site in our settings.

    A handler without an equivalent leaves the step as its pipeline has it, so that it brings
    nothing or stops the job until a person sets it up.
    """
    step_type = map_step_type(step.get("step_type"))
    slugs, configs = _read_handlers(step)
    problems = list(_name_unknown(step))
    if step.get("enabled") is False:
        problems.append("it is switched off in the source; here every step of a pipeline runs")
    if step_type == "ai":
        return MappedSettings(_read_tools(step), tuple(problems))
    if step_type == "webhook_gate":
        return _map_gate(configs.get("", {}), problems)
    if step_type == "system_task":
        return _map_task(step)
    if not slugs:
        return MappedSettings({}, (*problems, "it has no handler in the source"))
    problems += [
        f"its handler {slug} is one of several, and a step has one target here"
        for slug in slugs[1:]
    ]
    slug, config = slugs[0], configs.get(slugs[0], {})
    mapped_step = (
        _map_source(slug, config)
        if step_type == "input"
        else _map_target(step.get("step_type"), slug, config, site)
    )
    return MappedSettings(mapped_step.settings, (*problems, *mapped_step.problems))


def _map_source(slug: str, config: Mapping[str, Any]) -> MappedSettings:
    if slug not in _SOURCES:
        reason = "has no equal here; the step brings nothing until a person sets its source"
        return MappedSettings({}, (f"its handler {slug} {reason}",))
    source, address_key = _SOURCES[slug]
    settings: dict[str, Any] = {"source": source}
    problems = []
    address = config.get(address_key) if address_key else None
    if isinstance(address, str) and address:
        if next(scan_text("address", address), None) is None:
            settings["url"] = address
        else:
            problems.append(f"{address_key} holds a secret, which is not imported")
    max_items = config.get("max_items")
    if isinstance(max_items, int) and not isinstance(max_items, bool) and max_items > 0:
        settings["max_items"] = min(max_items, _MOST_ITEMS)
    used_keys = {address_key, "max_items"}
    return MappedSettings(settings, (*problems, *_name_settings(slug, config, used_keys)))


def _map_target(
    step_type: object, slug: str, config: Mapping[str, Any], site: str
) -> MappedSettings:
    if step_type != "publish" or not slug.startswith("wordpress"):
        reason = "has no equal here; the step stops the job until a person sets its target"
        return MappedSettings({}, (f"its handler {slug} {reason}",))
    settings: dict[str, Any] = {"target": "wordpress", "site": site}
    status = config.get("post_status")
    if status in _STATUSES:
        settings["status"] = status
    return MappedSettings(settings, _name_settings(slug, config, {"post_status"}))


def _map_gate(config: Mapping[str, Any], problems: list[str]) -> MappedSettings:
    hours = config.get("timeout_hours")
    settings = {}
    if isinstance(hours, int) and not isinstance(hours, bool) and hours > 0:
        seconds = max(_SHORTEST_WAIT, min(hours * _HOUR, _LONGEST_WAIT))
        settings["expires_seconds"] = seconds
    return MappedSettings(settings, (*problems, *_name_settings("", config, {"timeout_hours"})))


def _map_task(step: Mapping[str, Any]) -> MappedSettings:
    config = _read_handlers(step)[1].get("", {})
    settings: dict[str, Any] = {}
    if isinstance(config.get("task_type"), str) and config["task_type"]:
        settings["task_type"] = config["task_type"]
    params = config.get("params")
    problems = []
    if params:
        problems.append("the parameters of its task are not imported: they may hold credentials")
    return MappedSettings(settings, tuple(problems))


def _read_handlers(step: Mapping[str, Any]) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Return the handlers of a step in order, and the settings of each; "" is the step itself."""
    slugs = [slug for slug in as_list(step.get("handler_slugs")) if isinstance(slug, str) and slug]
    configs: dict[str, Mapping[str, Any]] = {
        slug: config
        for slug, config in as_object(step.get("handler_configs")).items()
        if isinstance(config, dict)
    }
    single, handler_config = step.get("handler_slug"), as_object(step.get("handler_config"))
    if isinstance(single, str) and single and single not in slugs:
        slugs.append(single)
        configs.setdefault(single, handler_config)
    configs[""] = {**as_object(step.get("flow_step_settings")), **handler_config}
    return slugs, configs


def _read_tools(step: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tools that an AI step is given or denied; they have the same names here."""
    tools = {}
    for key in ("enabled_tools", "disabled_tools"):
        names = [name for name in as_list(step.get(key)) if isinstance(name, str) and name]
        if names:
            tools[key] = names
    return tools


def _name_unknown(step: Mapping[str, Any]) -> Iterable[str]:
    for key in sorted(step):
        if key not in _KNOWN_KEYS and step[key] not in (None, "", False, 0, [], {}):
            yield f"{key} has no equal here"


def _name_settings(slug: str, config: Mapping[str, Any], used_keys: set[str]) -> tuple[str, ...]:
    """Name the settings of a handler that are not taken, without their values."""
    names = [
        key
        for key in sorted(config)
        if key not in used_keys and config[key] not in (None, "", False, 0, [], {})
    ]
    subject = f"of its handler {slug}" if slug else "of the step"
    return (f"settings {subject} without an equal: {', '.join(names)}",) if names else ()


# Pipelines and flows of Data Machine, from answers of its REST interface to files of a bundle.


# Keys of a configuration that stand beside the steps.
UPLOADS_LEFT_OUT = (
    "its bytes are in the datamachine-files folder; import that folder after the site, or upload it"
)
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
        for entry in as_list(as_object(config.get("context_files")).get("uploaded_files")):
            path = str(as_object(entry).get("persistent_path") or "")
            name = as_object(entry).get("original_name") or path.rpartition("/")[2]
            self._note(f"context file {name}", UPLOADS_LEFT_OUT)
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


# Pipelines and flows in a bundle that Data Machine has written, as workflows of our types.
# Its files name steps by their position and handlers by their slugs, and a schedule is one
# word. Settings without an equivalent here are listed in a file of the bundle, which the agent
# keeps.


NOT_TAKEN = "not-taken/workflows.json"
_SITE = "bundle"  # the name of a site in our settings that a publishing step would need
_OUR_TYPES = ("input", "memory_update", "webhook_gate", "system_task")  # ai and publish are in both


def translate_workflows(files: Mapping[str, bytes], registry: FileRegistry) -> dict[str, bytes]:
    """Return the files of a bundle with every workflow in our form; others stay as they are."""
    pipelines = {
        path: parse_json(path, content)
        for path, content in files.items()
        if path.startswith(PIPELINES) and path.endswith(".json") and b"step_id" not in content
    }
    if not pipelines:
        return dict(files)
    flows = {
        path: parse_json(path, content)
        for path, content in files.items()
        if path.startswith(FLOWS) and path.endswith(".json")
    }
    documents: dict[str, Any] = {}
    notes: list[str] = []
    for number, (path, document) in enumerate(sorted(pipelines.items()), 1):
        own_flows = {
            flow_path: flow
            for flow_path, flow in flows.items()
            if flow.get("pipeline_slug") == document.get("slug")
        }
        if not _is_foreign(document, own_flows):
            continue
        own_rows = [_describe_flow(place, flow) for place, flow in enumerate(own_flows.values(), 1)]
        left_out: list[NotImported] = []
        reader = PipelineReader(SourceSite(_SITE, registry), left_out)
        source = reader.read_pipeline(_describe_pipeline(number, document), own_rows, "", ())
        if source is None:
            continue
        documents[path] = format_pipeline(source.pipeline, document.get("slug", ""))
        for (flow_path, flow), source_flow in zip(own_flows.items(), source.flows, strict=False):
            file = format_flow(source_flow, "", source.pipeline, "")
            documents[flow_path] = _restore_names(flow, file)
        notes += _name_places(left_out, (number, path), list(own_flows))
    if notes:
        documents[NOT_TAKEN] = {"schema_version": 1, "not_taken": notes}
    return {**files, **{path: format_json(document) for path, document in documents.items()}}


def _is_foreign(pipeline: Mapping[str, Any], flows: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether Data Machine wrote a pipeline, judging by its step types or schedules."""
    types = [as_object(step).get("step_type") for step in as_list(pipeline.get("steps"))]
    if any(name not in _OUR_TYPES and map_step_type(name) not in ("", name) for name in types):
        return True
    return any(isinstance(flow.get("schedule"), str) for flow in flows.values())


def _describe_pipeline(number: int, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pipeline as the REST interface of Data Machine gives it."""
    config: dict[str, Any] = {}
    for step in map(as_object, as_list(document.get("steps"))):
        position = step.get("step_position")
        settings = step.get("step_config")
        if not step.get("step_type") and isinstance(settings, list):
            # Data Machine exports the memory files of a pipeline as a step without a type.
            config["memory_files"] = settings
            continue
        config[f"step-{position}"] = {
            **as_object(settings),
            "step_type": step.get("step_type"),
            "execution_order": position,
        }
    if isinstance(document.get("memory_files"), list):
        config["memory_files"] = document["memory_files"]
    name = document.get("name")
    return {"pipeline_id": number, "pipeline_name": name, "pipeline_config": config}


def _describe_flow(flow_id: int, document: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {
        f"step-{step.pop('step_position', None)}_{flow_id}": step
        for step in map(dict, map(as_object, as_list(document.get("steps"))))
    }
    if isinstance(document.get("memory_files"), list):
        config["memory_files"] = document["memory_files"]
    schedule = {"interval": document.get("schedule"), "max_items": document.get("max_items")}
    return {
        "flow_id": flow_id,
        "flow_name": document.get("name"),
        "flow_config": config,
        "scheduling_config": schedule,
    }


def _name_places(
    left_out: list[NotImported], pipeline: tuple[int, str], flow_paths: list[str]
) -> list[str]:
    """Write a sentence for each part left out, which names the file instead of an id."""
    number, path = pipeline
    places = {
        f"pipeline {number}, flow {place}": flow_path
        for place, flow_path in enumerate(flow_paths, 1)
    } | {f"pipeline {number}": path}
    sentences = []
    for note in left_out:
        place, _, subject = note.source.partition(": ")
        sentences.append(f"{places.get(place, place)}: {subject}: {note.reason}")
    return sentences


def _restore_names(flow: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Restore the slugs, the egress policy, and the schedule, which an install pauses anyway."""
    schedule = document["schedule"]
    is_running = schedule["interval"] != MANUAL
    return {
        **document,
        "slug": flow.get("slug"),
        "pipeline_slug": flow.get("pipeline_slug"),
        "schedule": {**schedule, "enabled": is_running},
        "run_artifacts": as_object(flow.get("run_artifacts")),
    }
